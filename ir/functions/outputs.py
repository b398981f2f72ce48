"""Output buffers of calls in destination-passing style."""

from __future__ import annotations

from typing import Any, cast

from ...diagnostics import DTypeError
from ...dialects.relax.types import TensorType
from ..locations import location_of


def outputs_to_make(call: Any) -> list[Any]:
    """Return the outputs of a call, each of known shape and dtype. Raises `DTypeError` if a dtype is unknown."""
    outputs = cast("list[TensorType]", call.output_types)
    for t in outputs:
        if t.element is None:
            raise DTypeError(
                f"{call.name}: an output of unknown dtype cannot be made",
                location=location_of(call),
                expected='R.Tensor(…, "float32") or another dtype in out_sinfo',
                found=t,
            )
    return outputs
