"""`promote-tiles`: promote small stack buffers that are only accessed at constant indices to values.

    %c = memref.alloca() : memref<32xf32>
    vector.store %zero, %c[%0]                                   %r = scf.for … iter_args(%c = %zero) {
    scf.for … {                                                    %new = …%c…
      %old = vector.load %c[%0] : …, vector<16xf32>       ->       scf.yield %new
      vector.store %new, %c[%0]                                  }
    }
    %r = vector.load %c[%0]

The accumulators of a tile become loop-carried values, in registers without relying on LLVM's analysis. A slot is an
index with the type that is loaded and stored there; a buffer with overlapping slots, computed indices or other uses
is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.quick import operations
from ...dialects.xdsl_extras.type_guards import is_integer_attr, is_vector
from ...ir.passes.transform import Pass

Slot = tuple[SSAValue, int]
"""A buffer, and the index of the slot's first element."""
_LOADS = (vector.LoadOp, memref.LoadOp)
_STORES = (vector.StoreOp, memref.StoreOp)
_ACCESSES = _LOADS + _STORES


@dataclass(frozen=True)
class PromoteTiles(Pass):
    """Promote buffers of `memref.alloca` that are accessed at constant indices to values, carried by loops."""

    name = "promote-tiles"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            if isinstance(function, func.FuncOp) and function.body.first_block is not None:
                _promote(function)


def _promote(function: func.FuncOp) -> None:
    allocas = {op.memref for op in operations(function) if type(op) is memref.AllocaOp}
    slots = _slots(allocas)
    while slots:
        failed = _Check(slots).function(function.body.block).failed
        if not failed:
            break
        buffers = {buffer for buffer, _ in failed}
        slots = {op: slot for op, slot in slots.items() if slot[0] not in buffers}
    if slots:
        _Rewrite(slots).block(function.body.block, {})
        for alloca in {slot[0] for slot in slots.values()}:
            cast(Operation, alloca.owner).detach()
            cast(Operation, alloca.owner).erase()


def _slots(allocas: Iterable[SSAValue]) -> dict[Operation, Slot]:
    """Return the slot of each access, for the buffers whose uses are all slots."""
    slots: dict[Operation, Slot] = {}
    for buffer in allocas:
        accesses = {use.operation: _place(use.operation, buffer) for use in buffer.uses}
        places = {op: place for op, place in accesses.items() if place is not None}
        if len(places) == len(accesses) and _are_disjoint(places):
            slots |= {op: (buffer, place) for op, place in places.items()}
    return slots


def _place(op: Operation, buffer: SSAValue) -> int | None:
    """Return the constant index at which an access of a one-dimensional buffer begins, or None."""
    kind = type(op)
    if kind in _STORES and (op.operands[0] is buffer or op.operands[1] is not buffer):
        return None
    if kind not in _ACCESSES or len(cast("MemRefType[Attribute]", buffer.type).get_shape()) != 1:
        return None
    index = op.operands[-1].owner
    if type(index) is not arith.ConstantOp or not is_integer_attr(index.value):
        return None
    return index.value.value.data


def _value_type(op: Operation) -> Attribute:
    return op.results[0].type if type(op) in _LOADS else op.operands[0].type


def _are_disjoint(places: dict[Operation, int]) -> bool:
    """Return whether each slot is accessed with one type, and none overlaps the next."""
    types: dict[int, Attribute] = {}
    for op, place in places.items():
        type = _value_type(op)
        if types.setdefault(place, type) != type:
            return False
    ends = [(place, place + (type.get_shape()[0] if is_vector(type) else 1)) for place, type in sorted(types.items())]
    return all(end <= begin for (_, end), (begin, _) in zip(ends, ends[1:], strict=False))


@dataclass
class _Flow:
    """The effects of a region on slots: upward-exposed reads, possible and certain writes, unsupported uses."""

    exposed: dict[Slot, None] = field(default_factory=dict[Slot, None])
    written: dict[Slot, None] = field(default_factory=dict[Slot, None])
    certain: set[Slot] = field(default_factory=set[Slot])
    failed: set[Slot] = field(default_factory=set[Slot])


class _Check:
    """Finds the slots that may be read before they are written, or are used in regions of other operations."""

    def __init__(self, slots: dict[Operation, Slot]):
        self._slots = slots

    def function(self, body: Block) -> _Flow:
        """Return the flow of a function's body: slots have no initial value, so exposed reads are failures."""
        flow = self.region(body)
        flow.failed |= set(flow.exposed)
        return flow

    def region(self, block: Block) -> _Flow:
        """Return the flow of a block on its own."""
        flow = _Flow()
        lost: set[Slot] = set()
        for op in block.ops:
            inner = self._of(op)
            if inner is None:
                continue
            flow.failed |= inner.failed | (set(inner.exposed) & lost)
            flow.exposed |= {s: None for s in inner.exposed if s not in flow.certain}
            flow.written |= inner.written
            lost |= set(inner.written) - flow.certain - set(flow.exposed)
            lost -= inner.certain
            flow.certain |= inner.certain
        return flow

    def _of(self, op: Operation) -> _Flow | None:
        slot = self._slots.get(op)
        if slot is not None:
            return _Flow(exposed={slot: None}) if type(op) in _LOADS else _Flow(written={slot: None}, certain={slot})
        if not op.regions:
            return None
        if isinstance(op, scf.ForOp):
            flow = self.region(op.body.block)
            return _Flow(flow.exposed, flow.written, set(), flow.failed)
        if isinstance(op, scf.IfOp):
            return self.branches(op)
        return _Flow(failed={self._slots[inner] for inner in op.walk() if inner in self._slots})

    def branches(self, op: scf.IfOp) -> _Flow:
        """Return the flow of an operation that runs one of its regions."""
        flows = [self.region(region.block) for region in op.regions if region.blocks]
        both = flows[0].certain & flows[1].certain if len(flows) == 2 else set[Slot]()
        out = _Flow(certain=both)
        for flow in flows:
            out.exposed |= flow.exposed
            out.written |= flow.written
            out.failed |= flow.failed
        return out


Values = dict[Slot, SSAValue]


class _Rewrite:
    """Replaces loads by values; `values` are the slots' values before the current operation."""

    def __init__(self, slots: dict[Operation, Slot]):
        self._slots = slots
        self._check = _Check(slots)

    def block(self, block: Block, values: Values) -> Values:
        """Return the values of the slots at the end of a block."""
        values = dict(values)
        for op in list(block.ops):
            slot = self._slots.get(op)
            if slot is not None:
                self._access(op, slot, values)
            elif not op.regions:
                continue
            elif isinstance(op, scf.ForOp):
                self._for(op, values)
            elif isinstance(op, scf.IfOp):
                self._if(op, values)
        return values

    def _access(self, op: Operation, slot: Slot, values: Values) -> None:
        if type(op) in _LOADS:
            op.results[0].replace_all_uses_with(values[slot])
        else:
            values[slot] = op.operands[0]
        cast(Block, op.parent).erase_op(op)

    def _for(self, op: scf.ForOp, values: Values) -> None:
        written = self._check.region(op.body.block).written
        carried = [slot for slot in written if slot in values]
        if not written:
            self.block(op.body.block, values)
            return
        body = op.body.block
        inside = dict(values)
        for slot in carried:
            inside[slot] = body.insert_arg(values[slot].type, len(body.args))
        end = self.block(body, inside)
        cast(Operation, body.last_op).operands = [*cast(Operation, body.last_op).operands, *(end[s] for s in carried)]
        new = scf.ForOp(
            op.lb, op.ub, op.step, [*op.iter_args, *(values[s] for s in carried)], op.detach_region(op.body)
        )
        _replace(op, new)
        for slot in written:
            values.pop(slot, None)
        values |= dict(zip(carried, new.results[len(new.results) - len(carried) :], strict=True))

    def _if(self, op: scf.IfOp, values: Values) -> None:
        flow = self._check.branches(op)
        if not flow.written:
            for region in op.regions:
                if region.blocks:
                    self.block(region.block, values)
            return
        results = [slot for slot in flow.written if slot in values or slot in flow.certain]
        if not op.false_region.blocks:
            op.false_region.add_block(Block([scf.YieldOp()]))
        ends: list[Values] = []
        for region in (op.true_region, op.false_region):
            end = self.block(region.block, values)
            last = cast(Operation, region.block.last_op)
            last.operands = [*last.operands, *(end[s] for s in results)]
            ends.append(end)
        types = [*(r.type for r in op.results), *(ends[0][s].type for s in results)]
        true_region, false_region = (op.detach_region(region) for region in list(op.regions))
        new = scf.IfOp(op.cond, types, true_region, false_region)
        _replace(op, new)
        values |= dict(zip(results, new.results[len(new.results) - len(results) :], strict=True))


def _replace(op: Operation, new: Operation) -> None:
    """Replace `op` by `new`, whose first results correspond to those of `op`."""
    new.attributes.update(op.attributes)
    parent = cast(Block, op.parent)
    parent.insert_op_before(new, op)
    for old, result in zip(op.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    parent.erase_op(op)
