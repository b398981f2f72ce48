"""Device names: `cpu:0`, in TVMScript `R.device(device_type=1, index=0)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from ...diagnostics import TiraxError, unknown_name

DEVICES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
"""DLPack's numbers of device kinds."""
_ALIASES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda"}
DEVICE_NAMES = frozenset({*DEVICES, *_ALIASES})
_FORM = re.compile(r"(\w+?)(?:[:(](\d+)\)?)?")


def device_text(device: str) -> str:
    """Return the canonical form of `cpu`, `llvm:1` or `cpu(0)`: `cpu:0`. Raises `TiraxError` for an unknown device."""
    match = _FORM.fullmatch(device)
    if match is None:
        raise TiraxError("malformed device", expected="a kind and a number, such as cpu:0", found=device)
    kind = _ALIASES.get(match[1], match[1])
    if kind not in DEVICES:
        raise unknown_name("device", kind, DEVICES)
    return f"{kind}:{int(match[2] or 0)}"


def device_numbers(device: str) -> tuple[int, int]:
    """Return the number of a device's kind, and its index."""
    kind, _, index = device_text(device).partition(":")
    return DEVICES[kind], int(index)


def device_of(kind: int | str, index: int | None = None) -> str:
    """Return the canonical form of a device, given the number or name of its kind. Raises `TiraxError`."""
    names = {number: name for name, number in DEVICES.items()}
    if isinstance(kind, int):
        if kind not in names:
            raise TiraxError("no such device", expected=", ".join(f"{n} ({k})" for k, n in DEVICES.items()), found=kind)
        kind = names[kind]
    return device_text(kind if index is None else f"{kind}:{index}")


GLOBAL_INFOS = "relax.global_infos"
"""The module attribute with its virtual devices and other global infos: `{vdevice = ["llvm:0", "cuda:0"]}`."""
VDEVICE, DUMMY = "vdevice", "dummy"


def vdevice_text(target: object, number: int = 0, scope: str = "global") -> str:
    """Return a virtual device as stored in struct info: `llvm:0`, `cuda:1:shared`. A target is a text or its
    configuration.
    """
    kind = cast("Mapping[str, object]", target).get("kind", "llvm") if isinstance(target, Mapping) else target
    return f"{str(kind or 'llvm').split(' ')[0]}:{number}{'' if scope == 'global' else f':{scope}'}"


def global_infos(attributes: Mapping[str, Attribute]) -> dict[str, list[str]]:
    """Return the global infos of a module, by kind: virtual devices as texts, `dummy` for empty ones."""
    infos = attributes.get(GLOBAL_INFOS)
    entries = infos.data.items() if isinstance(infos, DictionaryAttr) else ()
    return {
        kind: [i.data for i in cast("ArrayAttr[Attribute]", listed) if isinstance(i, StringAttr)]
        for kind, listed in entries
        if isinstance(listed, ArrayAttr)
    }


def vdevices(attributes: Mapping[str, Attribute]) -> list[str]:
    """Return the virtual devices that the attributes of a module list."""
    return global_infos(attributes).get(VDEVICE, [])


def listed_vdevice(device: str, listed: Sequence[str]) -> str:
    """Return the device for an index: `vdevice:1` is the second of those listed by a module, `cuda:1` the second of
    kind cuda.

    Returned unchanged if the module lists none. Raises `TiraxError` for one that is not listed.
    """
    kind, _, number = device.partition(":")
    among = [d for d in listed if kind in (VDEVICE, d.partition(":")[0])]
    if not (listed or kind == VDEVICE) or not (number or "0").isdecimal():
        return device
    if int(number or 0) >= len(among):
        raise TiraxError(f"there is no virtual device '{device}'", expected=", ".join(listed) or "none", found=device)
    return among[int(number or 0)]


def place_of_vdevice(device: str, listed: Sequence[str]) -> str:
    """Return the inverse of `listed_vdevice`: a kind and the index within that kind; the device itself if not
    listed.
    """
    kind = device.partition(":")[0]
    among = [d for d in listed if d.partition(":")[0] == kind]
    return f"{kind}:{among.index(device)}" if device in among else device
