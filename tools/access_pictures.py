"""Draw the accesses of a tensor function as one animated SVG, with a square for each element of each buffer.

    pattern = record(module, "main")
    Path("tiles.svg").write_text(draw(pattern))

The file is self-contained and needs no script: browsers play it, also as an image in a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from ..diagnostics import TiraxError
from .access_patterns import Access, AccessPattern, Cache, Memory, Residents

NOT_YET, THERE, READ, WRITTEN = range(4)
"""The states of an element in a frame; `THERE` is in the cache or, without a cache, accessed before."""

COLOURS = ("#eef0f3", "#bcd9f5", "#1f77b4", "#d9480f")
MOST_ELEMENTS = 1 << 14
"""Limit on the number of squares."""
_GAP, _TOP, _LEGEND = 34, 52, 30


@dataclass(frozen=True)
class _Grid:
    """A buffer as rows of squares: all dimensions but the last run downwards."""

    name: str
    memory: Memory

    @property
    def rows(self) -> int:
        return math.prod(self.memory.shape[:-1])

    @property
    def columns(self) -> int:
        return self.memory.shape[-1] if self.memory.shape else 1


def draw(
    pattern: AccessPattern,
    title: str = "",
    *,
    frames: int = 100,
    seconds: float = 10.0,
    square: int = 10,
    cache: Cache | None = None,
    buffers: Sequence[str] | None = None,
) -> str:
    """Return the pattern as an SVG that plays in a loop of `seconds`.

    If there are more steps than `frames`, several steps share a frame. `square` is the side of an element in
    pixels; `cache` shades the contents of such a cache, instead of what was accessed before; `buffers` are
    drawn, by default all. Raises `TiraxError` if these have more than `MOST_ELEMENTS` elements.
    """
    names = list(pattern.buffers) if buffers is None else list(buffers)
    grids = [_Grid(name, pattern.buffers[name]) for name in names]
    elements = sum(g.rows * g.columns for g in grids)
    if elements > MOST_ELEMENTS:
        raise TiraxError("too much to draw", expected=f"{MOST_ELEMENTS} elements", found=elements, hint="smaller sizes")
    film = _film(pattern, frames, cache)
    widths = [max(g.columns * square, 9 * len(_label(g))) for g in grids]
    width = sum(widths) + _GAP * (len(grids) + 1)
    width = max(width, 430, 8 * len(title))
    height = _TOP + max((g.rows for g in grids), default=0) * square + _LEGEND
    body = [_text(_GAP, 20, title, "bold") if title else "", *_legend(height, cache)]
    left = _GAP
    for grid, part in zip(grids, widths, strict=True):
        body.append(_text(left, _TOP - 8, _label(grid)))
        body += _squares(grid, film.get(grid.name, {}), left, square, seconds)
        left += part + _GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    style = "<style>text{font:12px sans-serif;fill:#333}.bold{font-weight:bold}</style>"
    return "\n".join([head, style, '<rect width="100%" height="100%" fill="#fff"/>', *filter(None, body), "</svg>"])


Film = dict[str, dict[int, list[tuple[float, int]]]]
"""For each buffer and accessed element, the times (as fractions of the total) at which its state changes."""


def _film(pattern: AccessPattern, frames: int, cache: Cache | None) -> Film:
    each = max(1, -(-pattern.steps // max(1, frames)))
    count = max(1, -(-pattern.steps // each))
    film: Film = {name: {} for name in pattern.buffers}
    residents = None if cache is None else Residents(cache)
    shown: set[tuple[str, int]] = set()
    for frame, group in groupby(pattern.accesses, key=lambda a: a.step // each):
        now: dict[tuple[str, int], int] = {}
        for access in group:
            key = (access.buffer, access.element)
            now[key] = max(now.get(key, READ), WRITTEN if access.write else READ)
            shown |= _loaded(pattern, access, residents)
        for key in shown | now.keys():
            state = now.get(key) or (THERE if _is_there(key, pattern, residents) else NOT_YET)
            _note(film, key, frame / count, state)
        shown = {key for key in shown | now.keys() if film[key[0]][key[1]][-1][1] != NOT_YET}
    return film


def _loaded(pattern: AccessPattern, access: Access, residents: Residents | None) -> set[tuple[str, int]]:
    """Return the elements that this access loads into the cache."""
    memory = pattern.buffers[access.buffer]
    if residents is None or memory.scope in residents.cache.registers or not residents.touch(access):
        return set()
    first = access.element - access.element % residents.cache.line
    return {(access.buffer, e) for e in range(first, min(first + residents.cache.line, math.prod(memory.shape)))}


def _is_there(key: tuple[str, int], pattern: AccessPattern, residents: Residents | None) -> bool:
    if residents is None or pattern.buffers[key[0]].scope in residents.cache.registers:
        return True
    return (key[0], key[1] // residents.cache.line) in residents.lines


def _note(film: Film, key: tuple[str, int], time: float, state: int) -> None:
    states = film[key[0]].setdefault(key[1], [(0.0, NOT_YET)])
    if states[-1][1] != state:
        states.append((time, state))


def _squares(
    grid: _Grid, film: dict[int, list[tuple[float, int]]], left: float, square: int, seconds: float
) -> Iterator[str]:
    side = square - 1
    for row in range(grid.rows):
        for column in range(grid.columns):
            at = f'x="{left + column * square}" y="{_TOP + row * square}" width="{side}" height="{side}"'
            states = film.get(row * grid.columns + column, [(0.0, NOT_YET)])
            yield f'<rect {at} fill="{COLOURS[states[-1][1]]}">{_animation(states, seconds)}</rect>'


def _animation(states: list[tuple[float, int]], seconds: float) -> str:
    """Return the colours of a square over time; of several states at one time the last is kept."""
    if states[1:] and states[1][0] == 0.0:
        states = states[1:]
    if len(states) == 1:
        return ""
    values = ";".join(COLOURS[state] for _, state in states)
    times = ";".join(f"{time:.4g}" for time, _ in states)
    return (
        f'<animate attributeName="fill" calcMode="discrete" dur="{seconds:g}s" repeatCount="indefinite"'
        f' values="{values}" keyTimes="{times}"/>'
    )


def _legend(height: int, cache: Cache | None) -> Iterator[str]:
    there = "accessed before" if cache is None else f"in a cache of {cache.lines} lines of {cache.line}"
    left = _GAP
    for state, text in ((READ, "read"), (WRITTEN, "written"), (THERE, there)):
        yield f'<rect x="{left}" y="{height - 18}" width="10" height="10" fill="{COLOURS[state]}"/>'
        yield _text(left + 15, height - 9, text)
        left += 40 + 7 * len(text)


def _label(grid: _Grid) -> str:
    scope = "" if grid.memory.scope == "global" else f" ({grid.memory.scope})"
    return f"{grid.name} {' × '.join(map(str, grid.memory.shape))}{scope}"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}"{f" class={kind!r}" if kind else ""}>{escape(text)}</text>'
