"""Metadata of an executable's functions: plain data, stored as JSON.

A dimension is an integer, `("var", name)`, or `(op, a, b)` with op among + - * // % min max < <= == != and `truncdiv`,
in 64-bit arithmetic; // and % round down, truncdiv towards zero, and a comparison is 1 or 0. `("select", c, a, b)` is a
if c is not 0, else b. Struct info as JSON:

    {"kind": "tensor", "shape": [dim, …] | null, "ndim": int (-1: unknown), "dtype": "float32" | null}
    {"kind": "shape",  "values": [dim, …] | null, "ndim": int}
    {"kind": "prim",   "dtype": "int64", "value": dim | null}
    {"kind": "tuple",  "fields": [info, …]}
    {"kind": "object"}        {"kind": "callable"}

A function: `{"name", "params": [{"name", "info", "access": "read" | "write" | "readwrite"}, …], "result": info}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..untrusted import MOST_RANK, brief
from .dtypes import DTYPES
from .errors import TiraxError

Dim: TypeAlias = "int | tuple[Any, ...]"

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_OPERATIONS: dict[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "truncdiv": lambda a, b: -(-a // b) if (a < 0) != (b < 0) else a // b,
    "select": lambda c, a, b: a if c else b,
}
_PRECEDENCE = {"<": 0, "<=": 0, "==": 0, "!=": 0, "+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
_ACCESS = ("read", "write", "readwrite")


class MetadataError(TiraxError, ValueError):
    """Metadata violates the format of this module."""


def dim_from_json(data: Any) -> Dim:
    """Return a checked and immutable dimension. Raises `MetadataError`."""
    match data:
        case bool():
            pass
        case int() if INT64_MIN <= data <= INT64_MAX:
            return data
        case ["var", str() as name] | ("var", str() as name):
            return ("var", name)
        case [str() as op, *args] | (str() as op, *args) if op in _OPERATIONS and len(args) == 2 + (op == "select"):
            return (op, *map(dim_from_json, args))
        case _:
            pass
    raise MetadataError("malformed dimension", expected="an int, ['var', name] or [op, a, b]", found=brief(data))


def dim_vars(dim: Dim) -> set[str]:
    """Return the names of the variables in a dimension."""
    if isinstance(dim, int):
        return set()
    return {dim[1]} if dim[0] == "var" else set().union(*map(dim_vars, dim[1:]))


def dim_text(dim: Dim, parent: int = 0) -> str:
    """Return a dimension as readable text: `n * 4 + 1`."""
    if isinstance(dim, int):
        return str(dim)
    op, *rest = dim
    if op == "var":
        return rest[0]
    if op not in _PRECEDENCE:
        return f"{op}({', '.join(map(dim_text, rest))})"
    level = _PRECEDENCE[op]
    text = f"{dim_text(rest[0], level)} {op} {dim_text(rest[1], level + 1)}"
    return f"({text})" if level < parent else text


def dim_value(dim: Dim, env: dict[str, int]) -> int | None:
    """Return the value of a dimension, or None if a variable is unbound.

    Raises `ZeroDivisionError`, and `OverflowError` if an intermediate result exceeds 64 bits.
    """
    if isinstance(dim, int):
        return dim
    if dim[0] == "var":
        return env.get(dim[1])
    args = [dim_value(d, env) for d in dim[1:]]
    if None in args:
        return None
    result = _OPERATIONS[dim[0]](*args)
    if not INT64_MIN <= result <= INT64_MAX:
        raise OverflowError(f"{dim_text(dim)} does not fit 64 bits")
    return result


def _check_dtype(name: str) -> None:
    if name not in DTYPES:
        raise MetadataError("unknown dtype", expected=f"one of {', '.join(DTYPES)}", found=name)


@dataclass(frozen=True)
class TensorInfo:
    """A tensor; `shape` is None if only `ndim` is known (-1: unknown, too), `dtype` is None if it is unknown.

    `ndim` defaults to the rank of `shape`. Raises `MetadataError` for an unknown dtype.
    """

    shape: tuple[Dim, ...] | None = None
    dtype: str | None = None
    ndim: int = -1

    def __post_init__(self) -> None:
        if self.dtype is not None:
            _check_dtype(self.dtype)
        if self.shape is not None:
            object.__setattr__(self, "ndim", len(self.shape))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        shape = None if self.shape is None else list(self.shape)
        return {"kind": "tensor", "shape": shape, "ndim": self.ndim, "dtype": self.dtype}

    def __str__(self) -> str:
        dims = f"ndim={self.ndim}" if self.shape is None else f"({', '.join(map(dim_text, self.shape))})"
        return f"Tensor({dims}, {self.dtype or 'any dtype'})"


@dataclass(frozen=True)
class ShapeInfo:
    """A shape as a value: a tuple of integers."""

    values: tuple[Dim, ...] | None = None
    ndim: int = -1

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "ndim", len(self.values))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        return {"kind": "shape", "values": None if self.values is None else list(self.values), "ndim": self.ndim}

    def __str__(self) -> str:
        return f"Shape({'ndim=' + str(self.ndim) if self.values is None else ', '.join(map(dim_text, self.values))})"


@dataclass(frozen=True)
class PrimInfo:
    """A number; `value` is the dimension that it binds or must equal."""

    dtype: str = "int64"
    value: Dim | None = None

    def __post_init__(self) -> None:
        _check_dtype(self.dtype)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        return {"kind": "prim", "dtype": self.dtype, "value": self.value}

    def __str__(self) -> str:
        return f"Prim({self.dtype}{'' if self.value is None else ', ' + dim_text(self.value)})"


@dataclass(frozen=True)
class TupleInfo:
    """A tuple of values."""

    fields: tuple[Info, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        return {"kind": "tuple", "fields": [each.to_json() for each in self.fields]}

    def __str__(self) -> str:
        return f"Tuple({', '.join(map(str, self.fields))})"


@dataclass(frozen=True)
class ObjectInfo:
    """Any Python object; `kind` is "callable" if it must be callable."""

    kind: str = "object"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        return {"kind": self.kind}

    def __str__(self) -> str:
        return self.kind.capitalize()


Info: TypeAlias = "TensorInfo | ShapeInfo | PrimInfo | TupleInfo | ObjectInfo"


def _dims(data: Any) -> tuple[Dim, ...] | None:
    return None if data is None else tuple(dim_from_json(dim) for dim in data)


def _rank(data: Mapping[str, Any]) -> int:
    """Return the number of dimensions, or -1 if it is unknown."""
    rank = data.get("ndim", -1)
    if type(rank) is not int or not -1 <= rank <= INT64_MAX:
        raise MetadataError("a wrong number of dimensions", expected="an integer from -1", found=brief(rank))
    return rank


def _ranked(info: TensorInfo) -> TensorInfo:
    if info.ndim > MOST_RANK:
        raise MetadataError("a tensor has too many dimensions", expected=f"at most {MOST_RANK}", found=info.ndim)
    return info


_READERS: dict[str, Callable[[dict[str, Any]], Info]] = {
    "tensor": lambda d: _ranked(TensorInfo(_dims(d.get("shape")), d.get("dtype"), _rank(d))),
    "shape": lambda d: ShapeInfo(_dims(d.get("values")), _rank(d)),
    "prim": lambda d: PrimInfo(str(d["dtype"]), None if d.get("value") is None else dim_from_json(d["value"])),
    "tuple": lambda d: TupleInfo(tuple(info_from_json(each) for each in d["fields"])),
    "object": lambda d: ObjectInfo(),
    "callable": lambda d: ObjectInfo("callable"),
}


def info_from_json(data: Any) -> Info:
    """Return struct info from its JSON form. Raises `MetadataError`."""
    try:
        return _READERS[data["kind"]](data)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError("malformed struct info", found=brief(data)) from error


@dataclass(frozen=True)
class Parameter:
    """A parameter; `access` tells whether the function reads, writes, or reads and writes the memory of a tensor."""

    name: str
    info: Info
    access: str = "read"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        return {"name": self.name, "info": self.info.to_json(), "access": self.access}


Bound = tuple[str, int | None, int | None]
"""A symbolic variable's name, minimum and maximum."""


def _bound(name: Any, low: Any, high: Any) -> Bound:
    if not all(limit is None or (type(limit) is int and INT64_MIN <= limit <= INT64_MAX) for limit in (low, high)):
        raise MetadataError("the bounds of a size are no integers", found=brief([low, high]))
    return str(name), low, high


@dataclass(frozen=True)
class FunctionInfo:
    """A function as seen by its callers. `symbol` is the entry point in the object (`entry_<name>` by default).

    `bounds` are the minimum and maximum of symbolic variables, None for no bound. `alias` is a second name for lookup,
    its `global_symbol`, if it has one.
    """

    name: str
    params: tuple[Parameter, ...]
    result: Info = field(default_factory=ObjectInfo)
    symbol: str = ""
    bounds: tuple[Bound, ...] = ()
    alias: str = ""

    @property
    def entry(self) -> str:
        """The symbol of the entry point."""
        return self.symbol or f"entry_{self.name}"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{p.name}: {p.info}' for p in self.params)})"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; see the head of this module."""
        params = [p.to_json() for p in self.params]
        more: dict[str, Any] = {"bounds": [list(bound) for bound in self.bounds]} if self.bounds else {}
        if self.alias:
            more["alias"] = self.alias
        return {"name": self.name, "params": params, "result": self.result.to_json(), "symbol": self.symbol, **more}

    @classmethod
    def from_json(cls, data: Any) -> FunctionInfo:
        """Return the inverse of `to_json`. Raises `MetadataError`."""
        try:
            params = tuple(
                Parameter(str(p["name"]), info_from_json(p["info"]), _ACCESS[_ACCESS.index(p.get("access", "read"))])
                for p in data["params"]
            )
            result = info_from_json(data.get("result", {"kind": "object"}))
            bounds = tuple(_bound(*row) for row in data.get("bounds", ()))
            symbol, alias = (str(data.get(key, "")) for key in ("symbol", "alias"))
            return cls(str(data["name"]), params, result, symbol, bounds, alias)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, MetadataError):
                raise
            raise MetadataError("malformed function metadata", found=brief(data)) from error
