"""Layouts of images and kernels: what the letters of `NCHW` and `OIHW` say, and attributes of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..sym.expr import SymExpr
from .operator import Operator
from .types import TensorType

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
"""The letters of the spatial dimensions."""


def positions(op: Operator, name: str, letters: str) -> list[int]:
    """Where the dimensions `letters` stand in the layout that the attribute `name` gives.

    Raises `ShapeError` for a layout that is not a permutation of them (such as a blocked one).
    """
    layout = op.attr(name)
    if not isinstance(layout, str) or sorted(layout) != sorted(letters):
        op.fail_shape(f"attribute {name} is no layout of this operator", f"a permutation of {letters}", layout)
    return [layout.index(c) for c in letters]


def spread(value: Any, count: int) -> list[Any]:
    """A number or a sequence as a list: one number stands for each of `count`."""
    items: list[Any] = list(cast("Sequence[Any]", value)) if isinstance(value, Sequence) else [value]
    return items * count if len(items) == 1 else items


def spread_padding(value: Any, count: int) -> list[Any]:
    """Padding as [before..., after...]: one number for all, one for each dimension, or all of them."""
    items = spread(value, count)
    return items * 2 if len(items) == count else items


def integers(op: Operator, name: str, count: int, least: int) -> list[int]:
    """The attribute `name`, which is a list of `count` integers. Raises `ShapeError` for other ones."""
    given: object = op.attr(name)
    values = cast("list[Any]", given) if isinstance(given, list) else []
    if len(values) != count:
        op.fail_shape(f"attribute {name} must have {count} elements", count, values)
    if any(not isinstance(v, int) or v < least for v in values):
        op.fail_shape(f"attribute {name} must be of integers that are at least {least}", found=values)
    return values


def check_rank(op: Operator, arg: str, rank: int) -> TensorType:
    """The operand `arg`, a tensor of `rank` (or of an unknown one). Raises `ShapeError` for another."""
    t = op.tensor(arg)
    if t.rank not in (None, rank):
        op.fail_shape(f"argument {arg} must have {rank} dimensions", rank, t.rank)
    return t


def arranged(places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    """`values` in the order of a layout: value i stands at places[i]."""
    out: list[Any] = [None] * len(values)
    for place, value in zip(places, values, strict=True):
        out[place] = value
    return out


def windows(extent: SymExpr, padding: int, window: int, stride: int, dilation: int) -> SymExpr:
    """How many windows fit into a padded dimension."""
    return (extent + (padding - (window - 1) * dilation - 1)) // stride + 1


def of_rank(rank: int, cls: type[Any]) -> type[Operator]:
    """An operator class for so many spatial dimensions."""
    cls.RANK = rank
    return cls
