"""Literals: numbers, strings and attributes as Python source."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute

from ...diagnostics import DTypeError, UnsupportedError
from ...dialects.dtypes import DTYPES, dtype_name
from ...dialects.relax import TensorDataAttr
from ...dialects.tir import ReadBufferAttr, TargetAttr
from ..metadata import CONSTANT_KEY, STRING_KEY, encode_metadata
from .document import Document, Expr, atom


def string(text: str) -> str:
    """Return a string literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def text_or_metadata(doc: Document, key: str, value: StringAttr) -> str:
    """Return a string literal; a multi-line string is stored in the metadata."""
    return doc.metadata(key, value) if "\n" in value.data else string(value.data)


def metadata_lines(doc: Document) -> tuple[list[str], list[str]]:
    """Return the lines before and after a text that refers to metadata: its contents, or that they are omitted."""
    if not doc.tables:
        return [], []
    if doc.config.show_meta:
        return [f'metadata = tvm.ir.load_json("""{encode_metadata(doc.tables)}""")'], []
    return [], ["# Metadata omitted. Use show_meta=True in script() method to show it."]


def floating(value: float) -> str:
    """Return a float exactly: integers with all digits, `100.0`, others with 17 digits, `1.0000000000000001e-05`.

    `"inf"` and `"nan"` are strings.
    """
    if not math.isfinite(value):
        return f'"{value}"'
    return f"{value:.1f}" if value.is_integer() else f"{value:.17g}"


_DTYPES = frozenset(DTYPES.values())
_PACKED = {"float32": ("f", 6), "float16": ("e", 3)}
"""dtype -> its `struct` format, and the number of decimal digits that each of its values preserves."""
_MAX_DENOMINATOR = 1 << 16
"""The largest n for which a number is recognized as 1/n."""


def as_written(value: float, dtype: str) -> float:
    """Return the likely source number that rounds to `value` in `dtype`: one with few digits, or 1/n.

    TVM stores and prints a literal, and the result of folding literals, as a double. tirax stores the value in its
    type.
    """
    code, digits = _PACKED.get(dtype, ("", 0))
    if not code or not math.isfinite(value):
        return value
    candidates = [float(f"{value:.{digits}g}")]
    if 1 / _MAX_DENOMINATOR < abs(value) < 1:
        candidates.append(1 / round(1 / value))
    return next((c for c in candidates if struct.unpack(code, struct.pack(code, c))[0] == value), value)


def parenthesized(items: list[str]) -> str:
    """Return a tuple: `(a, b)`, `(a,)`, `()`."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def tir_int(doc: Document, value: int, dtype: Attribute) -> Expr:
    """Return an integer in TIR: plain in the default type, `T.int64(4)` in other types, `T.bool(True)` for bool."""
    name = dtype_name(dtype)
    if name == "bool":
        return atom(f"{doc.tir('bool')}({bool(value)})")
    if name == doc.config.int_dtype:
        return atom(str(value))
    return atom(f"{doc.tir(name)}({value})")


def tir_float(doc: Document, value: float, dtype: Attribute) -> Expr:
    """Return a float in TIR: `T.float32(0.0)`."""
    name = dtype_name(dtype)
    if name == doc.config.float_dtype and math.isfinite(value):
        return atom(floating(value))
    return atom(f"{doc.tir(name)}({floating(as_written(value, name))})")


def relax_constant(doc: Document, value: TensorDataAttr) -> str:
    """Return `R.const(2.0, "float32")` for a scalar, otherwise a reference to the metadata."""
    scalar = value.scalar
    if scalar is None:
        return doc.metadata(CONSTANT_KEY, value)
    text = floating(scalar) if isinstance(scalar, float) else str(scalar)
    return f"{doc.relax('const')}({text}, {string(dtype_name(value.data.dtype))})"


Printed = Callable[[Document, Attribute, bool], str]


def attribute(doc: Document, attr: Attribute, tir: bool) -> str:
    """Return an attribute of a function, loop or block; in TIR a bool prints as `T.bool(True)`.

    Raises `UnsupportedError`.
    """
    printed = _ATTRIBUTES.get(type(attr))
    if printed is not None:
        return printed(doc, attr, tir)
    try:
        return string(dtype_name(attr))
    except DTypeError as error:
        raise UnsupportedError(f"an attribute of kind {attr.name} has no form in TVMScript", found=attr) from error


def has_form(attr: Attribute) -> bool:
    """Return whether `attribute` can print the value.

    It cannot print runtime values or attributes of compiled functions.
    """
    if isinstance(attr, ArrayAttr | DictionaryAttr):
        return all(map(has_form, attr.data.values() if isinstance(attr, DictionaryAttr) else attr))
    return type(attr) in _ATTRIBUTES or attr in _DTYPES


def dictionary(doc: Document, entries: Mapping[str, Attribute], tir: bool) -> str:
    """Return `{"a": 1, "b": "x"}`, sorted by key."""
    return "{" + ", ".join(f"{string(k)}: {attribute(doc, entries[k], tir)}" for k in sorted(entries)) + "}"


def shown_attrs(attrs: DictionaryAttr | None, name: str) -> dict[str, Attribute]:
    """Return the attributes of the function `name` to print, without a global symbol that equals the name."""
    entries = {} if attrs is None else dict(attrs.data)
    if entries.get("global_symbol") == StringAttr(name):
        del entries["global_symbol"]
    return entries


def _integer(doc: Document, attr: Attribute, tir: bool) -> str:
    integer = cast(IntegerAttr, attr)
    if integer.type != i1:
        return str(integer.value.data)
    return tir_int(doc, integer.value.data, i1).text if tir else str(bool(integer.value.data))


def _float(doc: Document, value: float, tir: bool) -> str:
    """Return a float in a dictionary, where `"inf"` would be a string: infinity is written as an overflowing number."""
    text = f"{math.copysign(1, value):.0f}e400" if math.isinf(value) else floating(value)
    return f"{doc.tir('float32')}({text})" if tir and math.isfinite(value) else text


def _array(doc: Document, attr: Attribute, tir: bool) -> str:
    return "[" + ", ".join(attribute(doc, a, tir) for a in cast("ArrayAttr[Attribute]", attr)) + "]"


def _target(doc: Document, attr: TargetAttr) -> str:
    return dictionary(doc, attr.described.data, tir=True)


_ATTRIBUTES: dict[type[Attribute], Printed] = {
    IntegerAttr: _integer,
    FloatAttr: lambda doc, attr, tir: _float(doc, cast(FloatAttr, attr).value.data, tir),
    StringAttr: lambda doc, attr, tir: text_or_metadata(doc, STRING_KEY, cast(StringAttr, attr)),
    IntAttr: lambda doc, attr, tir: str(cast(IntAttr, attr).data),
    ArrayAttr: _array,
    DictionaryAttr: lambda doc, attr, tir: dictionary(doc, cast(DictionaryAttr, attr).data, tir),
    UnitAttr: lambda doc, attr, tir: tir_int(doc, 1, i1).text if tir else "True",
    NoneAttr: lambda doc, attr, tir: "None",
    SymbolRefAttr: lambda doc, attr, tir: string(cast(SymbolRefAttr, attr).string_value()),
    ReadBufferAttr: lambda doc, attr, tir: doc.read_buffers[cast(ReadBufferAttr, attr).index.data],
    TensorDataAttr: lambda doc, attr, tir: doc.metadata(CONSTANT_KEY, attr),
    TargetAttr: lambda doc, attr, tir: f"{doc.tir('target')}({_target(doc, cast(TargetAttr, attr))})",
}


def python_value(value: object) -> str:
    """Return the Python value of an operator's attribute: `None`, `True`, `-1`, `[0, 2, 1]`, `"fast"`."""
    if isinstance(value, float):
        return floating(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, Attribute):
        return string(dtype_name(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(python_value(v) for v in cast("list[object]", value)) + "]"
    return str(value)
