"""Reference semantics of the memory operators: storage is an array of bytes, tensors in it are views."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation

from ...dialects.dtypes import numpy_dtype
from ...dialects.relax import memory
from ...ir.locations import location_of
from ..environment import Implementation
from ..scalars import InterpreterError

_UNWRITTEN = 0x7B
"""The contents of uninitialized memory, to expose reads of it."""


def _filled(array: Any) -> Any:
    array.reshape(-1).view(np.uint8)[:] = int(array.dtype != bool) and _UNWRITTEN
    return array


def _storage(_i: Interpreter, op: memory.Storage, args: PythonValues) -> PythonValues:
    (size,) = args[0]
    size *= numpy_dtype(op.dtype_arg()).itemsize if isinstance(op, memory.VMAllocStorage) else 1
    if size < 0:
        raise InterpreterError(f"{op.name}: the size is negative", found=size, location=location_of(op))
    return (_filled(np.empty(size, np.uint8)),)


def _tensor(_i: Interpreter, op: Any, args: PythonValues) -> PythonValues:
    return (_filled(np.empty(args[0], numpy_dtype(op.dtype_arg()))),)


def _in_storage(_i: Interpreter, op: memory.StorageTensor, args: PythonValues) -> PythonValues:
    storage, offset, shape = args[:3]
    dtype = numpy_dtype(op.dtype_arg())
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if offset < 0 or offset + size > len(storage):
        raise InterpreterError(
            f"{op.name}: the tensor reaches beyond its storage",
            expected=f"at most {len(storage)} bytes",
            found=f"{offset + size}",
            location=location_of(op),
        )
    return (storage[offset : offset + size].view(dtype).reshape(shape),)


def _kill(_i: Interpreter, _op: Operation, _args: PythonValues) -> PythonValues:
    return ((),)


TABLE: dict[type[Operation], Implementation] = {
    memory.AllocTensor: _tensor,
    memory.AllocStorage: _storage,
    memory.VMAllocStorage: _storage,
    memory.MemoryAllocTensor: _in_storage,
    memory.VMAllocTensor: _in_storage,
    memory.KillStorage: _kill,
    memory.KillTensor: _kill,
    memory.KillObject: _kill,
}
