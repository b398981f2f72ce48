"""Features of Arm's processors, as TVM names them: of Cortex-M by the processor, of Cortex-A by triple and `-mattr`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MICRO = ("cortex-m0", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m55", "cortex-m85")
_WITH_DSP = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p", "cortex-m55", "cortex-m85")
_WITH_MVE = ("cortex-m55", "cortex-m85")
_IMPLIED = {
    "sve": ("fullfp16",),
    "sve2": ("sve", "fullfp16"),
    "sme": ("fullfp16",),
    "v8.4a": ("dotprod",),
    "v8.5a": ("dotprod",),
    "v8.6a": ("dotprod", "i8mm"),
    "v8.7a": ("dotprod", "i8mm"),
    "v9a": ("sve", "fullfp16", "dotprod"),
    "v9.1a": ("sve", "fullfp16", "dotprod", "i8mm"),
    "v9.2a": ("sve", "fullfp16", "dotprod", "i8mm"),
}
"""What architectures and extensions include."""
_NAMES = {
    "has_asimd": "neon",
    "has_sve": "sve",
    "has_dotprod": "dotprod",
    "has_matmul_i8": "i8mm",
    "has_fp16_simd": "fullfp16",
    "has_sme": "sme",
}


def is_microcontroller(options: Mapping[str, Any]) -> bool:
    """Return whether a target is a processor of Cortex-M."""
    return str(options.get("mcpu", "")).startswith(_MICRO)


def is_application_processor(options: Mapping[str, Any]) -> bool:
    """Return whether a target's triple is of Arm, and its processor none of Cortex-M."""
    triple, cpu = str(options.get("mtriple", "")), str(options.get("mcpu", ""))
    return triple.startswith("aarch64") or (triple.startswith("arm") and not cpu.startswith("cortex-m"))


def features(options: Mapping[str, Any]) -> dict[str, bool]:
    """Return TVM's features of an Arm target; none for others."""
    attributes = options.get("mattr") or []
    listed = attributes.split(",") if isinstance(attributes, str) else [str(a) for a in attributes]
    if is_microcontroller(options):
        return _of_microcontroller(str(options["mcpu"]), listed)
    if not is_application_processor(options):
        return {}
    wide = str(options["mtriple"]).startswith("aarch64")
    enabled = {"neon"} if wide else set[str]()
    for item in listed:
        name = item[1:]
        if item.startswith("+"):
            enabled |= {name, *_IMPLIED.get(name, ())}
        else:
            enabled.discard(name)
    return {"is_aarch64": wide, **{name: feature in enabled for name, feature in _NAMES.items()}}


def _of_microcontroller(cpu: str, attributes: list[str]) -> dict[str, bool]:
    without = {flag for flag in ("nomve", "nodsp") if any(f"+{flag}" in text for text in (cpu, *attributes))}
    dsp = cpu.startswith(_WITH_DSP) and "nodsp" not in without
    return {"has_dsp": dsp, "has_mve": dsp and cpu.startswith(_WITH_MVE) and "nomve" not in without}


def keys_of_arm(options: Mapping[str, Any]) -> list[str]:
    """Return the keys of schedules for Arm; none for other targets."""
    return ["arm_cpu", "cpu"] if is_microcontroller(options) or is_application_processor(options) else []


__all__ = ["features", "is_application_processor", "is_microcontroller", "keys_of_arm"]
