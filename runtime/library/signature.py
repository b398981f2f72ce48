"""C signatures of the functions of an executable: tuples are flattened into fields, sizes become parameters.

Functions with arguments or results that have no form in C (objects, tensors of unknown rank or dtype) are skipped, with
the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..metadata import Dim, FunctionInfo, Info, ObjectInfo, PrimInfo, ShapeInfo, TensorInfo, TupleInfo, dim_vars

_RESERVED = frozenset((
    "alignas", "alignof", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double",
    "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "nullptr", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "typeof",
    "union", "unsigned", "void", "volatile", "while", "and", "asm", "catch", "class", "delete", "export", "friend",
    "namespace", "new", "not", "operator", "or", "private", "protected", "public", "template", "this", "throw",
    "try", "using", "virtual", "xor", "NULL", "errno", "linux", "unix",
))  # fmt: skip
"""Keywords of C and C++, and common macros."""

Path = tuple[int, ...]
"""The path to a field of nested tuples: its index in each tuple."""
LeafInfo = TensorInfo | PrimInfo | ShapeInfo


@dataclass(frozen=True)
class Leaf:
    """A parameter or result of the C function, or a field of one that is a tuple.

    The header calls it `name`, the definition `local`, which cannot clash with names of the program.
    """

    name: str
    local: str
    path: Path
    info: LeafInfo
    written: bool = False


@dataclass(frozen=True)
class Signature:
    """A function: its leaves, and the extra symbolic sizes of the plain form (None: it has no plain form).

    Its forms are named `symbol`, and `symbol` with the suffix `_raw`.
    """

    info: FunctionInfo
    symbol: str
    params: tuple[Leaf, ...]
    results: tuple[Leaf, ...]
    sizes: tuple[str, ...] | None

    def shown_sizes(self) -> list[str]:
        """Return the names of the sizes of the plain form in the header."""
        taken = {leaf.name for leaf in (*self.params, *self.results)}
        return [_unique(variable, taken) for variable in self.sizes or ()]

    def local_sizes(self) -> dict[str, str]:
        """Return the names of the symbolic sizes in the definition: those of the plain form, and number parameters."""
        numbers = {
            leaf.info.value[1]: leaf.local
            for leaf in self.params
            if isinstance(leaf.info, PrimInfo) and isinstance(leaf.info.value, tuple) and leaf.info.value[0] == "var"
        }
        return {v: f"n{i}" for i, v in enumerate(self.sizes or ())} | numbers


class NoForm(Exception):
    """A function or type has no form in C; the message gives the reason."""


def signature_of(info: FunctionInfo, symbol: str = "") -> Signature:
    """Return the C signature of a function. Raises `NoForm`."""
    taken: set[str] = set()
    params: list[Leaf] = []
    for i, p in enumerate(info.params):
        for path, leaf in _leaves(p.info, f"'{p.name}'"):
            name = _unique(_joined(p.name, path), taken)
            params.append(Leaf(name, f"a{len(params)}", (i, *path), leaf, p.access != "read"))
    results: list[Leaf] = []
    if not (isinstance(info.result, ObjectInfo) and any(leaf.written for leaf in params)):
        for path, leaf in _leaves(info.result, "its result"):
            name = _unique(_joined("result", path), taken)
            results.append(Leaf(name, f"r{len(results)}", path, leaf, True))
    return Signature(info, symbol, tuple(params), tuple(results), _sizes(params, results))


def _leaves(info: Info, what: str, path: Path = ()) -> Iterator[tuple[Path, LeafInfo]]:
    if isinstance(info, TupleInfo):
        for i, each in enumerate(info.fields):
            yield from _leaves(each, what, (*path, i))
    elif isinstance(info, ObjectInfo) or (isinstance(info, TensorInfo) and info.dtype is None) or _rank(info) < 0:
        raise NoForm(f"{what} is {info}")
    else:
        yield path, info


def _rank(info: Info) -> int:
    return info.ndim if isinstance(info, TensorInfo | ShapeInfo) else 0


def _joined(name: str, path: Path) -> str:
    return "_".join((name, *map(str, path)))


def c_name(name: str, taken: Iterable[str] = ()) -> str:
    """Return a valid identifier of C and C++ that is not in `taken`."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
    if plain[0].isdigit() or plain in _RESERVED:
        plain = f"_{plain}"
    while plain in taken:
        plain += "_"
    return plain


def _unique(name: str, taken: set[str]) -> str:
    result = c_name(name, taken)
    taken.add(result)
    return result


def _sizes(params: list[Leaf], results: list[Leaf]) -> tuple[str, ...] | None:
    """Return the symbolic sizes of the parameters in order; None if they do not determine the size of all memory."""
    known: dict[str, None] = {}
    numbers: set[str] = set()
    for leaf in params:
        if isinstance(leaf.info, PrimInfo):
            numbers |= dim_vars(leaf.info.value) if leaf.info.value is not None else set()
        for dim in dims_of(leaf.info) or ():
            if not isinstance(dim, int) and dim[0] == "var":
                known[dim[1]] = None
    memory = [*params, *results]
    if any(isinstance(leaf.info, TensorInfo) and leaf.info.shape is None for leaf in memory):
        return None
    used = set[str]().union(*(dim_vars(d) for leaf in memory for d in dims_of(leaf.info) or ()))
    return None if used - known.keys() - numbers else tuple(v for v in known if v not in numbers)


def dims_of(info: Info) -> tuple[Dim, ...] | None:
    """Return the extents of a tensor or the values of a shape; None if they are unknown."""
    return info.shape if isinstance(info, TensorInfo) else info.values if isinstance(info, ShapeInfo) else None


_CALLS = {"//": "floor_div", "%": "floor_mod", "min": "least", "max": "greatest", "truncdiv": "trunc_div",
          "truncmod": "trunc_mod"}  # fmt: skip


def dim_in_c(dim: Dim, names: Mapping[str, str]) -> str:
    """Return a dimension as a C expression of `int64_t`, over the C names of variables."""
    if isinstance(dim, int):
        return f"INT64_C({dim})" if dim > -(2**63) else "INT64_MIN"
    op, *rest = dim
    if op == "var":
        return names[rest[0]]
    args = [dim_in_c(d, names) for d in rest]
    if op in _CALLS:
        return f"{_CALLS[op]}({', '.join(args)})"
    if op == "select":
        return f"({args[0]} ? {args[1]} : {args[2]})"
    return f"({args[0]} {op} {args[1]})"
