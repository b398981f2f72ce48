"""Rules of operators on images."""

from __future__ import annotations

from typing import cast

from ...dialects.relax.image import Resize2d
from ...dialects.relax.operator import Operator
from ...topi import image, sampling
from .legalize_rules import Emit, operand, result_dims, result_tensor, rule


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
    return Emit(image.resize, args, "resize2d")


@rule("relax.image.affine_grid")
def affine_grid(op: Operator) -> Emit:
    """relax.image.affine_grid(data, size) -> affine_grid(data)"""
    args = (operand(op, "data"), result_dims(op)[2:], op.attr("align_corners"))
    return Emit(sampling.affine_grid, args, "affine_grid")


@rule("relax.image.grid_sample")
def grid_sample(op: Operator) -> Emit:
    """relax.image.grid_sample(data, grid) -> grid_sample(data, grid)"""
    attrs = (op.attr("method"), op.attr("padding_mode"), op.attr("align_corners"))
    return Emit(sampling.grid_sample, (*op.operands, *attrs), "grid_sample")
