"""Recognition of quantization written as float operators, rounding to nearest even: divided by the scale, as in ONNX,
or multiplied by its inverse, as in PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.dialects.builtin import IntegerType, f32, i8
from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.dtypes import numpy_dtype, ui8
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from .rules import number, producer

MOVED = ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "reshape", "permute_dims", "expand_dims", "squeeze")
"""Operators that only select elements, and thus work on bytes as well."""
_CHOOSING = frozenset(f"relax.{name}" for name in (*MOVED, "astype"))


@dataclass(frozen=True)
class QuantizedForm:
    """The quantized value, its scale and zero point, the limits of the integers; `rounded` is x / scale, rounded."""

    x: SSAValue
    scale: float
    zero: float
    limits: tuple[int, int]
    rounded: SSAValue


def quantized_form(op: Operator) -> QuantizedForm | None:
    """Match `astype(minimum(maximum(round(x / scale) + zero, least), greatest))`, from float32 to bytes, else None.

    x may also be multiplied by a constant: `scale` is its inverse.
    """
    out = op.results[0].type
    if not isinstance(out, TensorType) or out.element not in (i8, ui8):
        return None
    value, limits = clip_limits(op.operands[0])
    if limits is None or not isinstance(value.type, TensorType) or value.type.element != f32:
        return None
    least, greatest = integer_limits(out.element)
    if not least <= limits[0] <= limits[1] <= greatest:
        return None
    shifted, zero = producer(value, "add"), 0.0
    if shifted is not None:
        value, added = shifted.operands
        point = number(added)
        if point is None:
            return None
        zero = point
    rounded = producer(value, "round")
    scaled = None if rounded is None else scaled_by(rounded.operands[0])
    return None if scaled is None else QuantizedForm(scaled[0], 1 / scaled[1], zero, limits, value)


def scaled_by(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Return (x, factor) of a quotient by, or product with, a constant; None if that is 0, or for other values."""
    for name in ("divide", "multiply"):
        op = producer(value, name)
        factor = None if op is None else number(op.operands[1])
        if op is not None and factor:
            return op.operands[0], 1 / factor if name == "divide" else factor
    return None


def clip_limits(value: SSAValue) -> tuple[SSAValue, tuple[int, int] | None]:
    """Return (x, limits) of `minimum(maximum(x, least), greatest)` with constant integers, else (value, None)."""
    upper = producer(value, "minimum")
    lower = None if upper is None else producer(upper.operands[0], "maximum")
    if upper is None or lower is None:
        return value, None
    least, greatest = number(lower.operands[1]), number(upper.operands[1])
    if least is None or greatest is None or not (least.is_integer() and greatest.is_integer()):
        return value, None
    return lower.operands[0], (int(least), int(greatest))


def bounds_of(value: SSAValue) -> tuple[int, int]:
    """Return the bounds of an integer tensor: of a constant or clipped value, else of its dtype."""
    op = value.owner
    if isinstance(op, relax.ConstantOp) and op.value.numpy().size:
        array = op.value.numpy()
        return int(array.min()), int(array.max())
    element = cast(TensorType, value.type).element
    assert element is not None
    least, most = integer_limits(element)
    if not isinstance(op, Operator) or op.name not in _CHOOSING:
        return least, most
    source = op.operands[0]
    integers = isinstance(source.type, TensorType) and isinstance(source.type.element, IntegerType)
    limits = bounds_of(source) if integers else clip_limits(source)[1]
    return limits if limits is not None and least <= limits[0] and limits[1] <= most else (least, most)


def integer_limits(dtype: Attribute) -> tuple[int, int]:
    """Return the least and the greatest value of an integer dtype."""
    kind = np.iinfo(numpy_dtype(dtype))
    return int(kind.min), int(kind.max)
