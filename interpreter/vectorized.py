"""Execution of a loop nest with all lanes at once: a value is an array over the lanes it depends on.

A lane's axis has extent 1 in a value that does not vary along it, so numpy's broadcasting applies. Statements that
only some lanes execute run under a mask; None is all lanes. Each lane computes the same operations in the same order
and by the same implementations as alone, so the results are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from ..dialects import tir
from ..dialects.dtypes import numpy_dtype
from . import scalars
from .environment import Environment, Implementation
from .machine import Machine
from .nests import Nest
from .scalars import InterpreterError

MOST_LANES = 1 << 22
"""The maximum number of lanes that run at once."""

Mask = Any
"""An array of bool over the lanes, or None for all of them."""


class NotIndependentError(Exception):
    """Lanes are not independent, or one of them may fail: they must run one after the other."""


def run_at_once(
    nest: Nest,
    ranges: Sequence[range],
    interpreter: Machine,
    table: Mapping[type[Operation], Implementation],
    env: Environment,
) -> bool:
    """Run a nest whose loops have the values `ranges`, with the implementations in `table`.

    Returns False and leaves all buffers unchanged if lanes are not independent on these values or if one of them fails;
    the caller then runs the loops in order, which reports the first failure.
    """
    if not all(ranges):
        return False
    run = _Run(nest, ranges, interpreter, table, env)
    if not run.is_independent():
        return False
    targets = [run.values[store.buffer] for store in nest.targets]
    saved = [t.copy() for t in targets]
    try:
        run.run()
    except (NotIndependentError, InterpreterError):
        for target, old in zip(targets, saved, strict=True):
            target[...] = old
        return False
    return True


class _Run:
    """One execution of a nest."""

    def __init__(
        self,
        nest: Nest,
        ranges: Sequence[range],
        interpreter: Machine,
        table: Mapping[type[Operation], Implementation],
        env: Environment,
    ):
        self.nest = nest
        self.interpreter = interpreter
        self.table = table
        self.env = env
        self.values: dict[SSAValue, Any] = dict(zip(nest.outside, interpreter.get_values(nest.outside), strict=True))
        self.lane_vars = [nest.loops[i].loop_var for i in nest.lanes]
        self.lane_ranges = [ranges[i] for i in nest.lanes]
        rest = [i for i in range(len(ranges)) if i not in nest.lanes]
        self.step_vars = [nest.loops[i].loop_var for i in rest]
        self.step_ranges = [ranges[i] for i in rest]
        self.first_step: Any = True
        self.iterators: dict[tir.BlockOp, list[tuple[SSAValue, SSAValue, int, int, bool]]] = {}
        self.statement: dict[type[Operation], Callable[[Any, Mask], None]] = {
            tir.LoadOp: self.load,
            tir.IfThenElseOp: self.if_then_else,
            tir.StoreOp: self.store,
            tir.BlockOp: self.block,
            tir.InitOp: self.init,
            tir.IfOp: self.branch,
            **dict.fromkeys((tir.ReadsOp, tir.WritesOp, tir.EvaluateOp, tir.YieldOp), _nothing),
        }

    def is_independent(self) -> bool:
        """Return whether buffers share no memory in an observable way, and lanes store to different elements."""
        for m in self.nest.meetings:
            a, b = self.values[m.buffer], self.values[m.target]
            if np.may_share_memory(a, b) and not (m.aligned and _same_array(a, b)):
                return False
        self.set_lanes(self.lane_ranges)
        extents = [len(r) for r in self.lane_ranges]
        try:
            places = [(self.places(store), self.values[store.buffer].shape) for store in self.nest.targets]
        except (NotIndependentError, InterpreterError):
            return False
        return all(_is_injective(indices, shape, extents) for indices, shape in places)

    def places(self, store: tir.StoreOp) -> list[Any]:
        """Return the indices of a store, with all lanes active."""
        known = dict(self.values)
        return [self.index(i, known) for i in store.indices]

    def index(self, value: SSAValue, known: dict[SSAValue, Any]) -> Any:
        """Return an index before any statement has run. Raises `NotIndependentError` if it is not plain arithmetic."""
        if value not in known:
            owner = value.owner
            if isinstance(owner, tir.IfThenElseOp | tir.LoadOp):
                raise NotIndependentError
            if isinstance(owner, Operation):
                args = tuple(self.index(v, known) for v in owner.operands)
                known[value] = self.table[type(owner)](self.interpreter, owner, args)[0]
            else:
                block = owner.parent_op()
                if not isinstance(block, tir.BlockOp):
                    raise NotIndependentError
                known[value] = self.index(block.bindings[owner.args.index(value)], known)
        return known[value]

    def set_lanes(self, ranges: Sequence[range]) -> None:
        """Assign each loop that runs at once its values, along an axis of its own."""
        for axis, (var, r) in enumerate(zip(self.lane_vars, ranges, strict=True)):
            shape = [1] * len(ranges)
            shape[axis] = len(r)
            self.values[var] = np.arange(r.start, r.stop).astype(numpy_dtype(var.type)).reshape(shape)

    def run(self) -> None:
        """Run all iterations: the lanes in chunks, and for each chunk the steps in order."""
        steps = [
            [scalars.of_type(i, var.type) for i in r] for var, r in zip(self.step_vars, self.step_ranges, strict=True)
        ]
        body = list(self.nest.body.ops)
        with np.errstate(all="ignore"):
            for chunk in _chunks(self.lane_ranges, MOST_LANES):
                self.set_lanes(chunk)
                for step in product(*steps):
                    self.values.update(zip(self.step_vars, step, strict=True))
                    self.run_ops(self.nest.prologue, None)
                    self.run_ops(body, None)

    def run_ops(self, ops: Iterable[Operation], mask: Mask) -> None:
        values, statement, table = self.values, self.statement, self.table
        for op in ops:
            special = statement.get(type(op))
            if special is not None:
                special(op, mask)
            else:
                args = tuple(values[v] for v in op.operands)
                values[op.results[0]] = table[type(op)](self.interpreter, op, args)[0]

    def load(self, op: tir.LoadOp, mask: Mask) -> None:
        """Load elements; inactive lanes read the first one, as their indices may be invalid."""
        buffer = self.values[op.buffer]
        indices = [self.values[i] for i in op.indices]
        if mask is not None:
            pairs = zip(indices, buffer.shape, strict=True)
            indices = [i if _all_within(i, 0, n) else np.where(mask, i, 0) for i, n in pairs]
        self.values[op.result] = self.table[tir.LoadOp](self.interpreter, op, (buffer, *indices))[0]

    def store(self, op: tir.StoreOp, mask: Mask) -> None:
        value, buffer = self.values[op.value], self.values[op.buffer]
        args = [value, *(self.values[i] for i in op.indices)]
        if mask is not None:
            *args, lanes = np.broadcast_arrays(*args, mask)
            args = [a[lanes] for a in args]
        self.table[tir.StoreOp](self.interpreter, op, (args[0], buffer, *args[1:]))

    def if_then_else(self, op: tir.IfThenElseOp, mask: Mask) -> None:
        """Evaluate each side on the lanes that take it; a side without lanes is not evaluated."""
        cond = self.values[op.cond]
        sides: list[Any] = []
        if not is_number(cond):  # terms: both sides are evaluated
            for region in (op.then_region, op.else_region):
                self.run_ops(region.block.ops, mask)
                last = region.block.last_op
                assert isinstance(last, tir.YieldOp)
                sides.append(self.values[last.value])
            self.values[op.result] = scalars.select(cond, *sides)
            return
        for region, taken in ((op.then_region, cond), (op.else_region, np.logical_not(cond))):
            lanes, some = _narrow(mask, taken)
            if some:
                self.run_ops(region.block.ops, lanes)
                last = region.block.last_op
                assert isinstance(last, tir.YieldOp)
                sides.append(self.values[last.value])
        self.values[op.result] = sides[0] if len(sides) == 1 else scalars.select(cond, *sides)

    def branch(self, op: tir.IfOp, mask: Mask) -> None:
        cond = self.values[op.cond]
        if not is_number(cond):
            raise NotIndependentError
        for region, taken in ((op.then_region, cond), (op.else_region, np.logical_not(cond))):
            lanes, some = _narrow(mask, taken)
            if some and region.first_block is not None:
                self.run_ops(region.first_block.ops, lanes)

    def block(self, op: tir.BlockOp, mask: Mask) -> None:
        if op.predicate is not None:
            mask, some = _narrow(mask, self.values[op.predicate])
            if not some:
                return
        outside, first_step = self.first_step, True
        for var, binding, low, end, reduces in self.iterators_of(op):
            value = self.values[var] = self.values[binding]
            if not _all_within(value if mask is None else np.where(mask, value, low), low, end):
                raise NotIndependentError
            if reduces:
                first_step = np.logical_and(first_step, value == low)
        self.first_step = first_step
        self.run_ops(op.body.block.ops, mask)
        self.first_step = outside

    def iterators_of(self, op: tir.BlockOp) -> list[tuple[SSAValue, SSAValue, int, int, bool]]:
        """Return a row for each iterator: variable, binding, first value, end, whether it is a reduction iterator."""
        rows = self.iterators.get(op)
        if rows is None:
            lows = self.env.shape(op.mins)
            ends = [low + n for low, n in zip(lows, self.env.shape(op.extents), strict=True)]
            reduces = [kind is tir.IterKind.REDUCE for kind in op.kinds]
            rows = self.iterators[op] = list(zip(op.iter_vars, op.bindings, lows, ends, reduces, strict=True))
        return rows

    def init(self, op: tir.InitOp, mask: Mask) -> None:
        lanes, some = _narrow(mask, self.first_step)
        if some:
            self.run_ops(op.body.block.ops, lanes)


def is_number(value: Any) -> bool:
    """Return whether a value consists of numbers; the terms of symbolic execution do not."""
    return isinstance(value, np.ndarray | np.generic | bool)


def _nothing(_op: Operation, _mask: Mask) -> None:
    return


def _narrow(mask: Mask, cond: Any) -> tuple[Mask, bool]:
    """Return the lanes of `mask` where `cond` holds, and whether there are any."""
    if np.ndim(cond) == 0:
        return mask, bool(cond)
    lanes = cond if mask is None else np.logical_and(mask, cond)
    return (None, True) if lanes.all() else (lanes, bool(lanes.any()))


def _all_within(value: Any, low: int, end: int) -> bool:
    return bool(np.all(value >= low) and np.all(value < end))


def _same_array(a: Any, b: Any) -> bool:
    same_start = scalars.address(a) == scalars.address(b)
    return same_start and (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)


def _chunks(ranges: Sequence[range], most: int) -> Iterator[tuple[range, ...]]:
    """Yield the parts of a grid in order, each of at most `most` elements."""
    parts: list[list[range]] = []
    for r in reversed(ranges):
        size = max(1, min(len(r), most))
        most //= size
        parts.append([r[i : i + size] for i in range(0, len(r), size)])
    return product(*reversed(parts))


def _is_injective(indices: Sequence[Any], shape: Sequence[int], extents: Sequence[int]) -> bool:
    """Return whether different lanes of a grid have different indices into an array.

    Dimensions whose indices vary along separate axes of the grid are checked separately; those that share an axis
    are combined into one index.
    """
    groups: list[tuple[frozenset[int], Any, int]] = []
    for index, size in zip(indices, shape, strict=True):
        axes = frozenset(a for a, n in enumerate(np.shape(index)) if n > 1)
        joined = np.asarray(index).astype(np.int64)
        for group in [g for g in groups if g[0] & axes]:
            groups.remove(group)
            axes, joined, size = axes | group[0], group[1] * size + joined, size * group[2]
        groups.append((axes, joined, size))
    varying = frozenset(a for a, n in enumerate(extents) if n > 1)
    covered = frozenset[int]().union(*(axes for axes, _, _ in groups))
    return covered == varying and all(np.unique(joined).size == joined.size for _, joined, _ in groups)
