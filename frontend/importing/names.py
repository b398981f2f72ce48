"""Names of a model as identifiers of a program."""

from __future__ import annotations

import keyword
import re

from ...ir.names import fresh_suffix

_NOT_IN_NAMES = re.compile(r"\W", re.ASCII)


def sanitized(name: str, prefix: str = "v", keywords: bool = False) -> str:
    """Replace each character of `name` that identifiers cannot contain by an underscore.

    `prefix` is inserted before a leading digit or a keyword, and replaces an empty name. With `keywords`
    Python's keywords are kept: printers escape them.
    """
    text = _NOT_IN_NAMES.sub("_", name)
    if not text:
        return prefix
    bare = text[0].isdigit() or (keyword.iskeyword(text) and not keywords)
    return f"{prefix}_{text}" if bare else text


class Names:
    """Unique identifiers for the values of one function.

    The same key always gets the same name.
    """

    def __init__(self, sanitize: bool = True, prefix: str = "v", keywords: bool = False):
        self._sanitize = sanitize
        self._prefix = prefix
        self._keywords = keywords
        self._by_key: dict[str, str] = {}
        self._taken: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Return whether the model's value `key` has a name already."""
        return key in self._by_key

    def __getitem__(self, key: str) -> str:
        """Return the name of the model's value `key`, creating it if necessary."""
        if key not in self._by_key:
            base = sanitized(key, self._prefix, self._keywords) if self._sanitize else key
            self._by_key[key] = fresh_suffix(base, self._taken)
        return self._by_key[key]
