"""Calls of compiled functions with tensors of another framework, without copies and without Python in between.

DLPack's C exchange interface (`type(tensor).__dlpack_c_exchange_api__`, DLPack 1.3) reads and creates tensors natively.
`exchanging` returns a function for such tensors: each becomes an array over the same memory, which keeps the tensor
alive; each array of the result becomes a tensor over the same memory, which keeps the array alive; an argument that is
returned is copied, so that results have memory of their own. The arrays of arguments are reused by the next call if
nothing else holds them. If an argument is not suitable (not dense, another dtype, a subclass, another device), all
arguments go to a slower function. `normalizing` does the same for the arguments alone. The code is
`native/exchange.ll`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .abi import ARRAY_LAYOUT, OUTPUT_FLAGS, Slot, dtype_slot, fastcall, fixed_slots
from .jit import link_native, native_text
from .metadata import FunctionInfo, Info, TensorInfo, TupleInfo

INTERFACE = "__dlpack_c_exchange_api__"
_CAPSULE = b"dlpack_exchange_api"
_TO_PYTHON, _FROM_PYTHON = 32, 40  # bytes of the functions within DLPackExchangeAPI
# The layout that exchange.ll reads.
_LAYOUT = {"ob_type": 8, "data": 16, "nd": 24, "dims": 32, "base": 48, "descr": 56, "flags": 64}
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}
_OTHER_CODES = {
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
_PASSED_ON, _LEFT_OUT = -1, -2
_SINGLE, _AS_IT_IS = -1, -2
_BITS = ("requires_grad", "is_neg")
"""An attribute and a method of PyTorch's tensors: of those whose memory alone does not determine their meaning."""


def exchanging(
    function: Callable[..., Any],
    info: FunctionInfo,
    types: Sequence[type],
    slow: Callable[..., Any],
    used: Sequence[bool] | None = None,
    plain: bool = False,
) -> Callable[..., Any]:
    """Return `function` (a compiled one, described by `info`) wrapped for tensors of exactly one of `types` (one or
    two).

    `slow` takes the same arguments. `used` selects the arguments of a call that are passed to the function; others are
    dropped. With `plain`, tensors that require a gradient or are negated go to `slow`, too. If the framework or the
    function does not meet the requirements (no interface, tensors of unknown dtype or rank), `slow` itself is returned.
    """
    results = _result_rows(info)
    return slow if results is None else _exchanging(function, info, types, slow, used, plain, *results)


def normalizing(
    function: Callable[..., Any], info: FunctionInfo, kind: type, slow: Callable[..., Any]
) -> Callable[..., Any]:
    """Return `function` for tensors of type `kind`, which it takes as arrays; what it returns stays as it is.

    `slow` takes what `exchanging` with `plain` does not take; it is returned where `exchanging` returns it.
    """
    return _exchanging(function, info, [kind], slow, None, True, _AS_IT_IS, [])


def _exchanging(
    function: Callable[..., Any],
    info: FunctionInfo,
    types: Sequence[type],
    slow: Callable[..., Any],
    used: Sequence[bool] | None,
    plain: bool,
    results: int,
    result_rows: Sequence[int],
) -> Callable[..., Any]:
    interface = _interface(types[0])
    used = [True] * len(info.params) if used is None else used
    rows = _rows(info, used)
    if interface is None or rows is None or any(ARRAY_LAYOUT[name] != at for name, at in _LAYOUT.items()):
        return slow
    slots = fixed_slots()
    to_python, from_python = (ctypes.c_size_t.from_address(interface + at).value for at in (_TO_PYTHON, _FROM_PYTHON))
    numpy = slots[Slot.NDARRAY_TYPE], slots[Slot.NEW_FROM_DESCR], slots[Slot.SET_BASE_OBJECT], OUTPUT_FLAGS
    head = (id(function), id(slow), len(used), results, from_python, to_python, id(types[0]), id(types[-1]), *numpy)
    waiting = [None] * len(info.params)
    bits = map(id, _BITS) if plain and all(hasattr(types[0], name) for name in _BITS) else (0, 0)
    head += (slots[Slot.TIRAX_NDARRAY_TYPE], id(waiting), id(None), *bits, id(False))
    plan = np.array([*head, *rows, *result_rows], np.int64)
    return _bound(info.name, plan, (function, slow, waiting, *types))


def _bound(name: str, plan: np.ndarray, references: tuple[object, ...]) -> Callable[..., Any]:
    """Return the native function bound to a plan, which it keeps alive together with `references`."""
    code, address = _code()
    return fastcall(name, address, (code, references), data=plan)


@functools.cache
def _code() -> tuple[object, int]:
    tracker, addresses = link_native(["exchange"], ("exchange_call",))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))  # never unloaded: tensors that outlive all are freed by it
    return tracker, addresses["exchange_call"]


def exchange_text() -> str:
    """Return the code as LLVM text."""
    return native_text("exchange")


def _interface(kind: type) -> int | None:
    """Return the address of a framework's DLPackExchangeAPI of major version 1, or None."""
    capsule = getattr(kind, INTERFACE, None)
    if capsule is None:
        return None
    get = ctypes.PYFUNCTYPE(ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address = get(capsule, _CAPSULE)
    return address if ctypes.c_uint32.from_address(address).value == 1 else None


def _rows(info: FunctionInfo, used: Sequence[bool]) -> list[int] | None:
    """Return the words of a plan that describe arguments, or None if they are not fully known."""
    infos = [parameter.info for parameter in info.params]
    if not all(map(_is_known, infos)):
        return None
    slots, left = fixed_slots(), iter(infos)
    rows: list[int] = []
    for each in (next(left) if use else None for use in used):
        rows += [_kind(each), slots[dtype_slot(str(each.dtype))] if isinstance(each, TensorInfo) else 0]
    return rows


def _result_rows(info: FunctionInfo) -> tuple[int, list[int]] | None:
    """Return the number of results and the words that describe them, or None if they are not fully known."""
    single = isinstance(info.result, TensorInfo)
    fields = info.result.fields if isinstance(info.result, TupleInfo) else (info.result,) if single else None
    if fields is None or not all(map(_is_known, fields)):
        return None
    rows = [_kind(each) & 0xFFFFFFFF if isinstance(each, TensorInfo) else _PASSED_ON for each in fields]
    return _SINGLE if single else len(rows), rows


def _is_known(info: Info) -> bool:
    if isinstance(info, TensorInfo):
        return info.ndim >= 0 and info.dtype is not None and _dlpack_dtype(info.dtype) is not None
    return not isinstance(info, TupleInfo)


def _kind(info: Info | None) -> int:
    """Return the rank and DLPack's dtype in one word."""
    if info is None:
        return _LEFT_OUT
    if not isinstance(info, TensorInfo):
        return _PASSED_ON
    return info.ndim << 32 | (_dlpack_dtype(str(info.dtype)) or 0)


def _dlpack_dtype(name: str) -> int | None:
    """Return a DLDataType as an integer: code, bits and lanes; None for dtypes stored in another form (int4)."""
    bits = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    code = _OTHER_CODES.get(name, _CODES.get(name.removesuffix(bits)))
    if name in ("int4", "uint4") or code is None:
        return None
    width = 8 if name in _OTHER_CODES or name == "bool" else int(bits)
    return code | width << 8 | 1 << 16
