"""`tir.layout` and `tir.bijective_layout`: layouts by letters, and their conversion of indices and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import ShapeError
from ...dialects.dtypes import dtype_of
from ...dialects.sym.data_layout import DataLayout
from ...dialects.sym.expr import i64
from ...handles.tir.dims import dim_of
from ...handles.tir.prim_expr import PrimExpr, as_sym, from_sym


@dataclass(frozen=True)
class Layout:
    """A layout such as `NCHW16c`, created by `layout`."""

    data: DataLayout
    dtype: str = "int32"

    @property
    def name(self) -> str:
        return str(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __contains__(self, axis: str) -> bool:
        return axis in self.name

    def __getitem__(self, index: int) -> str:
        """Return the letter of an axis, preceded by the length of a block. Raises `IndexError`."""
        if not 0 <= index < len(self):
            raise IndexError("Layout index out of range")
        return str(self.data.axes[index])

    def index_of(self, axis: str) -> int:
        """Return the position of an axis, or -1 if there is none."""
        return self.data.index(axis)

    def factor_of(self, axis: str) -> int:
        """Return the block length of a dimension, or -1 if it is not blocked or does not exist."""
        return self.data.block(axis.upper()) or -1

    def __str__(self) -> str:
        return f"Layout({self.name})"

    __repr__ = __str__


def layout(layout_str: str | Layout, dtype: str = "int32") -> Layout:
    """Parse a layout; `dtype` is that of indices. Raises `ShapeError` for invalid text."""
    if isinstance(layout_str, Layout):
        return layout_str
    dtype_of(dtype)
    return Layout(DataLayout.parse(layout_str), dtype)


@dataclass(frozen=True)
class BijectiveLayout:
    """A mapping between two layouts, created by `bijective_layout`."""

    src_layout: Layout
    dst_layout: Layout

    def forward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """Return the indices in dst_layout. Raises `ShapeError` if their number is not that of src_layout's axes."""
        return _indices(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """Return the indices in src_layout. Raises `ShapeError` if their number is not that of dst_layout's axes."""
        return _indices(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """Return the shape in dst_layout; the last block of a dimension may be partially filled."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """Return the shape in src_layout, with all blocks full."""
        return _shape(self.dst_layout, self.src_layout, shape)

    def __str__(self) -> str:
        return f"BijectiveLayout({self.src_layout.name}->{self.dst_layout.name})"

    __repr__ = __str__


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout:
    """Return the mapping between two layouts of the same dimensions. Raises `ShapeError` for different ones."""
    source, target = layout(src_layout), layout(dst_layout)
    source.data.map_to(target.data)
    return BijectiveLayout(source, target)


def _indices(source: Layout, target: Layout, index: Sequence[Any]) -> list[PrimExpr]:
    positions = [as_sym(i) if isinstance(i, PrimExpr) else dim_of(i) for i in index]
    dtype = max((e.dtype for e in positions), key=lambda t: t.width.data, default=i64)
    mapping = source.data.map_to(target.data, dtype)
    return [from_sym(e) for e in mapping.apply(positions)]


def _shape(source: Layout, target: Layout, shape: Sequence[Any]) -> list[PrimExpr]:
    if len(shape) != len(source):
        raise ShapeError(f"the shape does not fit {source.name}", expected=f"{len(source)} extents", found=len(shape))
    dims = [dim_of(d) for d in shape]
    out: list[PrimExpr] = []
    for axis in target.data.axes:
        have, want = source.data.block(axis.primal), target.data.block(axis.primal)
        total = dims[source.data.index(axis.primal)] * (have or 1)
        if axis.factor is not None:
            out.append(from_sym(total * 0 + axis.factor))
        else:
            out.append(from_sym(total if want is None else (total + (want - 1)) // want))
    return out
