"""The contract between compiled objects and the running Python.

An object is position independent and holds no address of the process that made it: it is cached and saved to files.
Whatever it needs of the process comes from a table that the loader fills in, or is linked by name.

Symbols of an object
    @tirax_table = global [N x ptr] zeroinitializer, align 8   (external linkage, writable)
        filled before any other symbol is used, never changed after; slot `s` is `@tirax_table + 8 * s`. Slots
        0 … FIXED_SLOTS - 1 are those of `Slot`, and N = FIXED_SLOTS + the number of the executable's own slots, which
        follow in the order of `Executable.slots` (kinds: see `slots.py`).
    @tirax_abi = constant [2 x i64] [i64 ABI_VERSION, i64 N]
        checked before the table is filled; `abi_constant(n)` gives the values. Offsets of fields (`ArrayLayout`,
        TUPLE_ITEMS, TUPLE_SIZE) are constants in the code: keys of caches have to contain `fingerprint()`.
    PyObject* @entry_<name>(PyObject* self, PyObject* const* args, Py_ssize_t nargs)
        one for each function that Python can call (METH_FASTCALL). Runs with the GIL held; returns a new reference, or
        null with an exception set; `args` are borrowed; `self` keeps the object's code alive while the function exists.

Linked by name from the process
    libpython: PyErr_SetString, PyErr_SetObject, PyErr_NoMemory, PyErr_Occurred, PyErr_CheckSignals,
    PyObject_Vectorcall, PyTuple_New, PyTuple_SetItem (steals), PyTuple_GetItem (borrowed), PyLong_FromLongLong,
    PyLong_AsLongLong, PyFloat_FromDouble, PyFloat_AsDouble, PyBool_FromLong, Py_IncRef, Py_DecRef, PyEval_SaveThread,
    PyEval_RestoreThread, …
    tirax: tirax_parallel_for (`thread_pool.py`), tirax_take, tirax_give, tirax_new_result (`result_pool.py`),
    tirax_has_stack (`stack.py`)
    libc and libm: aligned_alloc, free, memcpy, memset, expf, …; libgcc: __extendhfsf2, __truncsfhf2, … (not bfloat16's)

What an entry does
    1. Fast check of nargs and every argument. A tensor passes if its type (field `ob_type`) is slot NDARRAY_TYPE or
       TIRAX_NDARRAY_TYPE, `descr` is the dtype's slot, `nd` and `dims` fit, and
       `flags & INPUT_FLAGS == INPUT_FLAGS` (OUTPUT_FLAGS where it is written). Then its data is C-contiguous and
       aligned to its element only; `strides` mean nothing where an extent is 0 or 1, so they are best not read. Where
       an argument is written, its memory must be found disjoint from that of the other tensors, too.
    2. Where the check fails: `t = PyObject_Vectorcall(slot explain, args, nargs, null)`. null: an exception that names
       the argument is set, return null. Else `t` is a new tuple of normalised arguments (exact ndarray or NDArray of
       the declared dtype, dense; int, float or bool for prims; exact tuples for shapes and tuples): check those again,
       fail with the exception of slot INTERNAL_ERROR if they do not pass, and decref `t` before returning.
    3. Results: `PyArray_NewFromDescr(TIRAX_NDARRAY_TYPE, descr, nd, dims, null, null, 0, null)` through slot
       NEW_FROM_DESCR, after increfing the descr, which is stolen; null means that an exception is set. Its data may be
       aligned to its element only. From `result_pool.LARGE` bytes on `tirax_new_result(descr, nd, dims, bytes)` makes
       it, in memory that is used again; its data is aligned to 64 bytes. A result never aliases a constant or the
       arena; an argument that is returned is increfed. Tuples are returned as tuples.
    4. Packed functions: PyObject_Vectorcall(slot, args, nargs, null); null is passed on after cleaning up, so that the
       exception arrives as it was raised. Arrays handed to them own their memory (3.), since they may be kept.
    5. The GIL may be released around kernels, never while a Python object is read or made; `dims` are read before.
       Entries may run in several threads at once: no writable globals beside the table.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import sysconfig
from collections.abc import Callable
from enum import IntEnum, auto
from typing import Any

import numpy as np

from .dtypes import DTYPES
from .errors import AbiError, ArgumentError, DTypeError, LoadError, ShapeError
from .ndarray import NDArray

ABI_VERSION = 2
TABLE_SYMBOL = "tirax_table"
ABI_SYMBOL = "tirax_abi"

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0100, 0x0400
INPUT_FLAGS = C_CONTIGUOUS | ALIGNED
OUTPUT_FLAGS = INPUT_FLAGS | WRITEABLE


class _CountFromZero(IntEnum):
    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        return count


class Slot(_CountFromZero):
    """The fixed slots, in order. New ones go to the end of their group only together with a new `ABI_VERSION`.

    `DTYPE_<NAME>` is the PyArray_Descr*, `EXC_…` an exception type; all objects are borrowed.
    """

    NDARRAY_TYPE = auto()
    TIRAX_NDARRAY_TYPE = auto()
    NEW_FROM_DESCR = auto()
    """PyObject* (type, PyArray_Descr* stolen, int nd, i64* dims, i64* strides, void* data, int flags, PyObject*)"""
    EMPTY = auto()
    """PyObject* (int nd, i64* dims, PyArray_Descr* stolen, int fortran): a plain ndarray"""
    SET_BASE_OBJECT = auto()
    """int (PyArrayObject*, PyObject* stolen)"""
    TUPLE_TYPE = auto()
    LONG_TYPE = auto()
    FLOAT_TYPE = auto()
    BOOL_TYPE = auto()
    NONE = auto()
    TRUE = auto()
    FALSE = auto()
    EXC_TYPE_ERROR = auto()
    EXC_VALUE_ERROR = auto()
    EXC_RUNTIME_ERROR = auto()
    EXC_MEMORY_ERROR = auto()
    EXC_OVERFLOW_ERROR = auto()
    EXC_ARGUMENT_ERROR = auto()
    EXC_SHAPE_ERROR = auto()
    EXC_DTYPE_ERROR = auto()
    INTERNAL_ERROR = auto()
    """The exception type for internal errors (PyErr_SetString with a text that says where)."""
    DTYPE_BOOL = auto()
    DTYPE_INT8 = auto()
    DTYPE_INT16 = auto()
    DTYPE_INT32 = auto()
    DTYPE_INT64 = auto()
    DTYPE_UINT8 = auto()
    DTYPE_UINT16 = auto()
    DTYPE_UINT32 = auto()
    DTYPE_UINT64 = auto()
    DTYPE_FLOAT16 = auto()
    DTYPE_FLOAT32 = auto()
    DTYPE_FLOAT64 = auto()
    DTYPE_BFLOAT16 = auto()
    DTYPE_FLOAT8_E4M3FN = auto()
    DTYPE_FLOAT8_E5M2 = auto()
    DTYPE_FLOAT8_E3M4 = auto()
    DTYPE_FLOAT8_E4M3 = auto()
    DTYPE_FLOAT8_E4M3B11FNUZ = auto()
    DTYPE_FLOAT8_E4M3FNUZ = auto()
    DTYPE_FLOAT8_E5M2FNUZ = auto()
    DTYPE_FLOAT8_E8M0FNU = auto()
    DTYPE_INT4 = auto()
    DTYPE_UINT4 = auto()
    DTYPE_FLOAT4_E2M1FN = auto()
    DTYPE_INT2 = auto()
    DTYPE_UINT2 = auto()


FIXED_SLOTS = len(Slot)


def dtype_slot(name: str) -> Slot:
    """Return the slot of a dtype's descriptor: `dtype_slot("float32")`."""
    return Slot[f"DTYPE_{name.upper()}"]


def abi_constant(own_slots: int) -> tuple[int, int]:
    """Return the values of `@tirax_abi` for an object with `own_slots` slots of its own."""
    return ABI_VERSION, FIXED_SLOTS + own_slots


class ArrayLayout(IntEnum):
    """Byte offsets of the fields of a PyArrayObject; `nd` and `flags` are i32, the others pointers.

    The fields after the object header are numpy's stable ABI; the header's size is Python's. Verified at the first
    load.
    """

    OB_TYPE = object.__basicsize__ - 8
    DATA = object.__basicsize__
    ND = object.__basicsize__ + 8
    DIMS = object.__basicsize__ + 16
    STRIDES = object.__basicsize__ + 24
    BASE = object.__basicsize__ + 32
    DESCR = object.__basicsize__ + 40
    FLAGS = object.__basicsize__ + 48


ARRAY_LAYOUT: dict[str, int] = {name.lower(): int(offset) for name, offset in ArrayLayout.__members__.items()}
"""The same offsets, by field name."""

TUPLE_ITEMS = tuple.__basicsize__
"""Byte offset of the first item of a tuple; its length is the i64 at `TUPLE_SIZE`."""
TUPLE_SIZE = object.__basicsize__


def fingerprint() -> dict[str, int]:
    """Return the properties of this file, Python and numpy that a compiled object depends on, to be stored with
    it and compared.
    """
    return {"abi": ABI_VERSION, "tuple_items": TUPLE_ITEMS, "tuple_size": TUPLE_SIZE, **ARRAY_LAYOUT}


def require_gil() -> None:
    """Raise `AbiError` if native code cannot rely on a single GIL: free-threaded Python, subinterpreters."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise AbiError(
            "this is a free-threaded Python", expected="CPython with the GIL", found=sys.version.split("\n")[0]
        )
    current, main = (getattr(ctypes.pythonapi, f"PyInterpreterState_{which}") for which in ("Get", "Main"))
    current.restype = main.restype = ctypes.c_void_p
    if current() != main():
        raise AbiError("native code runs in the main interpreter only", found="a subinterpreter")


def verify_array_layout() -> None:
    """Compare `ARRAY_LAYOUT` with real arrays. Raises `AbiError` if the running Python or numpy differs."""
    base = np.zeros((7, 5), np.float32)
    for probe in (base, base[1:6:2, ::3], np.ndarray.__new__(NDArray, (2, 3, 4), np.int16)):
        found = _read_fields(probe)
        for name, expected in _expected_fields(probe).items():
            if found[name] != expected:
                raise AbiError(
                    f"arrays are laid out in an unknown way: field '{name}' of numpy {np.__version__}",
                    expected=expected,
                    found=found[name],
                    hint="use a released CPython with the GIL and a released numpy",
                )


def _read_fields(probe: np.ndarray) -> dict[str, Any]:
    def read(kind: Any, field: ArrayLayout) -> Any:
        return kind.from_address(id(probe) + field).value

    def extents(field: ArrayLayout) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * probe.ndim).from_address(read(ctypes.c_size_t, field)))

    fields: dict[str, Any] = {
        "ob_type": read(ctypes.c_size_t, ArrayLayout.OB_TYPE),
        "data": read(ctypes.c_size_t, ArrayLayout.DATA),
        "nd": read(ctypes.c_int32, ArrayLayout.ND),
        "descr": read(ctypes.c_size_t, ArrayLayout.DESCR),
        "base": read(ctypes.c_size_t, ArrayLayout.BASE),
        "flags": read(ctypes.c_int32, ArrayLayout.FLAGS) & (OUTPUT_FLAGS),
    }
    if fields["nd"] == probe.ndim:  # only then are these two likely to be pointers to that many extents
        fields |= {"dims": extents(ArrayLayout.DIMS), "strides": extents(ArrayLayout.STRIDES)}
    return fields


def _expected_fields(probe: np.ndarray) -> dict[str, Any]:
    flags = probe.flags
    return {
        "ob_type": id(type(probe)),
        "data": probe.ctypes.data,
        "nd": probe.ndim,
        "descr": id(probe.dtype),
        "base": 0 if probe.base is None else id(probe.base),
        "flags": C_CONTIGUOUS * flags.c_contiguous | ALIGNED * flags.aligned | WRITEABLE * flags.writeable,
        "dims": probe.shape,
        "strides": probe.strides,
    }


_NUMPY_API = {Slot.NEW_FROM_DESCR: 94, Slot.EMPTY: 184, Slot.SET_BASE_OBJECT: 282}
"""Indices in numpy's C-API table, which numpy keeps stable."""
_NUMPY_API_NDARRAY_TYPE = 2

_OBJECTS: dict[Slot, Any] = {
    Slot.NDARRAY_TYPE: np.ndarray,
    Slot.TIRAX_NDARRAY_TYPE: NDArray,
    Slot.TUPLE_TYPE: tuple,
    Slot.LONG_TYPE: int,
    Slot.FLOAT_TYPE: float,
    Slot.BOOL_TYPE: bool,
    Slot.NONE: None,
    Slot.TRUE: True,
    Slot.FALSE: False,
    Slot.EXC_TYPE_ERROR: TypeError,
    Slot.EXC_VALUE_ERROR: ValueError,
    Slot.EXC_RUNTIME_ERROR: RuntimeError,
    Slot.EXC_MEMORY_ERROR: MemoryError,
    Slot.EXC_OVERFLOW_ERROR: OverflowError,
    Slot.EXC_ARGUMENT_ERROR: ArgumentError,
    Slot.EXC_SHAPE_ERROR: ShapeError,
    Slot.EXC_DTYPE_ERROR: DTypeError,
    Slot.INTERNAL_ERROR: LoadError,
} | {slot: DTYPES.get(slot.name[6:].lower()) for slot in Slot if slot.name.startswith("DTYPE_")}


@functools.cache
def fixed_slots() -> tuple[int, ...]:
    """Return the addresses for the fixed slots, in order; the array layout is verified first. Raises `AbiError`."""
    require_gil()
    verify_array_layout()
    api = _numpy_api()
    if api[_NUMPY_API_NDARRAY_TYPE] != id(np.ndarray):
        raise AbiError(f"numpy {np.__version__} has an unknown C-API table")
    return tuple(api[_NUMPY_API[slot]] if slot in _NUMPY_API else id(_OBJECTS[slot]) for slot in Slot)


def _numpy_api() -> Any:
    core: Any = vars(np)["_core"]
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.cast(get_pointer(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_size_t))


class _PyMethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class NativeCode:
    """The `self` of a native function: keeps its PyMethodDef and its code alive."""

    __slots__ = ("definition", "keep_alive")

    def __init__(self, definition: _PyMethodDef, keep_alive: object):
        self.definition = definition
        self.keep_alive = keep_alive


class NativeCodeAndData(np.ndarray):
    """The `self` of a native function that reads its own data through it: it has the fields of the array."""

    definition: _PyMethodDef
    keep_alive: object


_METH_KEYWORDS, _METH_FASTCALL = 0x02, 0x80
_new_builtin = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object, ctypes.c_void_p
)(("PyCMethod_New", ctypes.pythonapi))


def fastcall(
    name: str,
    address: int,
    keep_alive: object = None,
    doc: str | None = None,
    data: np.ndarray | None = None,
    keywords: bool = False,
) -> Callable[..., Any]:
    """Return a builtin function for a native `PyObject* (PyObject* self, PyObject* const* args, Py_ssize_t nargs)`.

    It keeps `keep_alive` (the owner of the code) alive. `doc` is its `__doc__`. With `data`, its `self` is an array
    over them (`ArrayLayout`). With `keywords` it has a fourth parameter, the names of keyword arguments.
    """
    encoded = None if doc is None else doc.encode()
    flags = _METH_FASTCALL | (_METH_KEYWORDS if keywords else 0)
    definition = _PyMethodDef(name.encode(), address, flags, encoded)
    binding = NativeCode(definition, keep_alive) if data is None else _bound_data(definition, keep_alive, data)
    return _new_builtin(ctypes.addressof(definition), binding, __name__, None)


def _bound_data(definition: _PyMethodDef, keep_alive: object, data: np.ndarray) -> NativeCodeAndData:
    bound = data.view(NativeCodeAndData)
    bound.definition, bound.keep_alive = definition, keep_alive
    return bound
