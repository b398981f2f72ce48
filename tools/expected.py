"""`--verify-diagnostics`: comments in a program say which errors it must give, and where.

    // expected-error {{part of the message}}          on this line
    // expected-error@+1 {{…}}  @-2  @above  @below    on another line
    // expected-error@unknown {{…}}                    without a place

In TVMScript the comment starts with `#`. The part is sought in the whole diagnostic, expectation and hint included.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..diagnostics import SourceLocation, TiraxError
from .source import Program

_COMMENT = re.compile(r"(?://|#).*?expected-error\s*(@\w+|@[+-]\d+)?\s*\{\{(.*?)\}\}")
_OFFSETS = {"above": -1, "below": 1}


class ExpectationError(TiraxError):
    """A program that does not give the errors that its comments announce, or others."""


@dataclass(frozen=True)
class Expected:
    """An announced error; `line` is None where it is one without a place."""

    line: int | None
    part: str
    comment: SourceLocation

    def matches(self, error: TiraxError) -> bool:
        """Whether this is the error."""
        line = error.location.line if error.location is not None else None
        return line == self.line and self.part in str(error)


def expected_errors(program: Program) -> list[Expected]:
    """The announcements in a program. Raises `ExpectationError` for one that is not well formed."""
    found: list[Expected] = []
    for number, text in enumerate(program.text.split("\n"), 1):
        for match in _COMMENT.finditer(text):
            place = SourceLocation(program.filename, number, match.start() + 1, match.end() + 1)
            found.append(Expected(_line(match.group(1), number, place), match.group(2).strip(), place))
    return found


def _line(where: str | None, number: int, place: SourceLocation) -> int | None:
    word = (where or "@+0").removeprefix("@")
    if word == "unknown":
        return None
    if word in _OFFSETS:
        return number + _OFFSETS[word]
    if word[0] not in "+-":
        raise ExpectationError(
            f"unknown place '@{word}'", location=place, expected="@+N, @-N, @above, @below or @unknown"
        )
    return number + int(word)


def check_expected(expected: list[Expected], error: TiraxError | None) -> None:
    """Raise `ExpectationError` where what happened is not what was announced; a program gives one error at most."""
    missing = [e for e in expected if error is None or not e.matches(error)]
    if error is not None and len(missing) == len(expected):
        raise ExpectationError("this error was not expected", notes=str(error).split("\n")) from error
    if missing:
        notes = [f"{e.comment}: {e.part}" for e in missing[1:]]
        raise ExpectationError(
            "an expected error did not come", location=missing[0].comment, expected=missing[0].part, notes=notes
        )
