"""An index that was read from memory stays inside of its buffer, and one that does not is reported.

What a program computes from loop variables is right or wrong once and for all; what it reads as data (the indices of a
gather or scatter) is right or wrong at each call. Such an access could touch any memory of the process, so
`guard-indices` does this:

    %x = tir.load %A[%i]         ->  %x = tir.load %A[max(min(%i, extent - 1), 0)]
    tir.store %x, %A[%i]         ->  tir.if 0 <= %i and %i < extent {tir.store %x, %A[%i]}

In functions that say `tirax.reports_indices`, which `report-indices` finds before anyone calls them, the run goes on
then, and the function fails at its end:

    tir.if %i < 0 or %i >= extent {tir.store 1, %outside[0]}                   in front of the load
    tir.assert %outside[0] == 0, "an index is outside of A: 0 <= index < n"    at the end
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp, StringAttr, i1, i32, i64
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Const, SymExpr
from ...ir.affine.values import Materializer
from ...ir.passes.transform import Pass
from ...ir.rewriting.copy import is_expression, plant
from ...ir.rewriting.edit import inserter
from ...ir.rewriting.walk import operations
from .index_bounds import check_indices
from .walk import functions, with_attr

REPORTS = "tirax.reports_indices"
"""The attribute of a function that fails where an index is outside: with this message."""
OUTSIDE = "an index is outside of "
"""How such messages begin."""
Indices = dict[int, tuple[SSAValue, SymExpr]]
"""Indices that are data by their dimensions, each with its extent."""


@dataclass(frozen=True)
class ReportIndices(Pass):
    """Functions with indices that are data, and no result, are to fail where one is outside of its buffer."""

    name = "report-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            known: dict[SSAValue, bool] = {}
            buffers: dict[str, None] = {}
            for inner in operations(func) if func.ret_type is None else ():
                if isinstance(inner, tir.LoadOp | tir.StoreOp):
                    name, found = name_of(inner.buffer) or "a buffer", _guarded(inner, known).values()
                    buffers |= {f"{name}: 0 <= index < {extent}": None for _, extent in found}
            if buffers:
                with_attr(func, REPORTS, OUTSIDE + ", or of ".join(buffers))


@dataclass(frozen=True)
class GuardIndices(Pass):
    """Clamp loaded indices of loads, and leave out stores at loaded indices that are out of range.

    Raises `ShapeError` for an access that is always outside.
    """

    name = "guard-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            check_indices(func)
            report = _Report.of(func)
            known: dict[SSAValue, bool] = {}
            accesses = [a for a in operations(func) if isinstance(a, tir.LoadOp | tir.StoreOp)]
            guarded = {a: found for a in accesses if (found := _guarded(a, known))}
            for access, indices in guarded.items():
                if isinstance(access, tir.LoadOp):
                    _clamp(access, indices)
            if report is not None:  # its tests read what indices are made of, which is clamped
                report.loads(func, guarded)
            for access, indices in guarded.items():
                if isinstance(access, tir.StoreOp):
                    _skip_outside(access, indices, report)


_DATA = (
    tir.LoadOp,
    tir.IfThenElseOp,
    tir.LetInOp,
    tir.ReduceOp,
    tir.CallExternOp,
    tir.CallPureExternOp,
    tir.CallOp,
    tir.CallPackedOp,
)


def _is_data(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether an integer depends on what memory holds."""
    if value not in known:
        if not isinstance(value, OpResult):
            known[value] = False
        elif isinstance(value.op, _DATA):
            known[value] = True
        else:
            known[value] = any(_is_data(o, known) for o in value.op.operands)
    return known[value]


def _guarded(access: tir.LoadOp | tir.StoreOp, known: dict[SSAValue, bool]) -> Indices:
    """The indices of an access that are data."""
    dims = cast(tir.BufferType, access.buffer.type).dims
    rows = enumerate(zip(access.indices, dims, strict=False))
    return {i: (v, extent) for i, (v, extent) in rows if isinstance(v.type, IntegerType) and _is_data(v, known)}


def _clamp(op: tir.LoadOp, indices: Indices) -> None:
    insert = inserter(op)
    build = Materializer(insert)
    for i, (index, extent) in indices.items():
        dtype = cast(IntegerType, index.type)
        below = tir.MinOp(index, build(extent - 1, dtype))
        insert(below)
        inside = tir.MaxOp(below.result, build(Const(0, dtype)))
        insert(inside)
        op.operands[i + 1] = inside.result


def _skip_outside(op: tir.StoreOp, indices: Indices, report: _Report | None) -> None:
    insert = inserter(op)
    tests = [t for v, e in indices.values() for t in _bounds(insert, v, e, tir.GeOp, tir.LtOp)]
    inside = _all(insert, tests, tir.AndOp)
    block = Block()
    insert(tir.IfOp(inside, Region(block), None if report is None else Region(report.failed())))
    op.detach()
    block.add_op(op)


Insert = Callable[[Operation], None]
Test = type[tir.BinaryExpr]


def _bounds(insert: Insert, index: SSAValue, extent: SymExpr, low: Test, high: Test) -> Iterator[SSAValue]:
    """An index compared with 0, and with the extent."""
    build = Materializer(insert)
    dtype = cast(IntegerType, index.type)
    for test, bound in ((low, Const(0, dtype)), (high, extent)):
        made = test(index, build(bound, dtype))
        insert(made)
        yield made.result


def _all(insert: Insert, conditions: list[SSAValue], join: Test) -> SSAValue:
    first, *others = conditions
    for other in others:
        both = join(first, other)
        insert(both)
        first = both.result
    return first


class _Report:
    """Where a function notes that an index was outside."""

    def __init__(self, outside: SSAValue) -> None:
        self.outside = outside

    @classmethod
    def of(cls, func: tir.FuncOp) -> _Report | None:
        """The report of a function that has to have one: its note made at the head, looked at in the end."""
        attrs = {} if func.func_attrs is None else dict(func.func_attrs.data)
        message = attrs.pop(REPORTS, None)
        first = func.body.block.first_op
        if not isinstance(message, StringAttr) or first is None:
            return None
        func.func_attrs = DictionaryAttr(attrs)
        note = tir.AllocBufferOp(tir.BufferType.of([Const(1)], i32, scope="local"))
        set_name(note.result, "outside")
        insert = inserter(first)
        zero, at = tir.ConstOp(0, i32), tir.ConstOp(0, i64)
        for op in (note, zero, at, tir.StoreOp(zero.result, note.result, [at.result])):
            insert(op)
        at, zero = tir.ConstOp(0, i64), tir.ConstOp(0, i32)
        load = tir.LoadOp(note.result, [at.result])
        holds = tir.EqOp(load.result, zero.result)
        func.body.block.add_ops([at, zero, load, holds, tir.AssertOp(holds.result, message.data)])
        return cls(note.result)

    def failed(self) -> Block:
        """What is done where an index is outside."""
        one, at = tir.ConstOp(1, i32), tir.ConstOp(0, i64)
        return Block([one, at, tir.StoreOp(one.result, self.outside, [at.result])])

    def loads(self, func: tir.FuncOp, guarded: dict[tir.LoadOp | tir.StoreOp, Indices]) -> None:
        """Test the indices of the loads that a statement makes in front of it."""
        seen: set[object] = set()
        for statement in [op for op in operations(func) if not is_expression(op) and not isinstance(op, tir.YieldOp)]:
            for value in statement.operands:
                for load, sides in _loads(value, ()):
                    where = statement.parent, sides
                    new = {i: pair for i, pair in guarded.get(load, {}).items() if (where, *pair) not in seen}
                    seen.update((where, *pair) for pair in new.values())
                    if new:
                        self._test(statement, sides, new)

    def _test(self, statement: Operation, sides: Sides, indices: Indices) -> None:
        """`if outside {note it}` before a statement; lanes of a vector are looked at one by one, in a loop before."""
        block = Block()
        loop = statement.parent_op()
        cond = _outside(block, sides, indices, {})
        block.add_op(tir.IfOp(cond, Region(self.failed())))
        if not isinstance(loop, tir.ForOp) or loop.kind is not tir.ForKind.VECTORIZED:
            insert = inserter(statement)
            for op in list(block.ops):
                op.detach()
                insert(op)
            return
        body = tir.body_region(loop.loop_var.type)
        for op in list(block.ops):
            op.detach()
            body.block.add_op(op)
        for op in body.walk():
            op.operands = [body.block.args[0] if v is loop.loop_var else v for v in op.operands]
        inserter(loop)(tir.ForOp(loop.min, loop.extent, body, tir.ForKind.SERIAL))


Sides = tuple[tuple[tir.IfThenElseOp, bool], ...]
"""The choices that an expression stands in, the outermost first, each with its side."""


def _loads(value: SSAValue, sides: Sides) -> Iterator[tuple[tir.LoadOp, Sides]]:
    """The loads of an expression, with the choices that they stand in."""
    op = value.owner
    if not isinstance(op, Operation) or not is_expression(op) or isinstance(op, tir.LetInOp | tir.ReduceOp):
        return
    for operand in op.operands:
        yield from _loads(operand, sides)
    if isinstance(op, tir.LoadOp):
        yield op, sides
    if isinstance(op, tir.IfThenElseOp):
        for region, side in ((op.then_region, True), (op.else_region, False)):
            last = region.block.last_op
            assert isinstance(last, tir.YieldOp)
            yield from _loads(last.value, (*sides, (op, side)))


def _outside(block: Block, sides: Sides, indices: Indices, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """Whether an index is outside where the choices are such that it counts; computed at the end of `block`."""
    if not sides:
        copies = [(plant(v, block, known), extent) for v, extent in indices.values()]
        tests = [t for v, e in copies for t in _bounds(block.add_op, v, e, tir.LtOp, tir.GeOp)]
        return _all(block.add_op, tests, tir.OrOp)
    (choice, taken), *others = sides
    cond = plant(choice.cond, block, known)
    regions: list[Region] = []
    for side in (True, False):
        inner = Block()
        if side is taken:
            found = _outside(inner, tuple(others), indices, dict(known))
        else:
            inner.add_op(no := tir.ConstOp(False, i1))
            found = no.result
        inner.add_op(tir.YieldOp(found))
        regions.append(Region(inner))
    block.add_op(made := tir.IfThenElseOp(cond, *regions))
    return made.result
