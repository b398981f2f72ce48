"""Loads and stores of flat buffers: scalars, vectors of neighbouring elements, with a mask where not all lanes run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, MemRefType, VectorType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import byte_size
from .emitter import INDEX, Emitter, element_of, vector_type
from .plan import BACKWARDS, STRIDES
from .values import Lanes, Values


class Memory:
    """Accesses; `private` are the buffers that the function allocates itself and nothing else can point at."""

    def __init__(self, emit: Emitter, values: Values, noalias: bool):
        self.emit = emit
        self.values = values
        self.noalias = noalias
        self.private: set[SSAValue] = set()
        self.vector_accesses = 0

    def load(self, op: tir.LoadOp) -> SSAValue:
        """The value of a load: a vector where its place varies with the lanes."""
        buffer, (index,) = self.values.value(op.buffer), _one_index(op.indices)
        if isinstance(index.type, VectorType):
            return self._load_explicit(buffer, index)
        lanes = self.values.lanes
        slope = 0 if lanes is None else lanes.plan.slope(index)
        if lanes is None or slope == 0:
            return self.emit.load(memref.LoadOp, (buffer, self.values.index(index)), element_of(buffer))
        self.vector_accesses += 1
        if slope == BACKWARDS:
            return self._load_backwards(buffer, self.values.index(index), lanes)
        if slope in STRIDES:
            return self._load_strided(buffer, self.values.index(index), slope, lanes)
        if slope != 1:
            return self._gather(buffer, index, slope, lanes.count)
        at = self.values.index(index)
        wanted = vector_type(element_of(buffer), lanes.count)
        if lanes.mask is None or self._may_overrun(buffer, at, lanes.count):
            return self.emit.load(vector.LoadOp, (buffer, at), wanted)
        zero = self.emit.constant(0, wanted)
        return self.emit.load(vector.MaskedLoadOp, (buffer, at, lanes.mask, zero), wanted)

    def _load_backwards(self, buffer: SSAValue, last: SSAValue, lanes: Lanes) -> SSAValue:
        """The elements that end with the one at `last`, in the opposite order."""
        emit, count = self.emit, lanes.count
        first = emit.sub(last, emit.index(count - 1))
        part = self._load_lanes(buffer, first, {count - 1 - i: i for i in range(count)}, lanes)
        return emit.shuffle(part, part, range(count - 1, -1, -1))

    def _load_strided(self, buffer: SSAValue, at: SSAValue, step: int, lanes: Lanes) -> SSAValue:
        """Every `step`-th element, picked out of vectors that reach from the first to the last one and no further."""
        emit, count = self.emit, lanes.count
        starts = sorted({min(j * count, (step - 1) * (count - 1)) for j in range(step)})
        owner = [max(j for j, start in enumerate(starts) if start <= step * i) for i in range(count)]
        result: SSAValue | None = None
        for j, start in enumerate(starts):
            here = emit.add(at, emit.index(start))
            part = self._load_lanes(buffer, here, {step * i - start: i for i in range(count) if owner[i] == j}, lanes)
            picked = [step * i - start if owner[i] == j else -1 for i in range(count)]
            if result is None:
                result = emit.shuffle(part, part, [max(p, 0) for p in picked])
            else:
                result = emit.shuffle(result, part, [i if p < 0 else count + p for i, p in enumerate(picked)])
        assert result is not None
        return result

    def _load_lanes(self, buffer: SSAValue, at: SSAValue, wanted: dict[int, int], lanes: Lanes) -> SSAValue:
        """A vector from `at` of which the elements `wanted` are used, by the lanes that they are for."""
        emit, count = self.emit, lanes.count
        kind = vector_type(element_of(buffer), count)
        if lanes.mask is None:
            return emit.load(vector.LoadOp, (buffer, at), kind)
        none = emit.constant(0, lanes.mask.type)
        mask = emit.shuffle(lanes.mask, none, [wanted.get(p, count) for p in range(count)])
        return emit.load(vector.MaskedLoadOp, (buffer, at, mask, emit.constant(0, kind)), kind)

    def _gather(self, buffer: SSAValue, index: SSAValue, slope: int | None, count: int) -> SSAValue:
        """Lane by lane: at constant steps from the first, or at places that are computed as a vector."""
        emit = self.emit
        if slope is None:
            places = self._lane_indices(index, count)
        else:
            first = self.values.index(index)
            places = [emit.add(first, emit.index(slope * lane)) for lane in range(count)]
        out = emit.constant(0, vector_type(element_of(buffer), count))
        for lane, at in enumerate(places):
            element = emit.load(memref.LoadOp, (buffer, at), element_of(buffer))
            out = emit.append(vector.InsertOp(element, out, [lane])).results[0]
        return out

    def store(self, op: tir.StoreOp) -> None:
        """A store; into private memory all lanes are written, those that do not run as they were."""
        buffer, (index,) = self.values.value(op.buffer), _one_index(op.indices)
        if isinstance(index.type, VectorType):
            self._store_explicit(buffer, self.values.value(op.value), index)
            return
        lanes = self.values.lanes
        at = self.values.index(index)
        if lanes is None:
            self._append(memref.StoreOp.create(operands=(self.values.value(op.value), buffer, at)), buffer)
            return
        self.vector_accesses += 1
        value = self.values.vector(op.value)
        if lanes.mask is None and _is_streamed(op):
            self._stream(value, buffer, at)
        elif lanes.mask is None:
            self._append(_vector_store(value, buffer, at), buffer)
        elif self._may_overrun(buffer, at, lanes.count):
            old = self.emit.load(vector.LoadOp, (buffer, at), value.type)
            self._append(_vector_store(self.emit.select(lanes.mask, value, old), buffer, at), buffer)
        else:
            self._append(vector.MaskedStoreOp.create(operands=(buffer, at, lanes.mask, value)), buffer)

    def _stream(self, value: SSAValue, buffer: SSAValue, at: SSAValue) -> None:
        """Store past the caches a vector that lies as it should, else as ever."""
        emit, kind = self.emit, cast("VectorType[Attribute]", value.type)
        size = byte_size(kind.element_type)
        start = memref.ExtractAlignedPointerAsIndexOp.build(operands=[buffer], result_types=[INDEX])
        place = emit.add(emit.append(start).results[0], emit.mul(at, emit.index(size)))
        whole = size * kind.get_shape()[0]
        rest = emit.binary(arith.AndIOp, place, emit.index(whole - 1))
        past, usual = Block(), Block()
        with emit.inside(past):
            emit.append(_vector_store(value, buffer, at, whole))
            emit.append(scf.YieldOp())
        with emit.inside(usual):
            emit.append(_vector_store(value, buffer, at))
            emit.append(scf.YieldOp())
        emit.append(scf.IfOp(emit.compare("eq", rest, emit.index(0)), [], Region(past), Region(usual)))
        emit.forget_loads(buffer if self.noalias or buffer in self.private else None)

    def _append(self, op: memref.StoreOp | vector.StoreOp | vector.MaskedStoreOp, buffer: SSAValue) -> None:
        self.emit.append(op)
        self.emit.forget_loads(buffer if self.noalias or buffer in self.private else None)

    def _may_overrun(self, buffer: SSAValue, at: SSAValue, count: int) -> bool:
        """Whether all lanes lie in a buffer of ours, so that no mask is needed to touch them."""
        if buffer not in self.private:
            return False
        start, size = self.emit.known.get(at), cast("MemRefType[Attribute]", buffer.type).get_shape()[0]
        return start is not None and start >= 0 and start + count <= size

    # accesses that say by a ramp which elements they mean

    def _load_explicit(self, buffer: SSAValue, index: SSAValue) -> SSAValue:
        count = cast("VectorType[Attribute]", index.type).get_shape()[0]
        wanted = vector_type(element_of(buffer), count)
        base = self._unit_ramp(index)
        if base is not None:
            return self.emit.load(vector.LoadOp, (buffer, base), wanted)
        out = self.emit.constant(0, wanted)
        for lane, at in enumerate(self._lane_indices(index, count)):
            element = self.emit.load(memref.LoadOp, (buffer, at), element_of(buffer))
            out = self.emit.append(vector.InsertOp(element, out, [lane])).results[0]
        return out

    def _store_explicit(self, buffer: SSAValue, value: SSAValue, index: SSAValue) -> None:
        base = self._unit_ramp(index)
        if base is not None:
            self._append(_vector_store(value, buffer, base), buffer)
            return
        count = cast("VectorType[Attribute]", index.type).get_shape()[0]
        for lane, at in enumerate(self._lane_indices(index, count)):
            element = self.emit.append(vector.ExtractOp(value, [lane], element_of(buffer))).results[0]
            self._append(memref.StoreOp.create(operands=(element, buffer, at)), buffer)

    def _unit_ramp(self, index: SSAValue) -> SSAValue | None:
        ramp = index.owner
        if isinstance(ramp, tir.RampOp) and self.emit.known.get(self.values.index(ramp.stride)) == 1:
            return self.values.index(ramp.base)
        return None

    def _lane_indices(self, index: SSAValue, count: int) -> list[SSAValue]:
        lanes = self.values.value(index)
        dtype = cast("VectorType[Attribute]", lanes.type).element_type
        extracted = [self.emit.append(vector.ExtractOp(lanes, [lane], dtype)).results[0] for lane in range(count)]
        return [self.emit.to_index(value) for value in extracted]


_STREAMED = "tirax_streamed"
"""The intrinsic by which a schedule says that what is stored need not be kept in a cache."""


def _is_streamed(op: tir.StoreOp) -> bool:
    value = op.value.owner
    return isinstance(value, tir.CallIntrinOp) and value.func.data == _STREAMED


def _vector_store(value: SSAValue, buffer: SSAValue, at: SSAValue, aligned: int = 0) -> vector.StoreOp:
    """A store; past the caches where the address is known to be `aligned` to so many bytes."""
    attributes: dict[str, Attribute] = {"alignment": IntegerAttr(aligned, i64)} if aligned else {}
    properties: dict[str, Attribute] = {"nontemporal": BoolAttr.from_bool(bool(aligned))}
    return vector.StoreOp.create(operands=(value, buffer, at), properties=properties, attributes=attributes)


def _one_index(indices: Sequence[SSAValue]) -> Sequence[SSAValue]:
    if len(indices) != 1:
        raise UnsupportedError(
            f"an access with {len(indices)} indices", expected="flat buffers", hint="run flatten-buffer before"
        )
    return indices


def both(emit: Emitter, a: SSAValue | None, b: SSAValue) -> SSAValue:
    """The lanes of both masks; None is all lanes."""
    return b if a is None else emit.binary(arith.AndIOp, a, b)


def neither(emit: Emitter, outer: SSAValue | None, mask: SSAValue) -> SSAValue:
    """The lanes of `outer` that `mask` has not."""
    return both(emit, outer, emit.binary(arith.XOrIOp, mask, emit.constant(1, mask.type)))
