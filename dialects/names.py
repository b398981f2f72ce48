"""Names of SSA values.

A value's name is the variable's name in TVMScript. xDSL strips a trailing `_<digits>` from name hints, which would turn
`i_0` and `i_1` into one name; so the underscore before trailing digits is stored as a dot: `i_0` is `%i.0`.
"""

from __future__ import annotations

import re

from xdsl.ir import SSAValue

_SUFFIX = re.compile(r"_(?=\d+$)")
_INVALID = re.compile(r"[^A-Za-z0-9_]")


def encode_name(name: str) -> str:
    """Return the name hint for the variable `name`: `i_0` -> `i.0`; characters that are not allowed in variables
    become `_`.
    """
    name = _INVALID.sub("_", name)
    if not name or name[0].isdigit():
        name = "v" + name
    return _SUFFIX.sub(".", name)


def decode_name(hint: str) -> str:
    """Return the variable's name for a name hint: `i.0` -> `i_0`."""
    return _INVALID.sub("_", hint)


def set_name(value: SSAValue, name: str | None) -> None:
    """Name `value` after the variable `name`; None removes the name."""
    value.name_hint = None if name is None else encode_name(name)


def name_of(value: SSAValue) -> str | None:
    """Return the variable's name of `value`, or None if it has none."""
    hint = value.name_hint
    return None if hint is None else decode_name(hint)
