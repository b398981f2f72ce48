"""Layouts by letters, `NCHW16c`: the order of dimensions, and which of them are blocked.

A capital letter is a dimension. The corresponding small letter, after a number, is the position in a block of that
size: in `NCHW16c`, channel c is in block `c floordiv 16` at `c mod 16`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from xdsl.dialects.builtin import IntegerType

from ...diagnostics import ShapeError
from .expr import SymExpr, Var, i64
from .index_map import IndexMapping

_AXIS = re.compile(r"(\d*)([A-Za-z])")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Axis:
    """A letter, and the block size for a position in a block."""

    letter: str
    factor: int | None = None

    @property
    def primal(self) -> str:
        """The letter of the dimension."""
        return self.letter.upper()

    def __str__(self) -> str:
        return self.letter if self.factor is None else f"{self.factor}{self.letter}"


@dataclass(frozen=True)
class DataLayout:
    """The axes of a layout from the outermost to the innermost."""

    axes: tuple[Axis, ...]

    @classmethod
    def parse(cls, text: str) -> DataLayout:
        """Parse a layout. Raises `ShapeError` for invalid text."""
        return _parse(text)

    @classmethod
    def initial(cls, rank: int) -> DataLayout:
        """Return the layout of `rank` dimensions in order: `ABCD`. Raises `ShapeError` if there are more than
        letters.
        """
        if rank > len(_LETTERS):
            raise ShapeError("there are more dimensions than letters", expected=f"at most {len(_LETTERS)}", found=rank)
        return cls(tuple(Axis(c) for c in _LETTERS[:rank]))

    def __str__(self) -> str:
        return "".join(map(str, self.axes))

    def __len__(self) -> int:
        return len(self.axes)

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The letters of the dimensions, in order."""
        return tuple(a.letter for a in self.axes if a.letter.isupper())

    @property
    def is_plain(self) -> bool:
        """Return whether no dimension is blocked."""
        return len(self.dims) == len(self.axes)

    def index(self, letter: str) -> int:
        """Return the position of a letter, or -1."""
        return next((i for i, a in enumerate(self.axes) if a.letter == letter), -1)

    def block(self, letter: str) -> int | None:
        """Return the block size of a dimension, or None if it is not blocked."""
        place = self.index(letter.lower())
        return None if place < 0 else self.axes[place].factor

    def renamed(self, source: DataLayout, target: DataLayout) -> DataLayout:
        """Return this layout with each letter of `source` replaced by the letter at the same position in `target`."""
        names = dict(zip(source.dims, target.dims, strict=True))
        names |= {a.lower(): b.lower() for a, b in names.items()}
        return DataLayout(tuple(Axis(names[a.letter], a.factor) for a in self.axes))

    def order(self, target: DataLayout) -> list[int]:
        """Return the positions here of the axes of `target`, which has the same letters; both are unblocked."""
        return [self.index(a.letter) for a in target.axes]

    def map_to(self, target: DataLayout, dtype: IntegerType = i64) -> IndexMapping:
        """Return the map from indices of this layout, `i0`, `i1`, … of `dtype`, to those of `target`.

        Raises `ShapeError` if the dimensions differ.
        """
        if sorted(self.dims) != sorted(target.dims):
            raise ShapeError("the layouts have other dimensions", expected=str(self), found=str(target))
        params = tuple(Var(f"i{i}", dtype) for i in range(len(self)))
        return IndexMapping(params, tuple(self._index(axis, target, params) for axis in target.axes))

    def _index(self, axis: Axis, target: DataLayout, params: Sequence[Var]) -> SymExpr:
        have, want = self.block(axis.primal), target.block(axis.primal)
        outer: SymExpr = params[self.index(axis.primal)]
        if have == want:
            return params[self.index(axis.letter)]
        full = outer if have is None else outer * have + params[self.index(axis.letter.lower())]
        if want is None:
            return full
        return full // want if axis.letter.isupper() else full % want

    def divides(self, dims: Sequence[SymExpr]) -> bool:
        """Return whether blocks certainly divide extents, which are those of the dimensions in alphabetical order."""
        blocks = [(d, self.block(c)) for c, d in zip(sorted(self.dims), dims, strict=True)]
        return all(b is None or (d % b).constant == 0 for d, b in blocks)


@lru_cache(256)
def _parse(text: str) -> DataLayout:
    tokens = _AXIS.findall(text)
    if "".join(a + b for a, b in tokens) != text:
        raise ShapeError("a layout is written with letters and numbers", expected="such as NCHW16c", found=text)
    axes = tuple(Axis(letter, int(digits) if digits else None) for digits, letter in tokens)
    for axis in axes:
        if axis.letter.isupper() and axis.factor is not None:
            raise ShapeError(f"layout {text}: the dimension {axis.letter} has a number before it", found=str(axis))
        if axis.letter.islower() and not axis.factor:
            raise ShapeError(f"layout {text}: the block {axis.letter} has no length", hint="write such as 16c")
    letters = [a.letter for a in axes]
    for letter in letters:
        if letters.count(letter) > 1:
            raise ShapeError(f"layout {text}: {letter} stands twice", found=text)
        if letter.upper() not in letters:
            raise ShapeError(f"layout {text}: there is no dimension {letter.upper()}", found=text)
    return DataLayout(axes)
