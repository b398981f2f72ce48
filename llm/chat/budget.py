"""Limits on what a chat template may do: it is untrusted code that runs for every message."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar

from .errors import ChatTemplateError

MOST_STEPS = 1 << 22
"""Limit on steps: loop iterations, calls, and values inspected."""
MOST_TEXT = 1 << 24
"""Limit on the characters of all texts created."""
MOST_DEPTH = 64
"""Limit on the nesting of lists and mappings."""
MOST_INTEGER = 100_000
"""Limit on integer arguments, such as widths and counts."""
MOST_SECONDS = 10.0


class Budget:
    """The steps and characters that remain. Raises `ChatTemplateError` when they are used up."""

    def __init__(self) -> None:
        self.steps = MOST_STEPS
        self.characters = MOST_TEXT
        self.end = time.monotonic() + MOST_SECONDS

    def step(self, count: int = 1) -> None:
        """Charge `count` steps."""
        self.steps -= count
        if self.steps < 0 or time.monotonic() > self.end:
            raise ChatTemplateError("the chat template takes too long", expected=f"at most {MOST_STEPS} steps")

    def text(self, characters: int) -> None:
        """Charge the characters of a text before it is created."""
        self.characters -= characters
        if self.characters < 0:
            raise ChatTemplateError("the chat template makes too much text", expected=f"at most {MOST_TEXT} characters")

    def spent(self, text: str) -> str:
        """Charge the characters of a text and return the text."""
        self.text(len(text))
        return text

    def size(self, value: object, plain: bool = False) -> int:
        """Return roughly how many characters a value has as text. Visiting its parts costs steps.

        With `plain`, it may consist of texts, numbers, lists and mappings only.
        """
        total = 0
        left: list[tuple[object, int]] = [(value, 0)]
        while left:
            part, depth = left.pop()
            self.step()
            if isinstance(part, str):
                total += len(part)
            elif isinstance(part, Mapping | list | tuple | range):
                if depth > MOST_DEPTH:
                    raise ChatTemplateError("the chat template nests values too deep", expected=f"at most {MOST_DEPTH}")
                parts = self._parts(part)
                total += 4 * len(parts)
                left += ((each, depth + 1) for each in parts)
            elif plain and not _is_plain(part):
                raise ChatTemplateError(f"the chat template writes what has no text: a {type(part).__name__}")
            else:
                total += 8
        return total

    def _parts(self, value: Mapping[object, object] | Iterable[object]) -> list[object]:
        length = len(value)  # type: ignore[arg-type]
        self.step(length)
        return [*value.keys(), *value.values()] if isinstance(value, Mapping) else list(value)


def _is_plain(value: object) -> bool:
    """Return whether a value is a number or empty; jinja2's undefined values render as nothing."""
    return value is None or isinstance(value, int | float) or type(value).__name__.endswith("Undefined")


_current: ContextVar[Budget] = ContextVar("budget")


def current() -> Budget:
    """Return the budget of the template that is running."""
    return _current.get()


class spending:
    """A context manager that makes a new budget the current one."""

    def __enter__(self) -> Budget:
        budget = Budget()
        self._token = _current.set(budget)
        return budget

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
