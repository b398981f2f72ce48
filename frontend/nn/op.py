"""Operators on `nn.Tensor`: each emits a binding named after it into the function that is being exported.

Relax operators that have no function of their own are here as well, by their names: `op.log2(x)`, `op.tile(x, …)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics import unknown_name
from ...dialects.relax import OPERATORS
from .op_calls import (
    ccl_allgather,
    ccl_allreduce,
    ccl_broadcast_from_worker0,
    debug_func,
    extern,
    print_,
    tensor_expr_op,
    tensor_ir_inplace_op,
    tensor_ir_op,
)
from .op_layers import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv3d,
    get_timestep_embedding,
    group_norm,
    interpolate,
    layer_norm,
    rms_norm,
    scaled_dot_product_attention,
)
from .op_math import (
    add,
    astype,
    cumsum,
    divide,
    emit,
    equal,
    exp,
    floor,
    gelu,
    greater,
    greater_equal,
    less,
    less_equal,
    log,
    matmul,
    max,
    maximum,
    min,
    minimum,
    multiply,
    negative,
    not_equal,
    prelu,
    relu,
    relu6,
    sigmoid,
    silu,
    softmax,
    softplus,
    sqrt,
    square,
    subtract,
    sum,
    tanh,
    where,
)
from .op_sampling import (
    multinomial_from_uniform,
    renormalize_top_p_top_k_prob,
    sample_top_p_top_k_from_sorted_prob,
)
from .op_shape import (
    arange,
    argsort,
    broadcast_to,
    chunk,
    concat,
    empty,
    full,
    ones,
    pad,
    permute,
    permute_dims,
    repeat,
    reshape,
    sort,
    split,
    squeeze,
    take,
    topk,
    triu,
    unsqueeze,
    zeros,
)
from .tensor import wrap_nested


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
    "add",
    "arange",
    "argsort",
    "astype",
    "broadcast_to",
    "ccl_allgather",
    "ccl_allreduce",
    "ccl_broadcast_from_worker0",
    "chunk",
    "concat",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv3d",
    "cumsum",
    "debug_func",
    "divide",
    "empty",
    "equal",
    "exp",
    "extern",
    "floor",
    "full",
    "gelu",
    "get_timestep_embedding",
    "greater",
    "greater_equal",
    "group_norm",
    "interpolate",
    "layer_norm",
    "less",
    "less_equal",
    "log",
    "matmul",
    "max",
    "maximum",
    "min",
    "minimum",
    "multinomial_from_uniform",
    "multiply",
    "negative",
    "not_equal",
    "ones",
    "pad",
    "permute",
    "permute_dims",
    "prelu",
    "print_",
    "relu",
    "relu6",
    "renormalize_top_p_top_k_prob",
    "repeat",
    "reshape",
    "rms_norm",
    "sample_top_p_top_k_from_sorted_prob",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "subtract",
    "sum",
    "take",
    "tanh",
    "tensor_expr_op",
    "tensor_ir_inplace_op",
    "tensor_ir_op",
    "topk",
    "triu",
    "unsqueeze",
    "where",
    "wrap_nested",
    "zeros",
]
