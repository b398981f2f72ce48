"""DLPack capsules, validated before their tensors are used."""

from __future__ import annotations

import ctypes
from typing import Any

from ..untrusted import checked_shape
from .errors import ArgumentError

_NAMES = {b"dltensor": 0, b"dltensor_versioned": 32}
"""The names of capsules, each with the offset of its tensor: after version, context, deleter and flags, or 0."""
_UINT, _BFLOAT = 1, 4
"""DLPack type codes."""
_MOST = 1 << 62
"""Maximum distance in bytes from an array's first element to its last."""


class DLTensor(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def tensor_of(capsule: Any) -> DLTensor | None:
    """Return the tensor of a capsule, over its memory; None for a capsule that is already consumed.

    Raises `ValueError` if the object is not a capsule.
    """
    api = ctypes.pythonapi
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    name = get_name(capsule)
    return DLTensor.from_address(get_pointer(capsule, name) + _NAMES[name]) if name in _NAMES else None


def mark_bfloat16(capsule: Any) -> None:
    """Change the dtype of an unconsumed capsule from uint16 to bfloat16."""
    tensor = tensor_of(capsule)
    assert tensor is not None
    tensor.code = _BFLOAT


class Checked:
    """A source of tensors whose capsules are valid; a tensor that no array can represent raises `ArgumentError`.

    bfloat16 becomes uint16, which numpy understands; then `is_bfloat16` is set.
    """

    def __init__(self, source: Any):
        self.source = source
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.source.__dlpack__(**options)
        tensor = tensor_of(capsule)
        if tensor is not None:
            _require_sound(tensor)
            self.is_bfloat16 = (tensor.code, tensor.bits, tensor.lanes) == (_BFLOAT, 16, 1)
            tensor.code = _UINT if self.is_bfloat16 else tensor.code
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.source.__dlpack_device__()


def _require_sound(tensor: DLTensor) -> None:
    """Raise `ArgumentError` for a malformed tensor; its memory is not accessed."""
    what = "a tensor of DLPack"
    rank, itemsize = tensor.ndim, -(-tensor.bits * tensor.lanes // 8)
    if rank and not tensor.shape:
        raise ArgumentError(f"{what}: it has no extents", expected=f"{rank} of them", found="a null pointer")
    if not 0 <= rank <= 64:
        raise ArgumentError(f"{what}: a wrong number of dimensions", expected="0 to 64", found=rank)
    shape = checked_shape([tensor.shape[i] for i in range(rank)], itemsize, what, ArgumentError)
    if 0 in shape:
        return
    if not tensor.data:
        raise ArgumentError(f"{what}: its elements have no memory", expected="an address", found="a null pointer")
    strides = [tensor.strides[i] for i in range(rank)] if tensor.strides else []
    reach = sum((extent - 1) * abs(stride) for extent, stride in zip(shape, strides, strict=False)) * itemsize
    if max(reach, tensor.byte_offset) > _MOST:
        raise ArgumentError(f"{what}: it goes further than any memory", found=f"strides {strides}")
