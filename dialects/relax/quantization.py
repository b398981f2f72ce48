"""Quantization: floats as small integers with a scale and a zero point, per tensor or per index of an axis."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f32, i8
from xdsl.ir import Attribute

from ..dtypes import is_float
from .operator import Attr, Kind, Operator, as_dtype, operator
from .reduction import normalize_axis
from .types import TensorType


class Quantization(Operator):
    """Base of both directions: `scale` and `zero_point` are scalars, or vectors along `axis`."""

    def check_parameters(self, data: TensorType) -> None:
        scale, zero = self.tensor("scale"), self.tensor("zero_point")
        if scale.element is not None and not is_float(scale.element):
            self.fail_dtype("argument scale must be of a floating point type", "float32", scale.element)
        if zero.element is not None and not isinstance(zero.element, IntegerType):
            self.fail_dtype("argument zero_point must be of an integer type", "int8", zero.element)
        axis = None if data.rank in (None, 0) else normalize_axis(self, self.attr("axis"), data.rank or 0)
        for name, t in (("scale", scale), ("zero_point", zero)):
            if t.rank not in (None, 0, 1):
                self.fail_shape(f"argument {name} must be a scalar or a vector", "rank 0 or 1", t.rank)
            if axis is None or data.dims is None or not t.dims:
                continue
            self.require_equal(
                t.dims[0],
                data.dims[axis],
                f"argument {name} has another extent than axis {axis}",
                data.dims[axis],
                t.dims[0],
            )


@operator("relax.quantize", "data scale zero_point", out_dtype=Attr(Kind.DTYPE, i8), axis=-1)
class Quantize(Quantization):
    """round(data / scale) + zero_point, clamped to the range of `out_dtype`."""

    def infer(self) -> Attribute:
        data, dtype = self.tensor("data"), as_dtype(self.attr("out_dtype")) or i8
        if data.element is not None and not is_float(data.element):
            self.fail_dtype("argument data must be of a floating point type", "float32", data.element)
        if is_float(dtype):
            self.fail_dtype("attribute out_dtype must be an integer type", "int8", dtype)
        self.check_parameters(data)
        return data.of_dtype(dtype)


@operator("relax.dequantize", "data scale zero_point", out_dtype=Attr(Kind.DTYPE, f32), axis=-1)
class Dequantize(Quantization):
    """(data - zero_point) * scale"""

    def infer(self) -> Attribute:
        data, dtype = self.tensor("data"), as_dtype(self.attr("out_dtype")) or f32
        if data.element is not None and not isinstance(data.element, IntegerType):
            self.fail_dtype("argument data must be of an integer type", "int8", data.element)
        if not is_float(dtype):
            self.fail_dtype("attribute out_dtype must be a floating point type", "float32", dtype)
        self.check_parameters(data)
        return data.of_dtype(dtype)
