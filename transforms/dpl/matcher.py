"""Matching of patterns against expressions, with backtracking.

Each kind of pattern has a generator that yields once for every match. Its bindings are in the matcher while the
generator is suspended, and are removed when it resumes. So a choice is undone if a later match fails, however far apart
the two are.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import NameLookupError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.relax.types import substitute_type
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import Var as SymVar
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import (
    Constant,
    DataflowVar,
    Expr,
    ExternFunc,
    GlobalVar,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    canonical,
    expr_of,
)
from ...handles.relax.function import Function
from ...handles.relax.op import Op
from . import patterns as p

Subject = Expr | Op
"""What a pattern is matched against: an expression, or the operator of a call."""
Ways = Generator[None, None, None]
"""A generator that yields once for each match."""
Lookup = Callable[[Var], "Expr | None"]
"""A function from a variable to its value, or None if it is not looked through."""

_COMMUTATIVE = frozenset({"relax.add", "relax.multiply"})


class Matches(dict[p.DFPattern, Any]):
    """The expressions that the parts of a pattern matched."""

    def __missing__(self, pattern: object) -> Any:
        raise NameLookupError(
            f"nothing was matched by this {type(pattern).__name__}",
            hint="it is no part of the pattern, or of a side of `|` that was not taken",
        )


def opaque(var: Var) -> Expr | None:
    """Look through no variable."""
    return None


class Matcher:
    """Matcher of patterns; matches are in `bound`, values of the patterns' symbolic variables in `symbols`."""

    def __init__(self, lookup: Lookup = opaque):
        self._lookup = lookup
        self.bound: dict[p.DFPattern, Subject] = {}
        self.symbols: dict[SymVar, SymExpr] = {}

    @property
    def looks_through_nothing(self) -> bool:
        """True if variables are not looked through."""
        return self._lookup is opaque

    def nested(self, lookup: Lookup) -> Matcher:
        """Return a matcher for the inside of a function."""
        return Matcher(lookup)

    def first(self, pattern: p.DFPattern, expr: Subject) -> Matches | None:
        """Return the first match of the pattern, or None."""
        ways = self.match(pattern, expr)
        for _ in ways:
            matches = Matches(self.bound)
            ways.close()
            return matches
        return None

    def unwrap(self, expr: Subject) -> Subject:
        """Return the value of a variable, as far as it is looked through."""
        while isinstance(expr, Var):
            value = self._lookup(expr)
            if value is None:
                return expr
            expr = value
        return expr

    def match(self, pattern: p.DFPattern, expr: Subject) -> Ways:
        """Yield for each match of `expr` with `pattern` that is consistent with the bindings so far."""
        expr = self.unwrap(expr)
        known = self.bound.get(pattern)
        if known is not None:
            if same_expr(known, expr):
                yield
            return
        for _ in RULES[type(pattern)](self, pattern, expr):
            self.bound[pattern] = expr
            try:
                yield
            finally:
                del self.bound[pattern]

    def match_all(self, patterns: Sequence[p.DFPattern], exprs: Sequence[Subject]) -> Ways:
        """Yield for each match of the first expressions with the patterns, pairwise."""
        if not patterns:
            yield
            return
        for _ in self.match(patterns[0], exprs[0]):
            yield from self.match_all(patterns[1:], exprs[1:])


def extract(pattern: p.DFPattern, expr: Any, var2val: Mapping[Any, Any] | None) -> Matches | None:
    """Return the match of `pattern` in `expr`, or None; variables are looked up in `var2val`."""
    subject: Subject = expr if isinstance(expr, Op) else to_expr(expr)
    return Matcher(opaque if var2val is None else var2val.get).first(pattern, subject)


p.SEARCH.in_expr = extract


# Identity of expressions.


def same_expr(a: Subject, b: Subject) -> bool:
    """Return whether two expressions are the same value, or leaves of the same content."""
    if a is b:
        return True
    if isinstance(a, Op | GlobalVar | ShapeExpr):
        return type(a) is type(b) and a == b
    if isinstance(b, Op | GlobalVar | ShapeExpr):
        return False
    if isinstance(a, ExternFunc) and isinstance(b, ExternFunc):
        return a.global_symbol == b.global_symbol
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.fields) == len(b.fields) and all(map(same_expr, a.fields, b.fields))
    if isinstance(a, Function) or isinstance(b, Function):
        return a == b
    return same_value(a.ssa, b.ssa)


def same_value(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two values are the same, or leaves of the same content."""
    a, b = canonical(a), canonical(b)
    if a is b:
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or type(x) is not type(y):
        return False
    return (
        relax.is_inline(x) and relax.is_inline(y) and x.properties == y.properties and not x.operands and not y.operands
    )


# The rules of each kind of pattern, for expressions whose variables have been looked through.


def _wildcard(m: Matcher, pattern: p.WildcardPattern, expr: Subject) -> Ways:
    yield


def _var(m: Matcher, pattern: p.VarPattern, expr: Subject) -> Ways:
    if isinstance(expr, Var) and pattern.name in ("", expr.name_hint):
        yield


def _dataflow_var(m: Matcher, pattern: p.DataflowVarPattern, expr: Subject) -> Ways:
    if not isinstance(expr, Var) or pattern.name not in ("", expr.name_hint):
        return
    if isinstance(expr, DataflowVar) or isinstance(expr_of(expr.ssa), DataflowVar):
        yield


def _global_var(m: Matcher, pattern: p.GlobalVarPattern, expr: Subject) -> Ways:
    if isinstance(expr, GlobalVar) and pattern.name in expr.name_hint:
        yield


def _extern_func(m: Matcher, pattern: p.ExternFuncPattern, expr: Subject) -> Ways:
    if isinstance(expr, ExternFunc) and pattern.name in ("", expr.global_symbol):
        yield


def _constant(m: Matcher, pattern: p.ConstantPattern, expr: Subject) -> Ways:
    if isinstance(expr, Constant):
        yield


def _expr(m: Matcher, pattern: p.ExprPattern, expr: Subject) -> Ways:
    if _structurally_same(m, m.unwrap(pattern.expr), expr):
        yield


def _structurally_same(m: Matcher, template: Subject, expr: Subject) -> bool:
    if same_expr(template, expr):
        return True
    if isinstance(template, Op | Var | GlobalVar) or type(template) is not type(expr):
        return False
    if isinstance(template, Tuple | ShapeExpr | ExternFunc | Function):
        return isinstance(template, Tuple) and _all_same(m, template.fields, cast(Tuple, expr).fields)
    x, y = template.op_handle, cast(Expr, expr).op_handle
    if type(x) is not type(y) or x.properties != y.properties or len(x.regions) + len(y.regions):
        return False
    return _all_same(m, [expr_of(v) for v in x.operands], [expr_of(v) for v in y.operands])


def _all_same(m: Matcher, templates: Sequence[Expr], exprs: Sequence[Expr]) -> bool:
    if len(templates) != len(exprs):
        return False
    return all(_structurally_same(m, m.unwrap(a), m.unwrap(b)) for a, b in zip(templates, exprs, strict=True))


def _call(m: Matcher, pattern: p.CallPattern, expr: Subject) -> Ways:
    if type(expr) is not Call or not _may_be_called(pattern.op, expr.op_handle.name):
        return
    callee = expr.op
    for _ in m.match(pattern.op, callee):
        args = expr.args
        yield from _arguments(m, pattern, args)
        if len(args) == len(pattern.args) == 2 and isinstance(callee, Op) and callee.name in _COMMUTATIVE:
            yield from m.match_all(pattern.args, args[::-1])
    for other in _reassociated(pattern, expr):
        yield from _call(m, other, expr)


def _may_be_called(op: p.DFPattern, name: str) -> bool:
    """Return whether a call pattern of `op` may match an op of this name, a cheap test that excludes most."""
    if type(op) is not p.ExprPattern or type(op.expr) is not Op:
        return True
    own_name = op.expr.name
    return name == own_name or (own_name in _REASSOCIATED and name in _REASSOCIATED[own_name])


def _arguments(m: Matcher, pattern: p.CallPattern, args: Sequence[Expr]) -> Ways:
    count = len(pattern.args)
    if len(args) == count or (pattern.varg_default_wildcard and len(args) > count):
        yield from m.match_all(pattern.args, args[:count])


def _reassociated(pattern: p.CallPattern, call: Call) -> Iterator[p.CallPattern]:
    """Yield (a * b) / c as a * (b / c), and vice versa, if the call has the other form."""
    if not isinstance(call.op, Op) or len(pattern.args) != 2:
        return
    if is_pattern_of(pattern, "relax.divide") and call.op.name == "relax.multiply":
        product, c = pattern.args
        if isinstance(product, p.CallPattern) and is_pattern_of(product, "relax.multiply") and len(product.args) == 2:
            for a, b in (product.args, product.args[::-1]):
                yield _call_of(product.op, a, _call_of(pattern.op, b, c))
    if is_pattern_of(pattern, "relax.multiply") and call.op.name == "relax.divide":
        for a, quotient in (pattern.args, pattern.args[::-1]):
            if isinstance(quotient, p.CallPattern) and is_pattern_of(quotient, "relax.divide"):
                b, c = quotient.args
                yield _call_of(quotient.op, _call_of(pattern.op, a, b), c)


def _call_of(op: p.DFPattern, *args: p.DFPattern) -> p.CallPattern:
    """Return a call pattern outside any context. Its operator may be matched again elsewhere."""
    return p.CallPattern(op.dup(), args, add_constraint=False)


def is_pattern_of(pattern: p.CallPattern, op_name: str) -> bool:
    """Return whether a pattern matches calls of the operator `op_name`."""
    op = pattern.op
    return isinstance(op, p.ExprPattern) and isinstance(op.expr, Op) and op.expr.name == op_name


def _function(m: Matcher, pattern: p.FunctionPattern, expr: Subject) -> Ways:
    if not isinstance(expr, Function) or len(expr.params) != len(pattern.params):
        return
    inside = m.nested(_inside_of(expr, m.unwrap))
    inside.bound, inside.symbols = m.bound, m.symbols
    yield from inside.match_all((*pattern.params, pattern.body), (*expr.params, expr.body.body))


def _inside_of(func: Function, around: Callable[[Subject], Subject]) -> Lookup:
    from ...handles.relax.analysis import get_var2val

    bound = get_var2val(func)

    def lookup(var: Var) -> Expr | None:
        value = bound.get(var)
        if value is None:
            outer = around(var)
            value = None if outer is var else cast(Expr, outer)
        return value

    return lookup


def _tuple(m: Matcher, pattern: p.TuplePattern, expr: Subject) -> Ways:
    if isinstance(expr, Tuple) and len(expr.fields) == len(pattern.fields):
        yield from m.match_all(pattern.fields, expr.fields)


def _unordered_tuple(m: Matcher, pattern: p.UnorderedTuplePattern, expr: Subject) -> Ways:
    if isinstance(expr, Tuple) and len(expr.fields) == len(pattern.fields):
        yield from _assign(m, pattern.fields, expr.fields)


def _assign(m: Matcher, patterns: Sequence[p.DFPattern], exprs: Sequence[Expr]) -> Ways:
    """Yield for each assignment of distinct expressions to the patterns; fails early if a pattern has no candidates."""
    if not patterns:
        yield
        return
    for i, expr in enumerate(exprs):
        for _ in m.match(patterns[0], expr):
            yield from _assign(m, patterns[1:], [*exprs[:i], *exprs[i + 1 :]])


def _tuple_get_item(m: Matcher, pattern: p.TupleGetItemPattern, expr: Subject) -> Ways:
    if isinstance(expr, TupleGetItem) and pattern.index in (None, expr.index):
        yield from m.match(pattern.tuple_value, expr.tuple_value)


def _or(m: Matcher, pattern: p.OrPattern, expr: Subject) -> Ways:
    yield from m.match(pattern.left, expr)
    yield from m.match(pattern.right, expr)


def _and(m: Matcher, pattern: p.AndPattern, expr: Subject) -> Ways:
    for _ in m.match(pattern.left, expr):
        yield from m.match(pattern.right, expr)


def _not(m: Matcher, pattern: p.NotPattern, expr: Subject) -> Ways:
    ways = m.match(pattern.to_reject, expr)
    for _ in ways:
        ways.close()
        return
    yield


def _attrs(m: Matcher, pattern: p.AttrPattern, expr: Subject) -> Ways:
    attrs: Any = getattr(expr, "attrs", None)
    if attrs is None or not all(k in attrs and plain(attrs[k]) == plain(v) for k, v in pattern.attrs.items()):
        return
    yield from m.match(pattern.pattern, expr)


def plain(value: Any) -> Any:
    """Return an attribute's value for comparison: sequences as tuples, wrapped scalars as Python's, types by name."""
    if isinstance(value, tuple | list | ShapeExpr):
        return tuple(plain(v) for v in cast("Sequence[Any]", value))
    if isinstance(value, SymExpr):
        return value if value.constant is None else value.constant
    if isinstance(value, Attribute):
        return dtype_name(value)
    inner = getattr(value, "value", value)
    return inner.item() if hasattr(inner, "item") else inner


def _struct_info(m: Matcher, pattern: p.StructInfoPattern, expr: Subject) -> Ways:
    if isinstance(expr, Op | GlobalVar):
        return
    actual, before = expr.struct_info.type, dict(m.symbols)
    if pattern.symbols:
        bind_symbols(pattern.type, actual, pattern.symbols, m.symbols)
    if relax.is_base_of(substitute_type(pattern.type, m.symbols), actual):
        yield from m.match(pattern.pattern, expr)
    m.symbols.clear()
    m.symbols.update(before)


def bind_symbols(
    declared: Attribute, actual: Attribute, names: frozenset[SymVar], symbols: dict[SymVar, SymExpr]
) -> None:
    """Bind variables in `names` that are extents of `declared` by themselves to the extents of `actual`."""
    if isinstance(declared, TupleType) and isinstance(actual, TupleType):
        for w, a in zip(declared.types, actual.types, strict=False):
            bind_symbols(w, a, names, symbols)
    both_tensors = isinstance(declared, relax.TensorType) and isinstance(actual, relax.TensorType)
    if both_tensors or (isinstance(declared, relax.ShapeType) and isinstance(actual, relax.ShapeType)):
        shaped = cast("tuple[relax.TensorType, relax.TensorType]", (declared, actual))
        for w, a in zip(shaped[0].dims or (), shaped[1].dims or (), strict=False):
            if isinstance(w, SymVar) and w in names:
                symbols.setdefault(w, a)


def tensor_type(expr: Subject) -> relax.TensorType | None:
    """Return the type of a tensor, or None for other values."""
    if isinstance(expr, Op | GlobalVar):
        return None
    t = expr.struct_info.type
    return t if isinstance(t, relax.TensorType) else None


def _dtype(m: Matcher, pattern: p.DataTypePattern, expr: Subject) -> Ways:
    t = tensor_type(expr)
    if t is not None and t.element == pattern.element:
        yield from m.match(pattern.pattern, expr)


def _shape(m: Matcher, pattern: p.ShapePattern, expr: Subject) -> Ways:
    t = tensor_type(expr)
    if t is not None and t.dims == pattern.dims:
        yield from m.match(pattern.pattern, expr)


def _prim_array(m: Matcher, pattern: p.PrimArrPattern, expr: Subject) -> Ways:
    if isinstance(expr, ShapeExpr) and expr == ShapeExpr(pattern.dims):
        yield


RULES: dict[type[p.DFPattern], Callable[[Matcher, Any, Subject], Ways]] = {
    p.WildcardPattern: _wildcard,
    p.VarPattern: _var,
    p.DataflowVarPattern: _dataflow_var,
    p.GlobalVarPattern: _global_var,
    p.ExternFuncPattern: _extern_func,
    p.ConstantPattern: _constant,
    p.ExprPattern: _expr,
    p.CallPattern: _call,
    p.FunctionPattern: _function,
    p.TuplePattern: _tuple,
    p.UnorderedTuplePattern: _unordered_tuple,
    p.TupleGetItemPattern: _tuple_get_item,
    p.OrPattern: _or,
    p.AndPattern: _and,
    p.NotPattern: _not,
    p.AttrPattern: _attrs,
    p.StructInfoPattern: _struct_info,
    p.DataTypePattern: _dtype,
    p.ShapePattern: _shape,
    p.PrimArrPattern: _prim_array,
}


# The ops at which a pattern can match.

Roots = frozenset[str] | None
"""Names of ops; None for any."""
_LEAF_ROOTS: dict[type[p.DFPattern], frozenset[str]] = {
    p.ConstantPattern: frozenset({relax.ConstantOp.name}),
    p.TuplePattern: frozenset({relax.TupleOp.name}),
    p.UnorderedTuplePattern: frozenset({relax.TupleOp.name}),
    p.TupleGetItemPattern: frozenset({relax.TupleGetItemOp.name}),
    p.PrimArrPattern: frozenset({relax.ShapeOp.name}),
    p.FunctionPattern: frozenset({relax.ClosureOp.name}),
    p.ExternFuncPattern: frozenset({relax.ExternFuncOp.name}),
    p.GlobalVarPattern: frozenset({relax.FunctionRefOp.name}),
}
_PACKED_CALLS = frozenset({relax.CallPackedOp.name, relax.CallValueOp.name})
_FUNCTION_CALLS = frozenset({relax.CallOp.name, relax.CallValueOp.name})
_REASSOCIATED = {
    "relax.divide": frozenset({"relax.divide", "relax.multiply"}),
    "relax.multiply": frozenset({"relax.divide", "relax.multiply"}),
}


def roots_of(pattern: p.DFPattern) -> Roots:
    """Return the ops at which a pattern can match, for lookup in an index."""
    if isinstance(pattern, p.OrPattern):
        left, right = roots_of(pattern.left), roots_of(pattern.right)
        return None if left is None or right is None else left | right
    if isinstance(pattern, p.AndPattern):
        left, right = roots_of(pattern.left), roots_of(pattern.right)
        return right if left is None else left if right is None else left & right
    if isinstance(pattern, p.AttrPattern | p.StructInfoPattern | p.DataTypePattern | p.ShapePattern):
        return roots_of(pattern.pattern)
    if isinstance(pattern, p.CallPattern):
        return _called(pattern.op)
    return _LEAF_ROOTS.get(type(pattern))


def _called(op: p.DFPattern) -> Roots:
    """Return the ops that are calls of what `op` matches."""
    if isinstance(op, p.OrPattern):
        left, right = _called(op.left), _called(op.right)
        return None if left is None or right is None else left | right
    if isinstance(op, p.ExternFuncPattern):
        return _PACKED_CALLS
    if isinstance(op, p.GlobalVarPattern):
        return _FUNCTION_CALLS
    if isinstance(op, p.ExprPattern) and isinstance(op.expr, Op):
        return _REASSOCIATED.get(op.expr.name, frozenset({op.expr.name}))
    return None
