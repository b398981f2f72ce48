"""Rewriters written as two functions of a module: `pattern` and `replacement`.

    @R.rewriter
    class AddToMultiply:
        @R.function
        def pattern(a: R.Tensor(("n",), "float32")): ...
        @R.function
        def replacement(a: R.Tensor(("n",), "float32")): ...

Parameters match any value of their struct info; symbolic variables match any extent, consistently. The replacement may
call private functions of the module, which are added to the rewritten module.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...diagnostics import NameLookupError, TiraxError, UnsupportedError
from ...dialects import relax
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym.expr import SymExpr, Var
from ...handles.relax.call import Call
from ...handles.relax.expr import Expr, ExternFunc, GlobalVar, ShapeExpr, Tuple, TupleGetItem, bound_expr, expr_of
from ...handles.relax.expr import Var as Variable
from ...handles.relax.op import Op
from ...ir.functions.lookup import FunctionOp, callee_names, functions
from ...ir.names import fresh_suffix
from ...ir.passes.transform import module_op
from ...ir.rewriting.infer import infer_again
from ...ir.rewriting.substitute import substitute_symbols
from ..functions.global_symbols import rename_functions
from . import patterns as p
from .matcher import Matches, bind_symbols


class RewriterError(TiraxError, ValueError):
    """Two functions do not form a rewriter."""


class RewriterFunctionError(TiraxError, TypeError):
    """A pattern or replacement is not a Relax function."""


@dataclass(frozen=True)
class PatternRule:
    """A rule read from a module: a pattern, the replacement of a match, and the functions it may call.

    `subroutines` have names unique to the rule; the original name is before the dot.
    """

    pattern: p.DFPattern
    rewrite: Callable[[Expr, Matches], Expr]
    subroutines: Mapping[str, Operation]


_RULES = itertools.count()


def rule_of(mod: Any) -> PatternRule:
    """Return the rule of a module.

    Raises `NameLookupError` if `pattern` or `replacement` is missing, `RewriterFunctionError` if one is not a Relax
    function, `RewriterError` if their parameters differ or another function is public.
    """
    module = module_op(mod).clone()
    number, table = next(_RULES), functions(module)
    subroutines = {name: f"{name}.{number}" for name in table if name not in _ROLES}
    public = [name for name in subroutines if not table[name].private]
    if public:
        raise RewriterError(f"a function of the rewriter is publicly exposed: {public[0]}", hint="private=True")
    rename_functions(module, subroutines)
    pattern, replacement = (_function(table, name) for name in _ROLES)
    _check_same_signature(pattern, replacement)
    build = _PatternBuilder(pattern)
    template = _Template(replacement)

    def rewrite(_: Expr, matches: Matches) -> Expr:
        return template.instantiate([matches[q] for q in build.params])

    return PatternRule(build.result(), rewrite, {unique: table[name] for name, unique in subroutines.items()})


_ROLES = ("pattern", "replacement")


def _function(table: Mapping[str, FunctionOp], name: str) -> relax.FuncOp:
    func = table.get(name)
    if func is None:
        raise NameLookupError(
            f"a rewriter is a module with the function '{name}'",
            expected=" and ".join(_ROLES),
            found=", ".join(table) or "no function",
        )
    if not isinstance(func, relax.FuncOp):
        raise RewriterFunctionError(f"the {name} of a rewriter is a Relax function", found=func.name)
    return func


def _check_same_signature(pattern: relax.FuncOp, replacement: relax.FuncOp) -> None:
    actual, expected = ([x.type for x in f.params] for f in (replacement, pattern))
    if actual != expected:
        raise RewriterError(
            "pattern and replacement must have the same signature: the same parameters",
            expected=", ".join(map(str, expected)),
            found=", ".join(map(str, actual)),
        )


def import_subroutines(module: ModuleOp, subroutines: Mapping[str, Operation]) -> None:
    """Add the subroutines that the functions of a module call, directly or indirectly, under unused names."""
    names: dict[str, str] = {}
    taken = set(functions(module))
    todo = list(functions(module).values())
    while todo:
        for name in sorted(
            {n for op in todo.pop().walk() for n in callee_names(op)} & subroutines.keys() - names.keys()
        ):
            names[name] = fresh_suffix(name.rpartition(".")[0], taken)
            copy = cast(FunctionOp, subroutines[name].clone())
            module.body.block.add_op(copy)
            todo.append(copy)
    rename_functions(module, names)


def _bindings(func: relax.FuncOp) -> Iterator[Operation]:
    """Yield the bindings of a function and its dataflow blocks. Raises `UnsupportedError` for branches."""
    for op in func.body.block.ops:
        if isinstance(op, relax.DataflowOp):
            yield from (inner for inner in op.body.block.ops if not isinstance(inner, relax.OutputOp))
        elif op.regions:
            raise UnsupportedError(f"{op.name} may not stand in a rewriter", expected="bindings only")
        elif not isinstance(op, relax.ReturnOp):
            yield op


def _inner(value: SSAValue) -> SSAValue:
    """Return the value inside a dataflow block for one of its outputs."""
    while isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
        value = value.op.output_op.values_[value.index]
    return value


class _PatternBuilder:
    """Reader of a function as a pattern."""

    def __init__(self, func: relax.FuncOp):
        self._func = func
        self._symbols = free_symbolic_vars([x.type for x in func.params])
        self._known: dict[SSAValue, p.DFPattern] = {}
        self.params: list[p.DFPattern] = []
        for param in func.params:
            pattern = p.StructInfoPattern(p.WildcardPattern(), param.type, self._symbols)
            self._known[param] = pattern
            self.params.append(pattern)
        for op in _bindings(func):
            self._known[op.results[0]] = self._pattern(bound_expr(op))

    def result(self) -> p.DFPattern:
        """Return the pattern of the function's result."""
        return self._part(expr_of(_inner(self._func.return_op.value)))

    def _part(self, expr: Expr) -> p.DFPattern:
        """Return the pattern of an operand, that is, of the value of its variable."""
        return self._known[_inner(expr.ssa)] if isinstance(expr, Variable) else self._pattern(expr)

    def _pattern(self, expr: Expr) -> p.DFPattern:
        rule = _PATTERNS.get(type(expr))
        return p.ExprPattern(expr) if rule is None else rule(self, expr)

    def call(self, call: Call) -> p.DFPattern:
        callee = call.op
        op = p.ExprPattern(callee) if isinstance(callee, Op) else self._part(callee)
        pattern: p.DFPattern = p.CallPattern(op, map(self._part, call.args), add_constraint=False)
        if call.sinfo_args:
            pattern = p.StructInfoPattern(pattern, call.struct_info, self._symbols)
        attrs = call.attrs
        return pattern if attrs is None else p.AttrPattern(pattern, {k: attrs[k] for k in attrs.keys()})  # noqa: SIM118

    def tuple(self, expr: Tuple) -> p.DFPattern:
        return p.TuplePattern(map(self._part, expr.fields))

    def item(self, expr: TupleGetItem) -> p.DFPattern:
        return p.TupleGetItemPattern(self._part(expr.tuple_value), expr.index)

    def shape(self, expr: ShapeExpr) -> p.DFPattern:
        return p.StructInfoPattern(p.WildcardPattern(), expr.struct_info, self._symbols)


_PATTERNS: dict[type[Expr], Callable[[_PatternBuilder, Any], p.DFPattern]] = {
    Call: _PatternBuilder.call,
    Tuple: _PatternBuilder.tuple,
    TupleGetItem: _PatternBuilder.item,
    ShapeExpr: _PatternBuilder.shape,
    GlobalVar: lambda _, expr: p.GlobalVarPattern(expr.name_hint),
    ExternFunc: lambda _, expr: p.ExternFuncPattern(expr.global_symbol),
}


class _Template:
    """A function whose body is instantiated for arguments."""

    def __init__(self, func: relax.FuncOp):
        self._func = func
        self._ops = list(_bindings(func))
        self._symbols = frozenset(free_symbolic_vars([x.type for x in func.params]))

    def instantiate(self, args: list[Expr]) -> Expr:
        """Return the function's result for `args`, as detached ops."""
        values: dict[SSAValue, SSAValue] = {}
        symbols: dict[Var, SymExpr] = {}
        for param, arg in zip(self._func.params, args, strict=True):
            values[param] = arg.ssa
            bind_symbols(param.type, arg.ssa.type, self._symbols, symbols)
        for op in self._ops:
            self._copy(op, values, symbols)
        result = values.get(_inner(self._func.return_op.value))
        assert result is not None
        return expr_of(result)

    def _copy(self, op: Operation, values: dict[SSAValue, SSAValue], symbols: dict[Var, SymExpr]) -> None:
        operands = {v: values[_inner(v)] for v in op.operands}
        copy = op.clone({**values, **operands})
        values[op.results[0]] = copy.results[0]
        substitute_symbols(copy, symbols)
        infer_again(copy)
