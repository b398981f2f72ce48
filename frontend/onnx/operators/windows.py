"""Common parts of convolutions and pooling: window attributes, and the padding of `auto_pad`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....dialects.sym.expr import SymExpr, as_expr
from ....dialects.sym.operators import maximum
from ....handles.relax.expr import Expr
from ....topi.windows import pad_constant
from ..node import Node
from ..values import Value, op

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
"""The layouts by the number of spatial dimensions."""


@dataclass(frozen=True)
class Window:
    """The movement of windows of extents `size`; padding is symbolic if the sizes it depends on are."""

    size: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    before: Sequence[SymExpr]
    after: Sequence[SymExpr]

    @property
    def padding(self) -> list[int] | None:
        """The padding [before…, after…] as numbers, or None if it is symbolic or negative."""
        numbers = [p.constant for p in (*self.before, *self.after)]
        known = [n for n in numbers if n is not None and n >= 0]
        return known if len(known) == len(numbers) else None


def spatial_rank(node: Node, x: Value) -> int:
    """Return the number of spatial dimensions. Raises `UnsupportedOperators` if there are none, or more than three."""
    rank = x.rank - 2
    if rank not in LAYOUTS:
        raise node.unsupported(f"windows over {rank} dimensions")
    return rank


def window_of(node: Node, x: Value, size: Sequence[int]) -> Window:
    """Return the window attributes of a node over the spatial dimensions of `x`."""
    rank = len(size)
    strides, dilations = node.attr("strides") or [1] * rank, node.attr("dilations") or [1] * rank
    pads = node.attr("pads") or [0] * (2 * rank)
    for name, values, count in (("strides", strides, rank), ("dilations", dilations, rank), ("pads", pads, 2 * rank)):
        if len(values) != count:
            raise node.error(f"the attribute {name} has another length", expected=count, found=values)
    mode = node.attr("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        before, after = _same(x.dims[2:], size, strides, dilations, mode == "SAME_UPPER")
    else:
        pads = [0] * (2 * rank) if mode == "VALID" else pads
        before, after = [as_expr(p) for p in pads[:rank]], [as_expr(p) for p in pads[rank:]]
    return Window(size, strides, dilations, before, after)


def _same(
    extents: Sequence[SymExpr], size: Sequence[int], strides: Sequence[int], dilations: Sequence[int], upper: bool
) -> tuple[list[SymExpr], list[SymExpr]]:
    """Return the padding for ceil(extent / stride) windows; an odd remainder is added at the end if `upper`."""
    before: list[SymExpr] = []
    after: list[SymExpr] = []
    for extent, k, s, d in zip(extents, size, strides, dilations, strict=True):
        span = (k - 1) * d + 1
        total = as_expr(span - 1) if s == 1 else maximum(((extent + (s - 1)) // s - 1) * s + span - extent, 0)
        less = total // 2
        before.append(less if upper else total - less)
        after.append(total - less if upper else less)
    return before, after


def padded(node: Node, x: Value, window: Window, value: float) -> tuple[Value | Expr, list[int]]:
    """Return `x` and the remaining padding: none if `x` had to be padded explicitly by symbolic widths."""
    if window.padding is not None:
        return x, window.padding
    before, after = [0, 0, *window.before], [0, 0, *window.after]
    return node.emit(node.call_te(pad_constant, x, before, after, value)), [0] * (2 * len(window.size))


def by_channel(vector: Value, rank: int) -> Expr:
    """Reshape a vector with an element for each channel to broadcast over `rank` spatial dimensions."""
    return op("reshape", vector, (1, vector.dims[0], *[1] * rank))
