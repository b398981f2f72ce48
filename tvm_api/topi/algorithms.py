"""Sorting, searching, scans and scattering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...dialects.dtypes import dtype_of
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr
from ...te.axis import dim
from ...te.tensor import Tensor
from ...topi import scan as _scan
from ...topi import scatter as _scatter
from .common import element_type, integer


def sort(data: Tensor, axis: int = -1, is_ascend: Any = 1) -> Tensor:
    """The elements in sorted order along `axis`."""
    return _scan.sort(data, integer(axis), not int(is_ascend))


def argsort(
    data: Tensor, valid_count: Tensor | None = None, axis: int = -1, is_ascend: Any = 1, dtype: str = "float32"
) -> Tensor:
    """The positions of the elements in sorted order along `axis`, equal ones in their own order.

    With `valid_count`, only so many at the front of each row are sorted, and the others stay where they are.
    """
    element = dtype_of(dtype)
    return _scan.argsort(data, integer(axis), not int(is_ascend), element, valid_count)


def topk(
    data: Tensor, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: Any = False, dtype: str = "int64"
) -> Tensor | list[Tensor]:
    """The first `k` (all where 0 or less) in sorted order along `axis`: `values`, `indices` or `both`."""
    count = dim(k)
    if count.constant is not None and count.constant < 1:
        count = data.dims[integer(axis)]
    out = _scan.topk(data, count, integer(axis), ret_type, not int(is_ascend), dtype_of(dtype))
    return out if ret_type == "both" else out[0]


def searchsorted(sorted_sequence: Tensor, values: Tensor, right: Any = False, out_dtype: str = "int64") -> Tensor:
    """How many of the sorted numbers are less than each value, or (`right`) less or equal.

    A sequence of several dimensions holds one sequence for each row of `values`.
    """
    return _scan.searchsorted(sorted_sequence, values, bool(int(right)), dtype_of(out_dtype))


def cumsum(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: Any = None) -> Tensor:
    """The running sums along `axis` (of flat `data` where None); without the element itself where `exclusive`."""
    return _scan.scan(data, "cumsum", axis, element_type(dtype, data.type), bool(exclusive))


def cumprod(data: Tensor, axis: int | None = None, dtype: str | None = None, exclusive: Any = None) -> Tensor:
    """The running products along `axis` (of flat `data` where None); without the element itself where `exclusive`."""
    return _scan.scan(data, "cumprod", axis, element_type(dtype, data.type), bool(exclusive))


def scanop(
    data: Tensor,
    binop: Callable[[PrimExpr, PrimExpr], PrimExpr],
    identity_value: Any,
    op_name: str,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: Any = None,
) -> Tensor:
    """The running results of `binop` along `axis`, from `identity_value` on."""
    start = tx.convert(identity_value)
    return _scan.running(data, op_name, binop, start, axis, element_type(dtype, data.type), bool(exclusive))


def scatter_elements(
    data: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "update"
) -> Tensor:
    """`data` with each update at its own position, the coordinate along `axis` replaced by the index."""
    return _scatter.scatter_elements(data, indices, updates, integer(axis), _scatter.known_reduction(reduction))


def scatter_nd(data: Tensor, indices: Tensor, updates: Tensor, mode: str) -> Tensor:
    """`data` with slices of updates at the positions that the first dimension of `indices` lists."""
    return _scatter.scatter_nd_first(data, indices, updates, _scatter.known_reduction(mode))


def index_put(data: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """data[indices] = values, += where `accumulate`: the indices broadcast, and so do the values."""
    return _scatter.index_put(data, list(indices), values, bool(accumulate))


__all__ = [
    "argsort",
    "cumprod",
    "cumsum",
    "index_put",
    "scanop",
    "scatter_elements",
    "scatter_nd",
    "searchsorted",
    "sort",
    "topk",
]
