"""`plan-memory`: the tensors that do not outlive a call share one arena.

    %a = host.tensor : !relax.tensor<[n, 64], f32>              host.arena n * 256
    host.kernel @f(%x, %a)                                      %a = host.tensor arena 0 : …
    %b = host.tensor : !relax.tensor<[n, 32], f32>        ->    …  (%b is as long as the result lives: it stays)
    host.kernel @g(%a, %b)
    relax.return %b

A tensor escapes, and keeps memory of its own, where anything but a kernel or the condition of an `if` uses it or a
`host.view` of it: what is returned, put into a tuple, or handed to Python may be kept. So does one of a size that only
a match_cast within the function determines. The others are given storage in the order in which they are made: the
smallest free one that is large enough for certain, or else the largest one, which grows, or else a new one.
Sizes are comparable where they are constants, or constant multiples of the same symbolic product; others must be equal.
Storage is free again after the last use of its tensor, in the linear order of ops: there are no loops.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import host, relax
from ...dialects.dtypes import byte_size
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, Sum, SymExpr, Var, floordiv, product
from ...ir.transform import Pass
from .variables import bound_vars

ALIGNMENT = 64
_ONE = Const(1)


@dataclass(eq=False)
class Storage:
    """A part of the arena: `unit * count` bytes, of which `offset` is known in the end."""

    number: int
    unit: SymExpr
    count: int
    offset: SymExpr = Const(0)

    @property
    def size(self) -> SymExpr:
        """The bytes, rounded up to the alignment."""
        return floordiv(self.unit * self.count + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


def tensor_bytes(t: relax.TensorType) -> SymExpr:
    """The bytes of a tensor of known extents and dtype."""
    assert t.dims is not None and t.element is not None
    return product(_as_i64(t.dims)) * byte_size(t.element)


def _as_i64(dims: tuple[SymExpr, ...]) -> list[SymExpr | int]:
    """Constants as Python integers, which take the type of what they are multiplied with."""
    return [d if d.constant is None else d.constant for d in dims]


def measure(size: SymExpr) -> tuple[SymExpr, int]:
    """`size` as a multiple of a symbolic unit: `n * 512` is (n, 512), `128` is (1, 128)."""
    if size.constant is not None:
        return _ONE, size.constant
    if isinstance(size, Sum) and len(size.terms) == 1 and size.offset == 0 and size.terms[0][1] > 0:
        return size.terms[0]
    return size, 1


class _Free:
    """Free storage by unit, sorted by count."""

    def __init__(self) -> None:
        self._by_unit: dict[SymExpr, list[tuple[int, int, Storage]]] = {}
        self._made: list[Storage] = []

    def take(self, unit: SymExpr, count: int) -> Storage:
        """Free storage of at least that size, or new one."""
        entries = self._by_unit.get(unit)
        if not entries:
            storage = Storage(len(self._made), unit, count)
            self._made.append(storage)
            return storage
        index = bisect_left(entries, (count, -1))
        storage = entries.pop(min(index, len(entries) - 1))[2]
        storage.count = max(storage.count, count)
        return storage

    def give(self, storage: Storage) -> None:
        """The storage is free from here on."""
        insort(self._by_unit.setdefault(storage.unit, []), (storage.count, storage.number, storage))

    def place(self) -> SymExpr:
        """Give all storage its offset, constant sizes first; the size of the arena."""
        end: SymExpr = Const(0)
        for storage in sorted(self._made, key=lambda s: s.unit.constant is None):
            storage.offset = end
            end = end + storage.size
        return end


def _linear(root: Operation) -> Iterator[Operation]:
    """The ops inside of `root`; an op with regions comes before what is in them."""
    for region in root.regions:
        for op in region.block.ops:
            yield op
            if op.regions:
                yield from _linear(op)


def escapes(value: SSAValue) -> bool:
    """Whether something may keep the tensor longer than its last use here."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, relax.MatchCastOp | host.ViewOp):
            if escapes(op.result):
                return True
        elif not (isinstance(op, host.KernelOp) or (isinstance(op, relax.IfOp) and use.index == 0)):
            return True
    return False


def _root(value: SSAValue) -> SSAValue:
    """The value that was cast to `value`, or in whose memory it is."""
    while isinstance(value, OpResult) and isinstance(value.op, relax.MatchCastOp | host.ViewOp):
        value = value.op.operands[0]
    return value


def _fits(op: host.TensorOp, known: set[Var]) -> bool:
    """Whether a tensor can be in the arena: it does not escape, and its size is known at the function's begin."""
    return known.issuperset(free_symbolic_vars([op.tensor_type])) and not escapes(op.result)


def plan_function(function: relax.FuncOp) -> None:
    """Plan the memory of one function, in place; a plan that was there is made anew."""
    ops = list(_linear(function))
    for old in [op for op in ops if isinstance(op, host.ArenaOp)]:
        old.detach()
        old.erase()
    known = bound_vars(p.type for p in function.params)
    planned: dict[SSAValue, host.TensorOp] = {
        op.result: op for op in ops if isinstance(op, host.TensorOp) and _fits(op, known)
    }
    last_use = {_root(v): i for i, op in enumerate(ops) for v in op.operands if _root(v) in planned}
    storages = _assign(ops, planned, last_use)
    size = storages[0].place()
    for op in ops:
        if isinstance(op, host.TensorOp):
            op.offset = None if op.result not in planned else SymAttr(storages[1][op.result].offset)
    if planned:
        function.body.block.insert_ops_before([host.ArenaOp(size)], ops[0])


def _assign(
    ops: list[Operation], planned: dict[SSAValue, host.TensorOp], last_use: dict[SSAValue, int]
) -> tuple[_Free, dict[SSAValue, Storage]]:
    free = _Free()
    storage_of: dict[SSAValue, Storage] = {}
    ending: dict[int, list[SSAValue]] = {}
    for i, op in enumerate(ops):
        if isinstance(op, host.TensorOp) and op.result in planned:
            storage_of[op.result] = free.take(*measure(tensor_bytes(op.tensor_type)))
            ending.setdefault(last_use.get(op.result, i), []).append(op.result)
        for value in ending.pop(i, ()):
            free.give(storage_of[value])
    return free, storage_of


@dataclass(frozen=True)
class PlanMemory(Pass):
    """Give the tensors of a function that do not escape a place in one arena, reused where lifetimes do not overlap."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, relax.FuncOp):
                plan_function(function)
