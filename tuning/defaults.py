"""The kinds of default rules: for processors with certain tensor intrinsics, or for the current target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


@dataclass(frozen=True)
class DeviceKind:
    """The default rules, postprocessors and mutators of a kind of devices."""

    rules: Callable[[], list[Any]]
    postprocessors: Callable[[], list[Any]]
    mutators: Callable[[], dict[Any, float]]


DEVICE_KINDS: dict[str, DeviceKind] = {}
"""Kinds of devices beside those of `KINDS`, or in place of them. Programs are scheduled for GPUs, and run elsewhere."""
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


def device_kind(kind: str) -> DeviceKind | None:
    """Return the defaults of a kind of devices, None for a kind of CPUs or an unknown one."""
    return DEVICE_KINDS.get(kind)


def device_kind_for(target: Any) -> DeviceKind | None:
    """Return the defaults for the device of a target, None for a CPU."""
    name = str(getattr(target, "kind", "llvm"))
    if name == "cuda":
        number = str(target.get_attr("arch") or "").removeprefix("sm_")
        name = "cuda-tensorcore" if number.isdecimal() and int(number) >= _MATRIX_ARCHITECTURE else "cuda"
    elif name != "llvm" and target.get_attr("max_threads_per_block") is not None:
        name = "cuda"
    return None if name == "llvm" else DEVICE_KINDS.get(name)


_MATRIX_ARCHITECTURE = 75
"""The architecture from which on devices have matrix units that the rules use."""


def intrinsics_for(target: Any) -> tuple[str, ...]:
    """Return the tensor intrinsics that a target's processor has instructions for."""
    assert isinstance(target, Target)
    kind = next((kind for feature, kind in _FEATURES if feature in target.features), "llvm")
    return _INTRINSICS[kind] + (_INTRINSICS["bf16"] if "avx512bf16" in target.features else ())
