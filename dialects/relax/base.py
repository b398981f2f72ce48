"""Operators on values that are no tensors, what has effects, and where a tensor lies."""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.dialects.builtin import StringAttr, TupleType, i1, i64
from xdsl.ir import Attribute, SSAValue

from .operator import Attr, Kind, Operator, operator
from .types import PrimType, ShapeType, TensorType


@operator("relax.shape_of", "expr")
class ShapeOf(Operator):
    """The shape of a tensor."""

    def infer(self) -> Attribute:
        t = self.tensor("expr")
        return ShapeType.of(t.dims, t.rank)


@operator("relax.tensor_to_shape", "expr")
class TensorToShape(Operator):
    """A tensor of rank 1 and of int64 as a shape with these extents."""

    def infer(self) -> Attribute:
        t = self.tensor("expr")
        if t.rank not in (None, 1):
            self.fail_shape("argument expr must be of rank 1", "rank 1", t.rank)
        if t.element not in (None, i64):
            self.fail_dtype("argument expr must be of int64", i64, t.element)
        return ShapeType.of(ndim=None if t.dims is None else t.dims[0].constant)


@operator("relax.shape_to_tensor", "expr")
class ShapeToTensor(Operator):
    """The extents of a shape as a tensor of rank 1 and of int64."""

    def infer(self) -> Attribute:
        rank = self.shape_arg("expr").rank
        return TensorType.of(None if rank is None else (rank,), i64, 1)


class _Effect(Operator):
    PURE: ClassVar[bool] = False
    SPREAD: ClassVar[bool] = True

    def infer(self) -> Attribute:
        return TupleType(())


@operator("relax.print", "values*", format=Attr(Kind.STRING, ""))
class Print(_Effect):
    """Print the values: `format` with a `{}` for each, or where it is empty one after the other."""


@operator("relax.assert_op", "condition format_args*", format=Attr(Kind.STRING, ""))
class AssertOp(_Effect):
    """Fail where the condition does not hold, with the message `format`, that has a `{}` for each of `format_args`."""

    def infer(self) -> Attribute:
        t = cast(SSAValue, getattr(self, "condition")).type  # noqa: B009 (`operator` adds it)
        if isinstance(t, TensorType):
            if t.rank not in (None, 0):
                self.fail_shape("argument condition must be a scalar", "rank 0", t.rank)
            dtype = t.element
        else:
            dtype = t.dtype if isinstance(t, PrimType) else t
        if dtype not in (None, i1):
            self.fail_dtype("argument condition must be of bool", i1, dtype)
        return super().infer()


@operator("relax.to_vdevice", "data", dst_vdevice="")
class ToVDevice(Operator):
    """The tensor on the virtual device `dst_vdevice`, such as `llvm:0`."""

    def infer(self) -> Attribute:
        t = self.tensor("data")
        return TensorType(t.shape, t.ndim, t.dtype, StringAttr(cast(str, self.attr("dst_vdevice"))))


@operator("relax.hint_on_device", "data", dst_vdevice="")
class HintOnDevice(Operator):
    """The tensor itself, which is wanted on the device `dst_vdevice`."""

    def infer(self) -> Attribute:
        return self.tensor("data")


@operator("relax.memory.ensure_zero_offset", "data")
class EnsureZeroOffset(Operator):
    """The tensor at the beginning of its memory: all are, here."""

    def infer(self) -> Attribute:
        return self.tensor("data")
