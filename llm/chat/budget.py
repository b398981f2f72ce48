"""How much a template may do: it is a stranger's program, that runs for every message."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar

from .errors import ChatTemplateError

MOST_STEPS = 1 << 22
"""Turns of loops, calls, and values looked at."""
MOST_TEXT = 1 << 24
"""Characters of all texts that are made."""
MOST_DEPTH = 64
"""Lists and mappings inside of each other."""
MOST_INTEGER = 100_000
"""Of an argument: a width, a count."""
MOST_SECONDS = 10.0


class Budget:
    """What is left. Raises `ChatTemplateError` where it is used up."""

    def __init__(self) -> None:
        self.steps = MOST_STEPS
        self.characters = MOST_TEXT
        self.end = time.monotonic() + MOST_SECONDS

    def step(self, count: int = 1) -> None:
        """Spend steps."""
        self.steps -= count
        if self.steps < 0 or time.monotonic() > self.end:
            raise ChatTemplateError("the chat template takes too long", expected=f"at most {MOST_STEPS} steps")

    def text(self, characters: int) -> None:
        """Spend characters of a text before it is made."""
        self.characters -= characters
        if self.characters < 0:
            raise ChatTemplateError("the chat template makes too much text", expected=f"at most {MOST_TEXT} characters")

    def spent(self, text: str) -> str:
        """A text of which the characters are spent."""
        self.text(len(text))
        return text

    def size(self, value: object, plain: bool = False) -> int:
        """About how many characters a value has as text. Looking at its parts takes steps.

        Where `plain`, texts, numbers, lists and mappings are all that it may consist of.
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
    """Whether it is a number or nothing; jinja2's undefined values are written as nothing."""
    return value is None or isinstance(value, int | float) or type(value).__name__.endswith("Undefined")


_current: ContextVar[Budget] = ContextVar("budget")


def current() -> Budget:
    """The budget of what runs now."""
    return _current.get()


class spending:
    """For a while, a new budget is the current one."""

    def __enter__(self) -> Budget:
        budget = Budget()
        self._token = _current.set(budget)
        return budget

    def __exit__(self, *error: object) -> None:
        _current.reset(self._token)
