"""What TVM says of devices, modules and arrays: of a CPU little more than its memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..runtime import Device, Module, NDArray
from ..runtime.module import Functions

_UNKNOWN = (
    "api_version available_global_memory compute_version device_name driver_version l2_cache_size_bytes max_clock_rate "
    "max_shared_memory_per_block max_thread_dimensions max_threads_per_block multi_processor_count "
    "texture_spatial_limit warp_size"
)


def _total_global_memory(dev: Device) -> int | None:
    """The bytes of memory of the machine; None for other devices, and where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if dev.exist else None
    except (AttributeError, ValueError, OSError):
        return None


def _nothing(dev: Device) -> Any:
    """None: TVM says nothing of it on a CPU either."""
    return None


def _entry(module: Functions) -> Callable[..., Any]:
    """The function that a call of the module calls: the only one, or `main`. Raises `NameLookupError`."""
    names = module.function_names
    return module[names[0] if len(names) == 1 else "main"]


def _call(module: Functions, *args: Any) -> Any:
    """Call the entry function."""
    return _entry(module)(*args)


def _implements_function(module: Functions, name: str, query_imports: bool = False) -> bool:
    """Return whether the module has a function; it imports no modules."""
    return name in module


_MODULE = {
    "__call__": _call,
    "entry_func": property(_entry),
    "implements_function": _implements_function,
    "imported_modules": property(lambda module: []),
    "is_binary_serializable": property(lambda module: False),
    "is_device_module": False,
    "is_dso_exportable": property(lambda module: True),
    "is_runnable": property(lambda module: True),
    "type_key": "llvm",
    "format": "",
}
"""What TVM's `Module` has besides."""


def _is_same(array: NDArray, other: object) -> bool:
    """Return whether both are the same array."""
    return array is other


def install() -> None:
    """Attach the methods of `Device`, `Module` and `NDArray` that only programs of TVM call."""
    for name, value in _MODULE.items():
        setattr(Module, name, value)
    NDArray.same_as = _is_same  # pyright: ignore[reportAttributeAccessIssue]
    for name in _UNKNOWN.split():
        setattr(Device, name, property(_nothing))
    Device.total_global_memory = property(_total_global_memory)  # pyright: ignore[reportAttributeAccessIssue]


__all__ = ["install"]
