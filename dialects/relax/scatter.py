"""Operators that write at positions: the data with some elements updated."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ..sym.expr import SymExpr
from .indexing import broadcast_indices, integer_tensor, require_within, same_dtype
from .operator import Operator, operator
from .reduction import normalize_axis
from .types import TensorType


class _Scatter(Operator):
    REDUCTIONS: ClassVar[tuple[str, ...]] = ()

    def operands_of_scatter(self) -> tuple[TensorType, TensorType, TensorType]:
        """Return the types of data, indices and updates, after checking their dtypes and the reduction."""
        data, indices = self.tensor("data"), integer_tensor(self, "indices")
        same_dtype(self, "data", "updates")
        if self.attr("reduction") not in self.REDUCTIONS:
            self.fail_shape("attribute reduction is unknown", ", ".join(self.REDUCTIONS), self.attr("reduction"))
        if data.element == i1 and self.attr("reduction") in ("add", "mul", "mean"):
            self.fail_dtype("argument data must be of a numeric type to accumulate", "float32, int64, …", data.element)
        return data, indices, self.tensor("updates")

    def check_updates(self, extents: list[SymExpr], updates: TensorType) -> None:
        """Raise `ShapeError` if the updates certainly have another shape."""
        if updates.rank not in (None, len(extents)):
            self.fail_shape("argument updates has the wrong rank", len(extents), updates.rank)
        for i, (want, have) in enumerate(zip(extents, updates.dims or (), strict=False)):
            self.require_equal(want, have, f"argument updates has the wrong extent in dimension {i}", want, have)


@operator("relax.scatter_elements", "data indices updates", axis=0, reduction="update")
class ScatterElements(_Scatter):
    """data with each update at its own position, with the coordinate along `axis` replaced by the index.

    `reduction` combines an update with the existing element: `update`, `add`, `mul`, `mean`, `max` or `min`.
    """

    REDUCTIONS: ClassVar[tuple[str, ...]] = ("update", "add", "mul", "mean", "max", "min")

    def infer(self) -> Attribute:
        data, indices, updates = self.operands_of_scatter()
        if data.rank is not None:
            normalize_axis(self, self.attr("axis"), data.rank)
            if indices.rank not in (None, data.rank):
                self.fail_shape("argument indices must have the rank of data", data.rank, indices.rank)
        if indices.dims is not None:
            self.check_updates(list(indices.dims), updates)
        require_within(self, data, indices)
        return data if data.dims is not None else data.of_rank()


@operator("relax.scatter_nd", "data indices updates", reduction="update")
class ScatterND(_Scatter):
    """data with slices of updates at the positions in the last dimension of indices.

    `reduction` combines an update with the existing element: `update`, `add`, `mul`, `max` or `min`.
    """

    REDUCTIONS: ClassVar[tuple[str, ...]] = ("update", "add", "mul", "max", "min")

    def infer(self) -> Attribute:
        data, indices, updates = self.operands_of_scatter()
        if indices.rank == 0:
            self.fail_shape("argument indices must have a dimension", "rank 1 or more", 0)
        if data.element is None or updates.element is None:
            self.fail_dtype("arguments data and updates must have known dtypes", found=f"{data}, {updates}")
        if data.dims is None:
            return data.of_rank()
        if indices.dims is None or updates.dims is None:
            return data
        if (depth := indices.dims[-1].constant) is None:
            self.fail_shape("the last dimension of indices must be known", "an integer", indices.dims[-1])
        if depth > len(data.dims):
            self.fail_shape("the last dimension of indices is too great", f"at most {len(data.dims)}", depth)
        self.check_updates([*indices.dims[:-1], *data.dims[depth:]], updates)
        return data


@operator("relax.index_put", "data indices* values", accumulate=False)
class IndexPut(Operator):
    """data with data[indices] = values (added if `accumulate`): the indices broadcast."""

    def infer(self) -> Attribute:
        data, indices, values = self.tensor("data"), self.tensors("indices"), self.tensor("values")
        same_dtype(self, "data", "values")
        if self.attr("accumulate") and data.element == i1:
            self.fail_dtype("argument data must be of a numeric type to accumulate", "float32, int64, …", data.element)
        broadcast_indices(self, indices)
        if data.rank is not None and len(indices) > data.rank:
            self.fail_shape("there are more indices than dimensions of data", f"at most {data.rank}", len(indices))
        ranks = [t.rank for t in indices]
        if None not in ranks and data.rank is not None and values.rank is not None:
            most = max(r or 0 for r in ranks) + data.rank - len(indices)
            if values.rank > most:
                self.fail_shape("argument values has too many dimensions", f"at most {most}", values.rank)
        return data
