"""Loops and branches built from Python callables, for `BlockBuilder`.

The condition and body of a loop become private functions of the module. Captured values and symbolic
variables become additional parameters of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, TupleType, i1
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ..diagnostics import DTypeError, ShapeError, TiraxError
from ..dialects import relax
from ..dialects.names import name_of, set_name
from ..dialects.relax.types import tuple_type
from ..dialects.sym.expr import SymExpr, Var
from ..dialects.sym.operators import lt
from ..handles.relax.builder import Builder
from ..handles.relax.calls import call_operator, to_expr
from ..handles.relax.expr import Expr, GlobalVar, Tuple, TupleGetItem
from ..handles.relax.expr import Var as RelaxVar
from ..handles.relax.function import Function
from ..handles.struct_info import StructInfo
from ..handles.tir.dims import dim_of
from ..ir.functions.symbolic_vars import definable_vars, mentioned_by
from ..ir.rewriting.edit import erase
from ..transforms.bindings.convert_to_dataflow import gather_dataflow

Step = Callable[..., Any]
"""Maps the carried values to a condition, or to the next carried values followed by the collected ones."""


def while_loop(
    builder: Builder,
    cond: Step,
    body: Step,
    init: Sequence[Any],
    collected: int = 0,
    length: SymExpr | None = None,
    name_hint: str = "loop",
) -> list[Expr]:
    """Implement `BlockBuilder.while_loop`; `length` is the number of iterations if it is known."""
    values = [builder.place(to_expr(v)) for v in init]
    carried = _Carried(builder, [name_of(v) or f"v{i}" for i, v in enumerate(values)], [v.type for v in values])
    step = _traced_in_loop(builder, carried, body)
    while carried.widen(step.types):
        step = _traced_in_loop(builder, carried, body)
    if len(step.types) != len(values) + collected:
        message = "the body of a loop gives other values than the carried ones, and what is collected"
        raise ShapeError(message, expected=f"{len(values)} and {collected}", found=len(step.types))
    test = _traced_in_loop(builder, carried, cond)
    if len(test.types) != 1:
        raise ShapeError("the condition of a loop is one value", expected=1, found=len(test.types))
    test.unwrap()
    collected_types = step.types[len(values) :]
    invariants = _share_captured(builder, [test, step])
    operands = [Tuple([to_expr(v) for v in values]), Tuple(invariants) if invariants else None]
    callees = _add(builder, f"{name_hint}_cond", test), _add(builder, f"{name_hint}_body", step)
    loop = builder.emit(call_operator("relax.while_loop", *callees, *operands, collected=collected), name_hint)
    types = [*map(carried.outside, carried.types), *(carried.outside(t, length or "trips") for t in collected_types)]
    return [_field(builder, loop, i, t) for i, t in enumerate(types)]


def _traced_in_loop(builder: Builder, carried: _Carried, function: Step) -> _Traced:
    with builder.in_loop():
        return _trace(builder, carried.params(), function)


def _field(builder: Builder, loop: Expr, index: int, known: Attribute) -> Expr:
    """Return a result of a loop, with symbolic extents where the loop's type has none."""
    value = builder.emit(TupleGetItem(loop, index))
    t = value.ssa.type
    unknown = isinstance(t, relax.TensorType | relax.ShapeType) and t.dims is None
    return builder.match_cast(value, StructInfo.of(known)) if unknown and t != known else value


def scan(
    builder: Builder, body: Step, init: Sequence[Any], length: Any, collected: int = 0, name_hint: str = "scan"
) -> list[Expr]:
    """Implement `BlockBuilder.scan`."""
    extent = dim_of(length)

    def cond(i: Expr, *_: Expr) -> SymExpr:
        return lt(symbolic_value(i), extent)

    def step(i: Expr, *carried: Expr) -> list[Any]:
        results = body(i, *carried)
        return [symbolic_value(i) + 1, *(results if isinstance(results, tuple | list) else [results])]

    return while_loop(builder, cond, step, [0, *init], collected, extent, name_hint)[1:]


def if_then_else(builder: Builder, cond: Any, then: Step, other: Step, name_hint: str = "") -> list[Expr]:
    """Implement `BlockBuilder.if_then_else`."""
    if builder.current_block_is_dataflow():
        raise TiraxError("a branch stands outside of dataflow blocks", hint="end the block before")
    sides = [_trace(builder, [], then)]
    with _abandoned_if_raised(sides[0].block):
        sides.append(_trace(builder, [], other))
    counts = [len(side.types) for side in sides]
    if counts[0] != counts[1]:
        raise ShapeError("both sides of a branch give as many values", expected=counts[0], found=counts[1])
    for side in sides:
        side.unwrap()
        value, end = side.end.value, side.end
        erase(end)
        side.block.add_op(relax.YieldOp(value))
    types = [cast(relax.YieldOp, side.block.last_op).value.type for side in sides]
    regions = [Region(side.block) for side in sides]
    branch = relax.IfOp(builder.place(to_expr(cond)), relax.least_common_ancestor(*types), *regions)
    bound = builder.emit(to_expr(branch.result), name_hint)
    return [bound] if counts[0] == 1 else [builder.emit(TupleGetItem(bound, i)) for i in range(counts[0])]


@dataclass
class _Traced:
    """The block traced from a callable: it ends with `relax.return` of the callable's results."""

    block: Block

    @property
    def end(self) -> relax.ReturnOp:
        return cast(relax.ReturnOp, self.block.last_op)

    @property
    def types(self) -> list[Attribute]:
        """The struct infos of the callable's results."""
        owner = self.end.value.owner
        assert isinstance(owner, relax.TupleOp)
        return [v.type for v in owner.fields_]

    def unwrap(self) -> None:
        """Return the callable's only result itself instead of a tuple of it."""
        owner = self.end.value.owner
        if isinstance(owner, relax.TupleOp) and len(owner.fields_) == 1:
            self.end.operands[0] = owner.fields_[0]
            erase(owner)


@contextmanager
def _abandoned_if_raised(block: Block) -> Iterator[None]:
    """Drop the operands of a block if the body raises, so that the caller can catch the error and continue building."""
    try:
        yield
    except Exception:
        for op in block.walk():
            op.operands = ()
        raise


def _trace(builder: Builder, params: Sequence[RelaxVar], step: Step) -> _Traced:
    with builder.begin_scope(params) as block, _abandoned_if_raised(block):
        outcome = step(*params)
        results = list(outcome) if isinstance(outcome, tuple | list) else [outcome]
        fields = relax.TupleOp([builder.place(to_expr(v)) for v in cast("list[Any]", results)])
        block.add_ops([fields, relax.ReturnOp(fields.result)])
    return _Traced(block)


def _add(builder: Builder, name: str, traced: _Traced) -> GlobalVar:
    """Add the traced block to the module as a private function, and return its symbol."""
    known = set(relax.free_symbolic_vars(a.type for a in traced.block.args))
    ret = relax.erase_unbound(traced.end.value.type, known)
    op = relax.FuncOp(name, Region(traced.block), ret, private=True)
    gather_dataflow(op, builder.known_functions(), min_size=1)
    return GlobalVar(builder.add_func(Function.on(op), name).name_hint, op.callable_type)


@dataclass
class _Carried:
    """The struct infos of a loop's carried values, as its functions see them.

    Whatever an iteration may change is a symbolic variable of its own: each number, and extents that the body
    changes.
    """

    builder: Builder
    names: Sequence[str]
    types: list[Attribute]
    own: set[str] = field(default_factory=set[str])
    """The names of these variables."""

    def __post_init__(self) -> None:
        self.types = [self._opened(name, t) for name, t in zip(self.names, self.types, strict=True)]

    def params(self) -> list[RelaxVar]:
        """Return new variables of these struct infos."""
        return [RelaxVar(n, StructInfo.of(t)) for n, t in zip(self.names, self.types, strict=True)]

    def widen(self, results: Sequence[Attribute]) -> bool:
        """Generalize the types to cover those of the next values, and return whether any type changed."""
        wider = [self._joined(n, t, r) for n, t, r in zip(self.names, self.types, results, strict=False)]
        changed = wider != self.types
        self.types = wider
        return changed

    def _fresh(self, name: str) -> Var:
        fresh = self.builder.get_unique_name(name)
        self.own.add(fresh)
        return Var(fresh)

    def outside(self, t: Attribute, length: SymExpr | str | None = None) -> Attribute:
        """Return the type after the loop, with new names for variables of the loop; stacked if `length` is not None."""
        if not isinstance(t, relax.TensorType | relax.ShapeType) or t.dims is None:
            return t
        inner = self.builder.visible_variables()
        known = [d if inner.issuperset(d.free_vars()) else self._fresh("d") for d in t.dims]
        if isinstance(t, relax.ShapeType):
            return relax.ShapeType.of(known)
        first = [] if length is None else [self._fresh(length) if isinstance(length, str) else length]
        return relax.TensorType.of([*first, *known], t.element)

    def _is_own(self, e: SymExpr) -> bool:
        return isinstance(e, Var) and e.name in self.own

    def _opened(self, name: str, t: Attribute) -> Attribute:
        """Return the initial type, before the body is traced: numbers are variable, and unknown extents get names."""
        if isinstance(t, relax.PrimType):
            if not isinstance(t.dtype, IntegerType) or t.dtype == i1:
                return relax.PrimType.of(t.dtype)
            return relax.PrimType.of(t.dtype, Var(self._fresh(name).name, cast("IntegerType", t.dtype)))
        if isinstance(t, TupleType):
            return tuple_type(self._opened(f"{name}_{i}", f) for i, f in enumerate(t.types))
        return self._with_extents(name, t, None)

    def _joined(self, name: str, t: Attribute, new: Attribute) -> Attribute:
        if relax.is_base_of(t, new):
            return t
        if isinstance(t, relax.PrimType) and isinstance(new, relax.PrimType) and t.dtype == new.dtype:
            return t if t.expr is not None and self._is_own(t.expr) else self._opened(name, relax.PrimType.of(t.dtype))
        if isinstance(t, TupleType) and isinstance(new, TupleType) and len(t.types) == len(new.types):
            pairs = enumerate(zip(t.types, new.types, strict=True))
            return tuple_type(self._joined(f"{name}_{i}", a, b) for i, (a, b) in pairs)
        self._require_same_kind(name, t, new)
        return self._with_extents(name, relax.least_common_ancestor(t, new), (t, new))

    @staticmethod
    def _require_same_kind(name: str, t: Attribute, new: Attribute) -> None:
        what = f"the value '{name}' that a loop carries becomes one of another kind"
        if isinstance(t, relax.TensorType) and isinstance(new, relax.TensorType):
            if t.element != new.element:
                raise DTypeError(what, expected=t, found=new)
            if t.rank != new.rank:
                raise ShapeError(what, expected=t, found=new)
        elif type(t) is not type(new):
            raise DTypeError(what, expected=t, found=new)

    def _with_extents(self, name: str, t: Attribute, sides: tuple[Attribute, Attribute] | None) -> Attribute:
        """Return a tensor or shape type whose unknown extents are symbolic: those common to both sides, or new
        variables.
        """
        if not isinstance(t, relax.TensorType | relax.ShapeType) or t.dims is not None or t.rank is None:
            return t
        old, new = (getattr(s, "dims", None) for s in sides or (None, None))
        dims: list[SymExpr] = []
        for i in range(t.rank):
            kept = None if old is None else old[i]
            same = kept is not None and (self._is_own(kept) or (new is not None and new[i] == kept))
            dims.append(kept if same and kept is not None else self._fresh(f"{name}_{i}"))
        if isinstance(t, relax.ShapeType):
            return relax.ShapeType.of(dims)
        return relax.TensorType.of(dims, t.element)


def _share_captured(builder: Builder, steps: Sequence[_Traced]) -> list[Expr]:
    """Make the captured values of blocks additional parameters of all of them, and return the values to pass."""
    captured = dict.fromkeys(v for step in steps for v in _captured(step.block))
    for step in steps:
        for value in captured:
            _replace_inside(step.block, value, _parameter(step.block, value.type, name_of(value)))
    variables = dict.fromkeys(v for step in steps for v in _undetermined(builder, step.block))
    for step in steps if variables else ():
        _parameter(step.block, relax.ShapeType.of(variables), "shape_vars")
    shape = [to_expr(relax.ShapeOp(variables).result)] if variables else []
    return [*map(to_expr, captured), *shape]


def _captured(block: Block) -> list[SSAValue]:
    """Return the captured values of a block, in order, after copying captured constants into it."""
    inside = set(block.walk())
    for op in list(inside):
        for i, value in enumerate(op.operands):
            if isinstance(value, OpResult) and isinstance(value.op, relax.LEAVES) and value.op not in inside:
                copy = value.op.clone()
                first = block.first_op
                assert first is not None
                block.insert_op_before(copy, first)
                op.operands[i] = copy.results[0]
    inside = set(block.walk())
    used = (v for op in block.walk() for v in op.operands)
    return list(dict.fromkeys(v for v in used if _is_outside(v, inside, block)))


def _is_outside(value: SSAValue, inside: set[Operation], block: Block) -> bool:
    if isinstance(value, OpResult):
        return value.op not in inside
    owner = value.owner
    return owner is not block and not (isinstance(owner, Block) and owner.parent_op() in inside)


def _replace_inside(block: Block, old: SSAValue, new: SSAValue) -> None:
    inside = set(block.walk())
    old.replace_uses_with_if(new, lambda use: use.operation in inside)


def _parameter(block: Block, t: Attribute, name: str | None) -> SSAValue:
    param = block.insert_arg(t, len(block.args))
    set_name(param, name)
    return param


def _undetermined(builder: Builder, block: Block) -> list[Var]:
    """Return the symbolic variables of a block that neither its parameters nor its casts determine."""
    determined = set(definable_vars(a.type for a in block.args))
    casts = [op.result.type for op in block.walk() if isinstance(op, relax.MatchCastOp)]
    determined |= set(definable_vars(casts)) - builder.visible_variables()
    return [v for v in dict.fromkeys(_mentioned(block)) if v not in determined]


def _mentioned(block: Block) -> Iterable[Var]:
    yield from relax.free_symbolic_vars(a.type for a in block.args)
    yield from mentioned_by(block.ops)


def symbolic_value(number: Expr) -> SymExpr:
    """Return the value of a number from its struct info. Raises `TiraxError` if it is unknown."""
    t = number.ssa.type
    if not isinstance(t, relax.PrimType) or t.expr is None:
        raise TiraxError("a number of known symbolic value is expected", expected='R.Prim(value="n")', found=t)
    return t.expr
