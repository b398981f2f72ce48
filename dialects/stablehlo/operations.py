"""The operations of `stablehlo` and `chlo`: a row for each, a class for each row.

A row has the names that the custom text has (`dims = [0]`) and the properties that they are. Operations without a row
of names have operands and attributes only. What they accept is StableHLO's to verify.
"""

from __future__ import annotations

from typing import Any

from xdsl.irdl import traits_def
from xdsl.traits import IsTerminator

from .syntax import HloOp, Words

_ELEMENTWISE = """
    abs add and atan2 cbrt ceil clamp complex convert cosine count_leading_zeros divide exponential
    exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not or popcnt
    power real remainder round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic
    shift_right_logical sign sine sqrt subtract tan tanh uniform_dequantize uniform_quantize xor
"""
_PLAIN = """
    after_all all_gather all_reduce all_to_all async_done async_start batch_norm_grad batch_norm_inference
    batch_norm_training bitcast_convert case collective_broadcast collective_permute collective_reduce constant
    create_token dynamic_conv dynamic_gather dynamic_pad dynamic_reshape dynamic_update_slice gather get_tuple_element
    if infeed map optimization_barrier outfeed partition_id real_dynamic_slice recv reduce reduce_scatter
    reduce_window replica_id reshape return scatter select_and_scatter send sort torch_index_select triangular_solve
    while
"""
_DIM: Words = {"dim": ("dimension", "integer")}
_PRECISION: Words = {
    "precision": ("precision_config", "precision"),
    "algorithm": ("algorithm", "algorithm"),
}
_WORDS: dict[str, Words] = {
    "iota": {"dim": ("iota_dimension", "integer")},
    "dynamic_iota": {"dim": ("iota_dimension", "integer")},
    "dynamic_slice": {"sizes": ("slice_sizes", "integers")},
    "broadcast": {"sizes": ("broadcast_sizes", "integers")},
    "broadcast_in_dim": {"dims": ("broadcast_dimensions", "integers")},
    "dynamic_broadcast_in_dim": {"dims": ("broadcast_dimensions", "integers")},
    "cholesky": {"lower": ("lower", "bool")},
    "concatenate": _DIM,
    "get_dimension_size": _DIM,
    "set_dimension_size": _DIM,
    "convolution": {"dim_numbers": ("dimension_numbers", "dim_numbers"), "window": ("", "window")},
    "dot": _PRECISION,
    "dot_general": {
        "batching_dims": ("batching_dimensions", "dims"),
        "contracting_dims": ("contracting_dimensions", "dims"),
        **_PRECISION,
    },
    "einsum": {"config": ("einsum_config", "text")},
    "unary_einsum": {"config": ("einsum_config", "text")},
    "fft": {"type": ("fft_type", "stablehlo.fft_type"), "length": ("fft_length", "integers")},
    "reverse": {"dims": ("dimensions", "integers")},
    "pad": {
        "low": ("edge_padding_low", "integers"),
        "high": ("edge_padding_high", "integers"),
        "interior": ("interior_padding", "integers"),
    },
    "transpose": {"dims": ("permutation", "integers")},
    "rng": {"distribution": ("rng_distribution", "stablehlo.rng_distribution")},
    "rng_bit_generator": {"algorithm": ("rng_algorithm", "stablehlo.rng_algorithm")},
    "reduce_precision": {"format": ("", "format")},
    "compare": {},
    "slice": {},
    "custom_call": {},
    "composite": {},
    "tuple": {},
}
_BARE: dict[str, tuple[tuple[str, str], ...]] = {
    "compare": (
        ("comparison_direction", "stablehlo.comparison_direction"),
        ("compare_type", "stablehlo.comparison_type"),
    ),
    "custom_call": (("call_target_name", ""),),
    "composite": (("name", ""),),
}
_CHLO_UNARY = """
    _asin_acos_kernel acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf
    is_pos_inf lgamma sinh square tan
"""
_CHLO_BROADCAST = """
    add and atan2 compare complex divide maximum minimum multiply next_after or polygamma power remainder select
    shift_left shift_right_arithmetic shift_right_logical subtract xor zeta
"""
_CHLO_PLAIN = """
    constant constant_like dynamic_reshape mulhi next_after polygamma ragged_dot scan zeta
"""
_CHLO_WORDS: dict[str, Words] = {"top_k": {"k": ("k", "integer"), "is_stable": ("is_stable", "bool")}}


def _class(dialect: str, name: str, words: Words, bare: tuple[tuple[str, str], ...] = ()) -> type[HloOp]:
    title = "".join(word.capitalize() for word in name.split("_"))
    body: dict[str, Any] = {
        "name": f"{dialect}.{name}",
        "words": words,
        "bare": bare,
        "__module__": __name__,
        "__doc__": f"`{dialect}.{name}`.",
    }
    if name == "return":
        body["traits"] = traits_def(IsTerminator())
        body["has_results"] = False
    return type(f"{title}Op", (HloOp,), body)


STABLEHLO = tuple(
    _class("stablehlo", name, _WORDS.get(name, {}), _BARE.get(name, ()))
    for name in sorted({*_ELEMENTWISE.split(), *_PLAIN.split(), *_WORDS})
)
_CHLO = {
    *_CHLO_UNARY.split(),
    *_CHLO_PLAIN.split(),
    *_CHLO_WORDS,
    *(f"broadcast_{name}" for name in _CHLO_BROADCAST.split()),
}
CHLO = tuple(_class("chlo", name, _CHLO_WORDS.get(name, {})) for name in sorted(_CHLO))
