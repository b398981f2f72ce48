"""`tir.tensor_intrin`: the names of the tensor intrinsics of CPUs, and their functions."""

from __future__ import annotations

from typing import Any, cast

from ...schedule.tensor_intrin import TensorIntrin
from .._names import no_attribute

VNNI_DOT_16x4_INTRIN = "dot_16x4_vnni"  # noqa: N816 (TVM's name)
AVX512_DOT_16x4_INTRIN = "dot_16x4_avx512"  # noqa: N816 (TVM's name)

_FUNCTIONS = {
    "dot_product_16x4_u8i8i32_desc": (VNNI_DOT_16x4_INTRIN, "desc"),
    "dot_product_16x4_u8i8i32_vnni": (VNNI_DOT_16x4_INTRIN, "impl"),
    "dot_product_16x4_u8i8i32_avx512": (AVX512_DOT_16x4_INTRIN, "impl"),
}


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise no_attribute(__name__, name)
    intrinsic, part = _FUNCTIONS[name]
    return getattr(cast(TensorIntrin, TensorIntrin.get(intrinsic)), part)


__all__ = ["AVX512_DOT_16x4_INTRIN", "VNNI_DOT_16x4_INTRIN", *_FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll]
