"""Layouts, padding and window sizes as TVM's operators take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import ShapeError, TiraxError
from ...dialects.relax.layout import windows
from ...dialects.sym.expr import SymExpr
from ...te.tensor import Tensor
from .common import integer, integers

Pairs = list[tuple[int, int]]


def places(layout: str, letters: str) -> list[int]:
    """The places in a plain layout of `letters`. Raises `ShapeError` where they are not those of the layout."""
    if sorted(layout) != sorted(letters):
        raise ShapeError("unknown layout", expected=f"the letters {letters} in some order", found=layout)
    return [layout.index(c) for c in letters]


def spatial_letters(rank: int) -> str:
    """The letters of spatial dimensions. Raises `TiraxError` for a rank that no operator has."""
    if rank not in (1, 2, 3):
        raise TiraxError("another number of spatial dimensions", expected="1, 2 or 3", found=rank)
    return {1: "W", 2: "HW", 3: "DHW"}[rank]


def pad_pairs(padding: Any, kernel: Sequence[int]) -> Pairs:
    """The padding before and after each dimension of a window of extents `kernel`.

    From one number, one for each dimension, all before and then all after, or `VALID` or `SAME`. Raises `TiraxError`
    for anything else.
    """
    rank = len(kernel)
    if isinstance(padding, str):
        if padding not in ("VALID", "SAME"):
            raise TiraxError("unknown padding", expected="VALID, SAME or numbers", found=padding)
        total = [k - 1 if padding == "SAME" else 0 for k in kernel]
        return [((t + 1) // 2, t - (t + 1) // 2) for t in total]
    if isinstance(padding, list | tuple) and len(padding) == 2 * rank:
        given = [integer(p) for p in padding]
        return list(zip(given[:rank], given[rank:], strict=True))
    return [(p, p) for p in integers(padding, rank)]


def kernel_extents(dims: Sequence[SymExpr], dilation: Sequence[int]) -> list[int]:
    """What windows reach over. Raises `ShapeError` where the extents of a kernel are not known."""
    out: list[int] = []
    for d, step in zip(dims, dilation, strict=True):
        if d.constant is None:
            raise ShapeError("the extents of the kernel have to be known", found=str(d))
        out.append((d.constant - 1) * step + 1)
    return out


def window_counts(
    data: Tensor, spatial: Sequence[int], padding: Pairs, reach: Sequence[int], strides: Sequence[int]
) -> list[SymExpr]:
    """How many windows there are in each dimension of `spatial`."""
    rows = zip(spatial, padding, reach, strides, strict=True)
    return [windows(data.dims[p], sum(pair), k, s, 1) for p, pair, k, s in rows]
