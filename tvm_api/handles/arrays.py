"""`tvm.nd`: the functions that make arrays, with TVM's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import Device, NDArray, cpu, device
from ...runtime import array as _array
from ...runtime import empty as _empty
from ...runtime import from_dlpack as _from_dlpack
from ...runtime.errors import DeviceError

CPU = cpu(0)


def _check_memory(mem_scope: str | None) -> None:
    if mem_scope not in (None, "", "global"):
        raise DeviceError("a CPU has one memory", expected="global", found=mem_scope)


def array(arr: Any, device: Device = CPU, mem_scope: str | None = None, *, dtype: Any = None) -> NDArray:
    """Return a new array with a copy of another one, a number or nested lists, as `runtime.array`."""
    _check_memory(mem_scope)
    return _array(arr, device, dtype)


def empty(
    shape: int | Sequence[int], dtype: Any = "float32", device: Device = CPU, mem_scope: str | None = None
) -> NDArray:
    """Return a new array that is not initialized, as `runtime.empty`."""
    _check_memory(mem_scope)
    return _empty(shape, dtype, device)


def from_dlpack(dltensor: Any) -> NDArray:
    """Return an array over the memory of another one, as `runtime.from_dlpack`."""
    return _from_dlpack(dltensor)


def numpyasarray(np_data: np.ndarray) -> NDArray:
    """Return an array over the memory of numpy's."""
    return _from_dlpack(np_data)


def webgpu(dev_id: int = 0) -> Device:
    """Return a device, which no program runs on here."""
    return device("webgpu", dev_id)


__all__ = ["array", "empty", "from_dlpack", "numpyasarray", "webgpu"]
