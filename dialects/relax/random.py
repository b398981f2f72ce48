"""Random number operators: pure functions of a seed, an offset and each element's index.

Equal seeds and offsets give equal tensors; an element only depends on its row-major index, not on the shape. Seed and
offset are rank-0 tensors, so that a program can compute them or take them as arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from ..dtypes import numpy_dtype, ui32, ui64
from ..sym.expr import Const
from .creation import extent_operand
from .operator import FLOATS, INTEGERS, Attr, Domain, Kind, Operator, as_dtype, operator
from .types import TensorType

_FLOAT = Attr(Kind.DTYPE, f32)
_INDEX = Attr(Kind.DTYPE, i64)


class _Random(Operator):
    ALLOWED: ClassVar[Domain | None] = None
    """The supported dtypes of the result."""

    def result_element(self) -> Attribute:
        """Return the dtype of the result, after checking the common operands."""
        for name in ("seed", "offset"):
            self._require_scalar(name)
        dtype = as_dtype(self.attr("dtype"))
        if dtype is None:
            self.fail_dtype("attribute dtype must be given")
        if self.ALLOWED is not None and not self.ALLOWED.holds(dtype):
            self.fail_dtype(f"attribute dtype must be {self.ALLOWED.text}", self.ALLOWED.examples, dtype)
        return dtype

    def _require_scalar(self, name: str) -> None:
        x = self.tensor(name)
        if x.rank not in (None, 0):
            self.fail_shape(f"argument {name} must be a scalar", "rank 0", x.rank)
        if x.element not in (None, i64):
            self.fail_dtype(f"argument {name} must be an int64", "int64", x.element)

    def infer(self) -> Attribute:
        shape = self.shape_arg("shape")
        return TensorType.of(shape.dims, self.result_element(), shape.rank)


class _Floating(_Random):
    ALLOWED: ClassVar[Domain | None] = Domain(
        "float16, bfloat16, float32 or float64", "float32", lambda t: t in (f16, bf16, f32, f64)
    )

    def finite(self, *names: str) -> list[float]:
        """Return attributes that must be finite in the dtype of the result."""
        limit = float(cast(Any, ml_dtypes.finfo(numpy_dtype(self.result_element()))).max)
        numbers = [float(self.attr(name)) for name in names]
        for name, number in zip(names, numbers, strict=True):
            if not abs(number) <= limit:
                self.fail_shape(f"attribute {name} must be a finite number of the dtype", f"at most {limit:g}", number)
        return numbers


@operator("relax.random.uniform", "seed offset shape", low=0.0, high=1.0, dtype=_FLOAT)
class Uniform(_Floating):
    """Uniformly distributed numbers in [`low`, `high`); `low` if both are equal.

    If the bounds are 0 and 1, they are multiples of 2**-53 in float64, 2**-24 in float32, 2**-11 in float16 and 2**-8
    in bfloat16.
    """

    def infer(self) -> Attribute:
        low, high = self.finite("low", "high")
        if low > high:
            self.fail_shape("attribute high must not be less than low", f"{low} or more", high)
        return super().infer()


@operator("relax.random.normal", "seed offset shape", mean=0.0, std=1.0, dtype=_FLOAT)
class Normal(_Floating):
    """Normally distributed numbers, computed in float64 and rounded once: the same ones for every dtype."""

    def infer(self) -> Attribute:
        _, std = self.finite("mean", "std")
        if std < 0:
            self.fail_shape("attribute std must not be negative", "0 or more", std)
        return super().infer()


@operator("relax.random.exponential", "seed offset shape", rate=1.0, dtype=_FLOAT)
class Exponential(_Floating):
    """Exponentially distributed numbers with the mean 1 / `rate`, computed like those of `normal`."""

    def infer(self) -> Attribute:
        (rate,) = self.finite("rate")
        if rate <= 0:
            self.fail_shape("attribute rate must be positive", "more than 0", rate)
        return super().infer()


@operator("relax.random.bernoulli", "seed offset shape p", dtype=Attr(Kind.DTYPE, i1))
class Bernoulli(_Random):
    """1 with probability `p`, whose shape broadcasts to `shape`, else 0; 0 if p is NaN."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"p": FLOATS}

    def infer(self) -> Attribute:
        p, shape = self.tensor("p"), self.shape_arg("shape")
        if p.dims is not None and shape.dims is not None:
            if len(p.dims) > len(shape.dims):
                self.fail_shape("argument p must not have more dimensions than shape", len(shape.dims), len(p.dims))
            for extent, wide in zip(reversed(p.dims), reversed(shape.dims), strict=False):
                if extent != Const(1, extent.dtype):
                    self.require_equal(extent, wide, "argument p must broadcast to shape", shape, p)
        return super().infer()


@operator("relax.random.randint", "seed offset shape low high", dtype=_INDEX)
class RandInt(_Random):
    """Uniformly distributed integers in [`low`, `high`); `low` if that is empty.

    They are remainders of 64-bit numbers: each of n values is equally likely, to n / 2**64.
    """

    ALLOWED: ClassVar[Domain | None] = INTEGERS
    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"low", "high"})

    def infer(self) -> Attribute:
        low, high = (None if e is None else e.constant for e in (extent_operand(self, n) for n in ("low", "high")))
        if low is not None and high is not None and low >= high:
            self.fail_shape("argument high must be greater than low", f"{low + 1} or more", high)
        limits = np.iinfo(numpy_dtype(self.result_element()))
        if (low is not None and low < limits.min) or (high is not None and high - 1 > limits.max):
            self.fail_dtype(
                "the bounds must be numbers of the dtype", f"{limits.min} to {limits.max}", f"{low}, {high}"
            )
        return super().infer()


@operator("relax.random.bits", "seed offset shape", dtype=Attr(Kind.DTYPE, ui32))
class Bits(_Random):
    """Words of Philox 4x32-10: the first of an element's four for 32-bit dtypes, the first two for 64-bit ones.

    The key is the seed; the counter is the offset followed by the index of the element, lower words first.
    """

    ALLOWED: ClassVar[Domain | None] = Domain(
        "an integer type of 32 or 64 bits", "uint32, uint64, …", lambda t: t in (i32, i64, ui32, ui64)
    )


@operator("relax.random.permutation", "seed offset n", dtype=_INDEX)
class Permutation(_Random):
    """A uniformly distributed permutation of the integers from 0 to `n` - 1."""

    ALLOWED: ClassVar[Domain | None] = INTEGERS
    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset({"n"})

    def infer(self) -> Attribute:
        n, dtype = extent_operand(self, "n"), self.result_element()
        if n is not None and n.constant is not None:
            if n.constant < 0:
                self.fail_shape("argument n must not be negative", "0 or more", n)
            limit = np.iinfo(numpy_dtype(dtype)).max
            if n.constant - 1 > limit:
                self.fail_dtype("the numbers must be numbers of the dtype", f"n of at most {limit + 1}", n)
        return TensorType.of(None if n is None else [n], dtype, 1)


@operator("relax.random.multinomial", "seed offset weights", num_samples=1, replacement=False, dtype=_INDEX)
class Multinomial(_Random):
    """`num_samples` positions per row along the last dimension of `weights`, (n,) or (batch, n), drawn by their
    weights.

    Weights need not add up to 1. Without replacement no position is drawn twice, and those with weight 0 come last;
    with replacement they are never drawn. For negative or NaN weights, and rows of zeros, the positions are
    unspecified.
    """

    ALLOWED: ClassVar[Domain | None] = INTEGERS
    DOMAINS: ClassVar[Mapping[str, Domain]] = {"weights": FLOATS}

    def infer(self) -> Attribute:
        weights, count, dtype = self.tensor("weights"), self.attr("num_samples"), self.result_element()
        if weights.rank not in (None, 1, 2):
            self.fail_shape("argument weights must be a vector or a matrix", "rank 1 or 2", weights.rank)
        if count < 1:
            self.fail_shape("attribute num_samples must be positive", "1 or more", count)
        if weights.dims is None:
            return TensorType.of(None, dtype, weights.rank)
        self.require_at_least(
            weights.dims[-1], 1 if self.attr("replacement") else count, "there are fewer weights than samples"
        )
        return TensorType.of([*weights.dims[:-1], Const(count, weights.dims[-1].dtype)], dtype)
