"""`tir.layout` and `tir.bijective_layout`: layouts by letters, and their conversion of indices and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType

from ...diagnostics import DTypeError, ShapeError
from ...dialects.dtypes import dtype_of
from ...dialects.sym.data_layout import DataLayout
from ...dialects.sym.expr import i64
from ...handles.tir.dims import dim_of
from ...handles.tir.domains import IterVar, Range
from ...handles.tir.prim_expr import PrimExpr, as_sym, const, from_sym
from ...handles.tir.variables import Var


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
        """Return the letter of an axis. Raises `IndexError`."""
        if not -len(self) <= index < len(self):
            raise IndexError("Layout index out of range")
        return str(self.data.axes[index])[-1]

    @property
    def axes(self) -> list[IterVar]:
        """The axes as iterators; those of blocks have their lengths as extents, the others symbolic ones."""
        found: list[IterVar] = []
        for axis in self.data.axes:
            letter = str(axis)[-1]
            extent = Var(letter, self.dtype) if axis.factor is None else const(axis.factor, self.dtype)
            found.append(IterVar(Range(const(0, self.dtype), extent), Var(letter, self.dtype), IterVar.DataPar))
        return found

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
    """Parse a layout; `dtype` is that of indices.

    Raises `ShapeError` for invalid text, `DTypeError` for a dtype that is not of integers.
    """
    if isinstance(layout_str, Layout):
        return layout_str
    if not isinstance(cast(object, dtype), str) or not isinstance(dtype_of(dtype), IntegerType):
        raise DTypeError("indices are integers", expected="int32 or int64", found=dtype)
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


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout | None:
    """Return the mapping between two layouts; None if one is undefined, or they have different dimensions."""
    if any(str(each) in ("", "__undef__") for each in (src_layout, dst_layout)):
        return None
    source, target = layout(src_layout), layout(dst_layout)
    try:
        source.data.map_to(target.data)
    except ShapeError:
        return None
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
