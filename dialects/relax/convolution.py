"""Convolutions over one to three spatial dimensions, and their transposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute

from ..attributes import PyValue
from ..sym.expr import Const, SymExpr
from ..sym.writing import positive_first
from .indexing import same_dtype
from .layout import (
    SPATIAL,
    Windowed,
    dims_of_letters,
    integers,
    laid_out,
    layout_of,
    of_rank,
    positions,
    spread,
    spread_padding,
)
from .operator import DTYPE, NUMBERS, Arg, Domain, Operator, as_dtype, operator
from .types import TensorType

_LISTS = ("strides", "dilation", "output_padding")


class Convolution(Windowed):
    """Base of convolutions: `strides`, `dilation`, `padding` and layouts, and shape inference."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    LAYOUTS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("data_layout", "NC"),
        ("kernel_layout", "OI"),
        ("out_layout", "NC"),
    )

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator. Numbers become lists with an element per dimension; the output's layout defaults
        to the data's.
        """
        return super().make(*args, **cls._spread(attrs))

    @classmethod
    def unchecked(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator for operands that do not match."""
        return super().unchecked(*args, **cls._spread(attrs))

    @classmethod
    def _spread(cls, attrs: dict[str, PyValue]) -> dict[str, Any]:
        values: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        values.update({n: spread(values[n], cls.RANK) for n in _LISTS if n in values})
        values["padding"] = spread_padding(values["padding"], cls.RANK)
        values["out_layout"] = attrs.get("out_layout") or values["data_layout"]
        return values

    def is_depthwise(self) -> bool:
        """Return whether each channel of the data is a group of its own with one output channel."""
        dims, groups = self.tensor("weight").dims, self.attr("groups")
        if dims is None or groups == 1 or self.is_blocked():
            return False
        outputs, inputs = (dims[place].constant for place in self.kernel_places()[:2])
        return inputs == 1 and outputs == groups

    def data_places(self) -> list[int]:
        """Return the positions of batch, channels and the spatial dimensions in the data."""
        return positions(self, "data_layout", "NC" + self.letters)

    def out_places(self) -> list[int]:
        """Return the positions of batch, channels and the spatial dimensions in the result."""
        return positions(self, "out_layout" if self.attr("out_layout") else "data_layout", "NC" + self.letters)

    def kernel_places(self) -> list[int]:
        """Return the positions of output channels, input channels and the spatial dimensions in the kernel."""
        return positions(self, "kernel_layout", "OI" + self.letters)

    def infer(self) -> Attribute:
        out_layout = "out_layout" if self.attr("out_layout") else "data_layout"
        data, dims = dims_of_letters(self, "data", "data_layout", "NC" + self.letters)
        weight, kernel = dims_of_letters(self, "weight", "kernel_layout", "OI" + self.letters)
        rank = len(layout_of(self, out_layout, "NC" + self.letters))
        dtype = as_dtype(self.attr("out_dtype"))
        if dtype is None:
            same_dtype(self, "data", "weight")
            dtype = data.element if weight.element is not None else None
        if self.attr("groups") < 1:
            self.fail_shape("attribute groups must be positive", "1 or more", self.attr("groups"))
        integers(self, "padding", 2 * self.RANK, 0)
        if dims is None or kernel is None:
            return TensorType.of(None, dtype, rank)
        batch, channels, *extents = dims
        out_channels = self.out_channels(channels, kernel[0], kernel[1])
        spatial = self.out_extents(extents, kernel[2:])
        return TensorType.of(laid_out(self, out_layout, "NC" + self.letters, [batch, out_channels, *spatial]), dtype)

    def out_channels(self, channels: SymExpr, outer: SymExpr, inner: SymExpr) -> SymExpr:
        groups = self.attr("groups")
        self.require_equal(
            channels,
            inner * groups,
            "argument weight has another number of input channels",
            f"{channels} / {groups}",
            inner,
        )
        self.require_equal(
            outer % groups, Const(0), "attribute groups does not divide the output channels", outer, groups
        )
        return outer

    def out_extents(self, extents: Sequence[SymExpr], kernel: Sequence[SymExpr]) -> list[SymExpr]:
        strides, dilation = integers(self, "strides", self.RANK, 1), integers(self, "dilation", self.RANK, 1)
        padding = self.attr("padding")
        out: list[SymExpr] = []
        for i, (extent, size) in enumerate(zip(extents, kernel, strict=True)):
            span = extent + (padding[i] + padding[i + self.RANK]) - (size - 1) * dilation[i] - 1
            if span.constant is not None and span.constant < 0:
                self.fail_shape("the kernel is greater than the padded data", f"at most {extent}", size)
            out.append(positive_first(span // strides[i] + 1))
        return out


class TransposedConvolution(Convolution):
    """The gradient of a convolution: the data is dilated by `strides` and convolved with the flipped kernel."""

    def out_channels(self, channels: SymExpr, outer: SymExpr, inner: SymExpr) -> SymExpr:
        groups = self.attr("groups")
        self.require_equal(channels, inner, "argument weight has another number of input channels", channels, inner)
        self.require_equal(
            channels % groups, Const(0), "attribute groups does not divide the input channels", channels, groups
        )
        return outer * groups

    def out_extents(self, extents: Sequence[SymExpr], kernel: Sequence[SymExpr]) -> list[SymExpr]:
        strides, dilation = integers(self, "strides", self.RANK, 1), integers(self, "dilation", self.RANK, 1)
        extra, padding = integers(self, "output_padding", self.RANK, 0), self.attr("padding")
        out: list[SymExpr] = []
        for i, (extent, size) in enumerate(zip(extents, kernel, strict=True)):
            if extra[i] >= max(strides[i], dilation[i]):
                self.fail_shape("output_padding is too great", "less than strides or dilation", extra)
            span = (extent - 1) * strides[i] + (size - 1) * dilation[i] + Const(1)
            out.append(positive_first(span + (extra[i] - padding[i] - padding[i + self.RANK])))
        return out


def _convolution(rank: int) -> type[Operator]:
    letters = SPATIAL[rank]
    doc = f"The sum over input channels and window of data times weight, for data of {rank} spatial dimensions."
    cls = type(f"Conv{rank}d", (Convolution,), {"__doc__": doc, "__module__": __name__})
    attrs: dict[str, Any] = {"strides": [1] * rank, "padding": [0] * (2 * rank), "dilation": [1] * rank, "groups": 1}
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"OI{letters}", "out_layout": f"NC{letters}"}
    return of_rank(rank, operator(f"relax.nn.conv{rank}d", "data weight", **attrs, **layouts, out_dtype=DTYPE)(cls))


def _transposed(rank: int) -> type[Operator]:
    letters = SPATIAL[rank]
    doc = f"The transpose of the convolution over {rank} spatial dimensions."
    cls = type(f"Conv{rank}dTranspose", (TransposedConvolution,), {"__doc__": doc, "__module__": __name__})
    attrs: dict[str, Any] = {"strides": [1] * rank, "padding": [0] * (2 * rank), "output_padding": [0] * rank}
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"IO{letters}", "out_layout": f"NC{letters}"}
    more: dict[str, Any] = {"dilation": [1] * rank, "groups": 1, **layouts, "out_dtype": DTYPE}
    return of_rank(rank, operator(f"relax.nn.conv{rank}d_transpose", "data weight", **attrs, **more)(cls))


CONVOLUTIONS = {rank: _convolution(rank) for rank in SPATIAL}
TRANSPOSED = {rank: _transposed(rank) for rank in SPATIAL}
