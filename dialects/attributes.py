"""Conversion between Python values and attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute

from ..diagnostics import DTypeError

PyValue = None | bool | int | float | str | Attribute | Sequence[Any]


def to_attr(value: PyValue) -> Attribute | None:
    """Convert a Python value to an attribute; None becomes an absent one, lists become arrays, attributes are kept.

    Raises `DTypeError` for an integer of more than 64 bits, and for other objects.
    """
    if value is None or isinstance(value, Attribute):
        return value
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    if isinstance(value, str):
        return StringAttr(value)
    if not isinstance(cast(object, value), Iterable):
        raise DTypeError("not an attribute", expected="a number, a string or a list of them", found=value)
    return ArrayAttr([cast(Attribute, to_attr(v)) for v in value])


@lru_cache(maxsize=4096)
def _integer(value: int) -> Attribute:
    if not -(2**63) <= value < 2**64:
        raise DTypeError("the number does not fit 64 bits", expected="-2**63 <= number < 2**64", found=value)
    return IntegerAttr(value, i64)


def from_attr(attr: Attribute | None) -> PyValue:
    """Return the Python value of an attribute: the inverse of `to_attr`."""
    read = _VALUES.get(type(attr))
    return attr if read is None else read(attr)


def _number(attr: IntegerAttr[Any]) -> PyValue:
    return bool(attr.value.data) if attr.type == i1 else attr.value.data


_VALUES: dict[type[Attribute | None], Callable[[Any], PyValue]] = {
    IntegerAttr: _number,
    FloatAttr: lambda attr: attr.value.data,
    StringAttr: lambda attr: attr.data,
    ArrayAttr: lambda attr: [from_attr(a) for a in attr.data],
}


def function_attrs(attrs: dict[str, PyValue] | DictionaryAttr | None) -> DictionaryAttr | None:
    """Convert function attributes from Python values; None if there are none. Raises like `require_names`."""
    if attrs is None or isinstance(attrs, DictionaryAttr):
        return attrs
    require_names(attrs)
    converted = {k: a for k, v in attrs.items() if (a := to_attr(v)) is not None}
    return DictionaryAttr(converted) if converted else None


def require_names(names: Iterable[str]) -> None:
    """Raise `DTypeError` for non-ASCII attribute names: xDSL prints them without quotes and cannot parse them."""
    foreign = [name for name in names if not name.isascii()]
    if foreign:
        found = ", ".join(map(repr, foreign))
        raise DTypeError("names of attributes are of ASCII: MLIR's text has no others", expected="ASCII", found=found)
