"""`NDArray`: numpy's array under TVM's names, exchanged without copying through DLPack.

It is a subclass of `numpy.ndarray` without fields or hooks of its own. So native code reads its fields like numpy's,
results are created as cheaply as numpy's, and every numpy function accepts it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import ml_dtypes
import numpy as np

from . import torch_tensors
from .capsules import Checked, mark_bfloat16
from .devices import CPU, Device, dlpack_device_name, require_cpu
from .dtypes import DTYPES, describe_dtype, dtype_name, to_dtype
from .errors import ArgumentDeviceError, ArgumentError, DeviceError, DTypeError, ShapeError

ALIGNMENT = 64
"""Alignment in bytes of the data of arrays created here: a cache line, the widest vector."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class ViewError(ArgumentError, ValueError):
    """A view does not lie within its array."""


class NDArray(np.ndarray):
    """An array on a device; created by `array`, `empty`, `from_dlpack` and by compiled functions."""

    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """Return a copy as a plain `numpy.ndarray`."""
        return np.array(self, copy=True, subok=False)

    asnumpy = numpy

    @property
    def device(self) -> Device:  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]
        """The device of the data: always the CPU."""
        return CPU

    ctx = device

    def copyto(self, target: NDArray | Device, mem_scope: str | None = None) -> NDArray:
        """Copy into `target` (an array of the same shape and dtype), or into a new array on the device `target`.

        Returns the target array. Raises `ShapeError`, `DTypeError`, `DeviceError` (also for a memory that CPUs lack).
        """
        if mem_scope not in (None, "", "global"):
            raise DeviceError("a CPU has one memory", expected="global", found=mem_scope)
        return array(self, target) if isinstance(target, Device) else copy_into(target, self)

    def copyfrom(self, source_array: Any) -> NDArray:
        """Copy an array or nested lists into this array and return it. Raises `ShapeError`, `DTypeError`."""
        if hasattr(source_array, "__dlpack__"):
            return copy_into(self, as_ndarray(source_array))
        dtype = None if hasattr(source_array, "dtype") else self.dtype
        return copy_into(self, np.asarray(source_array, dtype=dtype))

    def _create_view(self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0) -> NDArray:
        """Return an array over the same memory, with elements of `dtype` (this array's by default), from a byte offset
        on.

        Raises `ViewError` if the view exceeds this array, and for arrays that are not contiguous.
        """
        if not self.flags.c_contiguous:
            raise ViewError("a view is of contiguous memory", hint="copy the array first")
        element = self.dtype if dtype is None else to_dtype(dtype)
        size = math.prod(int(extent) for extent in shape) * element.itemsize
        end = relative_byte_offset + size
        if relative_byte_offset < 0 or end > self.nbytes:
            raise ViewError(
                f"the view would occupy bytes {relative_byte_offset} <= i_byte < {end} within the array, "
                f"but the NDArray being viewed only contains {self.nbytes} bytes"
            )
        memory = self.reshape(-1).view(np.uint8)[relative_byte_offset:end]
        return memory.view(element).reshape(tuple(int(e) for e in shape)).view(NDArray)

    def to_dlpack(self) -> Any:
        """Return a DLPack capsule over the same memory."""
        return self.__dlpack__()

    def __dlpack__(self, **options: Any) -> Any:
        """Return a DLPack capsule over the same memory, also for bfloat16, which numpy itself does not export."""
        if self.dtype != _BFLOAT16:
            return super().__dlpack__(**options)
        capsule = np.asarray(self).view(np.uint16).__dlpack__(**options)
        mark_bfloat16(capsule)
        return capsule


class ShapeTuple(tuple[int, ...]):
    """A shape as a value: a tuple of integers that also equals a list of the same integers."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    __hash__ = tuple.__hash__


def copy_into(target: Any, source: np.ndarray) -> Any:
    """Copy `source` into `target`, of the same shape and dtype, and return `target`."""
    if target.shape != source.shape:
        raise ShapeError("cannot copy between arrays of different shapes", expected=target.shape, found=source.shape)
    if target.dtype != source.dtype:
        found = describe_dtype(source.dtype)
        raise DTypeError("cannot copy between arrays of different dtypes", expected=target.dtype.name, found=found)
    if not target.flags.writeable:
        raise ArgumentError("cannot copy into a read-only array")
    np.copyto(target, source)
    return target


def empty(shape: int | Sequence[int], dtype: Any = "float32", device: Device = CPU, *, zeros: bool = False) -> NDArray:
    """Return a new C-contiguous array, its data aligned to `ALIGNMENT` and not initialized.

    With `zeros` it is zero-filled, lazily by the system.

    Raises `ShapeError` for a negative extent, `DTypeError`, `DeviceError`.
    """
    require_cpu(device)
    extents = (shape,) if isinstance(shape, int) else tuple(int(extent) for extent in shape)
    if any(extent < 0 for extent in extents):
        raise ShapeError("negative extent", expected="extents >= 0", found=extents)
    np_dtype = to_dtype(dtype)
    size = np_dtype.itemsize * math.prod(extents)
    raw = np.empty(size + ALIGNMENT, np.uint8) if not zeros else np.zeros(size + ALIGNMENT, np.uint8)
    return NDArray.__new__(NDArray, extents, np_dtype, raw.data, _first_aligned(raw))


def empty_together(kinds: Iterable[tuple[Sequence[int], Any]]) -> list[NDArray]:
    """Return an uninitialized array for each shape and dtype, like `empty`, all in one block of memory.

    The block is freed with the last of them. Large blocks use huge pages if the system supports them.
    """
    known = [(tuple(int(extent) for extent in shape), to_dtype(dtype)) for shape, dtype in kinds]
    sizes = [dtype.itemsize * math.prod(shape) for shape, dtype in known]
    ends = list(accumulate(-(-size // ALIGNMENT) * ALIGNMENT for size in sizes))
    raw = np.empty((ends[-1] if ends else 0) + ALIGNMENT, np.uint8)
    first = _first_aligned(raw)
    begins = [first, *(first + end for end in ends)]
    return [NDArray.__new__(NDArray, *kind, raw.data, begin) for kind, begin in zip(known, begins, strict=False)]


def _first_aligned(raw: np.ndarray) -> int:
    return -raw.ctypes.data % ALIGNMENT


def array(source: Any, device: Device = CPU, dtype: Any = None) -> NDArray:
    """Return a new array with a copy of `source`: an array of any kind, a number, or nested lists of numbers.

    Python numbers get numpy's dtypes (float64, int64), as in TVM; `dtype` converts. Raises `DTypeError`, `DeviceError`,
    and `ArgumentError` if `source` is not an array.
    """
    require_cpu(device)
    data = np.asarray(source if isinstance(source, np.ndarray) else _as_array(source))
    result = empty(data.shape, data.dtype if dtype is None else dtype)
    np.copyto(result, data, casting="unsafe")
    return result


def _as_array(source: Any) -> np.ndarray:
    if hasattr(source, "__dlpack__"):
        return as_ndarray(source)
    try:
        return np.asarray(source)
    except ValueError as error:
        raise ArgumentError(f"not an array: {error}", found=type(source).__name__) from error


def from_dlpack(source: Any) -> NDArray:
    """Return an array over the memory of `source` (a torch tensor, a numpy array, any object with `__dlpack__`),
    without a copy.

    Strides are kept: a compiled function copies an input that is not contiguous. A read-only source gives a read-only
    array, and so does a PyTorch tensor with the negative bit set, which is copied. Raises `DeviceError` (other device),
    `DTypeError` (byte-swapped or unknown), `ArgumentError`.
    """
    return as_ndarray(source).view(NDArray)


def as_ndarray(source: Any) -> np.ndarray:
    """Return `source` as a numpy array over the same memory. Raises like `from_dlpack`."""
    if isinstance(source, (np.ndarray, np.generic)):
        return _checked(np.asanyarray(source))
    found = type(source).__name__
    if not hasattr(type(source), "__dlpack__"):
        hint = "numpy.asarray(x)" if hasattr(type(source), "__array__") else None
        raise ArgumentError(
            "not an array", expected="an object with __dlpack__ (numpy, torch, …)", found=found, hint=hint
        )
    if torch_tensors.is_tensor(source):
        return _of_tensor(source)
    where = _device_of(source)
    if not (isinstance(where, tuple) and len(where) == 2 and all(isinstance(number, int) for number in where)):
        raise ArgumentError("__dlpack_device__ is wrong", expected="(device type, number)", found=where)
    if int(where[0]) != CPU.device_type:
        name = dlpack_device_name(where)
        raise ArgumentDeviceError(
            "the data lies on another device", expected="cpu(0)", found=name, hint="copy it to the CPU"
        )
    return _checked(_import(source))


def _device_of(source: Any) -> Any:
    """Return what `__dlpack_device__` returns. Raises `ArgumentError` for a value without data, as inside `jax.jit`."""
    try:
        return source.__dlpack_device__()
    except (AttributeError, NotImplementedError) as error:
        found = type(source).__name__
        hint = "inside jax.jit: jax.pure_callback(f, shape, x)" if "Tracer" in found else None
        raise ArgumentError("the array has no data", expected="an array on the CPU", found=found, hint=hint) from error


def _of_tensor(tensor: Any) -> np.ndarray:
    """Return a PyTorch tensor as an array; a read-only copy if its negative bit is set."""
    plain = torch_tensors.resolved(tensor)
    data = _checked(_import(plain, is_sound=plain.dtype.itemsize != 2))
    if plain is not tensor:
        data.flags.writeable = False
    return data


def _checked(data: np.ndarray) -> np.ndarray:
    if dtype_name(data.dtype) is None:
        raise DTypeError(
            "arrays of this dtype are not supported",
            expected=f"one of {', '.join(DTYPES)}",
            found=describe_dtype(data.dtype),
            hint=None if data.dtype.isnative else "copy it into native byte order: x.astype(x.dtype.newbyteorder('='))",
        )
    return data


def _import(source: Any, is_sound: bool = False) -> np.ndarray:
    """Import through numpy, with bfloat16 as a view of uint16; with `is_sound` the capsule is not checked."""
    try:
        if is_sound:
            return np.from_dlpack(source)
        checked = Checked(source)
        data = np.from_dlpack(checked)
        return data.view(_BFLOAT16) if checked.is_bfloat16 else data
    except ArgumentError:
        raise
    except (BufferError, TypeError, ValueError, RuntimeError, AssertionError, AttributeError) as error:
        raise ArgumentError(f"the array cannot be imported: {error}", found=type(source).__name__) from error
