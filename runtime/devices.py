"""Devices as values. Only the CPU can be used; the others exist so that a program naming them gets a clear error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from .errors import DeviceError, unknown_name

_DLPACK_TYPES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10}
_ALIASES = {"llvm": "cpu", "c": "cpu", "gpu": "cuda", "nvidia": "cuda", "cl": "opencl"}
_NAMES = {number: name for name, number in _DLPACK_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Device:
    """A device: its kind (`"cpu"`) and its number; comparable and hashable, `str` gives `cpu(0)`."""

    STR2MASK: ClassVar[dict[str, int]] = {
        **_DLPACK_TYPES, **{alias: _DLPACK_TYPES[kind] for alias, kind in _ALIASES.items() if kind != "cuda"},
        **dict.fromkeys(("test", "hybrid", "composite"), 1), "nvptx": 2, "vpi": 9, "ext_dev": 12, "hexagon": 14,
        "webgpu": 15,
    }  # fmt: skip
    """DLPack's numbers of the kinds of devices and targets."""

    kind: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.kind}({self.index})"

    __repr__ = __str__

    @property
    def device_type(self) -> int:
        """The kind as numbered by DLPack (`kDLCPU` is 1)."""
        return _DLPACK_TYPES[self.kind]

    @property
    def device_id(self) -> int:
        """The number of the device among those of its kind."""
        return self.index

    @property
    def exist(self) -> bool:
        """True if tirax supports the device: a CPU with any number, as all of them share one memory."""
        return self.kind == "cpu"

    def sync(self, stream: object = None) -> None:
        """Wait for outstanding work: there is none, calls are synchronous. Raises `DeviceError`."""
        require_cpu(self)


def device(dev_type: str, dev_id: int | None = None) -> Device:
    """Return the device `device("cpu", 0)`, `device("cpu:0")`, `device("llvm")`. Raises `NameLookupError` for an
    unknown kind.
    """
    name, colon, number = dev_type.partition(":")
    if colon and not number.isdecimal():
        raise DeviceError(f"malformed device '{dev_type}'", expected="a kind and a number, such as cpu:0")
    name = _ALIASES.get(name, name)
    if name not in _DLPACK_TYPES:
        raise unknown_name("device", name, _DLPACK_TYPES)
    return Device(name, dev_id if dev_id is not None else int(number or 0))


def cpu(dev_id: int = 0) -> Device:
    """Return the CPU."""
    return Device("cpu", dev_id)


def cuda(dev_id: int = 0) -> Device:
    """Return a CUDA device: a value only, any use of it raises `DeviceError`."""
    return Device("cuda", dev_id)


def _other(kind: str, title: str) -> Callable[[int], Device]:
    def make(dev_id: int = 0) -> Device:
        return Device(kind, dev_id)

    make.__doc__ = f"{title} device: a value only, as that of `cuda`."
    return make


rocm, opencl, vulkan, metal = (
    _other(kind, title)
    for kind, title in (("rocm", "A ROCm"), ("opencl", "An OpenCL"), ("vulkan", "A Vulkan"), ("metal", "A Metal"))
)

CPU = cpu()
"""The device that all data is on."""


def require_cpu(dev: Device) -> Device:
    """Return `dev` if tirax supports it. Raises `DeviceError` otherwise."""
    if not isinstance(dev, Device):
        raise DeviceError("not a device", expected="a Device such as cpu(0)", found=f"{type(dev).__name__} {dev!r}")
    if not dev.exist:
        raise DeviceError(f"device {dev} is not available", expected="cpu(0)", hint="tirax runs on the CPU only")
    return dev


def dlpack_device_name(pair: tuple[int, int]) -> str:
    """Return `__dlpack_device__()` for a message: `(2, 0)` -> `cuda(0)`."""
    return f"{_NAMES.get(int(pair[0]), f'device type {int(pair[0])}')}({int(pair[1])})"
