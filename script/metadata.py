"""The metadata of a printed program, which TVMScript refers to as `metadata["relax.expr.Constant"][0]`.

A program printed with `show_meta=True` begins with `metadata = tvm.ir.load_json(\"\"\"{…}\"\"\")`. The text is JSON:

    {"format": "tirax.metadata", "version": 1,
     "relax.expr.Constant": [{"dtype": "float32", "shape": [2, 2], "data": "<base64>"}, …],
     "runtime.String": ["<base64>", …], "tir.StringImm": ["<base64>", …]}

`data` holds the contents in base64: little-endian, row-major, one byte per bool. Multi-line strings, both in attributes
and in expressions, are UTF-8 in base64. The text contains neither backslashes nor triple quotes.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from ..diagnostics import TiraxError
from ..dialects.dtypes import byte_size, dtype_name, dtype_of
from ..dialects.relax import TensorData, TensorDataAttr
from ..untrusted import brief, checked_shape, read_json

CONSTANT_KEY = "relax.expr.Constant"
STRING_KEY, STRING_IMM_KEY = "runtime.String", "tir.StringImm"
FORMAT = "tirax.metadata"
VERSION = 1


class MetadataError(TiraxError, ValueError):
    """A metadata text that cannot be read."""


def encode_metadata(tables: Mapping[str, Iterable[Attribute]]) -> str:
    """Return the JSON text of constants (`CONSTANT_KEY`) and strings (`STRING_KEY`, `STRING_IMM_KEY`), each in
    their order.
    """
    rows = {key: list(map(_row, values)) for key, values in tables.items()}
    return json.dumps({"format": FORMAT, "version": VERSION, **rows})


def _row(value: Attribute) -> object:
    if isinstance(value, StringAttr):
        return base64.b64encode(value.data.encode()).decode("ascii")
    data = cast(TensorDataAttr, value).data
    contents = base64.b64encode(data.raw).decode("ascii")
    return {"dtype": dtype_name(data.dtype), "shape": list(data.shape), "data": contents}


def decode_metadata(text: str) -> dict[str, list[TensorDataAttr | str]]:
    """Return the tables of a metadata text by key.

    Raises `MetadataError` if `encode_metadata` did not write the text.
    """
    content: object = read_json(text, "the metadata", MetadataError)
    if not isinstance(content, dict):
        raise MetadataError("the metadata must be a JSON object", found=type(content).__name__)
    table = cast("dict[str, object]", content)
    if table.get("format") != FORMAT or table.get("version") != VERSION:
        raise MetadataError(
            "the metadata has another format",
            expected=f"{FORMAT}, version {VERSION}",
            found=f"{brief(table.get('format'))}, version {brief(table.get('version'))}",
            hint="print the program with show_meta=True in tirax",
        )
    return {key: _table(key, read, table.get(key, [])) for key, read in _READERS.items()}


def _table(key: str, read: Callable[[int, object], TensorDataAttr | str], rows: object) -> list[TensorDataAttr | str]:
    if not isinstance(rows, list):
        raise MetadataError(f'"{key}" must be a list', found=type(rows).__name__)
    return [read(i, row) for i, row in enumerate(cast("list[object]", rows))]


def _constant(index: int, row: object) -> TensorDataAttr:
    try:
        fields = cast("Mapping[str, object]", row)
        dtype = dtype_of(str(fields["dtype"]))
        extents, raw = fields["shape"], base64.b64decode(cast(str, fields["data"]), validate=True)
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        raise MetadataError(f"constant {index} of the metadata must have dtype, shape and data") from error
    what = f"constant {index} of the metadata must have dtype, shape and data"
    shape = checked_shape(extents, byte_size(dtype), what, MetadataError)
    size = prod(shape) * byte_size(dtype)
    if len(raw) != size:
        raise MetadataError(f"constant {index} of the metadata has the wrong size", expected=size, found=len(raw))
    return TensorDataAttr(TensorData(dtype, shape, raw))


def _string(index: int, row: object) -> str:
    try:
        return base64.b64decode(cast(str, row), validate=True).decode()
    except (TypeError, ValueError, binascii.Error) as error:
        raise MetadataError(f"string {index} of the metadata must be UTF-8 in base64") from error


_READERS: dict[str, Callable[[int, object], TensorDataAttr | str]] = {
    CONSTANT_KEY: _constant,
    STRING_KEY: _string,
    STRING_IMM_KEY: _string,
}
