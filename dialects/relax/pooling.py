"""Pooling: the greatest or the mean of each window, over one to three spatial dimensions."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from xdsl.ir import Attribute

from ..sym.expr import Const
from .layout import SPATIAL, arranged, check_rank, integers, of_rank, positions, spread, spread_padding, windows
from .operator import Arg, Attr, Operator, PyValue, operator
from .types import TensorType

_LISTS = ("pool_size", "strides", "dilation")


class Pool(Operator):
    """What windows of `pool_size` give. With `ceil_mode` a last window may stick out behind the padding."""

    RANK: ClassVar[int] = 2

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Numbers become lists with an element for each dimension; the output's layout is the data's where None."""
        given: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        given.update({n: spread(given[n], cls.RANK) for n in _LISTS})
        given["padding"] = spread_padding(given["padding"], cls.RANK)
        given["out_layout"] = attrs.get("out_layout") or given["layout"]
        return super().make(*args, **given)

    def places(self) -> list[int]:
        """Where batch, channels and the spatial dimensions stand in data and result."""
        places = positions(self, "layout", "NC" + SPATIAL[self.RANK])
        if self.attr("out_layout") not in (None, self.attr("layout")):
            self.fail_shape(
                "attribute out_layout must be that of the data", self.attr("layout"), self.attr("out_layout")
            )
        return places

    def widths(self) -> list[tuple[int, int]]:
        """The padding of each spatial dimension, with what `ceil_mode` adds after it."""
        given, strides = integers(self, "padding", 2 * self.RANK, 0), integers(self, "strides", self.RANK, 1)
        more = [s - 1 if self.attr("ceil_mode") else 0 for s in strides]
        return [(given[i], given[i + self.RANK] + more[i]) for i in range(self.RANK)]

    def infer(self) -> Attribute:
        data, places = check_rank(self, "data", self.RANK + 2), self.places()
        size, strides = integers(self, "pool_size", self.RANK, 1), integers(self, "strides", self.RANK, 1)
        dilation, padding = integers(self, "dilation", self.RANK, 1), self.widths()
        if data.dims is None:
            return TensorType.of(None, data.element, self.RANK + 2)
        batch, channels, *extents = (data.dims[p] for p in places)
        rows = zip(extents, padding, size, strides, dilation, strict=True)
        spatial = [windows(e, sum(p), k, s, d) for e, p, k, s, d in rows]
        for extent, count in zip(extents, spatial, strict=True):
            if count.constant is not None and count.constant < 1:
                self.fail_shape("attribute pool_size is greater than the padded data", f"at most {extent}", size)
        return TensorType.of(arranged(places, [batch, channels, *spatial]), data.element)


class AdaptivePool(Operator):
    """The mean of windows that divide each spatial dimension into `output_size` parts, as equal as can be."""

    RANK: ClassVar[int] = 2

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        given: dict[str, Any] = {n: s.default for n, s in cls.ATTR_SPECS.items()} | attrs
        if given["output_size"] is not None:
            given["output_size"] = spread(given["output_size"], cls.RANK)
        given["out_layout"] = attrs.get("out_layout") or given["layout"]
        return super().make(*args, **given)

    def places(self) -> list[int]:
        """Where batch, channels and the spatial dimensions stand in data and result."""
        return Pool.places(self)  # pyright: ignore[reportArgumentType]

    def infer(self) -> Attribute:
        data, places = check_rank(self, "data", self.RANK + 2), self.places()
        if self.attr("output_size") is not None:
            integers(self, "output_size", self.RANK, 1)
        if data.dims is None:
            return TensorType.of(None, data.element, self.RANK + 2)
        batch, channels, *extents = (data.dims[p] for p in places)
        size = self.attr("output_size")
        spatial = extents if size is None else [Const(n) for n in size]
        return TensorType.of(arranged(places, [batch, channels, *spatial]), data.element)


def _pool(kind: str, rank: int) -> type[Operator]:
    doc = f"The {'greatest' if kind == 'max' else 'mean'} of each window, for data of {rank} spatial dimensions."
    cls = type(f"{kind.title()}Pool{rank}d", (Pool,), {"__doc__": doc})
    attrs: dict[str, Any] = {"pool_size": [1] * rank, "strides": [1] * rank, "dilation": [1] * rank}
    attrs |= {"padding": [0] * (2 * rank), "ceil_mode": False, "count_include_pad": kind == "avg" and rank != 2}
    layout = f"NC{SPATIAL[rank]}"
    return of_rank(
        rank, operator(f"relax.nn.{kind}_pool{rank}d", "data", **attrs, layout=layout, out_layout=layout)(cls)
    )


def _adaptive(rank: int) -> type[Operator]:
    doc = f"{AdaptivePool.__doc__} Data has {rank} spatial dimensions."
    cls = type(f"AdaptiveAvgPool{rank}d", (AdaptivePool,), {"__doc__": doc})
    layout = f"NC{SPATIAL[rank]}"
    name = f"relax.nn.adaptive_avg_pool{rank}d"
    return of_rank(rank, operator(name, "data", output_size=Attr(types=(list,)), layout=layout, out_layout=layout)(cls))


POOLS = {(kind, rank): _pool(kind, rank) for kind in ("max", "avg") for rank in SPATIAL}
ADAPTIVE = {rank: _adaptive(rank) for rank in SPATIAL}
