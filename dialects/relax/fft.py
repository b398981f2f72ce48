"""Discrete Fourier transforms. Complex numbers are pairs (real, imaginary) in the last dimension of real tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr
from .creation import extent_operand, has_operand
from .factorization import REALS
from .operator import Domain, Operator, operator
from .reduction import normalize_axis
from .types import TensorType

NORMS = ("backward", "ortho", "forward")
"""Which direction is divided by the length n: the inverse, both by its root, or the forward transform."""


class FourierOperator(Operator):
    """Base of transforms along `axis`, which counts the dimensions without that of pairs."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": REALS}
    COMPLEX: ClassVar[bool] = True

    def place(self, rank: int) -> int:
        """Return the axis counted from the front, for an operand of `rank`. Raises `ShapeError` if there is none."""
        return normalize_axis(self, self.attr("axis"), rank - self.COMPLEX)

    def dims(self) -> tuple[Sequence[SymExpr], int] | None:
        """Return the extents of x without that of pairs, and the axis; None if they are unknown."""
        x = self.tensor("x")
        norm = self.attr("norm")
        if norm not in NORMS:
            self.fail_shape("attribute norm is unknown", ", ".join(NORMS), norm)
        if x.rank is not None and x.rank < 1 + self.COMPLEX:
            self.fail_shape("argument x has too few dimensions", f"rank {1 + self.COMPLEX} or more", x.rank)
        if x.rank is not None:
            self.place(x.rank)
        if x.dims is None:
            return None
        if self.COMPLEX:
            self.require_equal(x.dims[-1], Const(2), "the last dimension of argument x must be pairs", 2, x.dims[-1])
        axis = self.place(len(x.dims))
        self.require_at_least(x.dims[axis], 1, "argument x must not be empty along the axis")
        return x.dims[: len(x.dims) - self.COMPLEX], axis


@operator("relax.fft.fft", "x", axis=-1, inverse=False, norm="backward")
class FFT(FourierOperator):
    """The transform of complex numbers: sums of x[j] · exp(-2πi · j · k / n); of exp(2πi · …) if `inverse`."""

    def infer(self) -> Attribute:
        self.dims()
        return self.tensor("x")


@operator("relax.fft.rfft", "x", axis=-1, norm="backward")
class RFFT(FourierOperator):
    """The first n // 2 + 1 numbers of the transform of real numbers; the others are their conjugates."""

    COMPLEX: ClassVar[bool] = False

    def infer(self) -> Attribute:
        x, known = self.tensor("x"), self.dims()
        if known is None:
            return TensorType.of(None, x.element, None if x.rank is None else x.rank + 1)
        dims, axis = known
        return TensorType.of([*dims[:axis], dims[axis] // 2 + 1, *dims[axis + 1 :], Const(2)], x.element)


@operator("relax.fft.irfft", "x length?", axis=-1, norm="backward")
class IRFFT(FourierOperator):
    """The `length` real numbers whose transform begins with x, which has length // 2 + 1 complex numbers.

    Without `length` it is even. Imaginary parts that are zero for real numbers (of the first number, and of the last
    one if the length is even) are not read.
    """

    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"length"})

    def infer(self) -> Attribute:
        x, known = self.tensor("x"), self.dims()
        if known is None:
            return TensorType.of(None, x.element, None if x.rank is None else x.rank - 1)
        dims, axis = known
        length = extent_operand(self, "length") if has_operand(self, "length") else (dims[axis] - 1) * 2
        if length is None:
            return TensorType.of(None, x.element, len(dims))
        self.require_at_least(length, 1, "argument length must be positive")
        expected = length // 2 + 1
        self.require_equal(dims[axis], expected, "argument x has another number of frequencies", expected, dims[axis])
        return TensorType.of([*dims[:axis], length, *dims[axis + 1 :]], x.element)
