"""Names of a model as names of a program."""

from __future__ import annotations

import keyword
import re

from ...ir.names import fresh_suffix

_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)


def sanitized(name: str, prefix: str = "v", keywords: bool = False) -> str:
    """`name` with an underscore for each character that identifiers lack; `prefix` comes before a digit or a keyword.

    What is empty is `prefix`. Python's `keywords` may stay as they are: printers write them as they can be read.
    """
    text = _NOT_IN_NAMES.sub("_", name)
    if not text:
        return prefix
    bare = text[0].isdigit() or (keyword.iskeyword(text) and not keywords)
    return f"{prefix}_{text}" if bare else text


class Names:
    """Names for the values of one function: identifiers, each given once.

    The same key gets the same name again: a model's value has one name wherever it is asked for.
    """

    def __init__(self, sanitize: bool = True, prefix: str = "v", keywords: bool = False):
        self._sanitize = sanitize
        self._prefix = prefix
        self._keywords = keywords
        self._by_key: dict[str, str] = {}
        self._taken: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Whether the value that the model calls `key` has its name already."""
        return key in self._by_key

    def __getitem__(self, key: str) -> str:
        """The name of the value that the model calls `key`."""
        if key not in self._by_key:
            base = sanitized(key, self._prefix, self._keywords) if self._sanitize else key
            self._by_key[key] = fresh_suffix(base, self._taken)
        return self._by_key[key]
