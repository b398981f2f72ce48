"""Operators of `nn.op`: samples of distributions over a vocabulary, as language models draw them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import te
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import const
from .op_calls import tensor_expr_op
from .op_math import cumsum, divide, emit, sum
from .tensor import Tensor, wrap_nested


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """Samples `(n, 1)` of the distributions `prob` `(batch, size)`, by numbers `(n, 1)` between 0 and 1.

    Sample i is of the distribution `sample_indices[i]`, i where that is None.
    """
    places = _own_rows(uniform_sample) if sample_indices is None else sample_indices
    return emit("multinomial_from_uniform", prob, uniform_sample, places, dtype=dtype, name=name)


def _own_rows(uniform_sample: Tensor) -> Tensor:
    """0, 1, 2, … as a column, one for each sample."""
    count = uniform_sample.shape[0]
    if isinstance(count, int):
        return Tensor(_expr=const(np.arange(count).reshape(count, 1), "int64"))
    numbers = call_operator("relax.arange", 0, count, 1, dtype="int64")
    return wrap_nested(call_operator("relax.expand_dims", numbers, 1), "sample_indices")


def _count(values: Any, holds: Callable[[Any], Any]) -> Any:
    """At how many positions of a row of `values` something holds."""
    j = te.reduce_axis((0, values.shape[1]), name="j")
    return te.sum(te.if_then_else(holds(j), te.const(1, "int64"), te.const(0, "int64")), axis=j)


def _at(values: Any, row: Any, position: Any) -> Any:
    """The element of a row at a position, the last one where that is behind the end."""
    return values[row, te.min(position, values.shape[1] - 1)]


def _at_cutoff(values: Any, cumsum_sorted: Any, top_p: Any, top_k: Any) -> Any:
    """Of each row of `values` the element at the last of the sorted probabilities that is kept.

    One is kept whose predecessors add up to less than `top_p`, at most `top_k` are, and at least one.
    """

    def goes_on(row: Any, j: Any) -> Any:
        return te.logical_and(cumsum_sorted[row, j] < top_p[row, 0], j + 1 < top_k[row, 0])

    batch = values.shape[0]
    last = te.compute((batch,), lambda i: _count(cumsum_sorted, lambda j: goes_on(i, j)), name="last")
    return te.compute((batch, 1), lambda i, z: _at(values, i, last[i]), name="at_cutoff")


def _renorm_prob(cumsum_sorted: Any, top_p: Any, top_k: Any) -> Any:
    return _at_cutoff(cumsum_sorted, cumsum_sorted, top_p, top_k)


def _index_from_sorted(cumsum_sorted: Any, indices: Any, renorm_prob: Any, usample: Any, sample_indices: Any) -> Any:
    """For each sample the first index whose share of what is kept exceeds it."""

    def passed(i: Any, j: Any) -> Any:
        row = sample_indices[i, 0]
        return usample[i, 0] >= cumsum_sorted[row, j] / renorm_prob[row, 0]

    count = usample.shape[0]
    place = te.compute((count,), lambda i: _count(cumsum_sorted, lambda j: passed(i, j)), name="place")
    return te.compute((count, 1), lambda i, z: _at(indices, sample_indices[i, 0], place[i]), name="output_index")


def _filter(prob: Any, cutoff: Any) -> Any:
    zero = te.const(0, prob.dtype)
    return te.compute(prob.shape, lambda i, j: te.Select(cutoff[i, 0] <= prob[i, j], prob[i, j], zero), name="kept")


def sample_top_p_top_k_from_sorted_prob(
    sorted_prob: Tensor,
    sorted_index: Tensor,
    top_p: Tensor,
    top_k: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
) -> Tensor:
    """Samples `(n, 1)` of what `top_p` and `top_k` `(batch, 1)` keep of falling probabilities `(batch, size)`.

    `sorted_index` says what they are probabilities of, `uniform_sample` `(n, 1)` are numbers between 0 and 1, and
    sample i is of the row `sample_indices[i]`, i where that is None.
    """
    places = _own_rows(uniform_sample) if sample_indices is None else sample_indices
    sums = cumsum(sorted_prob, axis=1)
    total = tensor_expr_op(_renorm_prob, "get_renorm_prob", [sums, top_p, top_k])
    return tensor_expr_op(
        _index_from_sorted, "get_index_from_sorted", [sums, sorted_index, total, uniform_sample, places]
    )


def renormalize_top_p_top_k_prob(prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """Probabilities `(batch, size)`, those that `top_p` and `top_k` do not keep 0, and the others scaled to 1."""
    sums = cumsum(sorted_prob, axis=1)
    cutoff = tensor_expr_op(_at_cutoff, "get_renorm_cutoff", [sorted_prob, sums, top_p, top_k])
    kept = tensor_expr_op(_filter, "filter_with_top_p_top_k", [prob, cutoff])
    return divide(kept, sum(kept, axis=1, keepdims=True))
