"""Code generation of vectorized loop bodies, following a `VectorPlan`.

A varying value has two forms, created on demand: the vector of all lanes, and, for indices, the scalar of the first
lane, from which consecutive lanes follow. Statements under a varying condition have a mask.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.names import name_of, set_name
from ...dialects.quick import make
from ...dialects.tir import ForKind
from .vector_plan import VectorPlan
from .walk import copied, folded


class VectorWriter:
    """Writer of a vectorized body for `lanes` lanes (at least two) from `at` on, through `insert`.

    `number` returns integer constants.
    """

    def __init__(
        self,
        plan: VectorPlan,
        at: SSAValue,
        lanes: int,
        insert: Callable[[Operation], object],
        number: Callable[[int, Attribute], SSAValue],
        scalable: bool = False,
    ):
        self.plan = plan
        self.lanes = lanes
        self.insert = insert
        self.number = number
        self.scalable = scalable
        self.mask: SSAValue | None = None
        self._same: dict[SSAValue, SSAValue] = {}
        self._firsts = {plan.lane: at}
        self._vectors: dict[SSAValue, SSAValue] = {}
        self._ramps: dict[tuple[SSAValue, int], SSAValue] = {}

    def block(self, block: Block) -> None:
        """Write the operations of a block."""
        for op in block.ops:
            rule = _RULES.get(type(op))
            if rule is not None:
                rule(self, op)
            elif self.plan.varying.isdisjoint(op.operands):
                self.copy(op)

    def copy(self, op: Operation) -> None:
        """Copy a uniform operation, which runs once for all lanes."""
        self.insert(op.clone(self._same) if op.regions else op.clone_without_regions(self._same))

    def _add(self, op: Operation) -> SSAValue:
        self.insert(op)
        return op.results[0]

    # the two forms of values

    def first(self, value: SSAValue) -> SSAValue:
        """Return an integer in the first lane."""
        if value not in self.plan.varying:
            return self._same.get(value, value)
        lowered = self._firsts.get(value)
        if lowered is None:
            lowered = self._firsts[value] = self._first(cast(Operation, value.owner))
        return lowered

    def _first(self, op: Operation) -> SSAValue:
        operands = [self.first(o) for o in op.operands]
        known = folded(type(op), operands)
        if isinstance(known, int):
            return self.number(known, op.results[0].type)
        return self._add(copied(op, operands)) if known is None else known

    def vector(self, value: SSAValue) -> SSAValue:
        """Return a value in all lanes."""
        lowered = self._vectors.get(value)
        if lowered is None:
            lowered = self._vectors[value] = self._vector(value)
        return lowered

    def _vector(self, value: SSAValue) -> SSAValue:
        if value not in self.plan.varying:
            return self._add(tir.BroadcastOp(self._same.get(value, value), self.lanes, self.scalable))
        slope = self.plan.slope(value, through_casts=False)
        if slope is not None and bit_width(value.type) >= _LONG:
            return self._ramp(self.first(value), slope)
        op = cast(Operation, value.owner)
        operands = [self.vector(o) for o in op.operands]
        if isinstance(op, tir.LtOp) and self.plan.slope(op.lhs) == 1 and self.plan.slope(op.rhs) == 0:
            operands[0] = self._ramp(self.first(op.lhs), 1)
        new = make(
            type(op),
            operands,
            result_types=self._types(op),
            properties=op.properties,
            attributes={k: a for k, a in op.attributes.items() if k == tir.LLVMCall.COUNTED},
        )
        set_name(new.results[0], name_of(value))
        return self._add(new)

    def _types(self, op: Operation) -> list[Attribute]:
        return [tir.vector_of(r.type, self.lanes, self.scalable) for r in op.results]

    def _ramp(self, base: SSAValue, slope: int) -> SSAValue:
        key = base, slope
        if key not in self._ramps:
            step = self.number(slope, base.type)
            self._ramps[key] = self._add(tir.RampOp(base, step, self.lanes, self.scalable))
        return self._ramps[key]

    def first_lanes(self, count: SSAValue) -> SSAValue:
        """Return the mask of the first `count` lanes."""
        ramp = self._ramp(self.number(0, count.type), 1)
        return self._add(tir.LtOp(ramp, self._add(tir.BroadcastOp(count, self.lanes))))

    # memory

    def _place(self, index: SSAValue) -> SSAValue:
        slope = self.plan.slope(index)
        return self.vector(index) if slope is None else self._ramp(self.first(index), slope)

    def _places(self, op: tir.LoadOp | tir.StoreOp) -> list[SSAValue]:
        return [*(self.first(i) for i in op.indices[:-1]), self._place(op.indices[-1])]

    def load(self, op: tir.LoadOp) -> None:
        if op.result not in self.plan.varying:
            self.copy(op)
            return
        buffer, places = self.first(op.buffer), self._places(op)
        new = tir.LoadOp(buffer, places) if self.mask is None else tir.MaskedLoadOp(buffer, places[0], self.mask)
        set_name(new.result, name_of(op.result))
        self._vectors[op.result] = self._add(new)

    def store(self, op: tir.StoreOp) -> None:
        value, buffer, places = self.vector(op.value), self.first(op.buffer), self._places(op)
        mask = self.mask
        unmasked = mask is None
        self.insert(
            tir.StoreOp(value, buffer, places) if unmasked else tir.MaskedStoreOp(value, buffer, places[0], mask)
        )

    # operations with regions, or names

    def let(self, op: tir.LetOp) -> None:
        if op.result not in self.plan.varying:
            self.copy(op)
        elif self.plan.masks:
            self._vectors[op.result] = self.vector(op.value)
        else:
            self.insert(let := tir.LetOp(self.vector(op.value)))
            set_name(let.result, name_of(op.result))
            self._vectors[op.result] = let.result

    def loop(self, op: tir.ForOp) -> None:
        """Write a loop whose trip count is the same in each lane."""
        body = Block(arg_types=[op.loop_var.type])
        set_name(body.args[0], name_of(op.loop_var))
        self._same[op.loop_var] = body.args[0]
        with self._inside(body):
            self.block(op.body.block)
        first, extent = (self.first(b) if isinstance(b, SSAValue) else b for b in (op.min, op.extent))
        kind = op.kind if op.kind is ForKind.UNROLLED else ForKind.SERIAL
        self.insert(tir.ForOp(first, extent, Region(body), kind, annotations=op.annotations))

    def branch(self, op: tir.IfOp) -> None:
        if op in self.plan.serial:
            self._lane_by_lane(op)
            return
        if op in self.plan.predicated:
            with self._masked(self._active_lanes(cast(tir.BinaryExpr, op.cond.owner))):
                self.block(op.then_region.block)
            return
        if op.cond in self.plan.varying:
            with self._masked(then := self.vector(op.cond)):
                self.block(op.then_region.block)
            if op.has_else:
                with self._masked(self._add(tir.NotOp(then))):
                    self.block(op.else_region.block)
            return
        regions = [Region(Block()) if r.first_block is not None else Region() for r in op.regions]
        for new, old in zip(regions, op.regions, strict=True):
            if old.first_block is not None:
                with self._inside(new.block):
                    self.block(old.block)
        self.insert(tir.IfOp(self.first(op.cond), *regions))

    def _active_lanes(self, cond: tir.BinaryExpr) -> SSAValue:
        mask = tir.vector_of(i1, self.lanes, self.scalable)
        return self._add(tir.CallIntrinOp("get_active_lane_mask", [self.first(o) for o in cond.operands], mask))

    def _lane_by_lane(self, op: tir.IfOp) -> None:
        """Write a loop over the lanes that recomputes the varying inputs."""
        body = Block(arg_types=[self.plan.lane.type])
        lane = body.args[0]
        set_name(lane, f"{name_of(self.plan.lane) or 'i'}_s")
        values = {**self._same, self.plan.lane: lane}
        for producer in self._varying_producers(op):
            body.add_op(producer.clone(values))
        body.add_op(op.clone(values))
        loop = cast(tir.ForOp, cast(Block, self.plan.lane.owner).parent_op())
        self.insert(tir.ForOp(loop.min, loop.extent, Region(body)))

    def _varying_producers(self, op: tir.IfOp) -> list[Operation]:
        """Return the operations before `op` that compute its varying inputs, in order."""
        producers: dict[Operation, None] = {}

        def visit(value: SSAValue) -> None:
            if isinstance(value.owner, Operation) and value.owner not in producers and value in self.plan.varying:
                for operand in value.owner.operands:
                    visit(operand)
                producers[value.owner] = None

        for value in self.plan.inputs(op):
            visit(value)
        return list(producers)

    def choice(self, op: tir.IfThenElseOp) -> None:
        """Write both sides, each under its mask, and select lane by lane."""
        if op.result not in self.plan.varying:
            self.copy(op)
            return
        if not self.plan.masks:
            self._one_side(op)
            return
        cond = self.vector(op.cond)
        with self._masked(cond):
            then = self._yielded(op.then_region)
        with self._masked(self._add(tir.NotOp(cond))):
            other = self._yielded(op.else_region)
        self._vectors[op.result] = self._add(tir.SelectOp(cond, then, other))

    def _one_side(self, op: tir.IfThenElseOp) -> None:
        """Write a conditional expression whose condition is uniform."""
        sides = [Region(Block()), Region(Block())]
        for new, old in zip(sides, op.regions, strict=True):
            with self._inside(new.block):
                self.insert(tir.YieldOp(self._yielded(old)))
        self._vectors[op.result] = self._add(tir.IfThenElseOp(self.first(op.cond), *sides))

    def _yielded(self, region: Region) -> SSAValue:
        self.block(region.block)
        return self.vector(cast(tir.YieldOp, region.block.last_op).value)

    @contextmanager
    def _masked(self, mask: SSAValue) -> Generator[None]:
        """Restrict the active lanes to those where `mask` holds."""
        outer = self.mask
        self.mask = mask if outer is None else self._add(tir.AndOp(outer, mask))
        yield
        self.mask = outer

    @contextmanager
    def _inside(self, block: Block) -> Generator[None]:
        """Write at the end of `block`; values created there are not visible after it."""
        outer = self.insert, self._firsts, self._vectors, self._ramps
        self.insert = block.add_op
        self._firsts, self._vectors, self._ramps = dict(self._firsts), dict(self._vectors), dict(self._ramps)
        yield
        self.insert, self._firsts, self._vectors, self._ramps = outer


_LONG = 32
"""Integers of this many bits are extended from the first lane as if they never overflowed."""


def _nothing(writer: VectorWriter, op: Operation) -> None:
    """Ignore a yield: its operand is read where the enclosing operation is written."""


_RULES: dict[type[Operation], Callable[[VectorWriter, Any], None]] = {
    tir.LoadOp: VectorWriter.load,
    tir.StoreOp: VectorWriter.store,
    tir.LetOp: VectorWriter.let,
    tir.ForOp: VectorWriter.loop,
    tir.IfOp: VectorWriter.branch,
    tir.IfThenElseOp: VectorWriter.choice,
    tir.YieldOp: _nothing,
}
