"""Underlined parts of a text: `^^^` below them, and cuts where nothing near is underlined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

Span = tuple[int, int]
"""Positions in a text: the first, and that after the last."""

_LEAST_CUT = 2
"""A single line is printed rather than cut out."""


def without(spans: Sequence[Span], exempted: Sequence[Span]) -> list[Span]:
    """Return the union of spans without the exempted ones, as spans in order that do not touch."""
    weight = len(spans) + 1
    changes = sorted(
        [(p, d) for a, b in spans for p, d in ((a, 1), (b, -1))]
        + [(p, d * weight) for a, b in exempted for p, d in ((a, -1), (b, 1))]
    )
    out: list[Span] = []
    depth = 0
    for (position, change), (following, _) in zip(changes, changes[1:], strict=False):
        depth += change
        if depth > 0 and position < following:
            if out and out[-1][1] == position:
                out[-1] = (out[-1][0], following)
            else:
                out.append((position, following))
    return out


def decorated(text: str, spans: Sequence[Span], numbers: bool, context: int | None) -> str:
    """Return the text with `^` below the spans, with line numbers, and with `context` only the lines around."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    width = len(str(len(lines))) + 1 if numbers else 0
    shown = _chunks(spans, starts, len(lines), context)
    out: list[str] = []
    last = 0
    for first, end in shown:
        out += _cut(first - last)
        for k in range(first, end):
            out.append((f"{k + 1} ".rjust(width) if numbers else "") + lines[k])
            out += _carets(text, (starts[k], starts[k + 1]), spans, width)
        last = end
    return "".join([*out, *_cut(len(lines) - last)])


def _cut(count: int) -> list[str]:
    return [f"(... {count} lines skipped ...)\n"] if count else []


def _chunks(spans: Sequence[Span], starts: list[int], count: int, context: int | None) -> list[Span]:
    """Return the ranges of lines to print."""
    if not spans or context is None or context < 0:
        return [(0, count)]
    chunks: list[Span] = []
    for begin, end in spans:
        first = max(0, bisect_right(starts, begin) - 1 - context)
        last = min(count, bisect_right(starts, end - 1) + context)
        if chunks and first < chunks[-1][1] + _LEAST_CUT:
            chunks[-1] = (chunks[-1][0], last)
        else:
            chunks.append((0 if not chunks and first < _LEAST_CUT else first, last))
    if count - chunks[-1][1] < _LEAST_CUT:
        chunks[-1] = (chunks[-1][0], count)
    return chunks


def _carets(text: str, line: Span, spans: Sequence[Span], width: int) -> list[str]:
    """Return the line of `^` below a line; a part that cannot be printed gets one, too."""
    marks = [(max(a, line[0]), min(b, line[1])) for a, b in spans if a < line[1] and b > line[0]]
    if not marks:
        return []
    out, position, borrowed = " " * width, line[0], False
    for begin, end in marks:
        spaces, carets = _printed(text, position, begin), _printed(text, begin, end)
        if spaces and borrowed:
            spaces, borrowed = spaces - 1, False
        if not carets and not borrowed:
            carets, borrowed = 1, True
        elif carets and borrowed:
            carets, borrowed = carets - 1, False
        out += " " * spaces + "^" * carets
        position = end
    return [out + "\n"]


def _printed(text: str, begin: int, end: int) -> int:
    return sum(c.isprintable() for c in text[begin:end])
