"""Scans, sorting, searching and sampling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr, product
from .indexing import integer_tensor, same_dtype
from .operator import AXIS, DTYPE, FLOATS, Attr, Domain, Kind, Operator, as_dtype, operator
from .reduction import normalize_axis
from .types import TensorType, tuple_type


class Scan(Operator):
    """A scan: combines each element with all before it along `axis`, of the flattened tensor if None."""

    def infer(self) -> Attribute:
        x, axis = self.tensor("data"), self.attr("axis")
        dtype = as_dtype(self.attr("dtype")) or x.element
        if dtype == i1:
            self.fail_dtype("the result must be of a numeric type", "attribute dtype, where data is bool", dtype)
        if axis is None:
            return TensorType.of(None if x.dims is None else [product(x.dims)], dtype, 1)
        if x.rank is not None:
            normalize_axis(self, axis, x.rank)
        return x.of_dtype(dtype)


@operator("relax.cumsum", "data", axis=AXIS, dtype=DTYPE, exclusive=False)
class Cumsum(Scan):
    """The sum of the elements up to each one (excluding it if `exclusive`)."""


@operator("relax.cumprod", "data", axis=AXIS, dtype=DTYPE, exclusive=False)
class Cumprod(Scan):
    """The product of the elements up to each one (excluding it if `exclusive`)."""


@operator("relax.sort", "x", axis=-1, descending=False)
class Sort(Operator):
    """The elements in sorted order along `axis`; NaN is greater than all others."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        if x.rank is not None:
            normalize_axis(self, self.attr("axis"), x.rank)
        return x


def index_dtype(op: Operator) -> Attribute:
    """Return the attribute `dtype`, by default int32."""
    return as_dtype(op.attr("dtype")) or i32


_INDEX = Attr(Kind.DTYPE, i32)


@operator("relax.argsort", "data", axis=-1, descending=False, dtype=_INDEX)
class Argsort(Operator):
    """The positions of the elements in sorted order along `axis`; the sort is stable."""

    def infer(self) -> Attribute:
        x = self.tensor("data")
        if x.rank is not None:
            normalize_axis(self, self.attr("axis"), x.rank)
        return x.of_dtype(index_dtype(self))


@operator("relax.topk", "data", k=1, axis=-1, ret_type="both", largest=True, dtype=_INDEX)
class TopK(Operator):
    """The `k` greatest (or least) elements along `axis`, in sorted order, with their positions; all if k < 1.

    `ret_type` selects the results: `both`, `values` or `indices`.
    """

    def infer(self) -> Attribute:
        x, ret_type = self.tensor("data"), self.attr("ret_type")
        if ret_type not in ("both", "values", "indices"):
            self.fail_shape("attribute ret_type is unknown", "both, values or indices", ret_type)
        dims = None
        if x.rank is not None:
            place = normalize_axis(self, self.attr("axis"), x.rank)
            dims = None if x.dims is None else [self.count() if i == place else d for i, d in enumerate(x.dims)]
        values, indices = TensorType.of(dims, x.element, x.rank), TensorType.of(dims, index_dtype(self), x.rank)
        return {"both": tuple_type([values, indices]), "values": values, "indices": indices}[ret_type]

    def count(self) -> SymExpr:
        """Return the number of elements taken from a dimension of known extent. Raises `ShapeError` if it is too
        small.
        """
        x: Any = self.tensor("data")
        extent = x.dims[normalize_axis(self, self.attr("axis"), x.rank)]
        k = self.attr("k")
        if k >= 1:
            self.require_at_least(extent, k, "attribute k is greater than the dimension")
        return Const(k) if k >= 1 else extent


@operator("relax.bucketize", "input_tensor boundaries", out_int32=False, right=False)
class Bucketize(Operator):
    """The number of sorted boundaries less than each element (less or equal if `right`).

    They are found by binary search: for unsorted boundaries the result is unspecified.
    """

    def infer(self) -> Attribute:
        x, boundaries = self.tensor("input_tensor"), self.tensor("boundaries")
        same_dtype(self, "input_tensor", "boundaries")
        if boundaries.rank not in (None, 1):
            self.fail_shape("argument boundaries must be a vector", "rank 1", boundaries.rank)
        return x.of_dtype(i32 if self.attr("out_int32") else i64)


@operator("relax.multinomial_from_uniform", "prob uniform_sample sample_indices", dtype=Attr(Kind.DTYPE, i64))
class MultinomialFromUniform(Operator):
    """For each sample, the first position where the running sum of its row of prob exceeds the uniform number.

    prob is (batch, n); uniform_sample and sample_indices (the rows) are (samples, 1), and so is the result.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"prob": FLOATS}

    def infer(self) -> Attribute:
        prob, sample = self.tensor("prob"), self.tensor("uniform_sample")
        rows = integer_tensor(self, "sample_indices")
        same_dtype(self, "prob", "uniform_sample")
        for name, t in (("prob", prob), ("uniform_sample", sample), ("sample_indices", rows)):
            if t.rank not in (None, 2):
                self.fail_shape(f"argument {name} must have 2 dimensions", 2, t.rank)
        if sample.dims is not None and rows.dims is not None:
            for i, (a, b) in enumerate(zip(sample.dims, rows.dims, strict=True)):
                self.require_equal(a, b, f"argument sample_indices has another extent in dimension {i}", a, b)
        return TensorType.of(sample.dims, as_dtype(self.attr("dtype")) or i64, sample.rank)
