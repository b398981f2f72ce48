"""The constants of `tir.tensor_intrin`: TVM's names of the intrinsics of devices."""

from __future__ import annotations

from typing import Any

from ....schedule import tensor_intrin
from ..._names import no_attribute
from . import dots, mma, wmma
from .mma import get_mma_intrin_group
from .wmma import get_wmma_intrin_group

_DOTS = {
    "DP4A_S8S8S32_INTRIN": "dp4a_s8s8s32",
    "DP4A_U8S8S32_INTRIN": "dp4a_u8s8s32",
    "DP4A_S8U8S32_INTRIN": "dp4a_s8u8s32",
    "DP4A_U8U8U32_INTRIN": "dp4a_u8u8u32",
    "AMDGPU_SDOT4_INTRIN": "sdot4",
    "ARM_DOT_4x4_i8_NEON_INTRIN": "dot_4x4_i8i8s32_neon",
    "ARM_DOT_4x4_i8_SDOT_INTRIN": "dot_4x4_i8i8s32_sdot",
    "ARM_DOT_4x4_u8_UDOT_INTRIN": "dot_4x4_u8u8u32_udot",
    "ARM_DOT_4x4_u8_HDOT_INTRIN": "dot_4x4_u8u8i32_hdot",
    "VRMPY_u8u8i32_INTRIN": "dot_32x4_u8u8i32_vrmpy",
    "VRMPY_u8i8i32_INTRIN": "dot_32x4_u8i8i32_vrmpy",
    "VDMPY_i16i16i32_INTRIN": "dot_product_32x2_i16i16i32_vdmpy",
    "VRMPY_u8u8i32_VTCM_INTRIN": "dot_32x4_u8u8i32_vtcm_vrmpy",
    "VRMPY_u8i8i32_VTCM_INTRIN": "dot_32x4_u8i8i32_vtcm_vrmpy",
}


def _constant(name: str) -> str:
    """Return the constant for an intrinsic of `mma` or `wmma`."""
    if name.startswith("wmma"):
        kind, size, *rest = name.removeprefix("wmma_").split("_")
        if kind == "load":
            rest.remove("shared")
        dtype, *others = rest
        words = [dtype if kind == "sync" else dtype.upper(), *(o.upper() for o in others)]
        return "_".join(["WMMA", kind.upper(), size, *words, "INTRIN"])
    words = name.removeprefix("mma_").split("_")
    if words[0] == "ldmatrix":
        return "_".join(["LDMATRIX", words[1], *(w.upper() for w in words[2:]), "INTRIN"])
    if words[0] in ("fill", "store"):
        simple = "_SIMPLE" if "simple" in words else ""
        return "_".join(["MMA", *(w for w in words if w not in ("simple", "")), "INTRIN"]) + simple
    return "_".join(["MMA", words[0], *(w.upper() for w in words[1:]), "INTRIN"])


CONSTANTS = {**_DOTS, **{_constant(name): name for name in (*mma.BUILDERS, *wmma.BUILDERS)}}
"""The name of a constant -> that of the intrinsic."""

tensor_intrin.BUILTIN.update({**dots.BUILDERS, **mma.BUILDERS, **wmma.BUILDERS})


def __getattr__(name: str) -> Any:
    if name in CONSTANTS:
        return CONSTANTS[name]
    for module in (mma, wmma):
        if not name.startswith("_") and hasattr(module, name):
            return getattr(module, name)
    raise no_attribute(__name__, name)


__all__ = [*CONSTANTS, "get_mma_intrin_group", "get_wmma_intrin_group"]  # pyright: ignore[reportUnsupportedDunderAll]
