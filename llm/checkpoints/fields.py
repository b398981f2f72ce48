"""What files say of a model, entry by entry: each is checked, and all that is wrong is told at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...frontend.importing.errors import ModelError

MOST_SIZE = 1 << 31
"""Above what any size of a model is."""
MOST_HIDDEN = 1 << 20
"""Numbers of a position: tables are made of as many."""
MOST_LAYERS = 1 << 12
_REQUIRED: Any = object()


class Fields:
    """Entries under a prefix; what is wrong with them gathers in `problems`, and `finish` raises it.

    An entry that is missing or null has its default; one without a default is required. What is given for an entry
    that is wrong is some number that is right, so that the next ones can be read.
    """

    def __init__(self, entries: Mapping[str, Any], prefix: str = "", problems: list[str] | None = None):
        self.entries = entries
        self.prefix = prefix
        self.problems: list[str] = [] if problems is None else problems

    def below(self, key: str) -> Fields:
        """The entries of an entry that is a mapping; none where it is missing."""
        value = self.entries.get(key)
        if value is not None and not isinstance(value, Mapping):
            self._wrong(key, "no mapping", value)
        return Fields(value if isinstance(value, Mapping) else {}, f"{self.prefix}{key}.", self.problems)

    def has(self, key: str) -> bool:
        """Whether there is such an entry that is not null."""
        return self.entries.get(key) is not None

    def integer(self, key: str, default: Any = _REQUIRED, low: int = 1, high: int = MOST_SIZE) -> Any:
        """A whole number from `low` to `high`."""
        value = self._value(key, default)
        if value is default:
            return value
        if type(value) is not int or not low <= value <= high:
            return self._wrong(key, f"no whole number from {low} to {high}", value, low)
        return value

    def number(self, key: str, default: Any = _REQUIRED, low: float = 0.0) -> Any:
        """A finite number above `low`."""
        value = self._value(key, default)
        if value is default:
            return value
        if isinstance(value, bool) or not isinstance(value, int | float) or not (low < value < 1e38):
            return self._wrong(key, f"no finite number above {low:g}", value, 1.0)
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._value(key, default)
        return value if isinstance(value, bool) else self._wrong(key, "neither true nor false", value, default)

    def choice(self, key: str, among: Sequence[str], default: Any = _REQUIRED) -> Any:
        """One of some texts."""
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
        """Raise `ModelError` with all problems, where there are any."""
        if self.problems:
            raise ModelError(f"{what} does not say what its model is", notes=self.problems)
