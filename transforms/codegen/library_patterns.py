"""Patterns of the kernels of libraries: each is `(pattern, annotations)`, where annotations are the named parts.

The names of the parts are TVM's; `root` is the operator itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..dpl.constructors import (
    is_call_tir,
    is_const,
    is_op,
    is_tuple_get_item,
    wildcard,
    with_bias_and_activation,
)
from ..dpl.patterns import DFPattern
from .fusion_pattern import PatternCheckContext

Annotated = tuple[DFPattern, Mapping[str, DFPattern]]


def _with_bias_and_activation(
    out: DFPattern, parts: dict[str, DFPattern], with_bias: bool, activation: str | None, allow_reshape: bool = False
) -> Annotated:
    if with_bias:
        parts["bias"] = wildcard()
    return with_bias_and_activation(out, parts.get("bias"), activation, allow_reshape), parts


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None, allow_reshape: bool = False
) -> Annotated:
    """Match an operator of `lhs` and `rhs`, optionally with `bias` added, maybe after a reshape, and an activation."""
    lhs, rhs = wildcard(), wildcard()
    root = is_op(op_name)(lhs, rhs)
    parts: dict[str, DFPattern] = {"lhs": lhs, "rhs": rhs, "root": root}
    return _with_bias_and_activation(root, parts, with_bias, activation, allow_reshape)


def make_conv2d_pattern(with_bias: bool = False, activation: str | None = None) -> Annotated:
    """Match a convolution of `input` and `weight`, optionally with `bias` added and an activation."""
    data, weight = wildcard(), wildcard()
    root = is_op("relax.nn.conv2d")(data, weight)
    return _with_bias_and_activation(root, {"input": data, "weight": weight, "root": root}, with_bias, activation)


def _product(transposed_rhs: bool) -> tuple[DFPattern, dict[str, DFPattern]]:
    lhs, rhs = wildcard(), wildcard()
    root = is_op("relax.matmul")(lhs, is_op("relax.permute_dims")(rhs) if transposed_rhs else rhs)
    return root, {"lhs": lhs, "rhs": rhs, "root": root}


def make_matmul_pattern(
    with_bias: bool = False, activation: str | None = None, transposed_rhs: bool = False
) -> Annotated:
    """Match a product of `lhs` and `rhs`, optionally transposed, with `bias` added and an activation."""
    root, parts = _product(transposed_rhs)
    return _with_bias_and_activation(root, parts, with_bias, activation)


def make_matmul_dequantize_pattern(transposed_rhs: bool = False) -> Annotated:
    """Match a product of `lhs` and `rhs`, dequantized with the constants `scale` and `zp`."""
    root, parts = _product(transposed_rhs)
    scale, zp = is_const(), is_const()
    return is_op("relax.dequantize")(root, scale, zp), {**parts, "scale": scale, "zp": zp}


def make_matmul_multiply_pattern(transposed_rhs: bool = False) -> Annotated:
    """Match a product of `lhs` and `rhs` times scalar scales `scaleA` and `scaleB`, cast to another dtype."""
    root, parts = _product(transposed_rhs)
    a, b = wildcard().has_shape((1,)), wildcard().has_shape((1,))
    out = is_op("relax.multiply")(root, is_op("relax.multiply")(a, b))
    return is_op("relax.astype")(out), {**parts, "scaleA": a, "scaleB": b}


def make_residual_block_pattern(
    node_output: DFPattern | Annotated, binary_op: str = "relax.add", activation: str | None = None
) -> Annotated:
    """Match `binary_op` of a pattern's result and `residual`, in any order, optionally with an activation."""
    out, parts = node_output if isinstance(node_output, tuple) else (node_output, dict[str, DFPattern]())
    residual = wildcard()
    op = is_op(binary_op)
    both = op(out, residual) | op(residual, out)
    return (both if activation is None else is_op(activation)(both)), {**parts, "residual": residual}


def make_attention_pattern(with_bias: bool = False, var_len: bool = False) -> Annotated:
    """Match attention of `query`, `key` and `value`, with `bias` or with sequence lengths."""
    names = ["query", "key", "value"]
    if var_len:
        names += ["seqstart_q", "seqstart_k", "max_seqlen_q", "max_seqlen_k"]
    elif with_bias:
        names.append("bias")
    parts: dict[str, DFPattern] = {name: wildcard() for name in names}
    return is_op("relax.nn.attention_var_len" if var_len else "relax.nn.attention")(*parts.values()), parts


_TRANSPOSED = "SBN3H"


def make_stacked_attention_pattern(start_op: str, with_bias: bool = False, layout: str = "BS3NH") -> Annotated:
    """Match attention of the thirds of `stacked_qkv`, taken by `split` or `strided_slice` (`start_op`).

    `layout`: `BS3NH`, where they are reshaped, or `SBN3H`, where they and the result are transposed.
    Raises `ValueError` for another operator or layout.
    """
    if start_op not in ("split", "strided_slice"):
        raise ValueError(f"start_op is 'split' or 'strided_slice', not '{start_op}'")
    if layout not in ("BS3NH", _TRANSPOSED):
        raise ValueError(f"layout is 'BS3NH' or '{_TRANSPOSED}', not '{layout}'")
    stacked = wildcard()
    parts: dict[str, DFPattern] = {"stacked_qkv": stacked}
    thirds: list[DFPattern] = []
    split = is_op("relax.split")(stacked)
    for i, name in enumerate(("query", "key", "value")):
        part: DFPattern = is_tuple_get_item(split, i)
        if start_op == "strided_slice":
            part = is_op("relax.strided_slice")(stacked, varg_default_wildcard=True)
            parts[f"strided_slice_{name}"] = part
        if layout == _TRANSPOSED:
            part = is_op("relax.permute_dims")(part)
            parts[f"{name}_transpose"] = part
        else:
            part = is_op("relax.reshape")(part, wildcard())
            parts[f"{name}_reshape"] = part
        thirds.append(part)
    if with_bias:
        parts["bias"] = bias = wildcard()
        thirds.append(bias)
    out = is_op("relax.nn.attention")(*thirds)
    return (is_op("relax.permute_dims")(out) if layout == _TRANSPOSED else out), parts


def make_layer_norm_pattern() -> Annotated:
    """Match a layer normalization."""
    return is_op("relax.nn.layer_norm")(wildcard(), wildcard(), wildcard()), {}


def make_rms_norm_pattern() -> Annotated:
    """Match a call `rms_norm` of a tensor function `gv` with `inp` and weights; a check must verify the function."""
    inp = wildcard()
    out = is_call_tir("", [inp, wildcard()])
    return out, {"gv": out.args[0], "inp": inp, "rms_norm": out}


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Return whether a variable that a match would hide, other than its result, is used outside the match."""
    inside = set(context.matched_bindings)
    result = next((v for v, e in context.matched_bindings.items() if e == context.matched_expr), None)
    usages = context.var_usages
    return any(v != result and any(u not in inside for u in usages.get(v, [])) for v in inside)
