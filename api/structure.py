"""Structures of arguments and results: nested tuples, lists and dictionaries of leaves, as data of JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..runtime.errors import ArgumentError

Structure: TypeAlias = "Leaf | Constant | Node"


@dataclass(frozen=True)
class Leaf:
    """A value that the compiled function takes or returns."""


@dataclass(frozen=True)
class Constant:
    """A value that is part of the compiled function, such as None or a flag: the same in every call."""

    value: Any


@dataclass(frozen=True)
class Node:
    """A `kind` ("tuple", "list", "dict") of structures; `keys` are those of a dict, in order, else numbers."""

    kind: str
    keys: tuple[Any, ...]
    parts: tuple[Structure, ...]


LEAF = Leaf()
_BUILD: dict[str, Callable[[Node, list[Any]], Any]] = {
    "tuple": lambda node, parts: tuple(parts),
    "list": lambda node, parts: parts,
    "dict": lambda node, parts: dict(zip(node.keys, parts, strict=True)),
}


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
        yield value
    elif isinstance(structure, Constant):
        _require_constant(structure, value, path)
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
    if isinstance(structure, Leaf):
        return next(leaves)
    if isinstance(structure, Constant):
        return structure.value
    return _BUILD[structure.kind](structure, [unflatten(part, leaves) for part in structure.parts])


def paths(structure: Structure, path: str = "") -> Iterator[str]:
    """Yield the path of each leaf: `logits`, `cache[0]['key']`."""
    if isinstance(structure, Leaf):
        yield path
    elif isinstance(structure, Node):
        for key, part in zip(structure.keys, structure.parts, strict=True):
            yield from paths(part, _joined(path, key, structure.kind))


def _joined(path: str, key: Any, kind: str) -> str:
    return str(key) if not path and kind == "dict" else f"{path}[{key!r}]"


def to_json(structure: Structure) -> Any:
    """Return a structure as data of JSON. Constants that JSON lacks become their text."""
    if isinstance(structure, Leaf):
        return "leaf"
    if isinstance(structure, Constant):
        plain = isinstance(structure.value, bool | int | float | str | None)
        return {"constant": structure.value if plain else str(structure.value)}
    return {"kind": structure.kind, "keys": list(structure.keys), "parts": [to_json(p) for p in structure.parts]}


def from_json(data: Any) -> Structure:
    """Return the structure of `to_json`. Raises `KeyError`, `TypeError` or `ValueError` for other data."""
    if data == "leaf":
        return LEAF
    if "constant" in data:
        return Constant(data["constant"])
    if data["kind"] not in _BUILD:
        raise ValueError(data["kind"])
    return Node(str(data["kind"]), tuple(data["keys"]), tuple(map(from_json, data["parts"])))
