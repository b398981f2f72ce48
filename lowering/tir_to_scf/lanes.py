"""Lanes of vectors, taken apart and put together."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import Attribute, SSAValue

from .emitter import Emitter, is_vector, lane_count, vector_type


def pick_lanes(emit: Emitter, vectors: Sequence[SSAValue], lanes: Sequence[int], element: Attribute) -> SSAValue:
    """The lanes of `vectors` behind each other by their numbers; a scalar where it is one lane."""
    places = [(v, i) for v in vectors for i in range(lane_count(v.type) if is_vector(v) else 1)]
    picked = [_lane(emit, *places[i], element) for i in lanes]
    if len(picked) == 1:
        return picked[0]
    out = emit.constant(0, vector_type(element, len(picked)))
    for i, value in enumerate(picked):
        out = emit.append(vector.InsertOp(value, out, [i])).results[0]
    return out


def _lane(emit: Emitter, value: SSAValue, lane: int, element: Attribute) -> SSAValue:
    if not is_vector(value):
        return value
    return emit.append(vector.ExtractOp(value, [lane], element)).results[0]
