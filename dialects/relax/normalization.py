"""Batch, instance, group and root-mean-square normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.ir import Attribute

from ..attributes import PyValue
from ..dtypes import is_float
from ..sym.expr import Const
from .operator import Arg, Operator, operator
from .reduction import normalize_axes, normalize_axis
from .types import TensorType, tuple_type


def float_data(op: Operator) -> TensorType:
    """Return the type of the operand `data`, of floating point. Raises `DTypeError` otherwise."""
    data = op.tensor("data")
    if data.element is not None and not is_float(data.element):
        op.fail_dtype("argument data must be of a floating point type", "float32", data.element)
    return data


def check_vector(op: Operator, arg: str, data: TensorType, axis: int) -> TensorType:
    """Return the type of the operand `arg`, a vector of the dtype of data with an element for each index of `axis`."""
    t = op.tensor(arg)
    if t.element is not None and data.element is not None and t.element != data.element:
        op.fail_dtype(f"argument {arg} must have the dtype of data", data.element, t.element)
    if t.rank not in (None, 1):
        op.fail_shape(f"argument {arg} must be a vector", "rank 1", t.rank)
    if t.dims is not None and data.dims is not None:
        what = f"argument {arg} has another extent than data's axis {axis}"
        op.require_equal(t.dims[0], data.dims[axis], what, data.dims[axis], t.dims[0])
    return t


@operator(
    "relax.nn.batch_norm",
    "data gamma beta moving_mean moving_var",
    axis=1,
    epsilon=1e-5,
    center=True,
    scale=True,
    momentum=0.1,
    training=True,
)
class BatchNorm(Operator):
    """(data - mean) / sqrt(variance + epsilon) by channel (`axis`), times gamma if `scale`, plus beta if `center`.

    In `training`, mean and variance are those of the batch, and the moving ones, which are returned beside the result,
    are updated by `momentum`; otherwise they are the moving ones, returned unchanged.
    """

    def infer(self) -> Attribute:
        data = float_data(self)
        names = ("gamma", "beta", "moving_mean", "moving_var")
        vectors = [check_vector(self, n, TensorType.of(None, data.element), 0) for n in names]
        first = next((t for t in vectors if t.dims is not None), None)
        for name, t in zip(names, vectors, strict=True):
            if first is not None and first.dims is not None and t.dims is not None:
                a, b = first.dims[0], t.dims[0]
                self.require_equal(a, b, f"argument {name} has another extent than the others", a, b)
        if data.rank is None:
            return tuple_type([data, vectors[2], vectors[3]])
        axis = normalize_axis(self, self.attr("axis"), data.rank)
        types = [check_vector(self, n, data, axis) for n in names]
        return tuple_type([data, types[2], types[3]])


def check_ranks(op: Operator, names: Sequence[str], axes: Sequence[int]) -> None:
    """Raise `ShapeError` if an operand certainly has not a dimension for each of `axes`."""
    for name in names:
        rank = op.tensor(name).rank
        if rank not in (None, len(axes)):
            op.fail_shape(f"argument {name} must have a dimension for each of axes", len(axes), rank)


class _OverAxes(Operator):
    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator; a single axis becomes a list."""
        axes = attrs.get("axes")
        return super().make(*args, **(attrs | {"axes": [axes]} if isinstance(axes, int) else attrs))


class _ChannelNorm(_OverAxes):
    def channels(self, data: TensorType) -> tuple[int, list[int]]:
        """Return the axis of channels and the reduced axes, for data of known rank."""
        rank = data.rank or 0
        channel = normalize_axis(self, self.attr("channel_axis"), rank, "channel_axis")
        axes = normalize_axes(self, self.attr("axes"), rank, "axes")
        if channel in axes:
            self.fail_shape("attribute axes must not contain channel_axis", f"axes other than {channel}", axes)
        for name in ("gamma", "beta"):
            check_vector(self, name, data, channel)
        return channel, axes


@operator("relax.nn.instance_norm", "data gamma beta", channel_axis=1, axes=[], epsilon=1e-5, center=True, scale=True)
class InstanceNorm(_ChannelNorm):
    """(data - mean) / sqrt(variance + epsilon) over `axes`, times gamma, plus beta, by channel."""

    def infer(self) -> Attribute:
        data = float_data(self)
        if data.rank is not None:
            self.channels(data)
        return data


@operator(
    "relax.nn.group_norm",
    "data gamma beta",
    num_groups=1,
    channel_axis=1,
    axes=[],
    epsilon=1e-5,
    center=True,
    scale=True,
)
class GroupNorm(_ChannelNorm):
    """(data - mean) / sqrt(variance + epsilon) over `axes` and a group of channels, times gamma, plus beta."""

    def infer(self) -> Attribute:
        data, groups = float_data(self), self.attr("num_groups")
        if groups < 1:
            self.fail_shape("attribute num_groups must be positive", "1 or more", groups)
        if data.rank is not None:
            channel, _ = self.channels(data)
            if data.dims is not None:
                rest = data.dims[channel] % groups
                what = "attribute num_groups does not divide the channels"
                self.require_equal(rest, Const(0), what, data.dims[channel], groups)
        return data


@operator("relax.nn.rms_norm", "data weight", axes=[-1], epsilon=1e-5)
class RMSNorm(_OverAxes):
    """data / sqrt(mean(data * data) + epsilon) over `axes`, times weight."""

    def infer(self) -> Attribute:
        data, weight = float_data(self), self.tensor("weight")
        if weight.element is not None and data.element is not None and weight.element != data.element:
            self.fail_dtype("argument weight must have the dtype of data", data.element, weight.element)
        if data.rank is None:
            check_ranks(self, ("weight",), self.attr("axes"))
            return data
        axes = normalize_axes(self, self.attr("axes"), data.rank, "axes")
        if weight.rank not in (None, len(axes)):
            self.fail_shape("argument weight must have a dimension for each of axes", len(axes), weight.rank)
        if data.dims is not None and weight.dims is not None:
            for axis, extent in zip(axes, weight.dims, strict=True):
                self.require_equal(
                    data.dims[axis],
                    extent,
                    f"weight has another extent than data's axis {axis}",
                    data.dims[axis],
                    extent,
                )
        return data
