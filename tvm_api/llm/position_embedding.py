"""`tvm.relax.frontend.nn.llm.position_embedding`: rotary embedding as expressions, operators and tensor functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...frontend.nn.op import tensor_expr_op
from ...frontend.nn.tensor import Tensor as NNTensor
from ...handles.tir import math_functions as fn
from ...handles.tir import prim_expr as tx
from ...handles.tir.expr_kinds import Let
from ...handles.tir.prim_expr import ExprLike, PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.variables import SizeVar, Var
from ...runtime.errors import ArgumentError
from ...te.create import prim_func_of
from ...te.tensor import Tensor, compute, placeholder

Turn = tuple[PrimExpr, PrimExpr, dict[Var, PrimExpr]]
"""Cosine and sine of an angle, and the values of the variables in them."""
Frequency = Callable[..., Turn]


def _float(x: ExprLike) -> PrimExpr:
    return tx.convert(x).astype("float32")


def _power(theta: float, d: PrimExpr, d_range: int) -> PrimExpr:
    """Return theta ** (2d / d_range), of plane d or d - d_range / 2."""
    return fn.power(tx.const(theta, "float32"), _float(tx.floormod(d * 2, d_range)) / tx.const(d_range, "float32"))


def _turn(freq: PrimExpr, dtype: str, magnitude: float = 1.0, more: dict[Var, PrimExpr] | None = None) -> Turn:
    angle = Var("freq", "float32")
    cosine, sine = fn.cos(angle), fn.sin(angle)
    if magnitude != 1.0:
        cosine, sine = cosine * magnitude, sine * magnitude
    return cosine.astype(dtype), sine.astype(dtype), {angle: freq, **(more or {})}


def rope_freq_default(s: ExprLike, d: PrimExpr, d_range: int, theta: float, dtype: str) -> Turn:
    """Return cosine and sine, of `dtype`, by which number `d` of `d_range` rotated ones turns at position `s`, and the
    values of their variables.
    """
    return _turn(_float(s) / _power(theta, d, d_range), dtype)


def rope_freq_gptj(s: ExprLike, d: PrimExpr, d_range: int, theta: float, dtype: str) -> Turn:
    """As `rope_freq_default`, where the coordinates of a plane are neighbours."""
    return _turn(_float(s) / _power(theta, tx.floordiv(d, 2), d_range), dtype)


def rope_freq_llama3(
    s: ExprLike,
    d: PrimExpr,
    d_range: int,
    theta: float,
    dtype: str,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> Turn:
    """As `rope_freq_default`, with Llama 3's slower turns of long waves."""
    plain = Var("orig_freq", "float32")
    width = high_freq_factor - low_freq_factor
    rotations = plain * (original_max_position_embeddings / (2 * math.pi))
    smooth = tx.maximum(0.0, tx.minimum(1.0, (rotations - low_freq_factor) * (1.0 / width)))
    freq = _float(s) * ((1.0 - smooth) * plain * (1.0 / factor) + smooth * plain)
    return _turn(freq, dtype, more={plain: 1.0 / _power(theta, d, d_range)})


def rope_freq_longrope(
    s: ExprLike,
    d: PrimExpr,
    d_range: int,
    theta: float,
    dtype: str,
    max_position_embeddings: int,
    original_max_position_embeddings: int,
    ext_factors: Any = None,
) -> Turn:
    """As `rope_freq_default`, with a divisor for each plane, `ext_factors` (d_range / 2,) of float32, and its
    magnitude.
    """
    stretch = max_position_embeddings / original_max_position_embeddings
    magnitude = math.sqrt(1 + math.log(stretch) / math.log(original_max_position_embeddings)) if stretch > 1 else 1.0
    divisor = _power(theta, d, d_range)
    if ext_factors is not None:
        divisor = ext_factors[tx.floormod(d, d_range // 2)] * divisor
    return _turn(_float(s) / divisor, dtype, magnitude)


def yarn_find_correction_dim(num_rotations: float, d: int, theta: float, max_position_embeddings: int) -> float:
    """Return the plane of `d` numbers that turns `num_rotations` times within all positions, as a fraction."""
    return d * math.log(max_position_embeddings / (num_rotations * 2 * math.pi)) / (2 * math.log(theta))


def yarn_find_correction_range(
    low_rot: float, high_rot: float, d: int, theta: float, max_position_embeddings: int
) -> tuple[int, int]:
    """Return the first and the last plane between both numbers of rotations."""
    low, high = (yarn_find_correction_dim(n, d, theta, max_position_embeddings) for n in (low_rot, high_rot))
    return max(math.floor(low), 0), min(math.ceil(high), d - 1)


def rope_freq_yarn(
    s: ExprLike,
    d: PrimExpr,
    d_range: int,
    theta: float,
    dtype: str,
    original_max_position_embeddings: int,
    scaling_factor: float,
    beta_fast: float,
    beta_slow: float,
) -> Turn:
    """As `rope_freq_default`, with YaRN's slower turns of long waves (Peng et al., 2023)."""
    low, high = yarn_find_correction_range(beta_fast, beta_slow, d_range, theta, original_max_position_embeddings)
    plane = _float(tx.floormod(d, d_range // 2))
    slowed = tx.maximum(0.0, tx.minimum(1.0, (plane - low) * (1.0 / ((high - low) or 0.001))))
    freq = (slowed * (1.0 / scaling_factor) + (1.0 - slowed)) / _power(theta, d, d_range)
    return _turn(_float(s) * freq, dtype)


_OPTIONS: dict[str, tuple[Frequency, dict[str, str]]] = {
    "default": (rope_freq_default, {}),
    "gptj": (rope_freq_gptj, {}),
    "llama3": (
        rope_freq_llama3,
        {name: name for name in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")},
    ),
    "longrope": (
        rope_freq_longrope,
        {name: name for name in ("max_position_embeddings", "original_max_position_embeddings")},
    ),
    "yarn": (
        rope_freq_yarn,
        {
            "original_max_position_embeddings": "original_max_position_embeddings",
            "scaling_factor": "factor",
            "beta_fast": "beta_fast",
            "beta_slow": "beta_slow",
        },
    ),
}
"""The function of a `rope_type`, and the fields of `rope_scaling` that are its parameters."""


def switch_rope_freq_func(rope_scaling: Mapping[str, Any]) -> Frequency:
    """Return the function of a `rope_type`. Raises `ArgumentError` for an unknown one and for missing fields."""
    kind = rope_scaling.get("rope_type", "default")
    if kind not in _OPTIONS:
        raise ArgumentError("an unknown rope_type", expected=" or ".join(_OPTIONS), found=kind)
    function, fields = _OPTIONS[kind]
    missing = [name for name in fields.values() if name not in rope_scaling]
    if missing:
        raise ArgumentError(f"rope_scaling of {kind} is not complete", expected=list(fields.values()), found=missing)
    return partial(function, **{name: rope_scaling[field] for name, field in fields.items()}) if fields else function


def _rotated(x: Tensor, at: tuple[PrimExpr, ...], turn: Turn, rotary_dim: int, in_pairs: bool) -> PrimExpr:
    """Return an element of x, turned with the other number of its plane."""
    cosine, sine, values = turn
    *before, d = at
    first, step = (tx.equal(tx.floormod(d, 2), 0), 1) if in_pairs else (d < rotary_dim // 2, rotary_dim // 2)
    other = tx.if_then_else(first, -x(*before, d + step), x(*before, d - step)).astype(cosine.type)
    out: PrimExpr = (cosine * x(*at).astype(cosine.type) + sine * other).astype(x.dtype)
    for var, value in values.items():
        out = Let(var, value, out)
    return out


def _split_rotated(
    qkv: Tensor,
    position: Callable[[tuple[PrimExpr, ...]], ExprLike],
    heads: tuple[int, int],
    frequency: Callable[[ExprLike, PrimExpr], Turn],
    rotary_dim: int,
    in_pairs: bool,
    enabled: PrimExpr | None = None,
) -> list[Tensor]:
    """Return queries, keys and values of `qkv` (…, heads of all three, size), the first two rotated."""
    query_heads, kv_heads = heads

    def part(first: int, count: int, name: str) -> Tensor:
        def element(*i: PrimExpr) -> PrimExpr:
            *before, h, d = i
            at = (*before, h + first, d)
            if name == "v":
                return qkv(*at)
            turned = _rotated(qkv, at, frequency(position(i), d), rotary_dim, in_pairs)
            inside = d < rotary_dim if enabled is None else tx.logical_and(enabled > 0, d < rotary_dim)
            return tx.if_then_else(inside, turned, qkv(*at))

        return compute([*qkv.dims[:-2], count, qkv.dims[-1]], element, name)

    parts = ((0, query_heads, "q"), (query_heads, kv_heads, "k"), (query_heads + kv_heads, kv_heads, "v"))
    return [part(*p) for p in parts]


def llama_rope(
    qkv: NNTensor,
    total_seq_len: Any,
    theta: float,
    scale: float,
    num_q_heads: int,
    num_kv_heads: int,
    rope_scaling: Mapping[str, Any],
    rotary_dim: int | None = None,
) -> tuple[NNTensor, NNTensor, NNTensor]:
    """Return queries, keys and values of `qkv` (batch, length, heads of all three, size), the first two rotated.

    The last of the positions is `total_seq_len` - 1. Raises `ArgumentError` for another number of heads, and as
    `switch_rope_freq_func`.
    """
    if qkv.shape[2] != num_q_heads + 2 * num_kv_heads:
        raise ArgumentError("another number of heads", expected=num_q_heads + 2 * num_kv_heads, found=qkv.shape[2])
    size = rotary_dim or int(qkv.shape[3])
    frequency = switch_rope_freq_func(rope_scaling)

    def parts(x: Tensor, total: PrimExpr) -> list[Tensor]:
        def position(i: tuple[PrimExpr, ...]) -> PrimExpr:
            return _float(i[1] + (total - x.shape[1])) * scale

        return _split_rotated(
            x,
            position,
            (num_q_heads, num_kv_heads),
            lambda s, d: frequency(s, d, size, theta, x.dtype),
            size,
            rope_scaling.get("rope_type") == "gptj",
        )

    q, k, v = tensor_expr_op(parts, "llama_rope", [qkv, total_seq_len])
    return q, k, v


def llama_rope_with_position_map(
    theta: float,
    scale: float,
    head_dim: int,
    num_q_heads: int,
    num_kv_heads: int,
    dtype: str,
    rope_scaling: Mapping[str, Any],
    rotary_dim: int | None = None,
) -> PrimFunc:
    """Return the tensor function (qkv, positions, q, k, v, apply_rope) of `llama_rope` with a position for each row.

    `qkv` is (rows, heads of all three, size) of `dtype`, `positions` (rows,) of int32; `apply_rope`, an int32, is 0
    for none. With `rope_type` "longrope", `ext_factors` (size / 2,) of float32 is in its place.
    """
    size = rotary_dim or head_dim
    heads = num_q_heads + 2 * num_kv_heads
    rows = SizeVar("seq_len", "int64")
    qkv = placeholder((rows, heads, head_dim), dtype, "qkv")
    positions = placeholder((rows,), "int32", "position_map")
    frequency = switch_rope_freq_func(rope_scaling)
    is_long = rope_scaling.get("rope_type") == "longrope"
    last: Any = placeholder((head_dim // 2,), "float32", "ext_factors") if is_long else Var("apply_rope", "int32")
    extra = {"ext_factors": last} if is_long else {}
    outputs = _split_rotated(
        qkv,
        lambda i: _float(positions(i[0])) * scale,
        (num_q_heads, num_kv_heads),
        lambda s, d: frequency(s, d, size, theta, "float32", **extra),
        size,
        rope_scaling.get("rope_type") == "gptj",
        None if is_long else last,
    )
    func = prim_func_of([qkv, positions, *outputs, last])
    return func.with_attr("global_symbol", "fused_rope_longrope_scaling" if is_long else "fused_rope")


__all__ = [
    "llama_rope", "llama_rope_with_position_map", "rope_freq_default", "rope_freq_gptj", "rope_freq_llama3",
    "rope_freq_longrope", "rope_freq_yarn", "switch_rope_freq_func", "yarn_find_correction_dim",
    "yarn_find_correction_range",
]  # fmt: skip
