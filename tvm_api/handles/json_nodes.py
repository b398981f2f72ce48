"""Nodes, containers and arrays as a graph of JSON values, in which what is shared is written once.

    [{"type": "Var", "fields": {"name": "x", "dtype": "int32"}},
     {"type": "Add", "fields": {"a": {"node": 0}, "b": {"node": 0}}}]

The last node is the root. `make_node` makes one by the name of its type and its fields.
"""

from __future__ import annotations

import base64
import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from ...diagnostics import TiraxError
from ...dialects.names import name_of
from ...handles.array import Array
from ...handles.relax.expr import GlobalVar, Var
from ...handles.relax.op import Op
from ...handles.tir.buffers import Buffer
from ...handles.tir.domains import BufferRegion, IterVar, Range
from ...handles.tir.expr_kinds import CallOp, class_name, named_parts
from ...handles.tir.index_map import IndexMap
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.stmt import BuiltStmt, SeqStmt
from ...runtime import NDArray
from ...runtime.ndarray import array
from .env_func import EnvFunc
from .json_kinds import KINDS

_BUFFER = ("shape", "dtype", "name", "strides", "elem_offset", "data_alignment", "offset_factor", "axis_separators")
_BY_SIGNATURE = (BuiltStmt, SeqStmt, IterVar, BufferRegion, IndexMap)
"""Classes whose constructors' parameters are their fields."""
_WITH_DTYPE = ("IntImm", "FloatImm", "Cast", "Call")
_MOST_DEPTH = 200
"""The deepest nesting of nodes: readers and writers recurse."""


def _fields(node: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the name of a node's type and its fields, or None for what is no node."""
    if isinstance(node, PrimExpr):
        name = class_name(node)
        fields = named_parts(node)
        if name in ("Var", "SizeVar"):
            return name, {"name": getattr(node, "name", "") or name_of(node.ssa), "dtype": node.dtype}
        return name, ({"dtype": node.dtype, **fields} if name in _WITH_DTYPE else fields)
    for row_type, (name, get, _) in _ROWS.items():
        if isinstance(node, row_type):
            return name, get(node)
    if isinstance(node, _BY_SIGNATURE):
        names = [n for n in inspect.signature(type(node)).parameters if n != "span"]
        return type(node).__name__, {n: getattr(node, n) for n in names}
    return None


def _buffer_fields(buffer: Any) -> dict[str, Any]:
    return {"scope": buffer.scope(), **{n: getattr(buffer, n) for n in _BUFFER}}


def _array_fields(data: Any) -> dict[str, Any]:
    flat = np.asarray(data, order="C")  # ascontiguousarray gives scalars a dimension
    return {"dtype": str(flat.dtype), "shape": list(flat.shape), "data": base64.b64encode(flat.tobytes()).decode()}


def _array(dtype: str, shape: list[int], data: str) -> NDArray:
    from ...runtime.dtypes import to_dtype

    return array(np.frombuffer(base64.b64decode(data), to_dtype(dtype)).reshape(shape))


_ROWS: dict[type, tuple[str, Callable[[Any], dict[str, Any]], Callable[..., Any]]] = {
    NDArray: ("NDArray", _array_fields, _array),
    Buffer: ("Buffer", _buffer_fields, lambda **f: _tir().decl_buffer(**f)),
    Range: (
        "Range",
        lambda r: {"min": r.min, "extent": r.extent},
        lambda min, extent: Range.from_min_extent(min, extent),
    ),
    EnvFunc: ("EnvFunc", lambda f: {"name": f.name}, EnvFunc),
    GlobalVar: ("GlobalVar", lambda v: {"name_hint": v.name_hint}, lambda name_hint: GlobalVar(name_hint)),
    Op: ("Op", lambda op: {"name": op.name}, lambda name: Op.get(name)),
    CallOp: ("CallOp", lambda op: {"name": op.name}, CallOp),
    **KINDS,
}
"""The name of a type, what gives its fields, and what makes it of them."""
_BY_NAME = {name: make for name, _, make in _ROWS.values()}


def _tir() -> Any:
    return import_module("...tir", __name__)


def make_node(type_key: str, **kwargs: Any) -> Any:
    """Return the node of a type by its fields: `make_node("IntImm", dtype="int32", value=10)`.

    Raises `TiraxError` for other types, and what the type's constructor raises.
    """
    kwargs.pop("span", None)
    name = type_key.rpartition(".")[2]
    make = (
        _BY_NAME.get(type_key) or _BY_NAME.get(name) or (None if name.startswith("_") else getattr(_tir(), name, None))
    )
    if not callable(make):
        raise TiraxError(
            f"there is no type of nodes '{type_key}'", expected=f"{', '.join(_BY_NAME)}, or one of tvm.tir"
        )
    return make(**kwargs)


class Writer:
    """The nodes that were written, each after those in it."""

    def __init__(self, leaf: Callable[[Any], Any | None]):
        self.nodes: list[dict[str, Any]] = []
        self._leaf = leaf
        """What writes a value that is no node."""
        self._known: dict[int, tuple[int, Any]] = {}
        """The places of values by identity, and the values, which so stay alive."""

    def value(self, value: Any, depth: int = 0) -> Any:
        """Return a scalar as it is, and the place of a node. Raises `TiraxError` for other values."""
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | str) and not isinstance(value, PrimExpr):
            return int(value) if isinstance(value, int) else str(value)
        if isinstance(value, float):
            return {"float": repr(value)}
        if depth > _MOST_DEPTH:
            raise TiraxError("the node is nested too deeply to be stored", expected=f"at most {_MOST_DEPTH} levels")
        key = id(value.ssa) if isinstance(value, PrimExpr | Buffer | Var) else id(value)
        if key not in self._known:
            written = self._node(value, depth + 1)
            self._known[key] = len(self.nodes), value
            self.nodes.append(written)
        return {"node": self._known[key][0]}

    def _node(self, value: Any, depth: int) -> dict[str, Any]:
        leaf = self._leaf(value)
        if leaf is not None:
            return {"type": "stored", "value": leaf}
        found = _fields(value)
        if found is not None:
            name, fields = found
            return {"type": name, "fields": {n: self.value(f, depth) for n, f in fields.items()}}
        if isinstance(value, list | tuple | Array):
            return {"type": "Array", "items": [self.value(v, depth) for v in value]}
        if isinstance(value, Mapping):
            return {"type": "Map", "items": [[self.value(k, depth), self.value(v, depth)] for k, v in value.items()]}
        raise TiraxError("the value is not a node, a container or an array", found=type(value).__name__)


def read(nodes: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return the last of the nodes. Raises `TiraxError` for another form, and as `make_node`."""
    made: list[Any] = []
    if not isinstance(nodes, list) or not nodes:
        raise TiraxError("the stored text has no nodes")
    for node in nodes:
        made.append(_made(node, made, leaf))
    return made[-1]


def _made(node: Any, made: list[Any], leaf: Callable[[Any], Any]) -> Any:
    """Return a node, whose parts have been made."""

    def value(stored: Any) -> Any:
        if not isinstance(stored, dict):
            return stored
        if isinstance(stored.get("float"), str):
            return float(stored["float"])
        place = stored.get("node")
        if not isinstance(place, int) or not 0 <= place < len(made):
            raise TiraxError("a stored node has a part that is not before it", found=stored)
        return made[place]

    kind = node.get("type") if isinstance(node, dict) else None
    if kind == "stored":
        return leaf(node.get("value"))
    items, fields = (node.get("items"), node.get("fields")) if isinstance(node, dict) else (None, None)
    if kind == "Array" and isinstance(items, list):
        return Array(value(v) for v in items)
    if kind == "Map" and isinstance(items, list) and all(isinstance(i, list) and len(i) == 2 for i in items):
        return {value(k): value(v) for k, v in items}
    if not isinstance(kind, str) or not isinstance(fields, dict):
        raise TiraxError("a stored node has another form", found=str(node)[:80])
    return make_node(kind, **{n: value(f) for n, f in fields.items()})


__all__ = ["Writer", "make_node", "read"]
