"""Operators on `nn.Tensor`: each emits a binding, named after the operator, into the exported function.

Relax operators without a function here are available by name as well: `op.log2(x)`, `op.tile(x, …)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import te
from ...diagnostics import unknown_name
from ...dialects.relax import OPERATORS
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import DataTypeImm, StringImm, const
from .op_layers import (
    ccl_allgather,
    ccl_allreduce,
    ccl_broadcast_from_worker0,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv3d,
    debug_func,
    extern,
    get_timestep_embedding,
    group_norm,
    interpolate,
    layer_norm,
    print_,
    rms_norm,
    scaled_dot_product_attention,
    tensor_expr_op,
    tensor_ir_inplace_op,
    tensor_ir_op,
)
from .tensor import Tensor, emit, emit_binary, permute_dims, unwrap, wrap_nested

# Arithmetic, comparisons, unary functions, activations, reductions.


def add(a: Tensor, b: Tensor, name: str = "add") -> Tensor:
    """a + b; either may be a number, as in all binary operators."""
    return emit_binary("add", a, b, name)


def subtract(a: Tensor, b: Tensor, name: str = "subtract") -> Tensor:
    """a - b"""
    return emit_binary("subtract", a, b, name)


def multiply(a: Tensor, b: Tensor, name: str = "mul") -> Tensor:
    """a * b"""
    return emit_binary("multiply", a, b, name)


def divide(a: Tensor, b: Tensor, name: str = "divide") -> Tensor:
    """a / b"""
    return emit_binary("divide", a, b, name)


def maximum(x1: Tensor, x2: Tensor, name: str = "maximum") -> Tensor:
    """Return the elementwise maximum."""
    return emit_binary("maximum", x1, x2, name)


def minimum(x1: Tensor, x2: Tensor, name: str = "minimum") -> Tensor:
    """Return the elementwise minimum."""
    return emit_binary("minimum", x1, x2, name)


def equal(a: Tensor, b: Tensor, name: str = "equal") -> Tensor:
    """a == b"""
    return emit_binary("equal", a, b, name)


def not_equal(a: Tensor, b: Tensor, name: str = "not_equal") -> Tensor:
    """a != b"""
    return emit_binary("not_equal", a, b, name)


def less(a: Tensor, b: Tensor, name: str = "less") -> Tensor:
    """a < b"""
    return emit_binary("less", a, b, name)


def less_equal(a: Tensor, b: Tensor, name: str = "less_equal") -> Tensor:
    """a <= b"""
    return emit_binary("less_equal", a, b, name)


def greater(a: Tensor, b: Tensor, name: str = "greater") -> Tensor:
    """a > b"""
    return emit_binary("greater", a, b, name)


def greater_equal(a: Tensor, b: Tensor, name: str = "greater_equal") -> Tensor:
    """a >= b"""
    return emit_binary("greater_equal", a, b, name)


def where(condition: Tensor, x1: Tensor, x2: Tensor, name: str = "where") -> Tensor:
    """Select x1 where the condition is true, else x2; a non-boolean condition is converted."""
    mask = condition if condition.dtype == "bool" else astype(condition, "bool")
    return emit("where", mask, x1, x2, name=name)


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """-x"""
    return emit("negative", x, name=name)


def square(x: Tensor, name: str = "square") -> Tensor:
    """x * x"""
    return emit("square", x, name=name)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """Return the square root."""
    return emit("sqrt", x, name=name)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """Return e to the power of x."""
    return emit("exp", x, name=name)


def log(x: Tensor, name: str = "log") -> Tensor:
    """Return the natural logarithm."""
    return emit("log", x, name=name)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """Round down to an integer."""
    return emit("floor", x, name=name)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """Return the hyperbolic tangent."""
    return emit("tanh", x, name=name)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """1 / (1 + exp(-x))"""
    return emit("sigmoid", x, name=name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """Convert x to `dtype`; return x itself if it has that dtype."""
    return x if x.dtype == dtype else emit("astype", x, dtype, name=name)


def relu(x: Tensor, name: str = "relu") -> Tensor:
    """max(x, 0)"""
    return emit("nn.relu", x, name=name)


def relu6(x: Tensor, name: str = "relu6") -> Tensor:
    """min(max(x, 0), 6)"""
    return emit("clip", x, 0, 6, name=name)


def silu(x: Tensor, name: str = "silu") -> Tensor:
    """x * sigmoid(x)"""
    return emit("nn.silu", x, name=name)


def gelu(x: Tensor, approximate: str | None = None, name: str = "gelu") -> Tensor:
    """The Gaussian error linear unit; `approximate="tanh"` uses the tanh approximation."""
    return emit("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """Normalize exp(x) by its sum along `axis`."""
    return emit("nn.softmax", x, axis=axis, name=name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """log(1 + exp(beta * x)) / beta, or x where beta * x exceeds the threshold."""
    return emit("nn.softplus", x, beta=beta, threshold=threshold, name=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """x if it is positive, else alpha * x, with one alpha per channel (axis 1)."""
    return emit("nn.prelu", x, alpha, name=name)


def sum(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """Return the sum over `axis` (None: all axes)."""
    return emit("sum", x, axis=axis, keepdims=keepdims, name=name)


def max(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """Return the maximum over `axis` (None: all axes)."""
    return emit("max", x, axis=axis, keepdims=keepdims, name=name)


def min(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """Return the minimum over `axis` (None: all axes)."""
    return emit("min", x, axis=axis, keepdims=keepdims, name=name)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """Return the inclusive (or `exclusive`) prefix sums along `axis` (None: of the flattened tensor)."""
    return emit("cumsum", data, axis=axis, dtype=dtype, exclusive=bool(exclusive), name=name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """Return the matrix product."""
    return emit("matmul", a, b, out_dtype=out_dtype, name=name)


# Shapes, creation, slicing, sorting.


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """Insert a dimension of extent 1."""
    return emit("expand_dims", x, dim, name=name)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Remove the dimension `axis`, which has extent 1."""
    return emit("squeeze", x, axis=axis, name=name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Concatenate tensors along a dimension."""
    return emit("concat", x, axis=dim, name=name)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """Split a tensor along `axis` into equal sections, or at indices."""
    return emit("split", ary, indices_or_sections=indices_or_sections, axis=axis, name=name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """Split a tensor along `dim` into equal parts."""
    return split(x, chunks, dim, name)


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """Same as `permute_dims`."""
    return emit("permute_dims", x, axes, name=name)


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """Reshape x; one extent may be -1."""
    return emit("reshape", x, tuple(shape), name=name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """Broadcast x to `shape`."""
    return emit("broadcast_to", x, tuple(shape), name=name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Repeat each element `repeats` times along `axis` (None: of the flattened tensor)."""
    return emit("repeat", x, repeats=repeats, axis=axis, name=name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """Pad dimension i of x with `pad[2 * i]` elements before and `pad[2 * i + 1]` after it."""
    return emit("nn.pad", x, pad_width=list(pad), pad_value=value, pad_mode=mode, name=name)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """Gather elements by index along `axis` (None: of the flattened tensor)."""
    return emit("take", x, indices, axis=axis, name=name)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """Return the upper triangle of matrices, with zeros below it."""
    return emit("triu", x, diagonal, name=name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """Return a tensor filled with one value: a number, or a tensor of rank 0."""
    value = const(fill_value, dtype) if isinstance(fill_value, int | float) else unwrap(fill_value)
    return emit("full", tuple(shape), value, dtype=dtype, name=name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """Return a tensor of zeros."""
    return emit("zeros", tuple(shape), dtype=dtype, name=name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Tensor:
    """Return a tensor of ones."""
    return emit("ones", tuple(shape), dtype=dtype, name=name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """Return a tensor with undefined contents."""
    return emit("builtin.alloc_tensor", tuple(shape), DataTypeImm(dtype), 0, StringImm("global"), name=name)


def arange(
    start: int, end: int | None = None, step: int = 1, dtype: str | None = "float32", name: str = "arange"
) -> Tensor:
    """Return start, start + step, … up to `end`, exclusive; from 0 to `start` if `end` is None."""
    first, last = (0, start) if end is None else (start, end)
    return emit("arange", first, last, step, dtype=dtype, name=name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """Sort the elements along `axis`."""
    return emit("sort", x, axis=axis, descending=descending, name=name)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """Return the indices that sort the elements along `axis`."""
    return emit("argsort", data, axis=axis, descending=descending, dtype=dtype, name=name)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """Return the k largest (or smallest) elements along `axis`: "values", "indices" or "both"."""
    return emit("topk", data, k=k, axis=axis, ret_type=ret_type, largest=largest, dtype=dtype, name=name)


# Operators of `nn.op`: sampling from distributions over a vocabulary, for language models.


def multinomial_from_uniform(
    prob: Tensor,
    uniform_sample: Tensor,
    sample_indices: Tensor | None = None,
    dtype: str = "int64",
    name: str = "multinomial_from_uniform",
) -> Tensor:
    """Draw samples `(n, 1)` from the distributions `prob` `(batch, size)`, given uniform random numbers `(n, 1)`.

    Sample i uses distribution `sample_indices[i]`, or i if that is None.
    """
    places = _own_rows(uniform_sample) if sample_indices is None else sample_indices
    return emit("multinomial_from_uniform", prob, uniform_sample, places, dtype=dtype, name=name)


def _own_rows(uniform_sample: Tensor) -> Tensor:
    """Return a column of row numbers 0, 1, 2, …, one for each sample."""
    count = uniform_sample.shape[0]
    if isinstance(count, int):
        return Tensor(_expr=const(np.arange(count).reshape(count, 1), "int64"))
    numbers = call_operator("relax.arange", 0, count, 1, dtype="int64")
    return wrap_nested(call_operator("relax.expand_dims", numbers, 1), "sample_indices")


def _count(values: Any, holds: Callable[[Any], Any]) -> Any:
    """Count the positions of a row of `values` at which a predicate holds."""
    j = te.reduce_axis((0, values.shape[1]), name="j")
    return te.sum(te.if_then_else(holds(j), te.const(1, "int64"), te.const(0, "int64")), axis=j)


def _at(values: Any, row: Any, position: Any) -> Any:
    """Return the element of a row at a position, or the last one if the position is out of range."""
    return values[row, te.min(position, values.shape[1] - 1)]


def _at_cutoff(values: Any, cumsum_sorted: Any, top_p: Any, top_k: Any) -> Any:
    """Return the element of each row of `values` at the last of the sorted probabilities that is kept.

    A probability is kept if its predecessors sum to less than `top_p`; at most `top_k` and at least one are
    kept.
    """

    def goes_on(row: Any, j: Any) -> Any:
        return te.all(cumsum_sorted[row, j] < top_p[row, 0], j + 1 < top_k[row, 0])

    batch = values.shape[0]
    last = te.compute((batch,), lambda i: _count(cumsum_sorted, lambda j: goes_on(i, j)), name="last")
    return te.compute((batch, 1), lambda i, z: _at(values, i, last[i]), name="at_cutoff")


def _renorm_prob(cumsum_sorted: Any, top_p: Any, top_k: Any) -> Any:
    return _at_cutoff(cumsum_sorted, cumsum_sorted, top_p, top_k)


def _index_from_sorted(cumsum_sorted: Any, indices: Any, renorm_prob: Any, usample: Any, sample_indices: Any) -> Any:
    """Return, for each sample, the first index whose normalized cumulative probability exceeds it."""

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
    """Draw samples `(n, 1)` from descending probabilities `(batch, size)` restricted by `top_p` and `top_k`
    `(batch, 1)`.

    `sorted_index` maps sorted positions to original indices, `uniform_sample` `(n, 1)` are random numbers in
    [0, 1), and sample i uses row `sample_indices[i]`, or i if that is None.
    """
    places = _own_rows(uniform_sample) if sample_indices is None else sample_indices
    sums = cumsum(sorted_prob, axis=1)
    total = tensor_expr_op(_renorm_prob, "get_renorm_prob", [sums, top_p, top_k])
    return tensor_expr_op(
        _index_from_sorted, "get_index_from_sorted", [sums, sorted_index, total, uniform_sample, places]
    )


def renormalize_top_p_top_k_prob(prob: Tensor, sorted_prob: Tensor, top_p: Tensor, top_k: Tensor) -> Tensor:
    """Renormalize probabilities `(batch, size)` after setting those excluded by `top_p` and `top_k` to 0."""
    sums = cumsum(sorted_prob, axis=1)
    cutoff = tensor_expr_op(_at_cutoff, "get_renorm_cutoff", [sorted_prob, sums, top_p, top_k])
    kept = tensor_expr_op(_filter, "filter_with_top_p_top_k", [prob, cutoff])
    return divide(kept, sum(kept, axis=1, keepdims=True))


def _operator_called(name: str) -> str | None:
    return next((n for n in (name, f"nn.{name}") if f"relax.{n}" in OPERATORS), None)


def __getattr__(name: str) -> Callable[..., Any]:
    operator = None if name.startswith("_") else _operator_called(name)
    if operator is None:
        known = [n.removeprefix("relax.").removeprefix("nn.") for n in OPERATORS]
        raise AttributeError(str(unknown_name("operator", name, [*known, *__all__])))
    default = name

    def build(*args: Any, name: str = default, **kwargs: Any) -> Any:
        return emit(operator, *args, name=name, **kwargs)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = OPERATORS[f"relax.{operator}"].__doc__
    return build


__all__ = [
    "add", "arange", "argsort", "astype", "broadcast_to", "ccl_allgather", "ccl_allreduce",
    "ccl_broadcast_from_worker0", "chunk", "concat", "conv1d", "conv1d_transpose", "conv2d", "conv3d", "cumsum",
    "debug_func", "divide", "empty", "equal", "exp", "extern", "floor", "full", "gelu",
    "get_timestep_embedding", "greater", "greater_equal", "group_norm", "interpolate", "layer_norm", "less",
    "less_equal", "log", "matmul", "max", "maximum", "min", "minimum", "multinomial_from_uniform", "multiply",
    "negative", "not_equal", "ones", "pad", "permute", "permute_dims", "prelu", "print_", "relu", "relu6",
    "renormalize_top_p_top_k_prob", "repeat", "reshape", "rms_norm", "sample_top_p_top_k_from_sorted_prob",
    "scaled_dot_product_attention", "sigmoid", "silu", "softmax", "softplus", "sort", "split", "sqrt", "square",
    "squeeze", "subtract", "sum", "take", "tanh", "tensor_expr_op", "tensor_ir_inplace_op", "tensor_ir_op",
    "topk", "triu", "unsqueeze", "where", "wrap_nested", "zeros",
]  # fmt: skip
