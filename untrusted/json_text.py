"""Parse untrusted JSON."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from ..diagnostics import TiraxError
from .texts import brief

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(data: bytes | str, what: str, error: type[TiraxError], *, halves: bool = False) -> Any:
    """Parse a JSON text in UTF-8 strictly: no NaN, no duplicate keys.

    Lone surrogates are rejected unless `halves`. Raises `error`, whose message begins with `what`.
    """
    try:
        text = data if isinstance(data, str) else data.decode()
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        if not halves and (isinstance(data, str) or _SURROGATE.search(text)):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise error(f"{what} is not JSON", notes=[brief(str(problem))]) from problem
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"the key '{twice}' is there twice")
    return table


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
