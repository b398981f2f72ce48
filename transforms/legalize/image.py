"""Rules of operators on images."""

from __future__ import annotations

from typing import cast

from ...dialects.relax.image import Resize2d
from ...dialects.relax.operator import Operator
from ...topi import image
from .rules import Emit, operand, result_dims, result_tensor, rule


@rule("relax.image.resize2d")
def resize2d(op: Operator) -> Emit:
    """relax.image.resize2d(data, size) -> resize2d(data)"""
    how = image.Resizing(
        op.attr("method"),
        op.attr("coordinate_transformation_mode"),
        op.attr("rounding_method"),
        op.attr("cubic_alpha"),
        bool(op.attr("cubic_exclude")),
        [float(v) for v in op.attr("roi") or (0, 0, 0, 0)],
        op.attr("extrapolation_value"),
    )
    places = cast(Resize2d, op).places()
    args = (operand(op, "data"), result_dims(op), places, how, result_tensor(op).element)
    return Emit(image.resize2d, args, "resize2d")
