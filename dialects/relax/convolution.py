"""Convolutions over one to three spatial dimensions, and their transposes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr
from .indexing import same_dtype
from .layout import SPATIAL, arranged, check_rank, integers, of_rank, positions, spread, spread_padding
from .operator import DTYPE, Arg, Operator, PyValue, as_dtype, operator
from .types import TensorType

_LISTS = ("strides", "dilation", "output_padding")


class Convolution(Operator):
    """What convolutions share: `strides`, `dilation`, `padding` and layouts, and how their shapes come about."""

    RANK: ClassVar[int] = 2

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Numbers become lists with an element for each dimension; the output's layout is the data's where None."""
        given: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        given.update({n: spread(given[n], cls.RANK) for n in _LISTS if n in given})
        given["padding"] = spread_padding(given["padding"], cls.RANK)
        given["out_layout"] = attrs.get("out_layout") or given["data_layout"]
        return super().make(*args, **given)

    @property
    def letters(self) -> str:
        return SPATIAL[self.RANK]

    def data_places(self) -> list[int]:
        """Where batch, channels and the spatial dimensions stand in the data."""
        return positions(self, "data_layout", "NC" + self.letters)

    def out_places(self) -> list[int]:
        """Where they stand in the result."""
        return positions(self, "out_layout" if self.attr("out_layout") else "data_layout", "NC" + self.letters)

    def kernel_places(self) -> list[int]:
        """Where output channels, input channels and the spatial dimensions stand in the kernel."""
        return positions(self, "kernel_layout", "OI" + self.letters)

    def infer(self) -> Attribute:
        data, weight = check_rank(self, "data", self.RANK + 2), check_rank(self, "weight", self.RANK + 2)
        same_dtype(self, "data", "weight")
        dtype = as_dtype(self.attr("out_dtype")) or (data.element if weight.element is not None else None)
        places, kernel_places, out_places = self.data_places(), self.kernel_places(), self.out_places()
        if self.attr("groups") < 1:
            self.fail_shape("attribute groups must be positive", "1 or more", self.attr("groups"))
        integers(self, "padding", 2 * self.RANK, 0)
        if data.dims is None or weight.dims is None:
            return TensorType.of(None, dtype, self.RANK + 2)
        batch, channels, *extents = (data.dims[p] for p in places)
        kernel = [weight.dims[p] for p in kernel_places]
        made = self.out_channels(channels, kernel[0], kernel[1])
        spatial = [self.out_extent(i, e, k) for i, (e, k) in enumerate(zip(extents, kernel[2:], strict=True))]
        return TensorType.of(arranged(out_places, [batch, made, *spatial]), dtype)

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

    def out_extent(self, i: int, extent: SymExpr, kernel: SymExpr) -> SymExpr:
        strides, dilation = integers(self, "strides", self.RANK, 1), integers(self, "dilation", self.RANK, 1)
        padding = self.attr("padding")
        span = extent + (padding[i] + padding[i + self.RANK]) - (kernel - 1) * dilation[i] - 1
        if span.constant is not None and span.constant < 0:
            self.fail_shape("the kernel is greater than the padded data", f"at most {extent}", kernel)
        return span // strides[i] + 1


class TransposedConvolution(Convolution):
    """A convolution's gradient: the data is spread by `strides` and convolved with the kernel turned around."""

    def out_channels(self, channels: SymExpr, outer: SymExpr, inner: SymExpr) -> SymExpr:
        groups = self.attr("groups")
        self.require_equal(channels, inner, "argument weight has another number of input channels", channels, inner)
        self.require_equal(
            channels % groups, Const(0), "attribute groups does not divide the input channels", channels, groups
        )
        return outer * groups

    def out_extent(self, i: int, extent: SymExpr, kernel: SymExpr) -> SymExpr:
        strides, dilation = integers(self, "strides", self.RANK, 1), integers(self, "dilation", self.RANK, 1)
        extra, padding = integers(self, "output_padding", self.RANK, 0), self.attr("padding")
        if extra[i] >= max(strides[i], dilation[i]):
            self.fail_shape("attribute output_padding is too great", "less than strides or dilation", extra)
        span = (extent - 1) * strides[i] + (kernel - 1) * dilation[i] + Const(1)
        return span + (extra[i] - padding[i] - padding[i + self.RANK])


def _convolution(rank: int) -> type[Operator]:
    letters = SPATIAL[rank]
    doc = f"The sum over input channels and window of data times weight, for data of {rank} spatial dimensions."
    cls = type(f"Conv{rank}d", (Convolution,), {"__doc__": doc})
    attrs: dict[str, Any] = {"strides": [1] * rank, "padding": [0] * (2 * rank), "dilation": [1] * rank, "groups": 1}
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"OI{letters}", "out_layout": f"NC{letters}"}
    return of_rank(rank, operator(f"relax.nn.conv{rank}d", "data weight", **attrs, **layouts, out_dtype=DTYPE)(cls))


def _transposed(rank: int) -> type[Operator]:
    letters = SPATIAL[rank]
    doc = f"The transpose of the convolution over {rank} spatial dimensions."
    cls = type(f"Conv{rank}dTranspose", (TransposedConvolution,), {"__doc__": doc})
    attrs: dict[str, Any] = {"strides": [1] * rank, "padding": [0] * (2 * rank), "output_padding": [0] * rank}
    layouts = {"data_layout": f"NC{letters}", "kernel_layout": f"IO{letters}", "out_layout": f"NC{letters}"}
    more: dict[str, Any] = {"dilation": [1] * rank, "groups": 1, **layouts, "out_dtype": DTYPE}
    return of_rank(rank, operator(f"relax.nn.conv{rank}d_transpose", "data weight", **attrs, **more)(cls))


CONVOLUTIONS = {rank: _convolution(rank) for rank in SPATIAL}
TRANSPOSED = {rank: _transposed(rank) for rank in SPATIAL}
