"""`tvm.nd`: arrays."""

from ..runtime import Device, NDArray, array, cpu, cuda, device, empty, from_dlpack

__all__ = ["Device", "NDArray", "array", "cpu", "cuda", "device", "empty", "from_dlpack"]
