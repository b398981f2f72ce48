"""Structural equality: the same program up to the names of variables and buffers.

A program is read as a stream of entries in which values are numbered by definition and symbolic variables by first
occurrence; operands that are expressions (tir's, and relax leaves without a name) are read as trees. Two programs are
equal if their streams are; the first differing entry is reported, with both sides. Names of public functions and
global symbols count; those of private functions count only inside a module.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import isnan
from typing import Any, NoReturn

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerType,
    ModuleOp,
    TupleType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, ParametrizedAttribute, Region, SSAValue

from ..diagnostics import TiraxError, nesting_checked
from ..dialects import relax, tir
from ..dialects.names import name_of
from ..dialects.sym import IndexMapAttr, IndexMapping, SymAttr, ValueOp
from ..dialects.sym.expr import Op, SymExpr, Var
from ..dialects.sym.operations import CONDITIONS
from .affine.values import Materializer, operands_first, sym_expr_of

_TREE_OPS: frozenset[type[Operation]] = frozenset({*tir.EXPRESSION_OPS, ValueOp, tir.DeclBufferOp} - {tir.YieldOp})
_LEAF_OPS: frozenset[type[Operation]] = frozenset(relax.INLINE_OPS)
_FUNCTIONS: frozenset[type[Operation]] = frozenset({relax.FuncOp, tir.FuncOp})
_PARTS_OF_BLOCKS: dict[type[Operation], dict[type[Operation], int]] = {
    tir.FuncOp: {tir.AllocBufferOp: -1},
    tir.BlockOp: {tir.ReadsOp: -5, tir.WritesOp: -4, tir.AllocBufferOp: -3, tir.MatchBufferOp: -2, tir.InitOp: -1},
}
"""Operations that TVM stores in the block rather than in its body, in TVM's order; their position does not matter."""
_IGNORED_PROPERTIES = frozenset(
    {
        "handle_names",
        "block_name",
        "sym_visibility",
        tir.AllocBufferOp.DECLARED,
        tir.DeclBufferOp.ALIAS,
        tir.CastOp.AS_INDEX,
        tir.LLVMCall.COUNTED,
        relax.CallPackedOp.SEVERAL,
    }
)

Entry = tuple[Hashable, "Operation | None"]


_DEEP = 64
"""Maximum depth of expressions that are read recursively; deeper ones are read bottom-up first."""


class Reader:
    """Reader of one program as a stream of entries."""

    def __init__(self, separate: Sequence[Operation] = ()) -> None:
        self.separate = set(separate)
        self.places: dict[Operation, int] = {}
        self.values: dict[SSAValue, int] = {}
        self.trees: dict[Hashable, int] = {}
        self.tree_of: dict[SSAValue, Hashable] = {}
        self.depth = 0
        """How many expressions around each other are being read."""
        self.variables: dict[SSAValue, SymExpr] = {}
        self.exprs: dict[SSAValue, SymExpr] = {}
        self.symbols: dict[Var, Var] = {}
        self.closed: dict[Attribute, Hashable] = {}
        self.entries: list[Entry] = []

    def module(self, module: ModuleOp) -> None:
        functions = sorted(module.body.block.ops, key=lambda op: _symbol(op) or "")
        for op in functions:
            self.entries.append((("function", _symbol(op)), op))
            self.top_level(op)

    def top_level(self, op: Operation) -> None:
        """Read a function, which has its own symbolic variables."""
        self.symbols = {}
        self.closed = {}
        self.variables = _variables_of(op)
        self.exprs = dict(self.variables)
        private = op.properties.get("sym_visibility") is not None
        self.entries.append((("head", op.name, private, None if private else _exported_symbol(op)), op))
        self.operation(op, skip_symbol=True)

    def operation(self, op: Operation, skip_symbol: bool = False) -> None:
        """Add an op's entry, after those of expressions it is the first to use, then the entries of its regions."""
        leaf = _bound_leaf(op)
        if leaf is not None:  # a name of a leaf, which may also have its own
            self.entries.append(((leaf.name, (), (), self.properties(leaf, set()), self.types(op)), op))
            self.define(op.results[0])
            return
        ordered = _outputs_in_order(op)
        operands = tuple(self.operand(v) for v in ordered.operands)
        for region in op.regions:
            for block in region.blocks:
                self.block_args(block)
        args = tuple(self.attribute(a.type) for r in op.regions for b in r.blocks for a in b.args)
        skip = {"sym_name"} if skip_symbol else set[str]()
        entry = (op.name, operands, args, self.properties(op, skip), self.types(ordered))
        self.entries.append((entry, op))
        for result in ordered.results:
            self.define(result)
        for region in op.regions:
            self.region(region)

    def block_args(self, block: Block) -> None:
        for arg in block.args:
            self.define(arg)

    def define(self, value: SSAValue) -> None:
        self.values[value] = len(self.values)

    def region(self, region: Region) -> None:
        self.entries.append((("region",), None))
        parts = {} if region.parent is None else _PARTS_OF_BLOCKS.get(type(region.parent), {})
        for block in region.blocks:
            for op in sorted(block.ops, key=lambda op: parts.get(type(op), 0)) if parts else block.ops:
                if not self.inline(op):
                    self.operation(op)
        self.entries.append((("end",), None))

    @staticmethod
    def inline(op: Operation) -> bool:
        """Return whether an op is read as part of its users."""
        if type(op) in _TREE_OPS or _is_output_name(op) or _does_nothing(op):
            return True
        return type(op) in _LEAF_OPS and name_of(op.results[0]) is None

    def operand(self, value: SSAValue) -> Hashable:
        number = self.values.get(value)
        if number is not None:
            # A scalar parameter may be a symbolic variable, and is then the same as `sym.value` of it.
            variable = self.variables.get(value)
            if variable is None:
                return number
            return self.numbered(("symbolic", self.expr(variable)), None)
        known = self.tree_of.get(value)
        if known is not None:
            return known
        if isinstance(value, OpResult) and _is_output_name(value.op):
            return self.operand(value.op.operands[0])
        if isinstance(value, OpResult) and self.inline(value.op):
            self.depth += 1
            if self.depth % _DEEP == 0:
                for part in operands_first(value, self.unread):
                    self.operand(part)
            known = self.tree_of[value] = self.tree(value.op)
            self.depth -= 1
            return known
        return self.free(value)

    def unread(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the operands that `tree` must read before a value; none if it has been read."""
        if value in self.values or value in self.tree_of or not isinstance(value, OpResult):
            return ()
        op = value.op
        if not _is_output_name(op) and (not self.inline(op) or op in self.separate or self.symbolic(value) is not None):
            return ()
        return _plain_constant(_written_out(op)).operands

    def free(self, value: SSAValue) -> Hashable:
        """Return the number of a value defined outside, by order of first use."""
        self.define(value)
        return ("free", self.values[value])

    def tree(self, op: Operation) -> Hashable:
        """Return the number of an expression's content; equal contents share a number, and new content is read once."""
        if op in self.separate:
            place = self.places.setdefault(op, len(self.places))
            return self.numbered(("apart", place, self.types(op)), op)
        op = _written_out(op)
        expr = self.symbolic(op.results[0])
        if expr is not None:
            return self.numbered(("symbolic", self.expr(expr)), op)
        op = _plain_constant(op)
        operands = tuple(self.operand(v) for v in op.operands)
        inside = self.inside(op) if op.regions else ()
        return self.numbered((op.name, operands, (), self.properties(op, set()), self.types(op), inside), op)

    def inside(self, op: Operation) -> Hashable:
        """Read the regions of an expression."""
        outer, self.entries = self.entries, []
        for region in op.regions:
            for arg in (a for block in region.blocks for a in block.args):
                self.define(arg)
            self.region(region)
        inner, self.entries = self.entries, outer
        # A new expression adds an entry of its own, a second copy of these regions does not.
        outer += [entry for entry in inner if entry[0] in self.trees]
        return tuple(e for e, _ in inner if e not in self.trees)

    def symbolic(self, value: SSAValue) -> SymExpr | None:
        """Return the expression of an integer of symbolic variables only: `sym.value n * 2`, or `%n` times 2.

        Else None.
        """
        if not isinstance(value.type, IntegerType):
            return None
        expr = sym_expr_of(value, self.exprs)
        names = [var.name for var in expr.free_vars()]
        return expr if names and all(isinstance(n, str) for n in names) else None

    def numbered(self, content: Hashable, op: Operation | None) -> Hashable:
        """Return the number of an expression's content; new content adds an entry."""
        if content not in self.trees:
            self.trees[content] = len(self.trees)
            self.entries.append((content, op))
        return ("tree", self.trees[content])

    def properties(self, op: Operation, skip: set[str]) -> Hashable:
        skipped = _IGNORED_PROPERTIES | skip
        items = {**op.attributes, **op.properties}
        if type(op) in _FUNCTIONS:
            items = {**items, "func_attrs": DictionaryAttr(_attrs_but_symbol(op))}
        return tuple((k, self.attribute(items[k])) for k in sorted(items) if k not in skipped)

    def types(self, op: Operation | _Ordered) -> Hashable:
        return tuple(self.attribute(r.type) for r in op.results)

    def attribute(self, attr: Attribute) -> Hashable:
        """Return an attribute with symbolic variables numbered; memoized per function."""
        key = self.closed.get(attr)
        if key is None:
            key = self.closed[attr] = self._attribute(attr)
        return key

    def _attribute(self, attr: Attribute) -> Hashable:
        if isinstance(attr, SymAttr):
            return self.expr(attr.data)
        if isinstance(attr, IndexMapAttr):
            return self.index_map(attr.data)
        if isinstance(attr, FloatAttr) and isnan(attr.value.data):  # NaN is not equal to itself
            return ("nan", attr.type)
        if isinstance(attr, UnitAttr):  # as in TVMScript
            return BoolAttr.from_bool(True)
        if isinstance(attr, ArrayAttr):
            return tuple(self.attribute(a) for a in attr)
        if isinstance(attr, DictionaryAttr):
            return tuple((k, self.attribute(v)) for k, v in sorted(attr.data.items()))
        if isinstance(attr, TupleType | relax.TensorType | relax.ShapeType | relax.PrimType | tir.BufferType):
            return (attr.name, *(self.attribute(p) for p in _parameters(attr)))
        return self.callable(attr) if isinstance(attr, relax.CallableType) else attr

    def callable(self, attr: relax.CallableType) -> Hashable:
        """Return the type of a function, which has its own symbolic variables."""
        outer, self.symbols, self.closed = (self.symbols, self.closed), {}, {}
        content = (attr.name, *(self.attribute(p) for p in _parameters(attr)))
        self.symbols, self.closed = outer
        return content

    def index_map(self, mapping: IndexMapping) -> Hashable:
        for var in mapping.free_vars():
            self.expr(var)
        return mapping.substitute(self.symbols)  # pyright: ignore[reportArgumentType]

    def expr(self, expr: SymExpr) -> Hashable:
        for var in expr.free_vars():
            if var not in self.symbols:
                self.symbols[var] = Var(f"${len(self.symbols)}", var.dtype)
        return (expr.substitute(self.symbols).key, expr.dtype.width.data)  # pyright: ignore[reportArgumentType]


def _variables_of(op: Operation) -> dict[SSAValue, SymExpr]:
    """Return the scalar parameters of a tensor function that are symbolic variables of its buffers."""
    if not isinstance(op, tir.FuncOp):
        return {}
    buffers = [p.type for p in op.params if isinstance(p.type, tir.BufferType)]
    variables: dict[object, Var] = {v.name: v for t in buffers for e in t.exprs() for v in e.free_vars()}
    scalars = [p for p in op.params if isinstance(p.type, IntegerType)]
    return {p: variables[name_of(p)] for p in scalars if name_of(p) in variables}


def _parameters(attr: ParametrizedAttribute) -> tuple[Attribute, ...]:
    return tuple(attr.parameters)


def _symbol(op: Operation) -> str | None:
    name: Any = op.properties.get("sym_name")
    return None if name is None else name.data


@dataclass(frozen=True)
class _Ordered:
    """The operands and results of an op, in an order that has a meaning."""

    operands: Sequence[SSAValue]
    results: Sequence[SSAValue]


def _outputs_in_order(op: Operation) -> Operation | _Ordered:
    """Return the outputs of a dataflow block in order of definition: in the text, `R.output` lists names."""
    if not isinstance(op, relax.DataflowOp | relax.OutputOp):
        return op
    values = op.output_op.values_ if isinstance(op, relax.DataflowOp) else op.operands
    block = op.body.block if isinstance(op, relax.DataflowOp) else op.parent
    if len(values) < 2 or block is None:
        return op
    place = {inner: n for n, inner in enumerate(block.ops)}
    order = sorted(range(len(values)), key=lambda n: place.get(_output_of(values[n]).owner, -1))  # pyright: ignore[reportArgumentType, reportCallIssue]
    return _Ordered([op.operands[n] for n in order if op.operands], [op.results[n] for n in order if op.results])


def _output_of(value: SSAValue) -> SSAValue:
    return value.op.operands[0] if isinstance(value, OpResult) and _is_output_name(value.op) else value


def _is_output_name(op: Operation) -> bool:
    """Return whether an op only renames a value that leaves a dataflow block."""
    if type(op) is not relax.BindOp or op.result.type != op.operands[0].type:
        return False
    return op.result.has_one_use() and all(isinstance(use.operation, relax.OutputOp) for use in op.result.uses)


def _bound_leaf(op: Operation) -> Operation | None:
    """Return the leaf without operands that an op binds to a name; None for other ops."""
    if type(op) is not relax.BindOp or op.result.type != op.operands[0].type:
        return None
    leaf = op.operands[0].owner
    inline = type(leaf) in _LEAF_OPS and name_of(op.operands[0]) is None
    return leaf if inline and isinstance(leaf, Operation) and not leaf.operands else None


def _does_nothing(op: Operation) -> bool:
    """Return whether a statement is `T.evaluate` of a constant, the placeholder for an empty body."""
    return type(op) is tir.EvaluateOp and isinstance(_plain_constant(op.value.owner), tir.ConstOp)


def _plain_constant(op: Any) -> Any:
    """Return `tir.const 4` for `sym.value 4`, which has the same text; other ops unchanged."""
    number = op.expr.data.constant if type(op) is ValueOp else None
    return op if number is None else tir.ConstOp(number, op.result.type)


def _written_out(op: Operation) -> Operation:
    """Return `tir.lt %a, %b` for `sym.value lt(a, b)`, which has the same text; other operations unchanged."""
    expr = op.expr.data if isinstance(op, ValueOp) else None
    if not isinstance(expr, Op) or expr.kind not in CONDITIONS:
        return op
    written = Materializer(lambda _: None)(expr).owner
    return written if isinstance(written, Operation) else op


def _attrs_but_symbol(op: Operation) -> dict[str, Attribute]:
    attrs = op.properties.get("func_attrs")
    return {k: v for k, v in attrs.data.items() if k != "global_symbol"} if isinstance(attrs, DictionaryAttr) else {}


def _exported_symbol(op: Operation) -> str | None:
    """Return the external name of a function: its `global_symbol`, else its name."""
    attrs = op.properties.get("func_attrs")
    symbol: Any = attrs.data.get("global_symbol") if isinstance(attrs, DictionaryAttr) else None
    return _symbol(op) if symbol is None else symbol.data


def _entries(op: Operation) -> list[Entry]:
    reader = Reader()
    if isinstance(op, ModuleOp):
        reader.module(op)
    elif isinstance(op, relax.FuncOp | tir.FuncOp):
        reader.top_level(op)
    else:
        reader.operation(op)
    return reader.entries


@nesting_checked()
def structural_equal(a: Operation, b: Operation) -> bool:
    """Return whether two modules, functions or ops are equal up to names."""
    return first_difference(a, b) is None


@nesting_checked()
def structural_hash(op: Operation) -> int:
    """Return a hash that structurally equal ops share (within one process)."""
    return hash(tuple(e for e, _ in _entries(op)))


def fingerprint(op: Operation) -> Hashable:
    """Return the contents as one hashable value, equal for structurally equal ops: a key for a table of functions."""
    return tuple(e for e, _ in _entries(op))


def fingerprint_but_for(op: Operation, constants: Sequence[Operation]) -> tuple[Hashable, list[Operation]]:
    """Return the contents of a function with these constants as wildcards, and the constants in order of occurrence."""
    reader = Reader(constants)
    reader.top_level(op)
    return tuple(e for e, _ in reader.entries), list(reader.places)


@dataclass(frozen=True)
class Difference:
    """The first difference of two programs: the ops of both sides (None at the end of a side) and the reason."""

    left: Operation | None
    right: Operation | None
    what: str

    def __str__(self) -> str:
        return f"{self.what}\n  left:  {_line(self.left)}\n  right: {_line(self.right)}"


_PARTS = ("the kind of op", "operands", "parameters", "attributes", "result types")


def _line(op: Operation | None) -> str:
    if op is None:
        return "(nothing: this side ends here)"
    return str(op).split("\n", 1)[0]


def first_difference(a: Operation, b: Operation) -> Difference | None:
    """Return the first difference between two programs, or None if they are equal."""
    last: tuple[Operation | None, Operation | None] = (a, b)
    for x, y in zip_longest(_entries(a), _entries(b)):
        ops = (x[1] if x else None, y[1] if y else None)
        if x is None or y is None or x[0] != y[0]:
            return Difference(*ops, _what(x, y, last))
        last = ops if ops[0] is not None else last
    return None


def _what(x: Entry | None, y: Entry | None, last: tuple[Operation | None, Operation | None]) -> str:
    if x is None or y is None or x[1] is None or y[1] is None:
        return f"one side has more ops, after: {_line(last[0])}"
    left, right = x[0], y[0]
    if isinstance(left, tuple) and isinstance(right, tuple):
        if left[0] in ("head", "function"):
            return "the functions have different names or visibility"
        for part, p, q in zip(_PARTS, left, right, strict=False):
            if p != q:
                return f"{part} differ"
    return "the programs differ"


class StructuralInequalityError(TiraxError, ValueError):
    """Programs that should be structurally equal differ."""


@nesting_checked()
def assert_structural_equal(a: Operation, b: Operation) -> None:
    """Raise `StructuralInequalityError`, which shows the first difference and both sides, unless `a` equals `b`."""
    difference = first_difference(a, b)
    if difference is not None:
        refuse(difference)


def refuse(difference: Difference, where: str = "") -> NoReturn:
    """Raise `StructuralInequalityError` with both sides of a difference."""
    raise StructuralInequalityError(
        f"the programs are not structurally equal: {difference.what}{where}",
        expected=_line(difference.left),
        found=_line(difference.right),
    )
