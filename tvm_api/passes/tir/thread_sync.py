"""`thread-sync`: barriers between threads that write memory and those that read it.

shared[t] = A[t]               shared[t] = A[t]
B[t] = shared[31 - t]    ->    storage_sync("shared")
                               B[t] = shared[31 - t]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.quick import operations
from ....handles.tir.expr_trees import same_tree
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import functions
from .storage_access import READ, SYNC, WRITE, Access, AccessVisitor, Entry, uses_value


@dataclass(frozen=True)
class ThreadSync(Pass):
    """Insert a barrier before each statement that reads what another thread wrote in `storage_scope`, or writes what
    it reads.

    Raises `UnsupportedError` where a barrier would be in a branch that not all threads take, or between blocks of
    threads (the scope `global`).
    """

    name = "thread-sync"
    storage_scope: str = "shared"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if self.storage_scope == "shared":
                _wait_for_copies(func)
            planner = _Planner(self.storage_scope)
            planner.visitor.block(func.body.block)
            if planner.before and self.storage_scope == "global":
                raise UnsupportedError(
                    "barriers between blocks of threads",
                    location=location_of(next(iter(planner.before))),
                    hint="launch two kernels, one after the other",
                )
            for statement in planner.before:
                _sync(statement, self.storage_scope)


def _sync(anchor: Operation, scope: str) -> None:
    name = tir.StringImmOp(scope)
    call = tir.DeviceCallOp("tvm_storage_sync", [name.result], i32)
    insert_before(anchor, name, call, tir.EvaluateOp(call.result))


def _wait_for_copies(func: tir.FuncOp) -> None:
    """Insert a barrier after each wait for asynchronous copies."""
    for op in operations(func):
        if isinstance(op, tir.AttrOp) and op.key.data == "async_wait_queue_scope":
            inner = op.body.block.last_op
            if not isinstance(inner, tir.AttrOp) or inner.key.data != "async_wait_inflight_count":
                raise UnsupportedError(
                    "a wait for copies without the number of those that may be in flight", location=location_of(op)
                )
            first = inner.body.block.first_op
            if first is not None:
                _sync(first, "shared")


class _Planner:
    """Collects the statements that need a barrier before them."""

    def __init__(self, scope: str):
        self.scope = scope
        self.visitor = AccessVisitor(scope, self._summarize)
        self.before: dict[Operation, None] = {}

    def _summarize(self, entries: list[Entry], loop: tir.ForOp | None) -> list[Access]:
        if self.scope == "shared.dyn":
            entries = _as_one_memory(entries)
        pending: dict[str, list[Access]] = {READ: [], WRITE: []}
        for statement, accesses in entries:
            if statement in self.before or any(_conflicts(pending, a, False) for a in _until_sync(accesses)):
                self._insert(statement)
                _forget(pending)
            for access in accesses:
                _forget(pending) if access.kind == SYNC else pending[access.kind].append(access)
        if loop is not None:
            self._carried(entries, pending)
        return self._exposed(entries, loop)

    def _insert(self, statement: Operation) -> None:
        if statement not in self.before and self.visitor.conditions:
            raise UnsupportedError(
                "Cannot insert syncs inside condition",
                location=location_of(statement),
                expected="a statement that all threads reach",
                found=f"a statement '{statement.name}' in a branch",
                hint="move the accesses of shared memory out of the branch",
            )
        self.before[statement] = None

    def _carried(self, entries: list[Entry], pending: dict[str, list[Access]]) -> None:
        """Look for what a statement does that conflicts with the iteration before."""
        for statement, accesses in entries:
            if statement in self.before or not (pending[READ] or pending[WRITE]):
                return
            for access in accesses:
                if access.kind == SYNC:
                    _forget(pending)
                elif _conflicts(pending, access, True):
                    self._insert(statement)
                    return

    def _exposed(self, entries: list[Entry], loop: tir.ForOp | None) -> list[Access]:
        """Return the accesses before the first barrier and after the last one."""
        head: list[Access] = []
        tail: list[Access] = []
        waits = False
        for statement, accesses in entries:
            for access in ([Access(SYNC)] if statement in self.before else []) + accesses:
                if access.kind == SYNC:
                    tail.clear()
                    head += [] if waits else [access]
                    waits = True
                else:
                    (tail if waits else head).append(access)
        return [replace(a, ahead=False) if loop is not None else a for a in head + tail]


def _until_sync(accesses: Sequence[Access]) -> list[Access]:
    """Return the accesses before the first barrier of a statement: later ones conflict with nothing before it."""
    first = next((i for i, a in enumerate(accesses) if a.kind == SYNC), len(accesses))
    return list(accesses[:first])


def _forget(pending: dict[str, list[Access]]) -> None:
    for accesses in pending.values():
        accesses.clear()


def _as_one_memory(entries: list[Entry]) -> list[Entry]:
    """Take all dynamic shared memory for one: it is merged later."""
    first = next((a.memory for _, accesses in entries for a in accesses if a.memory is not None), None)
    return [(s, [a if a.memory is None else replace(a, memory=first) for a in accesses]) for s, accesses in entries]


def _conflicts(pending: dict[str, list[Access]], access: Access, carried: bool) -> bool:
    before = pending[WRITE if access.kind == READ else READ]
    return any(_conflict(other, access, carried) for other in before)


def _conflict(before: Access, after: Access, carried: bool) -> bool:
    """Return whether another thread may touch the same element: each does not if the index has the thread's number."""
    if before.memory is not after.memory:
        return False
    own = True
    for a, b in zip(before.indices, after.indices, strict=False):
        same = a is not None and b is not None and same_tree(a, b)
        if same and after.thread is not None and a is not None and b is not None:
            own = own and uses_value(a, after.thread) and uses_value(b, after.thread)
        if not (same and own):
            return not (before.ahead and after.kind == READ and not carried)
    return False
