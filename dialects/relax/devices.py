"""Devices as programs name them: `cpu:0`, in TVMScript `R.device(device_type=1, index=0)`."""

from __future__ import annotations

import re

from ...diagnostics import TiraxError, unknown_name

DEVICES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
"""The numbers of kinds of devices, as DLPack has them."""
_ALIASES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda"}
_FORM = re.compile(r"(\w+?)(?:[:(](\d+)\)?)?")


def device_text(device: str) -> str:
    """The canonical form of `cpu`, `llvm:1` or `cpu(0)`: `cpu:0`. Raises `TiraxError` for no known device."""
    found = _FORM.fullmatch(device)
    if found is None:
        raise TiraxError("malformed device", expected="a kind and a number, such as cpu:0", found=device)
    kind = _ALIASES.get(found[1], found[1])
    if kind not in DEVICES:
        raise unknown_name("device", kind, DEVICES)
    return f"{kind}:{int(found[2] or 0)}"


def device_numbers(device: str) -> tuple[int, int]:
    """The number of a device's kind, and its own."""
    kind, _, index = device_text(device).partition(":")
    return DEVICES[kind], int(index)


def device_of(kind: int | str, index: int | None = None) -> str:
    """The canonical form of a device given by the number or the name of its kind. Raises `TiraxError`."""
    names = {number: name for name, number in DEVICES.items()}
    if isinstance(kind, int):
        if kind not in names:
            raise TiraxError("no such device", expected=", ".join(f"{n} ({k})" for k, n in DEVICES.items()), found=kind)
        kind = names[kind]
    return device_text(kind if index is None else f"{kind}:{index}")
