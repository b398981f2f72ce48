"""The table of a profile, also for terminals that are narrower than it: columns are left out, and names are elided."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .rows import Row

if TYPE_CHECKING:
    from rich.table import Table

_SHORT = 24
"""Width in characters below which a name is not elided as long as columns can be left out."""
_LEFT_OUT = ("source", "result", "balance", "threads", "bytes", "operations", "% of peak", "count")
"""The columns to leave out, the first first."""
_AROUND = 3
"""Characters around a cell: padding, and the line to the next one."""


def short(number: float) -> str:
    """Return a number with a metric prefix: 1.2 M."""
    for prefix in ("", "k", "M", "G", "T"):
        if number < 1000 or prefix == "T":
            break
        number /= 1000
    return f"{number:.3g} {prefix}"


def time_text(seconds: float) -> str:
    """Return a time in microseconds or milliseconds."""
    return f"{seconds * 1e6:.1f} us" if seconds < 1e-2 else f"{seconds * 1e3:.2f} ms"


def _optional(text: Callable[[Any], str], name: str) -> Callable[[Row], str]:
    def of(row: Row) -> str:
        value = getattr(row, name)
        return "" if value is None else text(value)

    return of


def _percent(part: float) -> str:
    return f"{part:.0%}"


_COLUMNS: Mapping[str, tuple[Any, Callable[[Row], str]]] = {
    "name": ("left", lambda row: row.name),
    "count": ("right", lambda row: str(row.count)),
    "time": ("right", lambda row: time_text(row.seconds)),
    "share": ("right", lambda row: f"{row.share:.1%}"),
    "operations": ("right", _optional(short, "operations")),
    "bytes": ("right", _optional(short, "bytes")),
    "% of peak": ("right", _optional(_percent, "limit")),
    "threads": ("right", _optional(str, "threads")),
    "balance": ("right", _optional(_percent, "balance")),
    "result": ("left", lambda row: row.result),
    "source": ("left", lambda row: os.path.basename(row.place)),
}


def rich_table(rows: Sequence[Row], total: Row | None, width: int | None = None) -> Table:
    """Return the table of these rows and their sum. With `width`, it is at most as wide, in characters."""
    from rich import box
    from rich.table import Table

    cells = {name: [text(row) for row in rows] for name, (_, text) in _COLUMNS.items()}
    sums = {} if total is None else {name: _COLUMNS[name][1](total) for name in ("name", "count", "time", "share")}
    if width is not None:
        _fit(cells, sums, width)
    table = Table(box=box.SIMPLE_HEAD)
    for name in cells:
        table.add_column(name, justify=_COLUMNS[name][0], overflow="fold")
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    if total is not None:
        table.add_section()
        table.add_row(*(sums.get(name, "") for name in cells))
    return table


def _fit(cells: dict[str, list[str]], sums: Mapping[str, str], width: int) -> None:
    """Leave out columns and elide names until a table of these cells has at most this width."""
    widths = {n: max(map(len, (n, *texts, sums.get(n, "")))) + _AROUND for n, texts in cells.items()}
    least = min(widths["name"], _SHORT + _AROUND)

    def room() -> int:
        return width - 1 - sum(widths[name] for name in cells if name != "name")

    for name in _LEFT_OUT:
        if room() >= least:
            break
        del cells[name]
    most = max(room() - _AROUND, 1)
    cells["name"] = [elided(name, most) for name in cells["name"]]


def elided(text: str, most: int) -> str:
    """Return a text of at most `most` characters: a longer one without its middle."""
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"
