"""Operators on values other than tensors, operators with effects, and operators on devices and memory views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import StringAttr, TupleType, f32, i1, i64
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from ..dtypes import byte_size
from ..sym.analyzer import is_nonnegative
from ..sym.expr import Const, SymExpr, product
from .creation import extent_operand
from .leaves import DataTypeOp, StringOp
from .operator import NOTHING, Attr, Kind, Nothing, Operator, as_dtype, operator
from .types import OBJECT, PrimType, ShapeType, TensorType


@operator("relax.shape_of", "expr")
class ShapeOf(Operator):
    """The shape of a tensor."""

    def infer(self) -> Attribute:
        t = self.tensor("expr")
        return ShapeType.of(t.dims, t.rank)


@operator("relax.tensor_to_shape", "expr")
class TensorToShape(Operator):
    """Convert a rank-1 int64 tensor to a shape with these extents."""

    def infer(self) -> Attribute:
        t = self.tensor("expr")
        if t.rank not in (None, 1):
            self.fail_shape("argument expr must be of rank 1", "rank 1", t.rank)
        if t.element not in (None, i64):
            self.fail_dtype("argument expr must be of int64", i64, t.element)
        return ShapeType.of(ndim=None if t.dims is None else t.dims[0].constant)


@operator("relax.shape_to_tensor", "expr")
class ShapeToTensor(Operator):
    """Convert the extents of a shape to a rank-1 int64 tensor."""

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
    """Print the values by `format`, which has a `{}` for each, or one after the other if it is empty."""


@operator("relax.assert_op", "condition format_args*", format=Attr(Kind.STRING, ""))
class AssertOp(_Effect):
    """Fail if the condition is false, with the message `format`, which has a `{}` for each of `format_args`."""

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


@operator("relax.hint_on_device", "data", dst_vdevice=Attr(Kind.DEVICE, "cpu:0"))
class HintOnDevice(Operator):
    """The tensor itself, with the hint that it is needed on the device `dst_vdevice`, such as `cpu:0`."""

    def infer(self) -> Attribute:
        return self.tensor("data")


@operator("relax.memory.ensure_zero_offset", "data")
class EnsureZeroOffset(Operator):
    """The tensor with offset 0 in its memory, which all tensors have here."""

    def infer(self) -> Attribute:
        return self.tensor("data")


@operator("relax.wrap_param", "data", dtype=Attr(Kind.DTYPE, f32))
class WrapParam(Operator):
    """data, a parameter of a model, converted to `dtype`."""

    def infer(self) -> Attribute:
        data = self.tensor("data")
        return TensorType(data.shape, data.ndim, as_dtype(self.attr("dtype")) or data.dtype, data.vdevice)


@operator("relax.memory.view", "data shape dtype relative_byte_offset")
class View(Operator):
    """View the memory of data from `relative_byte_offset` on with another shape and dtype; an empty tuple keeps
    the original.
    """

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"relative_byte_offset"})
    ARG_DEFAULTS: ClassVar[Mapping[str, bool | int | float | str | Nothing]] = {
        "shape": NOTHING,
        "dtype": NOTHING,
        "relative_byte_offset": NOTHING,
    }

    def infer(self) -> Attribute:
        data, dtype, offset = self.tensor("data"), self.element(), self.offset()
        if self._has_operand("shape"):
            shape = self.shape_arg("shape")
            out = TensorType.of(shape.dims, dtype, shape.rank)
        else:
            out = TensorType.of(data.dims, dtype, data.rank)
            if dtype is not None and data.element is not None and byte_size(dtype) > byte_size(data.element):
                self.fail_shape("argument shape must be given with a longer dtype", "a shape", dtype)
        self._check(data, out, offset)
        return out

    def _check(self, data: TensorType, out: TensorType, offset: SymExpr | int | None) -> None:
        """Check that the view ends within data, as far as both are known: elements of one unknown dtype count as one
        byte.
        """
        same = not self._has_operand("dtype")
        have, size = _bytes(data, same), _bytes(out, same)
        if have is None and size is None and same and not self._has_operand("shape"):
            have = size = Const(0)
        if have is None or size is None:
            return
        known = 0 if offset is None or (data.element is None and size is not have) else offset
        if is_nonnegative(size + known - have - 1):
            self.fail_shape("the view is longer than data", f"at most {have} bytes", size + known)

    def _has_operand(self, arg: str) -> bool:
        return not isinstance(cast(SSAValue, getattr(self, arg)).type, TupleType)

    def element(self) -> Attribute | None:
        """Return the dtype of the view; None for a variable, which may be any. Raises `DTypeError` for other values."""
        if not self._has_operand("dtype"):
            return self.tensor("data").element
        value = cast(SSAValue, getattr(self, "dtype"))  # noqa: B009 (`operator` adds it)
        if isinstance(value.owner, DataTypeOp):
            return value.owner.value
        if value.type != OBJECT or isinstance(value.owner, StringOp):
            self.fail_dtype("argument dtype must be a data type", "R.dtype(…)", value.owner)
        return None

    def offset(self) -> SymExpr | int | None:
        """Return the byte offset of the view; None if it is unknown. Raises like `extent_operand`."""
        if not self._has_operand("relative_byte_offset"):
            return 0
        at = extent_operand(self, "relative_byte_offset")
        if at is not None and at.constant is not None and at.constant < 0:
            self.fail_shape("argument relative_byte_offset must not be negative", "0 or more", at)
        return at


def _bytes(t: TensorType, any_dtype: bool) -> SymExpr | None:
    if t.dims is None or (t.element is None and not any_dtype):
        return None
    return product(t.dims) * (1 if t.element is None else byte_size(t.element))


VIEW = "runtime.TVMArrayCreateView"
"""The packed function that makes a view at run time."""


def view_type(args: Sequence[SSAValue]) -> Attribute | None:
    """Return the struct info of a view with the operands of `memory.view`; None if they do not fit."""
    if len(args) != 4:
        return None
    try:
        view = View.make(*args)
    except TiraxError:
        return None
    result = view.result_type
    view.drop_all_references()
    return result
