"""Quote untrusted values in messages."""

from __future__ import annotations

_MOST_SHOWN = 80
"""Limit on the characters of a value, and on the elements of a list."""
_MOST_BITS = 256


def brief(value: object) -> str:
    """Return a value for a message: shortened, on one line, printable in every encoding."""
    text = value if isinstance(value, str) else _shown(value)
    text = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_shown(each) for each in value[:_MOST_SHOWN])}]"
    return repr(value)
