"""The kinds of default rules: for processors with certain tensor intrinsics, or for the current target."""

from __future__ import annotations

from typing import Any

from ..diagnostics import UnsupportedError, unknown_name
from ..target import Target

_INTRINSICS: dict[str, tuple[str, ...]] = {
    "llvm": (),
    "avx512": ("dot_16x4_avx512",),
    "vnni": ("dot_16x4_vnni",),
    "bf16": ("dot_16x2_bf16",),
}
"""The tensor intrinsics of each kind of rules, beyond those that all share."""
KINDS = tuple(_INTRINSICS)
_FEATURES = (("avx512vnni", "vnni"), ("avx512bw", "avx512"))
"""The kind of rules by processor feature, best first."""
_FOREIGN = frozenset(("cuda", "cuda-tensorcore", "hexagon", "rocm", "adreno"))


def intrinsics_of(what: str, kind: str) -> tuple[str, ...]:
    """Return the tensor intrinsics of a kind; `what` names it in messages.

    Raises `UnsupportedError` for other devices and `NameLookupError` for unknown kinds.
    """
    if kind in _FOREIGN:
        raise UnsupportedError(f"{what} of kind '{kind}'", expected=", ".join(_INTRINSICS))
    if kind not in _INTRINSICS:
        raise unknown_name(f"kind of {what}", kind, [*_INTRINSICS, "from-target"])
    return _INTRINSICS[kind]


def intrinsics_for(target: Any) -> tuple[str, ...]:
    """Return the tensor intrinsics that a target's processor has instructions for."""
    assert isinstance(target, Target)
    kind = next((kind for feature, kind in _FEATURES if feature in target.features), "llvm")
    return _INTRINSICS[kind] + (_INTRINSICS["bf16"] if "avx512bf16" in target.features else ())
