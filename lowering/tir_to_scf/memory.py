"""Loads and stores of flat buffers: scalars, vectors of adjacent elements, with a mask if not all lanes are active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, MemRefType, VectorType, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import byte_size
from ...dialects.quick import make
from ...dialects.xdsl_extras import llvm_extras
from .casts import pointer_to
from .emitter import INDEX, Emitter, element_of, lane_count, vector_type
from .intrinsics import call_llvm_intrinsic
from .values import Values

STRIDES = (2, 3, 4)
"""Strides between lanes for which a vector is loaded by full vector loads and shuffles."""
BACKWARDS = -1
"""The stride for which a vector is loaded and reversed."""


class Memory:
    """Emits accesses; `private` are the buffers that the function allocates itself and that nothing else can alias."""

    def __init__(self, emit: Emitter, values: Values, noalias: bool):
        self.emit = emit
        self.values = values
        self.noalias = noalias
        self.private: set[SSAValue] = set()
        self.vector_accesses = 0

    def load(self, op: tir.LoadOp) -> SSAValue:
        """Return the value of a load: a vector if its index is one."""
        buffer, (index,) = self.values.value(op.buffer), _one_index(op.indices)
        if isinstance(index.type, VectorType):
            return self._load_vector(buffer, index, None)
        return self.emit.load(memref.LoadOp, (buffer, self.values.index(index)), element_of(buffer))

    def masked_load(self, op: tir.MaskedLoadOp) -> SSAValue:
        """Return a vector whose inactive lanes are 0."""
        return self._load_vector(self.values.value(op.buffer), op.index, self.values.value(op.mask))

    def _load_vector(self, buffer: SSAValue, index: SSAValue, mask: SSAValue | None) -> SSAValue:
        self.vector_accesses += 1
        count = lane_count(index.type)
        slope = self._slope(index)
        if slope is None and mask is None and element_of(buffer) in _GATHERED:
            return self._gather_at_once(buffer, self.values.value(index))
        if slope is None:
            return self._gather(buffer, self._lane_indices(index, count), mask)
        at = self.values.index(cast(tir.RampOp, index.owner).base)
        if slope == BACKWARDS:
            return self._load_backwards(buffer, at, count, mask)
        if slope in STRIDES:
            return self._load_strided(buffer, at, slope, count, mask)
        if slope != 1:
            return self._gather(buffer, [self.emit.add(at, self.emit.index(slope * i)) for i in range(count)], mask)
        if mask is None or self._may_overrun(buffer, at, count):
            return self._load_part(buffer, at, count, None)
        return self._load_part(buffer, at, count, mask)

    def _load_part(self, buffer: SSAValue, at: SSAValue, count: int, mask: SSAValue | None) -> SSAValue:
        kind = vector_type(element_of(buffer), count)
        if mask is None:
            return self.emit.load(vector.LoadOp, (buffer, at), kind)
        return self.emit.load(vector.MaskedLoadOp, (buffer, at, mask, self.emit.constant(0, kind)), kind)

    def _load_backwards(self, buffer: SSAValue, last: SSAValue, count: int, mask: SSAValue | None) -> SSAValue:
        """Return the elements that end with the one at `last`, in reverse order."""
        emit = self.emit
        first = emit.sub(last, emit.index(count - 1))
        part = self._load_lanes(buffer, first, {count - 1 - i: i for i in range(count)}, count, mask)
        return emit.shuffle(part, part, range(count - 1, -1, -1))

    def _load_strided(self, buffer: SSAValue, at: SSAValue, step: int, count: int, mask: SSAValue | None) -> SSAValue:
        """Return every `step`-th element, shuffled from vectors that span the first to the last of them and no more."""
        emit = self.emit
        starts = sorted({min(j * count, (step - 1) * (count - 1)) for j in range(step)})
        owner = [max(j for j, start in enumerate(starts) if start <= step * i) for i in range(count)]
        result: SSAValue | None = None
        for j, start in enumerate(starts):
            here = emit.add(at, emit.index(start))
            lanes = {step * i - start: i for i in range(count) if owner[i] == j}
            part = self._load_lanes(buffer, here, lanes, count, mask)
            picked = [step * i - start if owner[i] == j else -1 for i in range(count)]
            if result is None:
                result = emit.shuffle(part, part, [max(p, 0) for p in picked])
            else:
                result = emit.shuffle(result, part, [i if p < 0 else count + p for i, p in enumerate(picked)])
        assert result is not None
        return result

    def _load_lanes(
        self, buffer: SSAValue, at: SSAValue, lanes: dict[int, int], count: int, mask: SSAValue | None
    ) -> SSAValue:
        """Load a vector from `at`; `lanes` maps the lanes of the result to the elements used for them."""
        if mask is not None:
            none = self.emit.constant(0, mask.type)
            mask = self.emit.shuffle(mask, none, [lanes.get(p, count) for p in range(count)])
        return self._load_part(buffer, at, count, mask)

    def _gather(self, buffer: SSAValue, places: Sequence[SSAValue], mask: SSAValue | None) -> SSAValue:
        """Load lane by lane."""
        if mask is not None:
            raise UnsupportedError("a masked load of places that are computed", expected="a constant step between them")
        emit = self.emit
        out = emit.constant(0, vector_type(element_of(buffer), len(places)))
        for lane, at in enumerate(places):
            element = emit.load(memref.LoadOp, (buffer, at), element_of(buffer))
            out = emit.append(vector.InsertOp(element, out, [lane])).results[0]
        return out

    def _gather_at_once(self, buffer: SSAValue, indices: SSAValue) -> SSAValue:
        """Load by a gather instruction if the target has a fast one; otherwise LLVM loads lane by lane."""
        emit, element, count = self.emit, element_of(buffer), lane_count(indices.type)
        at = emit.append(llvm_extras.GEPOp.each(pointer_to(emit, buffer), indices, element)).results[0]
        result = vector_type(element, count)
        every, other = emit.constant(-1, vector_type(i1, count)), emit.constant(0, result)
        alignment = emit.constant(byte_size(element), i32)
        return call_llvm_intrinsic(emit, "llvm.masked.gather", (at, alignment, every, other), result)

    def store(self, op: tir.StoreOp) -> None:
        """Store an element, or a vector if the index is one."""
        buffer, (index,) = self.values.value(op.buffer), _one_index(op.indices)
        value = self.values.value(op.value)
        if not isinstance(index.type, VectorType):
            self._append(make(memref.StoreOp, (value, buffer, self.values.index(index))), buffer)
        elif self._slope(index) != 1:
            self._scatter(value, buffer, index)
        else:
            self.vector_accesses += 1
            at = self.values.index(cast(tir.RampOp, index.owner).base)
            if _is_streamed(op):
                self._stream(value, buffer, at)
            else:
                self._append(_vector_store(value, buffer, at), buffer)

    def masked_store(self, op: tir.MaskedStoreOp) -> None:
        """Store the active lanes; for private memory all lanes are written, the inactive ones with their old values."""
        self.vector_accesses += 1
        buffer, value, mask = (self.values.value(v) for v in (op.buffer, op.value, op.mask))
        if self._slope(op.index) != 1:
            raise UnsupportedError("a masked store of places that do not lie side by side", expected="tir.ramp %at, 1")
        at = self.values.index(cast(tir.RampOp, op.index.owner).base)
        if not self._may_overrun(buffer, at, lane_count(value.type)):
            self._append(make(vector.MaskedStoreOp, (buffer, at, mask, value)), buffer)
            return
        old = self.emit.load(vector.LoadOp, (buffer, at), value.type)
        self._append(_vector_store(self.emit.select(mask, value, old), buffer, at), buffer)

    def _stream(self, value: SSAValue, buffer: SSAValue, at: SSAValue) -> None:
        """Store a vector with a nontemporal store if it is aligned, else with a plain one."""
        emit, kind = self.emit, cast("VectorType[Attribute]", value.type)
        size = byte_size(kind.element_type)
        start = memref.ExtractAlignedPointerAsIndexOp.build(operands=[buffer], result_types=[INDEX])
        place = emit.add(emit.append(start).results[0], emit.mul(at, emit.index(size)))
        vector_bytes = size * kind.get_shape()[0]
        rest = emit.binary(arith.AndIOp, place, emit.index(vector_bytes - 1))
        past, usual = Block(), Block()
        with emit.inside(past):
            emit.append(_vector_store(value, buffer, at, vector_bytes))
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
        """Return whether all lanes lie in a private buffer, so that they can be accessed without a mask."""
        if buffer not in self.private:
            return False
        start, size = self.emit.known.get(at), cast("MemRefType[Attribute]", buffer.type).get_shape()[0]
        return start is not None and start >= 0 and start + count <= size

    def _scatter(self, value: SSAValue, buffer: SSAValue, index: SSAValue) -> None:
        for lane, at in enumerate(self._lane_indices(index, lane_count(index.type))):
            element = self.emit.append(vector.ExtractOp(value, [lane], element_of(buffer))).results[0]
            self._append(make(memref.StoreOp, (element, buffer, at)), buffer)

    def _slope(self, index: SSAValue) -> int | None:
        """Return the constant by which an index grows from lane to lane, or None if it is not constant."""
        ramp = index.owner
        return self.emit.known.get(self.values.index(ramp.stride)) if isinstance(ramp, tir.RampOp) else None

    def _lane_indices(self, index: SSAValue, count: int) -> list[SSAValue]:
        lanes = self.values.value(index)
        dtype = cast("VectorType[Attribute]", lanes.type).element_type
        extracted = [self.emit.append(vector.ExtractOp(lanes, [lane], dtype)).results[0] for lane in range(count)]
        return [self.emit.to_index(value) for value in extracted]


_GATHERED = (f32, f64, i32, i64)
"""Element types for which processors have gather instructions."""
_STREAMED = "tirax_streamed"
"""The intrinsic by which a schedule marks stores that need not be kept in a cache."""


def _is_streamed(op: tir.StoreOp) -> bool:
    value = op.value.owner
    return isinstance(value, tir.CallIntrinOp) and value.func.data == _STREAMED


def _vector_store(value: SSAValue, buffer: SSAValue, at: SSAValue, aligned: int = 0) -> vector.StoreOp:
    """Return a store; a nontemporal one if the address is known to be `aligned` to that many bytes."""
    attributes: dict[str, Attribute] = {"alignment": IntegerAttr(aligned, i64)} if aligned else {}
    return make(
        vector.StoreOp,
        (value, buffer, at),
        properties={"nontemporal": _STREAMS[bool(aligned)]},
        attributes=attributes,
    )


_STREAMS = tuple(map(BoolAttr.from_bool, (False, True)))


def _one_index(indices: Sequence[SSAValue]) -> Sequence[SSAValue]:
    if len(indices) != 1:
        raise UnsupportedError(
            f"an access with {len(indices)} indices", expected="flat buffers", hint="run flatten-buffer before"
        )
    return indices
