"""Texts of options of several commands: `name=value` pairs and symbolic sizes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

from .guard import UsageError

_DIGITS = 19
"""Limit on the digits of a size."""

Sizes = Sequence[int] | Mapping[str, int]
"""Values that all symbolic sizes take one after the other, or values by name."""


def named(texts: Iterable[str], option: str, form: str = "name=value") -> dict[str, str]:
    """Parse `name=value` texts into a mapping. Raises `UsageError`."""
    result: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} is not understood", expected=form, found=text)
        if name in result:
            raise UsageError(f"{option} names '{name}' twice")
        result[name] = value
    return result


def sizes_of(texts: Iterable[str], form: str = "sizes by name: n=4,m=8") -> dict[str, int]:
    """Parse `n=4,m=8` texts into sizes. Raises `UsageError`."""
    parts = (part.strip() for text in texts for part in text.split(","))
    sizes = named(parts, "--sizes", form)
    wrong = [f"{name}={value}" for name, value in sizes.items() if not value.isdecimal() or len(value) > _DIGITS]
    if wrong:
        raise UsageError("--sizes is not understood", expected="integers of at least 0", found=", ".join(wrong))
    return {name: int(value) for name, value in sizes.items()}


def sizes(text: str) -> Sizes:
    """Parse `n=4,m=8`, or `2,5,0`: values that all sizes take. Raises `argparse.ArgumentTypeError`."""
    try:
        if "=" in text:
            return sizes_of([text])
        numbers = tuple(int(part) for part in text.replace(" ", "").split(",") if part)
    except (ValueError, UsageError):
        numbers = ()
    if not numbers or min(numbers) < 0:
        raise argparse.ArgumentTypeError(
            f"invalid sizes: '{text}' (expected: n=2,m=3, or 2,5,0 for values that all sizes take)"
        )
    return numbers


def sizes_text(sizes: Sizes) -> str:
    """Return the text of sizes that `sizes` parses."""
    texts = (f"{n}={v}" for n, v in sizes.items()) if isinstance(sizes, Mapping) else map(str, sizes)
    return ",".join(texts)
