"""The slots of an executable, after the fixed ones of `abi.Slot`.

A slot is plain data, `(kind, payload)`; `resolve` converts it to the table entry that native code reads:

    ("constant", i)           data pointer of constant i
    ("constant_object", i)    constant i as a read-only NDArray
    ("packed", name)          the external function, else the registered one, as registered when it is loaded
    ("explain", function)     callable(*args) -> tuple of normalised arguments, or raises (see `abi.py`)
    ("value", json)           a str, int, float, bool, None or a tuple of such
    ("cast", {"name", "info", "vars": [n, …]})
                              callable(value, *values of vars) -> normalised value, or raises: for match_cast
    ("stack", dtype)          callable(bytes of elements, *extents) -> an array with a copy of these elements
    ("fail", {"error": "shape" | "dtype" | "argument" | "index" | "stack" | "memory" | "internal", "message", …})
                              callable(*integers): raises; {0}, {1}, … stand for the integers in the texts, which
                              may be "expected", "found" and "hint", too
    ("rows", null)            data pointer of the rows of sites: where a module is profiled
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from .arguments import normalize_value
from .errors import (
    ArgumentError,
    DTypeError,
    LoadError,
    NameLookupError,
    OutOfMemoryError,
    OutsideError,
    ShapeError,
    StackError,
    TiraxError,
)
from .metadata import FunctionInfo, MetadataError, info_from_json
from .ndarray import NDArray, empty
from .normalizer import Normalizer
from .registry import PackedFunction, get_global_func

SlotSpec = tuple[str, Any]

_FAILURES: dict[str, type[TiraxError]] = {
    "shape": ShapeError,
    "dtype": DTypeError,
    "argument": ArgumentError,
    "index": OutsideError,
    "stack": StackError,
    "memory": OutOfMemoryError,
    "internal": LoadError,
}


@dataclass(frozen=True)
class SlotContext:
    """The objects that slots may refer to."""

    functions: Mapping[str, FunctionInfo]
    constants: Sequence[np.ndarray]
    external: Mapping[str, PackedFunction] = field(default_factory=dict)
    rows: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.int64))


def resolve(slots: Sequence[SlotSpec], context: SlotContext) -> tuple[list[int], list[object]]:
    """Return the addresses for the table, and the objects that must be kept alive as long as they are used.

    Raises `NameLookupError` for packed functions that are not registered (all at once), `MetadataError`.
    """
    _check_packed(slots, context.external)
    addresses: list[int] = []
    references: list[object] = []
    for kind, payload in slots:
        try:
            value = _RESOLVERS[kind](context, payload)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise MetadataError("malformed table slot", found=repr((kind, payload))[:80]) from error
        references.append(value)
        addresses.append(value.ctypes.data if kind in _DATA else id(value))
    return addresses, references


def _check_packed(slots: Sequence[SlotSpec], external: Mapping[str, PackedFunction]) -> None:
    missing: list[NameLookupError] = []
    for kind, payload in slots:
        if kind == "packed" and payload not in external and get_global_func(payload, allow_missing=True) is None:
            try:
                get_global_func(payload)
            except NameLookupError as error:
                missing.append(error)
    if not missing:
        return
    notes = [f"{e.message}{'' if e.hint is None else ': ' + e.hint}" for e in missing[1:]]
    notes.append("register it before the executable is loaded: tirax.runtime.register_func(name, f)")
    raise NameLookupError(missing[0].message, hint=missing[0].hint, notes=notes)


def _constant_object(context: SlotContext, index: int) -> NDArray:
    view = context.constants[index].view(NDArray)
    view.flags.writeable = False
    return view


def _frozen(data: Any) -> Any:
    return tuple(map(_frozen, data)) if isinstance(data, (list, tuple)) else data


def _cast(context: SlotContext, payload: Mapping[str, Any]) -> Callable[..., Any]:
    name, info, names = payload["name"], info_from_json(payload["info"]), tuple(payload["vars"])

    def cast(value: Any, *extents: int) -> Any:
        return normalize_value(name, info, dict(zip(names, extents, strict=True)), value)

    return cast


def _stack(context: SlotContext, dtype: str) -> Callable[..., NDArray]:
    def stack(elements: bytearray, *shape: int) -> NDArray:
        result = empty(shape, dtype)
        result.reshape(-1)[...] = np.frombuffer(elements, result.dtype)
        return result

    return stack


def _fail(context: SlotContext, payload: Mapping[str, Any]) -> Callable[..., NoReturn]:
    kind = _FAILURES[payload["error"]]
    texts = {key: payload.get(key) for key in ("message", "expected", "found", "hint")}

    def fail(*values: int) -> NoReturn:
        filled: dict[str, Any] = {key: None if text is None else _fill(text, values) for key, text in texts.items()}
        raise kind(filled.pop("message") or "", **filled)

    return fail


def _fill(text: str, values: Sequence[int]) -> str:
    def value(match: re.Match[str]) -> str:
        index = int(match[1])
        return str(values[index]) if index < len(values) else match[0]

    return re.sub(r"\{(\d+)\}", value, text)


_RESOLVERS: dict[str, Callable[[SlotContext, Any], Any]] = {
    "constant": lambda context, index: context.constants[index],
    "constant_object": _constant_object,
    "packed": lambda context, name: context.external.get(name) or get_global_func(name),
    "explain": lambda context, name: Normalizer(context.functions[name]),
    "value": lambda context, data: _frozen(data),
    "cast": _cast,
    "stack": _stack,
    "fail": _fail,
    "rows": lambda context, _: context.rows,
}

_DATA = frozenset(("constant", "rows"))
"""The kinds whose table entry is a data pointer."""
SLOT_KINDS = frozenset(_RESOLVERS)
