"""Operators that make tensors."""

from __future__ import annotations

from xdsl.ir import Attribute

from .operator import DTYPE, Operator, as_dtype, operator
from .types import TensorType


class _OfShape(Operator):
    def infer(self) -> Attribute:
        shape = self.shape_arg("shape")
        dtype = as_dtype(self.attr("dtype"))
        if dtype is None:
            self.fail_dtype("attribute dtype must be given")
        return TensorType.of(shape.dims, dtype, shape.rank)


@operator("relax.zeros", "shape", dtype=DTYPE)
class Zeros(_OfShape):
    """A tensor of zeros."""


@operator("relax.ones", "shape", dtype=DTYPE)
class Ones(_OfShape):
    """A tensor of ones."""


@operator("relax.full", "shape fill_value", dtype=DTYPE)
class Full(Operator):
    """A tensor filled with a value of rank 0; of its dtype where `dtype` is None."""

    def infer(self) -> Attribute:
        shape, fill = self.shape_arg("shape"), self.tensor("fill_value")
        if fill.rank not in (None, 0):
            self.fail_shape("argument fill_value must be a scalar", "rank 0", fill.rank)
        return TensorType.of(shape.dims, as_dtype(self.attr("dtype")) or fill.element, shape.rank)


class _Like(Operator):
    def infer(self) -> Attribute:
        x = self.tensor("x")
        return TensorType.of(x.dims, as_dtype(self.attr("dtype")) or x.element, x.rank)


@operator("relax.zeros_like", "x", dtype=DTYPE)
class ZerosLike(_Like):
    """Zeros in the shape of x, of its dtype where `dtype` is None."""


@operator("relax.ones_like", "x", dtype=DTYPE)
class OnesLike(_Like):
    """Ones in the shape of x, of its dtype where `dtype` is None."""
