"""Assumptions and assertions: `remove-assume` and `skip-assert` remove them, `lower-asserts` turns them into a status.

tir.assert %ok, "m"          if not %ok {store 1, %status[0]}
store %x, %A[%i]       ->    if load %status[0] == 0 {store %x, %A[%i]}
                             return load %status[0]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, UnitAttr, i1, i32, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.quick import operations
from ...dialects.tir import BufferType, ForKind
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before, inserter
from .guard_indices import MESSAGES, REPORTS, messages_of
from .walk import erase_with_tree, functions, remove_dead

RAISED = "tirax_raised"
"""The intrinsic that tests whether a packed function raised an exception, given its result."""
STATUS = "tirax.status"
"""The attribute of a function whose result is its status."""


@dataclass(frozen=True)
class RemoveAssume(Pass):
    """Remove `T.assume(condition)` and the operations that only its condition needs."""

    name = "remove-assume"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            notes = [inner for inner in operations(func) if isinstance(inner, tir.EvaluateOp) and _assumes(inner)]
            for note in notes:
                erase_with_tree(note)
            calls = [i for i in operations(func) if isinstance(i, tir.CallExpr) and is_assume(i) and not i.result.uses]
            for call in calls:
                erase_with_tree(call)
            if notes or calls:
                remove_dead(func)


def is_assume(op: object) -> bool:
    """Return whether an operation is `T.assume(…)`, which passes use until `remove-assume` removes it."""
    return isinstance(op, tir.CallExpr) and op.func.data == "assume"


def _assumes(op: tir.EvaluateOp) -> bool:
    return is_assume(op.value.owner)


@dataclass(frozen=True)
class SkipAssert(Pass):
    """Remove `tir.assert`, and the operations that only its condition needs."""

    name = "skip-assert"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            asserts = [inner for inner in operations(func) if isinstance(inner, tir.AssertOp)]
            for inner in asserts:
                erase_with_tree(inner)
            if asserts:
                remove_dead(func)


@dataclass(frozen=True)
class LowerAsserts(Pass):
    """Make functions that may fail return an i32: 0, or the number of the first failure (`failures`), from 1.

    Assertions can fail, packed functions that raise, and calls of functions that fail. Nothing runs after a failure; so
    loops in which something may fail are no longer parallel: the first failing iteration is reported. Conditions
    computed at the end of a region are computed nevertheless.

    Raises `UnsupportedError` for a function that may fail and has a result, or is recursive.
    """

    name = "lower-asserts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func, failing in [(func, failures(func)) for func in functions(op)]:
            if failing:
                _Status(func, failing).function()


class _Status:
    """Writer of a function's status on failures, and of the checks before it continues."""

    def __init__(self, func: tir.FuncOp, failing: list[tuple[Operation, tuple[str, ...]]]):
        self._func = func
        self._status = tir.AllocBufferOp(BufferType.of([1], i32))
        set_name(self._status.result, "status")
        self._numbers: dict[Operation, int] = {}
        self._around: set[Operation] = set()
        number = 1
        for op, messages in failing:
            self._numbers[op] = number
            number += len(messages)
            parent: Operation | None = op
            while parent is not None:
                self._around.add(parent)
                parent = parent.parent_op()

    def function(self) -> None:
        if self._func.ret_type is not None:
            raise UnsupportedError(
                f"@{self._func.sym_name.data} has both assertions and a result", hint="store the result in a buffer"
            )
        block = self._func.body.block
        self._block(block)
        head: list[Operation] = [self._status]
        self._store(head.append, _number(head.append, 0))
        if block.first_op is None:  # without elements there is nothing left to do
            block.add_ops(head)
        else:
            block.insert_ops_before(head, block.first_op)
        block.add_op(tir.ReturnOp(self._load(block.add_op)))
        self._func.properties["ret_type"] = i32
        self._func.attributes[STATUS] = UnitAttr()

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if op in self._around:
                following = op.next_op
                self._operation(op)
                if following is not None and not isinstance(block.last_op, tir.YieldOp):
                    self._guard(block, following)
                    return

    def _guard(self, block: Block, first: Operation | None) -> None:
        """Guard the operations of a block from `first` on, so that they run only if nothing has failed."""
        inside = Block()
        while first is not None:
            following = first.next_op
            first.detach()
            inside.add_op(first)
            first = following
        self._block(inside)
        block.add_op(tir.IfOp(self._holds(block.add_op), Region(inside)))

    def _operation(self, op: Operation) -> None:
        if op in self._numbers:
            self._failing(op, self._numbers[op])
        elif isinstance(op, tir.ForOp):
            if op.kind is ForKind.PARALLEL:
                op.properties.pop("kind_attr")
            self._guard(op.body.block, op.body.block.first_op)
        else:
            for region in op.regions:
                for block in region.blocks:
                    self._block(block)
            if isinstance(op, tir.WhileOp):
                self._while(op)

    def _while(self, op: tir.WhileOp) -> None:
        end = cast(tir.YieldOp, op.cond_region.block.last_op)
        insert = inserter(end)
        insert(both := tir.AndOp(end.value, self._holds(insert)))
        end.operands[0] = both.result

    def _failing(self, op: Operation, number: int) -> None:
        """Insert the check of an operation that may fail after it."""
        checks: list[Operation] = []
        failed = Block()
        if isinstance(op, tir.AssertOp):
            bad: Operation = tir.NotOp(op.cond)
            what = _number(failed.add_op, number)
            if MESSAGES in op.attributes:
                status = cast(Operation, op.cond.owner).operands[0]
                failed.add_op(total := tir.AddOp(status, _number(failed.add_op, number - 1)))
                what = total.result
        elif isinstance(op, tir.CallPackedOp):
            bad = tir.CallIntrinOp(RAISED, [op.result], i1)
            what = _number(failed.add_op, number)
        else:
            op = _with_status(cast(tir.CallOp, op))
            bad = tir.NeOp(op.result, _number(checks.append, 0))
            failed.add_op(total := tir.AddOp(op.result, _number(failed.add_op, number - 1)))
            what = total.result
        self._store(failed.add_op, what)
        checks += [bad, tir.IfOp(bad.results[0], Region(failed))]
        cast(Block, op.parent).insert_ops_after(checks, op)
        if isinstance(op, tir.AssertOp):
            erase_with_tree(op)

    def _holds(self, insert: Callable[[Operation], object]) -> SSAValue:
        """Return the condition that nothing has failed."""
        insert(holds := tir.EqOp(self._load(insert), _number(insert, 0)))
        return holds.result

    def _load(self, insert: Callable[[Operation], object]) -> SSAValue:
        insert(load := tir.LoadOp(self._status.result, [_number(insert, 0, i64)]))
        return load.result

    def _store(self, insert: Callable[[Operation], object], value: SSAValue) -> None:
        insert(tir.StoreOp(value, self._status.result, [_number(insert, 0, i64)]))


def _number(insert: Callable[[Operation], object], value: int, dtype: IntegerType = i32) -> SSAValue:
    insert(constant := tir.ConstOp(value, dtype))
    return constant.result


def _with_status(op: tir.CallOp) -> tir.CallOp:
    """Replace a call of a function that now returns a status."""
    call = tir.CallOp(op.func.data, list(op.call_args), i32)
    call.attributes.update(op.attributes)
    insert_before(op, call)
    op.result.replace_all_uses_with(call.result)
    erase_with_tree(op)
    return call


_MAY_FAIL = frozenset[type[Operation]]((tir.AssertOp, tir.CallPackedOp, tir.CallOp))


def failures(
    func: tir.FuncOp, callers: tuple[str, ...] = (), *, through_calls: bool = False
) -> list[tuple[Operation, tuple[str, ...]]]:
    """Return the operations that may fail, in order, each with its messages.

    These are assertions, packed functions, and calls of functions with such operations (with `through_calls` the
    operations of the callees instead). Raises `UnsupportedError` for a recursive function.
    """
    name = func.sym_name.data
    if name in callers:
        raise UnsupportedError(f"@{name} calls itself", expected="prim_funcs without recursion")
    rows: list[tuple[Operation, tuple[str, ...]]] = []
    for op in operations(func):
        if type(op) not in _MAY_FAIL:
            continue
        if isinstance(op, tir.AssertOp):
            rows.append((op, tuple(messages_of(op.attributes.get(MESSAGES, op.message)))))
        elif isinstance(op, tir.CallPackedOp):
            rows.append((op, (f"the packed function '{op.func.data}' raised an exception",)))
        elif isinstance(op, tir.CallOp):
            callee = called_function(op)
            inner = [] if callee is None else failures(callee, (*callers, name), through_calls=through_calls)
            rows += inner if through_calls else []
            rows.append((op, tuple(message for _, messages in inner for message in messages)))
    report = None if func.func_attrs is None else func.func_attrs.data.get(REPORTS)
    if report is not None:  # `guard-indices` adds it as the last assertion
        rows.append((func, tuple(messages_of(report))))
    return [row for row in rows if row[1]]


def called_function(call: tir.CallOp) -> tir.FuncOp | None:
    """Return the tir function that is called, or None if it is no longer in the module."""
    root: Operation = call
    while (parent := root.parent_op()) is not None:
        root = parent
    regions = (block.ops for region in root.regions for block in region.blocks)
    name = call.func.data
    return next((f for ops in regions for f in ops if isinstance(f, tir.FuncOp) and f.sym_name.data == name), None)
