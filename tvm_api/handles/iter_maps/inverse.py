"""The inverse of a bijective map: iterators in terms of the values of the indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....diagnostics import TiraxError
from ....handles.tir import prim_expr as tx
from ....handles.tir.prim_expr import PrimExpr
from ..arith.analyzer import Analyzer
from .nodes import IterSplitExpr, IterSumExpr

_Part = IterSplitExpr | IterSumExpr


@dataclass
class Inverse:
    """The values of parts, which each user of a part adds to before the part itself is visited."""

    rules: Analyzer = field(default_factory=Analyzer)
    values: dict[int, PrimExpr] = field(default_factory=dict[int, PrimExpr])
    iterators: dict[PrimExpr, PrimExpr] = field(default_factory=dict[PrimExpr, PrimExpr])

    def of(self, indices: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]) -> dict[PrimExpr, PrimExpr]:
        """Return the iterators for the values `outputs`. Raises `TiraxError` if the numbers or the scales differ."""
        if len(indices) != len(outputs):
            raise TiraxError("an index has one output", expected=len(indices), found=len(outputs))
        order = _users_first(indices)
        for index, output in zip(indices, outputs, strict=True):
            self.values[id(index)] = output
        for part in order:
            if isinstance(part, IterSumExpr):
                self._sum(part)
            else:
                self._split(part)
        return self.iterators

    def _add(self, part: _Part, value: PrimExpr) -> None:
        known = self.values.get(id(part))
        self.values[id(part)] = value if known is None else known + value

    def _sum(self, total: IterSumExpr) -> None:
        value = self.values[id(total)] - total.base
        if len(total.args) == 1:
            (split,) = total.args
            if not any(self.rules.can_prove_equal(split.scale, tx.const(n, split.dtype)) for n in (1, -1)):
                raise TiraxError("an index with gaps has no inverse", expected="scale 1 or -1", found=split.scale)
            self._add(split, value * split.scale)
            return
        expected = None
        for position, split in reversed(list(enumerate(total.args))):
            if expected is not None and not self.rules.can_prove_equal(split.scale, expected):
                raise TiraxError("an index with gaps has no inverse", expected=f"scale {expected}", found=split.scale)
            expected = split.scale * split.extent
            digit = tx.floordiv(value, split.scale)
            self._add(split, tx.floormod(digit, split.extent) if position else digit)

    def _split(self, split: IterSplitExpr) -> None:
        value = self.values[id(split)] * split.lower_factor
        source = split.source.source
        if isinstance(source, PrimExpr):
            known = self.iterators.get(source)
            self.iterators[source] = value if known is None else known + value
        else:
            self._add(source, value)


def _users_first(indices: Sequence[IterSumExpr]) -> list[_Part]:
    """Return all parts, each after the parts that use it."""
    out: list[_Part] = []
    seen: set[int] = set()

    def visit(part: _Part) -> None:
        if id(part) in seen:
            return
        seen.add(id(part))
        source = part.args if isinstance(part, IterSumExpr) else [part.source.source]
        for inner in source:
            if isinstance(inner, IterSplitExpr | IterSumExpr):
                visit(inner)
        out.append(part)

    for index in indices:
        visit(index)
    return out[::-1]


__all__ = ["Inverse"]
