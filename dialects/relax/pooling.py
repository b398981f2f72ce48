"""Pooling: the maximum or the mean of each window, over one to three spatial dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from xdsl.ir import Attribute

from ..attributes import PyValue
from ..sym.expr import Const, SymExpr
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
    windows,
    windows_begun,
)
from .operator import NUMBERS, Arg, Attr, Domain, Operator, operator
from .types import TensorType

_LISTS = ("pool_size", "strides", "dilation")
_LAYOUTS = (("layout", "NC"), ("out_layout", "NC"))


def pooled(op: Windowed) -> tuple[TensorType, list[SymExpr] | None]:
    """Return the type of the data, and its extents as batch, channels and the spatial ones, None if unknown."""
    return dims_of_letters(op, "data", "layout", "NC" + op.letters)


class Pool(Windowed):
    """Base of poolings over windows of `pool_size`. With `ceil_mode`, a last window may extend beyond the
    padding, but not begin there.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"data": NUMBERS}
    LAYOUTS: ClassVar[tuple[tuple[str, str], ...]] = _LAYOUTS

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator. Numbers become lists with an element per dimension; the output's layout defaults
        to the data's.
        """
        values: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        values.update({n: spread(values[n], cls.RANK) for n in _LISTS})
        values["padding"] = spread_padding(values["padding"], cls.RANK)
        values["out_layout"] = attrs.get("out_layout") or values["layout"]
        return super().make(*args, **values)

    def places(self) -> list[int]:
        """Return the positions of batch, channels and the spatial dimensions in data and result. Raises `ShapeError`
        for a blocked layout, and for a result in another one than the data.
        """
        if self.attr("out_layout") not in (None, self.attr("layout")):
            what = "a pooling does not change the layout"
            self.fail_shape(what, f"out_layout={self.attr('layout')}, then a permutation", self.attr("out_layout"))
        return positions(self, "layout", "NC" + self.letters)

    def widths(self) -> list[tuple[int, int]]:
        """Return the padding of each spatial dimension, including that added by `ceil_mode`."""
        padding, strides = integers(self, "padding", 2 * self.RANK, 0), integers(self, "strides", self.RANK, 1)
        more = [s - 1 if self.attr("ceil_mode") else 0 for s in strides]
        return [(padding[i], padding[i + self.RANK] + more[i]) for i in range(self.RANK)]

    def infer(self) -> Attribute:
        data, dims = pooled(self)
        size, strides = integers(self, "pool_size", self.RANK, 1), integers(self, "strides", self.RANK, 1)
        dilation, padding = integers(self, "dilation", self.RANK, 1), self.widths()
        if dims is None:
            return TensorType.of(None, data.element, len(layout_of(self, "out_layout", "NC" + self.letters)))
        batch, channels, *extents = dims
        rows = zip(extents, padding, size, strides, dilation, strict=True)
        if self.attr("ceil_mode"):
            spatial = [windows_begun(e, p, k, s, d) for e, p, k, s, d in rows]
        else:
            spatial = [windows(e, sum(p), k, s, d) for e, p, k, s, d in rows]
        for extent, count in zip(extents, spatial, strict=True):
            if count.constant is not None and count.constant < 0:  # no window fits at 0: the result is empty
                self.fail_shape("attribute pool_size is greater than the padded data", f"at most {extent}", size)
        out = laid_out(self, "out_layout", "NC" + self.letters, [batch, channels, *spatial])
        return TensorType.of(out, data.element)


class AdaptivePool(Windowed):
    """The mean of windows that divide each spatial dimension into `output_size` parts, as evenly as possible."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"data": NUMBERS}
    LAYOUTS: ClassVar[tuple[tuple[str, str], ...]] = _LAYOUTS

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        values: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        if values["output_size"] is not None:
            values["output_size"] = spread(values["output_size"], cls.RANK)
        values["out_layout"] = attrs.get("out_layout") or values["layout"]
        return super().make(*args, **values)

    def places(self) -> list[int]:
        """Return the positions of batch, channels and the spatial dimensions in data and result."""
        return Pool.places(self)  # pyright: ignore[reportArgumentType]

    def infer(self) -> Attribute:
        data, dims = pooled(self)
        if self.attr("output_size") is not None:
            integers(self, "output_size", self.RANK, 1)
        unchanged = self.attr("output_size") is None and self.attr("out_layout") == self.attr("layout")
        if dims is None and unchanged:
            return data.of_dtype(data.element)
        if dims is None:
            return TensorType.of(None, data.element, len(layout_of(self, "out_layout", "NC" + self.letters)))
        batch, channels, *extents = dims
        size = self.attr("output_size")
        spatial = extents if size is None else [Const(n) for n in size]
        out = laid_out(self, "out_layout", "NC" + self.letters, [batch, channels, *spatial])
        return TensorType.of(out, data.element)


def _pool(kind: str, rank: int) -> type[Operator]:
    doc = f"The {'greatest' if kind == 'max' else 'mean'} of each window, for data of {rank} spatial dimensions."
    cls = type(f"{kind.title()}Pool{rank}d", (Pool,), {"__doc__": doc, "__module__": __name__})
    attrs: dict[str, Any] = {"pool_size": [1] * rank, "strides": [1] * rank, "dilation": [1] * rank}
    attrs |= {"padding": [0] * (2 * rank), "ceil_mode": False, "count_include_pad": False}
    layout = f"NC{SPATIAL[rank]}"
    return of_rank(
        rank, operator(f"relax.nn.{kind}_pool{rank}d", "data", **attrs, layout=layout, out_layout=layout)(cls)
    )


def _adaptive(rank: int) -> type[Operator]:
    doc = f"{AdaptivePool.__doc__} Data has {rank} spatial dimensions."
    cls = type(f"AdaptiveAvgPool{rank}d", (AdaptivePool,), {"__doc__": doc, "__module__": __name__})
    layout = f"NC{SPATIAL[rank]}"
    name = f"relax.nn.adaptive_avg_pool{rank}d"
    return of_rank(rank, operator(name, "data", output_size=Attr(types=(list,)), layout=layout, out_layout=layout)(cls))


POOLS = {(kind, rank): _pool(kind, rank) for kind in ("max", "avg") for rank in SPATIAL}
ADAPTIVE = {rank: _adaptive(rank) for rank in SPATIAL}
