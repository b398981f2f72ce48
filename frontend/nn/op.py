"""Operators on `nn.Tensor`: each emits a binding named after it into the function that is being exported.

Relax operators that have no function of their own are here as well, by their names: `op.log2(x)`, `op.tile(x, …)`.
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

# Arithmetic, comparisons, functions of one element, activations, reductions.


def add(a: Tensor, b: Tensor, name: str = "add") -> Tensor:
    """a + b; either may be a number, as with all operators of two tensors."""
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
    """The greater of two."""
    return emit_binary("maximum", x1, x2, name)


def minimum(x1: Tensor, x2: Tensor, name: str = "minimum") -> Tensor:
    """The lesser of two."""
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
    """x1 where the condition holds, else x2; a condition that is not boolean is converted."""
    mask = condition if condition.dtype == "bool" else astype(condition, "bool")
    return emit("where", mask, x1, x2, name=name)


def negative(x: Tensor, name: str = "neg") -> Tensor:
    """-x"""
    return emit("negative", x, name=name)


def square(x: Tensor, name: str = "square") -> Tensor:
    """x * x"""
    return emit("square", x, name=name)


def sqrt(x: Tensor, name: str = "sqrt") -> Tensor:
    """The square root."""
    return emit("sqrt", x, name=name)


def exp(x: Tensor, name: str = "exp") -> Tensor:
    """e to the power of x."""
    return emit("exp", x, name=name)


def log(x: Tensor, name: str = "log") -> Tensor:
    """The natural logarithm."""
    return emit("log", x, name=name)


def floor(x: Tensor, name: str = "floor") -> Tensor:
    """The greatest integer that is not greater."""
    return emit("floor", x, name=name)


def tanh(x: Tensor, name: str = "tanh") -> Tensor:
    """The hyperbolic tangent."""
    return emit("tanh", x, name=name)


def sigmoid(x: Tensor, name: str = "sigmoid") -> Tensor:
    """1 / (1 + exp(-x))"""
    return emit("sigmoid", x, name=name)


def astype(x: Tensor, dtype: str, name: str = "astype") -> Tensor:
    """x converted to `dtype`; x itself where that is its dtype."""
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
    """Gaussian error linear unit; `approximate="tanh"` computes it by tanh."""
    return emit("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x, name=name)


def softmax(x: Tensor, axis: int = -1, name: str = "softmax") -> Tensor:
    """exp(x) over its sum along `axis`."""
    return emit("nn.softmax", x, axis=axis, name=name)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0, name: str = "softplus") -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold."""
    return emit("nn.softplus", x, beta=beta, threshold=threshold, name=name)


def prelu(x: Tensor, alpha: Tensor, name: str = "prelu") -> Tensor:
    """x where it is positive, else alpha * x; alpha is by channel (axis 1)."""
    return emit("nn.prelu", x, alpha, name=name)


def sum(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "sum") -> Tensor:
    """The sum over axes, all where `axis` is None."""
    return emit("sum", x, axis=axis, keepdims=keepdims, name=name)


def max(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "max") -> Tensor:
    """The greatest element over axes, all where `axis` is None."""
    return emit("max", x, axis=axis, keepdims=keepdims, name=name)


def min(x: Tensor, axis: int | list[int] | None = None, keepdims: bool = False, name: str = "min") -> Tensor:
    """The least element over axes, all where `axis` is None."""
    return emit("min", x, axis=axis, keepdims=keepdims, name=name)


def cumsum(
    data: Tensor,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    name: str = "cumsum",
) -> Tensor:
    """Sums of the elements up to each along `axis`, without it if `exclusive`; of the flat tensor if `axis` is None."""
    return emit("cumsum", data, axis=axis, dtype=dtype, exclusive=bool(exclusive), name=name)


def matmul(a: Tensor, b: Tensor, out_dtype: str | None = None, name: str = "matmul") -> Tensor:
    """The matrix product."""
    return emit("matmul", a, b, out_dtype=out_dtype, name=name)


# Shapes, creation, parts of tensors, order of elements.


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """A new dimension of extent 1."""
    return emit("expand_dims", x, dim, name=name)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Without the dimension `axis`, which has extent 1."""
    return emit("squeeze", x, axis=axis, name=name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Tensors joined along a dimension."""
    return emit("concat", x, axis=dim, name=name)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """A tensor cut along `axis` into equal sections, or before indices."""
    return emit("split", ary, indices_or_sections=indices_or_sections, axis=axis, name=name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """A tensor cut along `dim` into equal parts."""
    return split(x, chunks, dim, name)


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """As `permute_dims`."""
    return emit("permute_dims", x, axes, name=name)


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """The elements of x in another shape; one extent may be -1."""
    return emit("reshape", x, tuple(shape), name=name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """x repeated to fill `shape`."""
    return emit("broadcast_to", x, tuple(shape), name=name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Each element `repeats` times along an axis, of the flat tensor where that is None."""
    return emit("repeat", x, repeats=repeats, axis=axis, name=name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """x with `pad[2 * i]` elements before and `pad[2 * i + 1]` behind those of dimension i."""
    return emit("nn.pad", x, pad_width=list(pad), pad_value=value, pad_mode=mode, name=name)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """Elements by index along an axis, of the flat tensor where that is None."""
    return emit("take", x, indices, axis=axis, name=name)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The upper triangle of matrices, the rest 0."""
    return emit("triu", x, diagonal, name=name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """A tensor of one value: a number, or a tensor of rank 0."""
    value = const(fill_value, dtype) if isinstance(fill_value, int | float) else unwrap(fill_value)
    return emit("full", tuple(shape), value, dtype=dtype, name=name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    return emit("zeros", tuple(shape), dtype=dtype, name=name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    return emit("ones", tuple(shape), dtype=dtype, name=name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor of any contents."""
    return emit("builtin.alloc_tensor", tuple(shape), DataTypeImm(dtype), 0, StringImm("global"), name=name)


def arange(
    start: int, end: int | None = None, step: int = 1, dtype: str | None = "float32", name: str = "arange"
) -> Tensor:
    """start, start + step, … before `end`; from 0 to `start` where `end` is None."""
    first, last = (0, start) if end is None else (start, end)
    return emit("arange", first, last, step, dtype=dtype, name=name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """The elements in order along `axis`."""
    return emit("sort", x, axis=axis, descending=descending, name=name)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """The positions of the elements in order along `axis`."""
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
    """The k greatest (or least) elements along `axis`: "values", "indices" or "both"."""
    return emit("topk", data, k=k, axis=axis, ret_type=ret_type, largest=largest, dtype=dtype, name=name)


# Operators of `nn.op`: samples of distributions over a vocabulary, as language models draw them.


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
        return te.all(cumsum_sorted[row, j] < top_p[row, 0], j + 1 < top_k[row, 0])

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
