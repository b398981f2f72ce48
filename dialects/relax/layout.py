"""Layouts of images and kernels: the letters of `NCHW` and `OIHW`, and attributes of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.ir import Block, SSAValue

from ...diagnostics import ShapeError
from ..sym.data_layout import DataLayout
from ..sym.expr import Const, SymExpr
from ..sym.operators import minimum
from .operator import Operator
from .types import TensorType

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of the spatial dimensions."""


def positions(op: Operator, name: str, letters: str) -> list[int]:
    """Return the positions of the dimensions `letters` in the layout of the attribute `name`.

    Raises `ShapeError` for a layout that is not a permutation of them (such as a blocked one).
    """
    layout = op.attr(name)
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        op.fail_shape(f"attribute {name} is no layout of this operator", f"a permutation of {letters}", layout)
    return [layout.index(c) for c in letters]


def layout_of(op: Operator, name: str, letters: str) -> DataLayout:
    """Return the layout of the attribute `name`, which may be blocked.

    Raises `ShapeError` if it does not have the dimensions `letters`.
    """
    text = op.attr(name)
    try:
        layout = DataLayout.parse(text) if isinstance(text, str) else None
    except ShapeError as error:
        op.fail_shape(f"attribute {name}: {error.message}", f"a layout of {letters}", text)
    if layout is None or sorted(layout.dims) != sorted(letters):
        op.fail_shape(f"attribute {name} is no layout of this operator", f"a permutation of {letters}", text)
    return layout


def dims_of_letters(op: Operator, arg: str, name: str, letters: str) -> tuple[TensorType, list[SymExpr] | None]:
    """Return the type of the operand `arg`, in the layout of the attribute `name`, and its extents in the order of
    `letters`.

    The extents are None if unknown. Raises `ShapeError` for an operand of another rank or with other blocks.
    """
    layout = layout_of(op, name, letters)
    t = check_rank(op, arg, len(layout))
    dims = t.dims
    if dims is None:
        return t, None
    for axis, extent in zip(layout.axes, dims, strict=True):
        if axis.factor is not None:
            op.require_equal(extent, Const(axis.factor), f"argument {arg} has other blocks", axis.factor, extent)
    return t, [dims[layout.index(c)] * (layout.block(c) or 1) for c in letters]


def laid_out(op: Operator, name: str, letters: str, dims: Sequence[SymExpr]) -> list[SymExpr]:
    """Convert extents in the order of `letters` to a shape in the layout of the attribute `name`.

    Raises `ShapeError` if blocks do not divide them.
    """
    layout = layout_of(op, name, letters)
    out: list[SymExpr] = []
    for axis in layout.axes:
        extent, block = dims[letters.index(axis.primal)], layout.block(axis.primal)
        if axis.factor is not None:
            out.append(Const(axis.factor))
        elif block is None:
            out.append(extent)
        else:
            rest = extent % block
            op.require_equal(rest, Const(0), f"attribute {name}: blocks of {axis.primal}", f"{extent} / {block}", rest)
            out.append(extent // block)
    return out


class Windowed(Operator):
    """Base of operators on spatial dimensions, whose tensors have layouts named by attributes."""

    RANK: ClassVar[int] = 2
    LAYOUTS: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Layout attributes and their non-spatial letters: for each operand in order, then for the result."""

    @property
    def letters(self) -> str:
        """The letters of the spatial dimensions."""
        return SPATIAL[self.RANK]

    def is_blocked(self) -> bool:
        """Return whether a layout is blocked."""
        return any(not DataLayout.parse(self.attr(n) or "").is_plain for n, _ in self.LAYOUTS)

    def unblocked(self) -> Self:
        """Return the same operator on placeholders for tensors in unblocked layouts."""
        args: list[SSAValue] = []
        for arg, (name, letters) in zip(self.ARG_NAMES, self.LAYOUTS, strict=False):
            t, dims = dims_of_letters(self, arg, name, letters + self.letters)
            args.append(Block(arg_types=[TensorType.of(dims, t.element, self.RANK + 2)]).args[0])
        plain = {name: letters + self.letters for name, letters in self.LAYOUTS}
        return type(self).make(*args, **{n: self.attr(n) for n in self.ATTR_SPECS} | plain)


def spread(value: Any, count: int) -> list[Any]:
    """Return a number or a sequence as a list of `count` elements; a number is repeated."""
    items: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, Sequence) else [value]
    return items * count if len(items) == 1 else items


def spread_padding(value: Any, count: int) -> list[Any]:
    """Return padding as [before..., after...], given one number, one for each dimension, or all of them."""
    items = spread(value, count)
    return items * 2 if len(items) == count else items


def integers(op: Operator, name: str, count: int, least: int) -> list[int]:
    """Return the attribute `name`, a list of `count` integers of at least `least`. Raises `ShapeError` otherwise."""
    attribute: object = op.attr(name)
    values = cast("list[Any]", attribute) if isinstance(attribute, list) else []
    if len(values) != count:
        op.fail_shape(f"attribute {name} must have {count} elements", count, values)
    if any(not isinstance(v, int) or v < least for v in values):
        op.fail_shape(f"attribute {name} must be of integers that are at least {least}", found=values)
    return values


def check_rank(op: Operator, arg: str, rank: int) -> TensorType:
    """Return the type of the operand `arg`, a tensor of `rank` (or of unknown rank). Raises `ShapeError` otherwise."""
    t = op.tensor(arg)
    if t.rank not in (None, rank):
        op.fail_shape(f"argument {arg} must have {rank} dimensions", rank, t.rank)
    return t


def arranged(places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """Return `values` in layout order: value i goes to position places[i]."""
    out: list[Any] = [None] * len(values)
    for place, value in zip(places, values, strict=True):
        out[place] = value
    return out


def windows(extent: SymExpr, padding: int, window: int, stride: int, dilation: int) -> SymExpr:
    """Return the number of windows that fit into a padded dimension."""
    return (extent + (padding - (window - 1) * dilation - 1)) // stride + 1


def windows_begun(extent: SymExpr, padding: tuple[int, int], window: int, stride: int, dilation: int) -> SymExpr:
    """Return the number of windows that begin before the end padding: one beyond would only see padding."""
    count = windows(extent, sum(padding), window, stride, dilation)
    if padding[1] <= (window - 1) * dilation:  # then a window that fits begins there
        return count
    return minimum(count, (extent + (padding[0] + stride - 1)) // stride)


def of_rank(rank: int, cls: type[Any]) -> type[Operator]:
    """Return the operator class for `rank` spatial dimensions."""
    cls.RANK = rank
    return cls
