"""Bounds checks of indices loaded from memory: they are clamped to the buffer, and violations are reported.

Indices computed from loop variables are right or wrong for every call; indices read as data (those of a gather or
scatter) depend on the call. Such an access could touch any memory of the process, so `guard-indices` rewrites it:

    %x = tir.load %A[%i]         ->  %x = tir.load %A[max(min(%i, extent - 1), 0)]
    tir.store %x, %A[%i]         ->  tir.if 0 <= %i and %i < extent {tir.store %x, %A[%i]}

Indices that are inside whatever the data (`min(%i : ui32, 15)` of 16 elements: `value_ranges`) stay as they are.

In functions with the attribute `tirax.reports_indices`, which `report-indices` sets before their calls are lowered, the
run then continues, and the function fails at its end:

    tir.if %i < 0 or %i >= extent {tir.store 1, %outside[0]}                   before the load
    tir.assert %outside[0] == 0, "an index is outside of A: 0 <= index < n"    at the end

With `TIRAX_SANITIZE=address` (`PassContext(config={"tirax.sanitize": "address"})`, `report-indices{accesses=all}`) loop
variables count as data, too: then every access is guarded, and the recorded number is that of the message with its
location. The code is slower; it is for programs under suspicion.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, ModuleOp, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.dtypes import lanes_of, scalar_of
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.sym.bounds import Interval
from ...dialects.sym.expr import Const, SymExpr, product
from ...ir.affine.values import Materializer, operands_first
from ...ir.locations import location_of
from ...ir.passes.transform import Pass, PassContext
from ...ir.rewriting.copy import clone_expr, is_expression
from ...ir.rewriting.edit import inserter
from .index_bounds import check_indices, is_prefetched
from .value_ranges import range_of_value
from .walk import functions, with_attr
from .wide_indices import widen_indices

REPORTS = "tirax.reports_indices"
"""The attribute of a function that fails if an index is out of bounds, with this message.

If it is an array, every access is guarded, and the failure has one of these messages; the first one is for accesses
without their own.
"""
MESSAGES = "tirax.messages"
"""The attribute of an assertion that a number is 0: the messages for other numbers, from 1."""
OUTSIDE = "an index is outside of "
"""The prefix of such messages."""
Indices = dict[int, tuple[SSAValue, SymExpr]]
"""Data-dependent indices by dimension, each with its extent."""


@dataclass(frozen=True)
class ReportIndices(Pass):
    """Mark functions with data-dependent indices, and no result, to fail if one is out of bounds.

    `accesses` is "data" for these, or "all" for all accesses of all functions; functions with a result are guarded but
    do not fail. The default is the setting `tirax.sanitize`, or the environment variable TIRAX_SANITIZE: "address"
    means all. Raises `TiraxError` for another value.
    """

    name = "report-indices"
    accesses: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        every = _one_of("accesses", self.accesses, "data", "all") == "all"
        if not self.accesses:
            config = PassContext.current().config or {}
            option = config.get("tirax.sanitize", os.environ.get("TIRAX_SANITIZE", ""))
            every = _one_of("tirax.sanitize", option, "address") == "address"
        for func in functions(op):
            if every:
                with_attr(func, REPORTS, _messages(func))
                continue
            known = _Known()
            buffers: dict[str, None] = {}
            for inner in operations(func) if func.ret_type is None else ():
                if isinstance(inner, tir.LoadOp | tir.StoreOp):
                    name, option = name_of(inner.buffer) or "a buffer", _guarded(inner, known).values()
                    buffers |= {f"{name}: 0 <= index < {extent}": None for _, extent in option}
            if buffers:
                with_attr(func, REPORTS, OUTSIDE + ", or of ".join(buffers))


def _one_of(name: str, value: object, *words: str) -> object:
    if value not in ("", *words):
        raise TiraxError(f"unknown value of {name}", expected=" or ".join(words), found=repr(value))
    return value


def _messages(func: tir.FuncOp) -> list[str]:
    """Return the messages for all accesses of a function; empty if it has a result."""
    if func.ret_type is not None:
        return []
    messages = (_message(op) for op in operations(func) if isinstance(op, tir.LoadOp | tir.StoreOp))
    return list(dict.fromkeys([f"{OUTSIDE}a buffer", *messages]))


def _message(access: tir.LoadOp | tir.StoreOp) -> str:
    verb = "read" if isinstance(access, tir.LoadOp) else "written"
    place = location_of(access)
    message = f"{OUTSIDE}{name_of(access.buffer) or 'a buffer'}, which is {verb}"
    return message if place is None else f"{message} at {place}"


@dataclass(frozen=True)
class GuardIndices(Pass):
    """Clamp loaded indices of loads, and skip stores at loaded indices that are out of bounds.

    Raises `ShapeError` for an access that is always out of bounds.
    """

    name = "guard-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            widen_indices(func)
            check_indices(func)
            accesses = [a for a in operations(func) if isinstance(a, _ACCESSES) and not is_prefetched(a)]
            known = None if _guards_all(func) else _Known()
            report = _Report.of(func)
            guarded = {a: outside for a in accesses if (outside := _guarded(a, known))}
            for access, indices in guarded.items():
                if isinstance(access, tir.LoadOp):
                    _clamp(access, indices)
            if report is not None:  # its tests read the operands of indices, which are clamped
                report.loads(func, guarded)
            for access, indices in guarded.items():
                if isinstance(access, tir.StoreOp):
                    _skip_outside(access, indices, report)


_ACCESSES = (tir.LoadOp, tir.StoreOp)
_DATA = frozenset[type[Operation]](
    (
        tir.LoadOp,
        tir.IfThenElseOp,
        tir.LetInOp,
        tir.ReduceOp,
        tir.CallExternOp,
        tir.CallPureExternOp,
        tir.CallOp,
        tir.CallPackedOp,
    )
)


@dataclass(frozen=True)
class _Known:
    """What is known of the values of a function: whether they are data, and their ranges."""

    data: dict[SSAValue, bool] = field(default_factory=dict[SSAValue, bool])
    ranges: dict[SSAValue, Interval] = field(default_factory=dict[SSAValue, Interval])


def _is_data(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Return whether an integer depends on the contents of memory."""

    def needed(v: SSAValue) -> Sequence[SSAValue]:
        return v.op.operands if v not in known and isinstance(v, OpResult) and type(v.op) not in _DATA else ()

    for each in operands_first(value, needed):
        if each not in known:
            known[each] = type(each.owner) in _DATA or any(known[o] for o in needed(each))
    return known[value]


def _guards_all(func: tir.FuncOp) -> bool:
    return func.func_attrs is not None and isinstance(func.func_attrs.data.get(REPORTS), ArrayAttr)


def _guarded(access: tir.LoadOp | tir.StoreOp, known: _Known | None) -> Indices:
    """Return the data-dependent indices of an access, or all of them if `known` is None.

    A vector may extend into the next row, if a schedule knows that rows are contiguous: then its linear offset is
    guarded instead of the last index.
    """
    buffer = cast(tir.BufferType, access.buffer.type)
    dims, last = buffer.dims, len(access.indices) - 1
    rows = {i: (v, extent) for i, (v, extent) in enumerate(zip(access.indices, dims, strict=False))}
    if known is None and last > 0 and lanes_of(access.indices[last].type) > 1 and not buffer.explicit_strides:
        return {last: (_offset(access, dims), product(dims))}
    if known is None:
        return rows
    data = {i: (v, e) for i, (v, e) in rows.items() if isinstance(v.type, IntegerType) and _is_data(v, known.data)}
    return {i: (v, e) for i, (v, e) in data.items() if not _is_inside(v, e, known)}


def _is_inside(index: SSAValue, extent: SymExpr, known: _Known) -> bool:
    """Return whether an index is inside of a constant extent, whatever the data that it is computed from."""
    if extent.constant is None:
        return False
    values = range_of_value(index, known.ranges)
    return values.low >= 0 and values.high < extent.constant


def _offset(access: tir.LoadOp | tir.StoreOp, dims: Sequence[SymExpr]) -> SSAValue:
    """Return the linear offset of a vector access in elements: the last index plus the rows before."""
    insert, vector = inserter(access), access.indices[-1]
    dtype = cast(IntegerType, scalar_of(vector.type))
    build = Materializer(insert)
    rows = build(Const(0, dtype), dtype)
    for index, extent in zip(access.indices[:-1], dims[1:], strict=True):
        insert(cast_index := tir.CastOp(index, dtype))
        insert(total := tir.AddOp(rows, cast_index.result))
        insert(scaled := tir.MulOp(total.result, build(extent, dtype)))
        rows = scaled.result
    insert(wide := tir.BroadcastOp(rows, lanes_of(vector.type)))
    insert(offset := tir.AddOp(vector, wide.result))
    return offset.result


def _clamp(op: tir.LoadOp, indices: Indices) -> None:
    insert = inserter(op)
    build = Materializer(insert)
    for i, (index, extent) in indices.items():
        dtype, value = cast(IntegerType, scalar_of(index.type)), index
        for extremum, end in ((tir.MinOp, extent - 1), (tir.MaxOp, Const(0, dtype))):
            bound = build(end, dtype)
            if lanes_of(index.type) > 1:
                insert(wide := tir.BroadcastOp(bound, lanes_of(index.type)))
                bound = wide.result
            insert(inside := extremum(value, bound))
            value = inside.result
        if index is not op.indices[i]:  # an offset, minus the rows before
            insert(rest := tir.SubOp(value, cast(Operation, index.owner).operands[1]))
            value = rest.result
        op.operands[i + 1] = value


def _skip_outside(op: tir.StoreOp, indices: Indices, report: _Report | None) -> None:
    insert = inserter(op)
    tests = [t for v, e in indices.values() for t in _bounds(insert, v, e, tir.GeOp, tir.LtOp)]
    inside = _all(insert, tests, tir.AndOp)
    block = Block()
    insert(tir.IfOp(inside, Region(block), None if report is None else Region(report.failure_block(op))))
    op.detach()
    block.add_op(op)


Insert = Callable[[Operation], None]
Test = type[tir.BinaryExpr]


def _bounds(insert: Insert, index: SSAValue, extent: SymExpr, low: Test, high: Test) -> Iterator[SSAValue]:
    """Yield the comparisons of an index with 0 and with the extent, lane by lane for vectors."""
    build = Materializer(insert)
    dtype = cast(IntegerType, scalar_of(index.type))
    for lane in _lanes(insert, index):
        for test, bound in ((low, Const(0, dtype)), (high, extent)):
            condition = test(lane, build(bound, dtype))
            insert(condition)
            yield condition.result


def _lanes(insert: Insert, index: SSAValue) -> Iterator[SSAValue]:
    if isinstance(index.type, IntegerType):
        yield index
        return
    for lane in range(lanes_of(index.type)):
        insert(one := tir.ShuffleOp([index], [lane]))
        yield one.result


def _all(insert: Insert, conditions: list[SSAValue], join: Test) -> SSAValue:
    first, *others = conditions
    for other in others:
        both = join(first, other)
        insert(both)
        first = both.result
    return first


class _Report:
    """The record of a function that an index was out of bounds."""

    def __init__(self, outside: SSAValue, messages: list[str]) -> None:
        self.outside = outside
        self._numbers = {message: i + 1 for i, message in enumerate(messages)}

    @classmethod
    def of(cls, func: tir.FuncOp) -> _Report | None:
        """Return the report of a function that must have one: a flag set up at the head and checked at the end."""
        attrs = {} if func.func_attrs is None else dict(func.func_attrs.data)
        reports = attrs.pop(REPORTS, None)
        messages = messages_of(reports)
        first = func.body.block.first_op
        if reports is not None:
            func.func_attrs = DictionaryAttr(attrs)
        if not messages or first is None:
            return None
        note = tir.AllocBufferOp(tir.BufferType.of([Const(1)], i32, scope="local"))
        set_name(note.result, "outside")
        insert = inserter(first)
        zero, at = tir.ConstOp(0, i32), tir.ConstOp(0, i64)
        for op in (note, zero, at, tir.StoreOp(zero.result, note.result, [at.result])):
            insert(op)
        at, zero = tir.ConstOp(0, i64), tir.ConstOp(0, i32)
        load = tir.LoadOp(note.result, [at.result])
        holds = tir.EqOp(load.result, zero.result)
        end = tir.AssertOp(holds.result, messages[0])
        if isinstance(reports, ArrayAttr):
            end.attributes[MESSAGES] = reports
        func.body.block.add_ops([at, zero, load, holds, end])
        return cls(note.result, messages)

    def failure_block(self, access: tir.LoadOp | tir.StoreOp) -> Block:
        """Return the block that records an access out of bounds."""
        message = _message(access)
        among = [n for known, n in self._numbers.items() if known.startswith(message.partition(" at ")[0])]
        number, at = tir.ConstOp(self._numbers.get(message, min(among, default=1)), i32), tir.ConstOp(0, i64)
        return Block([number, at, tir.StoreOp(number.result, self.outside, [at.result])])

    def loads(self, func: tir.FuncOp, guarded: dict[tir.LoadOp | tir.StoreOp, Indices]) -> None:
        """Insert tests of the indices of a statement's loads before it."""
        seen: set[object] = set()
        for statement in [op for op in operations(func) if not is_expression(op) and not isinstance(op, tir.YieldOp)]:
            values = [statement.cond] if isinstance(statement, tir.WhileOp) else statement.operands
            for load, sides in [load_sides for value in values for load_sides in _loads(value, ())]:
                where = statement.parent, sides
                new = {i: pair for i, pair in guarded.get(load, {}).items() if (where, *pair) not in seen}
                seen.update((where, *pair) for pair in new.values())
                if new:
                    self._test(statement, load, sides, new)
                if new and isinstance(statement, tir.WhileOp):  # evaluated again at the end of each iteration
                    statement.body.block.add_ops(self._guard(load, sides, new))

    def _guard(self, load: tir.LoadOp, sides: Sides, indices: Indices) -> list[Operation]:
        """Return detached operations for `if outside {record it}`."""
        block = Block()
        cond = _outside(block, sides, indices, {})
        block.add_op(tir.IfOp(cond, Region(self.failure_block(load))))
        ops = list(block.ops)
        for op in ops:
            op.detach()
        return ops

    def _test(self, statement: Operation, load: tir.LoadOp, sides: Sides, indices: Indices) -> None:
        """Insert the test before a statement; lanes of a vector are tested one by one, in a loop."""
        ops = self._guard(load, sides, indices)
        if len(self._numbers) == 1:
            statement = _outermost_with(statement, ops)
        loop = statement.parent_op()
        if not isinstance(loop, tir.ForOp) or loop.kind is not tir.ForKind.VECTORIZED:
            insert = inserter(statement)
            for op in ops:
                insert(op)
            return
        body = tir.body_region(loop.loop_var.type)
        body.block.add_ops(ops)
        for op in body.walk():
            op.operands = [body.block.args[0] if v is loop.loop_var else v for v in op.operands]
        inserter(loop)(tir.ForOp(loop.min, loop.extent, body, tir.ForKind.SERIAL))


def _outermost_with(statement: Operation, test: Sequence[Operation]) -> Operation:
    """Return the outermost loop around a statement before which a test is equivalent: each loop runs at least once."""
    ops = [inner for op in test for inner in op.walk()]
    own = {result for op in ops for result in op.results}
    used = {operand for op in ops for operand in op.operands} - own
    read = {op.result.type for op in ops if isinstance(op, tir.LoadOp)}
    while isinstance(loop := statement.parent_op(), tir.ForOp) and _runs(loop):
        inside = {loop.loop_var, *(result for op in loop.body.block.ops for result in op.results)}
        if used & inside or any(_may_change(op, read) for op in loop.body.walk()):
            break
        statement = loop
    return statement


def _may_change(op: Operation, types: Collection[Attribute]) -> bool:
    """Return whether an operation writes elements of such types: buffers may alias."""
    if isinstance(op, tir.StoreOp):
        return scalar_of(op.value.type) in types
    return isinstance(op, _CALLS_OF_OTHERS)


_CALLS_OF_OTHERS = (tir.CallExternOp, tir.CallPackedOp, tir.CallOp)


def _runs(loop: tir.ForOp) -> bool:
    """Return whether a single-threaded loop runs for all sizes."""
    extent = loop.extent
    return loop.kind is not tir.ForKind.PARALLEL and isinstance(extent, SymExpr) and (extent.constant or 0) > 0


Sides = tuple[tuple[tir.IfThenElseOp | tir.LetInOp, bool], ...]
"""The conditional expressions around an expression, outermost first, each with the side; also lets around it."""


def messages_of(reports: Attribute | None) -> list[str]:
    """Return the messages in a function's `REPORTS`."""
    messages = cast("ArrayAttr[Attribute]", reports) if isinstance(reports, ArrayAttr) else (reports,)
    return [message.data for message in messages if isinstance(message, StringAttr)]


def _loads(value: SSAValue, sides: Sides) -> Iterator[tuple[tir.LoadOp, Sides]]:
    """Yield the loads of an expression, with the conditional expressions around them."""
    seen: set[SSAValue] = set()

    def needed(v: SSAValue) -> Sequence[SSAValue]:
        op = v.owner
        if v in seen or not isinstance(op, Operation) or not is_expression(op) or isinstance(op, tir.ReduceOp):
            return ()
        return op.operands

    for each in operands_first(value, needed):
        op = each.owner
        if each in seen:
            continue
        seen.add(each)
        if isinstance(op, tir.LoadOp):
            yield op, sides
        if isinstance(op, tir.IfThenElseOp | tir.LetInOp):
            for region, side in zip(op.regions, (True, False), strict=False):
                last = region.block.last_op
                assert isinstance(last, tir.YieldOp)
                yield from _loads(last.value, (*sides, (op, side)))


def _outside(block: Block, sides: Sides, indices: Indices, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """Return whether an index is out of bounds on the sides on which it is used; computed at the end of `block`."""
    if not sides:
        copies = [(clone_expr(v, block, known), extent) for v, extent in indices.values()]
        tests = [t for v, e in copies for t in _bounds(block.add_op, v, e, tir.LtOp, tir.GeOp)]
        return _all(block.add_op, tests, tir.OrOp)
    (choice, taken), *others = sides
    if isinstance(choice, tir.LetInOp):
        known[choice.var] = clone_expr(choice.value, block, known)
        return _outside(block, tuple(others), indices, known)
    cond = clone_expr(choice.cond, block, known)
    regions: list[Region] = []
    for side in (True, False):
        inner = Block()
        if side is taken:
            condition = _outside(inner, tuple(others), indices, dict(known))
        else:
            inner.add_op(no := tir.ConstOp(False, i1))
            condition = no.result
        inner.add_op(tir.YieldOp(condition))
        regions.append(Region(inner))
    block.add_op(merged := tir.IfThenElseOp(cond, *regions))
    return merged.result
