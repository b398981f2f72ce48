"""Structures of arguments and results: nested tuples, lists and dictionaries of leaves, as data of JSON."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ..runtime.errors import ArgumentError
from .kinds import as_complex, as_pairs

Structure: TypeAlias = "Leaf | Constant | Features | Node"


@dataclass(frozen=True)
class Leaf:
    """A value that the compiled function takes or returns: complex numbers as real ones, pairs in a last dimension."""

    is_complex: bool = False


@dataclass(frozen=True)
class Constant:
    """A value that is part of the compiled function, such as None or a flag: the same in every call."""

    value: Any


@dataclass(frozen=True)
class Features:
    """Rows of features, an array or a DataFrame: one matrix of a dtype, or columns by name, of a dtype each.

    The dtype "object" is that of strings.
    """

    dtypes: tuple[str, ...]
    columns: tuple[Any, ...] = ()

    def arrays(self, x: Any, path: str) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the arrays. Raises `ArgumentError` if a column is missing or cannot be converted."""
        if not self.columns:
            yield _array(x.to_numpy() if hasattr(x, "to_numpy") else x, self.dtypes[0], path)
            return
        names = list(getattr(x, "columns", ()))
        missing = [c for c in self.columns if c not in names]
        if missing:
            found = f"columns {names}" if names else type(x).__name__
            raise ArgumentError(f"{path} lacks {missing}", expected=f"a DataFrame of {list(self.columns)}", found=found)
        for column, dtype in zip(self.columns, self.dtypes, strict=True):
            yield _array(x[column].to_numpy(), dtype, f"{path}[{column!r}]").reshape(-1, 1)


def _array(x: Any, dtype: str, path: str) -> np.ndarray[Any, Any]:
    dense = x.toarray() if hasattr(x, "toarray") else x
    try:
        return np.ascontiguousarray(dense, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{path} cannot be converted", expected=dtype, notes=[str(error)]) from error


@dataclass(frozen=True)
class Node:
    """A `kind` of structures; `keys` are those of a dict or the names of a namedtuple ("named"), else numbers."""

    kind: str
    keys: tuple[Any, ...]
    parts: tuple[Structure, ...]


LEAF = Leaf()
COMPLEX_LEAF = Leaf(is_complex=True)
_BUILD: dict[str, Callable[[Node, list[Any]], Any]] = {
    "tuple": lambda node, parts: tuple(parts),
    "list": lambda node, parts: parts,
    "dict": lambda node, parts: dict(zip(node.keys, parts, strict=True)),
    "named": lambda node, parts: _named(node.keys)(*parts),
}


@cache
def _named(names: tuple[str, ...]) -> Any:
    return namedtuple("Results", names)


def structure_of(value: Any, leaf: Callable[[Any], Structure]) -> Structure:
    """Return the structure of a value; `leaf` says what becomes of anything that is no tuple, list or mapping."""
    if isinstance(value, Mapping):
        return Node("dict", tuple(value), tuple(structure_of(v, leaf) for v in value.values()))
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return Node(kind, tuple(range(len(value))), tuple(structure_of(v, leaf) for v in value))
    return leaf(value)


def flatten(structure: Structure, value: Any, path: str) -> Iterator[Any]:
    """Yield the leaves of a value that has a structure. Raises `ArgumentError`, with the path, if it has not."""
    if isinstance(structure, Leaf):
        yield as_pairs(value, path) if structure.is_complex else value
    elif isinstance(structure, Constant):
        _require_constant(structure, value, path)
    elif isinstance(structure, Features):
        yield from structure.arrays(value, path)
    else:
        for key, part, item in zip(structure.keys, structure.parts, _items(structure, value, path), strict=True):
            yield from flatten(part, item, f"{path}[{key!r}]")


def _require_constant(structure: Constant, value: Any, path: str) -> None:
    if value is structure.value or (type(value) is type(structure.value) and value == structure.value):
        return
    raise ArgumentError(
        f"{path} was {structure.value!r} when the model was compiled",
        expected=repr(structure.value),
        found=type(value).__name__ if structure.value is None else repr(value),
        hint="compile it with an example of this argument",
    )


def _items(node: Node, value: Any, path: str) -> Sequence[Any]:
    if node.kind == "dict":
        if isinstance(value, Mapping) and set(value) == set(node.keys):
            return [value[key] for key in node.keys]
        found = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise ArgumentError(
            f"{path} has other keys", expected=f"a dict of {', '.join(map(str, node.keys))}", found=found
        )
    if isinstance(value, list | tuple) and len(value) == len(node.parts):
        return value
    found = f"{len(value)} items" if isinstance(value, list | tuple) else type(value).__name__
    raise ArgumentError(f"{path} has another structure", expected=f"a {node.kind} of {len(node.parts)}", found=found)


def unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    """Return a value of a structure from its leaves."""
    if isinstance(structure, Leaf | Features):
        leaf = next(leaves)
        return as_complex(leaf) if isinstance(structure, Leaf) and structure.is_complex else leaf
    if isinstance(structure, Constant):
        return structure.value
    return _BUILD[structure.kind](structure, [unflatten(part, leaves) for part in structure.parts])


def paths(structure: Structure, path: str = "") -> Iterator[str]:
    """Yield the path of each leaf: `logits`, `cache[0]['key']`."""
    if isinstance(structure, Leaf):
        yield path
    elif isinstance(structure, Features):
        yield from (_joined(path, c, "columns") for c in structure.columns) if structure.columns else (path,)
    elif isinstance(structure, Node):
        for key, part in zip(structure.keys, structure.parts, strict=True):
            yield from paths(part, _joined(path, key, structure.kind))


def _joined(path: str, key: Any, kind: str) -> str:
    return str(key) if not path and kind in ("dict", "named") else f"{path}[{key!r}]"


def to_json(structure: Structure) -> Any:
    """Return a structure as data of JSON. Constants that JSON lacks become their text."""
    if isinstance(structure, Leaf):
        return "complex leaf" if structure.is_complex else "leaf"
    if isinstance(structure, Constant):
        plain = isinstance(structure.value, bool | int | float | str | None)
        return {"constant": structure.value if plain else str(structure.value)}
    if isinstance(structure, Features):
        return {"features": list(structure.dtypes), "columns": list(structure.columns)}
    return {"kind": structure.kind, "keys": list(structure.keys), "parts": [to_json(p) for p in structure.parts]}


def from_json(data: Any) -> Structure:
    """Return the structure of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for other data."""
    if data in ("leaf", "complex leaf"):
        return LEAF if data == "leaf" else COMPLEX_LEAF
    if "constant" in data:
        return Constant(data["constant"])
    if "features" in data:
        return Features(tuple(data["features"]), tuple(data["columns"]))
    if data["kind"] not in _BUILD:
        raise ValueError(data["kind"])
    return Node(str(data["kind"]), tuple(data["keys"]), tuple(map(from_json, data["parts"])))
