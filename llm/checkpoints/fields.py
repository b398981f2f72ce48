"""Read and validate the entries of a model's configuration, and report all problems at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...frontend.importing.errors import ModelError

MOST_SIZE = 1 << 31
"""Upper limit on any size of a model."""
MOST_HIDDEN = 1 << 20
"""Upper limit on the numbers per position, since tables of that size are allocated."""
MOST_LAYERS = 1 << 12
_REQUIRED: Any = object()


class Fields:
    """The entries under a prefix. Problems are collected in `problems`; `finish` raises them.

    A missing or null entry has its default; an entry without a default is required. For an invalid entry some
    valid number is returned, so that the remaining entries can be read.
    """

    def __init__(self, entries: Mapping[str, Any], prefix: str = "", problems: list[str] | None = None):
        self.entries = entries
        self.prefix = prefix
        self.problems: list[str] = [] if problems is None else problems

    def below(self, key: str) -> Fields:
        """Return the entries of a nested mapping; an empty one if it is missing."""
        value = self.entries.get(key)
        if value is not None and not isinstance(value, Mapping):
            self._wrong(key, "no mapping", value)
        return Fields(value if isinstance(value, Mapping) else {}, f"{self.prefix}{key}.", self.problems)

    def has(self, key: str) -> bool:
        """Return whether the entry exists and is not null."""
        return self.entries.get(key) is not None

    def integer(self, key: str, default: Any = _REQUIRED, low: int = 1, high: int = MOST_SIZE) -> Any:
        """Return an integer from `low` to `high`."""
        value = self._value(key, default)
        if value is default:
            return value
        if type(value) is not int or not low <= value <= high:
            return self._wrong(key, f"no whole number from {low} to {high}", value, low)
        return value

    def number(self, key: str, default: Any = _REQUIRED, low: float = 0.0) -> Any:
        """Return a finite number above `low`."""
        value = self._value(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not (low < value < 1e38):
            return self._wrong(key, f"no finite number above {low:g}", value, 1.0)
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """Return a boolean entry."""
        value = self._value(key, default)
        return value if isinstance(value, bool) else self._wrong(key, "neither true nor false", value, default)

    def choice(self, key: str, among: Sequence[str], default: Any = _REQUIRED) -> Any:
        """Return an entry that is one of the texts in `among`."""
        value = self._value(key, default)
        if value is default or (isinstance(value, str) and value in among):
            return value
        return self._wrong(key, f"none of {', '.join(among)}", value, among[0])

    def _value(self, key: str, default: Any) -> Any:
        value = self.entries.get(key)
        if value is None and default is _REQUIRED:
            self.problems.append(f"'{self.prefix}{key}' is missing")
            return math.nan
        return default if value is None else value

    def _wrong(self, key: str, problem: str, value: Any, instead: Any = None) -> Any:
        if value is not math.nan:
            text = repr(value)
            self.problems.append(f"'{self.prefix}{key}' is {problem}: {text[:80]}{'…' if len(text) > 80 else ''}")
        return instead

    def finish(self, what: str) -> None:
        """Raise `ModelError` with all problems, if there are any."""
        if self.problems:
            raise ModelError(f"{what} does not say what its model is", notes=self.problems)
