"""Reductions of consecutive parts of a tensor, whose lengths are data."""

from __future__ import annotations

from functools import partial
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.relax.expr import Expr
from ....topi.segments import segment_reduce as reduce_segments
from ...importing.relax_operators import R
from ..emitter import Emitter, axis_of, cast_to, rank_of, shape_of
from ..table import row


@row("segment_reduce")
def segment_reduce(
    e: Emitter, data: Expr, reduce: str, *, lengths: Expr | None = None, indices: Expr | None = None,
    offsets: Expr | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Expr:  # fmt: skip
    """Return the reduction of each part along the last dimension of `lengths` or `offsets`."""
    if indices is not None:
        raise UnsupportedError("parts of a tensor that indices choose")
    if offsets is None:
        if lengths is None:
            raise UnsupportedError("parts of a tensor without lengths")
        ends = e.emit(R.cumsum(lengths, axis=-1, dtype="int64"))
        first = [*shape_of(lengths)[:-1], 1]
        offsets = e.emit(R.concat([R.zeros(first, dtype="int64"), ends], axis=-1))
    place = axis_of(axis, rank_of(data))
    if rank_of(offsets) != place + 1:
        raise UnsupportedError("lengths of another rank than the dimensions before the parts")
    start = None if initial is None else float(initial)
    te = partial(reduce_segments, axis=place, kind=reduce, initial=start)
    return e.builder.call_te(te, data, cast_to(offsets, "int64"), primfunc_name_hint="segment_reduce")
