"""`plan-memory`: the tensors that do not outlive a call share one arena.

    %a = host.tensor : !relax.tensor<[n, 64], f32>              host.arena n * 256
    host.kernel @f(%x, %a)                                      %a = host.tensor arena 0 : …
    %b = host.tensor : !relax.tensor<[n, 32], f32>        ->    …  (%b is as long as the result lives: it stays)
    host.kernel @g(%a, %b)
    relax.return %b

A tensor escapes, and keeps memory of its own, if anything but a kernel or the condition of an `if` uses it or a
`host.view` of it: a value that is returned, put into a tuple, or passed to Python may be kept. A tensor whose size only
a match_cast within the function determines is not planned either. The others are placed in order of creation: in the
smallest free range that is large enough, or at the end of a heap, which grows. There is a heap for constant sizes, one
for each symbolic product such that the other sizes are multiples of its alignment, and one for each other size. If
there are not too many tensors, they are placed again by decreasing size, and the smaller plan is kept. A range is free
again after the last use of its tensor, in the linear order of ops: there are no loops.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import host, relax
from ...dialects.dtypes import byte_size
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, Sum, SymExpr, Var, floordiv, product
from ...ir.functions.symbolic_vars import definable_vars
from ...ir.passes.transform import Pass

ALIGNMENT = 64
_ONE = Const(1)
_MOST_SETTLED = 512


@dataclass(eq=False)
class Place:
    """A range of a heap: `count` units from the unit `begin` on, live for the ops from `first` to `last`."""

    heap: Heap
    begin: int
    count: int
    first: int = 0
    last: int = 0

    @property
    def end(self) -> int:
        """The unit after its last one."""
        return self.begin + self.count

    def lives_with(self, other: Place) -> bool:
        """Return whether the lifetimes of two places overlap."""
        return self.first <= other.last and other.first <= self.last

    @property
    def offset(self) -> SymExpr:
        """The byte offset in the arena; available once the heaps are placed."""
        return self.heap.offset + self.heap.unit * self.begin


@dataclass(eq=False)
class Heap:
    """The part of the arena for tensors whose sizes are multiples of `unit` bytes, with its free units."""

    unit: SymExpr
    offset: SymExpr = Const(0)
    end: int = 0
    places: list[Place] = field(default_factory=list[Place])
    _by_size: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _ends: dict[int, int] = field(default_factory=dict[int, int])
    _sizes: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, count: int) -> Place:
        """Return the smallest free range that is large enough, or extend the heap."""
        at = bisect_left(self._by_size, (count, -1))
        if at < len(self._by_size):
            size, begin = self._by_size[at]
            self._remove(begin)
            if size > count:
                self._add(begin + count, size - count)
        else:
            begin = self._ends.get(self.end, self.end)
            if begin < self.end:
                self._remove(begin)
            self.end = begin + count
        self.places.append(Place(self, begin, count))
        return self.places[-1]

    def give(self, place: Place) -> None:
        """Free a place, and merge it with the free ranges on both sides."""
        begin, end = place.begin, place.end
        if begin in self._ends:
            begin = self._ends[begin]
            self._remove(begin)
        if end in self._sizes:
            size = self._sizes[end]
            self._remove(end)
            end += size
        self._add(begin, end - begin)

    def settle(self) -> None:
        """Place everything again, the largest first, and keep that if it is smaller: quadratic in the number of
        places.
        """
        if len(self.places) > _MOST_SETTLED:
            return
        settled: list[tuple[Place, int]] = []
        for place in sorted(self.places, key=lambda p: -p.count):
            taken = sorted((begin, begin + p.count) for p, begin in settled if p.lives_with(place))
            settled.append((place, _lowest_gap(taken, place.count)))
        end = max((begin + p.count for p, begin in settled), default=0)
        if end < self.end:
            self.end = end
            for place, begin in settled:
                place.begin = begin

    def _add(self, begin: int, size: int) -> None:
        if size:
            insort(self._by_size, (size, begin))
            self._sizes[begin], self._ends[begin + size] = size, begin

    def _remove(self, begin: int) -> None:
        size = self._sizes.pop(begin)
        del self._ends[begin + size]
        del self._by_size[bisect_left(self._by_size, (size, begin))]


def _lowest_gap(taken: list[tuple[int, int]], count: int) -> int:
    """Return the first unit that begins `count` free units; `taken` are the occupied ranges in order."""
    free = 0
    for begin, end in taken:
        if begin - free >= count:
            return free
        free = max(free, end)
    return free


def _units(size: SymExpr) -> tuple[SymExpr, int]:
    """Return a size as a number of units, which are multiples of the alignment, rounded up."""
    unit, count = measure(size)
    if unit == _ONE:
        return Const(ALIGNMENT), -(-count // ALIGNMENT)
    if count % ALIGNMENT == 0:
        return unit * ALIGNMENT, count // ALIGNMENT
    return floordiv(size + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT, 1


def tensor_bytes(t: relax.TensorType) -> SymExpr:
    """Return the bytes of a tensor of known extents and dtype."""
    assert t.dims is not None and t.element is not None
    return product(_as_i64(t.dims)) * byte_size(t.element)


def _as_i64(dims: tuple[SymExpr, ...]) -> list[SymExpr | int]:
    """Return extents with constants as Python integers, which adopt the type of the other factor."""
    return [d if d.constant is None else d.constant for d in dims]


def measure(size: SymExpr) -> tuple[SymExpr, int]:
    """Return `size` as a multiple of a symbolic unit: `n * 512` is (n, 512), `128` is (1, 128)."""
    if size.constant is not None:
        return _ONE, size.constant
    if isinstance(size, Sum) and len(size.terms) == 1 and size.offset == 0 and size.terms[0][1] > 0:
        return size.terms[0]
    return size, 1


class _Heaps:
    """The heaps, by unit."""

    def __init__(self) -> None:
        self._by_unit: dict[SymExpr, Heap] = {}

    def take(self, size: SymExpr) -> Place:
        """Return a place of at least that size."""
        unit, count = _units(size)
        heap = self._by_unit.get(unit)
        if heap is None:
            heap = self._by_unit[unit] = Heap(unit)
        return heap.take(count)

    def place(self) -> SymExpr:
        """Assign offsets to all heaps, that of constant sizes first; return the size of the arena."""
        end: SymExpr = Const(0)
        for heap in sorted(self._by_unit.values(), key=lambda h: h.unit.constant is None):
            heap.settle()
            heap.offset = end
            end = end + heap.unit * heap.end
        return end


def _linear(root: Operation) -> Iterator[Operation]:
    """Yield the ops inside `root`, in pre-order."""
    for region in root.regions:
        for op in region.block.ops:
            yield op
            if op.regions:
                yield from _linear(op)


def linear_ops(function: relax.FuncOp) -> list[Operation]:
    """Return the ops of a function in the order by which lifetimes are defined."""
    return list(_linear(function))


def last_uses(ops: list[Operation], tensors: Container[SSAValue]) -> dict[SSAValue, int]:
    """Return the index in `ops` of the last use of each tensor or of a value that shares its memory."""
    ends: dict[SSAValue, int] = {}
    for i, op in enumerate(ops):
        ends.update((root, i) for v in op.operands if (root := _root(v)) in tensors)
    return ends


def escapes(value: SSAValue) -> bool:
    """Return whether something may keep the tensor beyond its last use here."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, relax.MatchCastOp | host.ViewOp):
            if escapes(op.result):
                return True
        elif not (isinstance(op, host.KernelOp) or (isinstance(op, relax.IfOp) and use.index == 0)):
            return True
    return False


def _root(value: SSAValue) -> SSAValue:
    """Return the value of which `value` is a cast or a view."""
    while isinstance(value, OpResult) and isinstance(value.op, relax.MatchCastOp | host.ViewOp):
        value = value.op.operands[0]
    return value


def _fits(op: host.TensorOp, known: set[Var]) -> bool:
    """Return whether a tensor can be in the arena: it does not escape, and its size is known at function entry."""
    return known.issuperset(free_symbolic_vars([op.tensor_type])) and not escapes(op.result)


def plan_function(function: relax.FuncOp) -> None:
    """Plan the memory of one function, in place; an existing plan is replaced."""
    ops = linear_ops(function)
    for old in [op for op in ops if isinstance(op, host.ArenaOp)]:
        old.detach()
        old.erase()
    known = set(definable_vars(p.type for p in function.params))
    planned: dict[SSAValue, host.TensorOp] = {
        op.result: op for op in ops if isinstance(op, host.TensorOp) and _fits(op, known)
    }
    heaps, places = _assign(ops, planned, last_uses(ops, planned))
    size = heaps.place()
    for op in ops:
        if isinstance(op, host.TensorOp):
            op.offset = SymAttr(places[op.result].offset) if op.result in planned else None
    if planned:
        function.body.block.insert_ops_before([host.ArenaOp(size)], ops[0])


def _assign(
    ops: list[Operation], planned: dict[SSAValue, host.TensorOp], last_use: dict[SSAValue, int]
) -> tuple[_Heaps, dict[SSAValue, Place]]:
    heaps = _Heaps()
    places: dict[SSAValue, Place] = {}
    ending: dict[int, list[SSAValue]] = {}
    for i, op in enumerate(ops):
        if isinstance(op, host.TensorOp) and op.result in planned:
            place = places[op.result] = heaps.take(tensor_bytes(op.tensor_type))
            place.first, place.last = i, last_use.get(op.result, i)
            ending.setdefault(place.last, []).append(op.result)
        for value in ending.pop(i, ()):
            places[value].heap.give(places[value])
    return heaps, places


@dataclass(frozen=True)
class PlanMemory(Pass):
    """Place the tensors of a function that do not escape in one arena, and share memory if lifetimes do not overlap."""

    name = "plan-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, relax.FuncOp):
                plan_function(function)
