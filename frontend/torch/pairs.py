"""Complex tensors as pairs of real tensors of the same shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...handles.relax.expr import Expr
from ..importing.relax_operators import R
from .emitter import dtype_of, rank_of


@dataclass(frozen=True)
class Pairs:
    """A complex tensor: its parts, or `whole`, where the last dimension is (real, imaginary)."""

    parts: tuple[Expr, Expr] | None = None
    whole: Expr | None = None

    def mapped(self, convert: Callable[[Any], Any]) -> Pairs:
        """Return it with each tensor converted."""
        if self.parts is None:
            return Pairs(whole=convert(self.whole))
        re, im = map(convert, self.parts)
        return Pairs((re, im))

    def split(self, emit: Callable[[Expr], Expr]) -> tuple[Expr, Expr]:
        """Return the real and the imaginary part."""
        if self.parts is not None:
            return self.parts
        assert self.whole is not None
        axis = rank_of(self.whole) - 1
        slices = [emit(R.strided_slice(self.whole, axes=[axis], begin=[i], end=[i + 1])) for i in (0, 1)]
        re, im = (emit(R.squeeze(s, axis=[axis])) for s in slices)
        return re, im

    def joined(self, emit: Callable[[Expr], Expr]) -> Expr:
        """Return the tensor whose last dimension is (real, imaginary)."""
        if self.whole is not None:
            return self.whole
        assert self.parts is not None
        return emit(R.stack(list(self.parts), axis=-1))

    @property
    def dtype(self) -> str:
        """The dtype of the parts."""
        tensor = self.whole if self.parts is None else self.parts[0]
        assert tensor is not None
        return dtype_of(tensor)
