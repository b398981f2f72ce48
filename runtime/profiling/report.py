"""Profiles: rows by kernel or by call, as a table, JSON or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..container import write_atomically
from ..errors import ArgumentError
from .limits import Limits
from .recorder import Recording
from .roofline import roofline
from .rows import Row, Segment
from .sites import Site
from .table import rich_table, short, time_text
from .trace import chrome_trace

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

_HOST = "host code of "
_PYTHON = Site("python", "call from Python", "")
_BETWEEN = Site("python", "outside of the calls", "")


class Report:
    """The profile of one call of `function`, or of many. `print(report)` prints the table.

    Of many calls, only some may have been measured: then times, operations and bytes are extrapolated from those, while
    counts are exact.
    """

    def __init__(self, function: str, sites: Sequence[Site], recording: Recording, limits: Limits):
        self.function = function
        self.sites = tuple(sites)
        self.recording = recording
        self.limits = limits

    @property
    def result(self) -> Any:
        """The result of the call; None for many calls."""
        return self.recording.result

    @property
    def seconds(self) -> float:
        """The time of the call, from Python; for many calls the time of the session."""
        return (self.recording.end - self.recording.begin) / 1e9

    @property
    def attributed(self) -> float:
        """The part of it attributed to rows of the program, including host code."""
        return sum(row.share for row in self.rows if row.kind != "python")

    @property
    def configuration(self) -> dict[str, Any]:
        """The function, the machine and the settings of the profile."""
        limits = self.limits
        return {
            "function": self.function,
            "threads": limits.threads,
            "operations a second": limits.operations,
            "bytes a second": {str(size): speed for size, speed in limits.bandwidth},
            "events that were lost": self.recording.lost,
            "calls": self.recording.calls,
            "calls that were measured": self.measured,
        }

    @property
    def measured(self) -> int:
        """The number of measured calls."""
        return int(np.count_nonzero(self.recording.column("calls")))

    @property
    def device_metrics(self) -> dict[str, dict[str, Any]]:
        """Metrics of the device as a whole, under TVM's name."""
        return {"cpu0": {"Duration (us)": self.seconds * 1e6, "Percent": 100.0, "Peak Memory (B)": self.peak_memory}}

    @cached_property
    def rows(self) -> list[Row]:
        """A row for each kernel, packed function and function with host code, the slowest first."""
        return self._rows(lambda site: (site.kind, site.name))

    @cached_property
    def by_call(self) -> list[Row]:
        """A row for each call in the program, the slowest first."""
        return self._rows(lambda site: site)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The rows by call in program order, with TVM's names of columns."""
        order = {site: i for i, site in enumerate(self.sites)}
        rows = sorted(self.by_call, key=lambda r: order.get(_site_of(r), len(order)))
        return [{name: value(row) for name, value in _TVM_COLUMNS.items()} for row in rows]

    def _rows(self, key: Callable[[Site], Any]) -> list[Row]:
        groups: dict[Any, list[int]] = {}
        for number, site in enumerate(self.sites):
            groups.setdefault(key(site), []).append(number)
        number = np.asarray(self._events["site"])
        rows = [row for sites in groups.values() if (row := self._row(sites, np.isin(number, sites))) is not None]
        outside = max(self.seconds - sum(row.seconds for row in rows), 0.0)
        single = self.recording.single
        rows.append(_plain_row(_PYTHON if single else _BETWEEN, self.recording.calls, outside, self.seconds))
        return sorted(rows, key=lambda row: -row.seconds)

    @cached_property
    def _events(self) -> dict[str, np.ndarray]:
        """Return the columns of all events but the last, and their durations."""
        recording = self.recording
        names = ("site", "operations", "bytes", "live", "busy", "available", "threads")
        columns = {name: recording.column(name)[:-1] for name in names}
        columns["begin"] = recording.column("time")[:-1] - recording.begin
        columns["took"] = np.diff(recording.column("time"))
        columns["weight"] = self._weights(columns["site"])
        inside = columns["site"] >= 0
        return {name: values[inside] for name, values in columns.items()}

    def _weights(self, site: np.ndarray) -> np.ndarray:
        """Return the weight of each event: the number of calls it stands for, scaled so that the counts of sites
        are exact.
        """
        calls = self.recording.column("calls")[:-1]
        weights = calls[np.maximum.accumulate(np.where(calls > 0, np.arange(len(calls)), 0))].astype(float)
        known = site >= 0
        sampled = np.bincount(site[known], weights[known], len(self.sites))
        factors = np.divide(self.recording.counts, sampled, out=np.ones(len(self.sites)), where=sampled > 0)
        return weights * factors[site]

    def _row(self, sites: Sequence[int], chosen: np.ndarray) -> Row | None:
        if not chosen.any():
            count = int(self.recording.counts[list(sites)].sum())
            return _plain_row(self.sites[sites[0]], count, 0.0, self.seconds, len(sites) - 1) if count else None
        events = {name: column[chosen] for name, column in self._events.items()}
        ran, weight = sorted(set(events["site"].tolist())), events["weight"]
        site, count = self.sites[int(events["site"][0])], int(self.recording.counts[ran].sum())
        seconds = float((events["took"] * weight).sum()) / 1e9
        row = _plain_row(site, count, seconds, self.seconds, len(ran) - 1)
        if site.kind != "kernel":
            return row
        operations, bytes = (_total(events[name], weight) for name in ("operations", "bytes"))
        least = float((self.limits.seconds(events["operations"], events["bytes"]) * weight).sum())
        known = operations is not None and bytes is not None and seconds > 0
        available = int(events["available"].sum())
        return Row(
            **asdict(row)
            | {
                "operations": operations,
                "bytes": bytes,
                "limit": least / seconds if known else None,
                "threads": max(1, int(events["threads"].max())),
                "balance": int(events["busy"].sum()) / available if available else None,
            }
        )

    def segments(self) -> Iterator[Segment]:
        """Yield what ran, in order."""
        columns = [self._events[name].tolist() for name in ("site", "begin", "took", "operations", "bytes", "live")]
        for site, begin, took, operations, bytes, live in zip(*columns, strict=True):
            yield Segment(self.sites[site], begin, begin + took, operations, bytes, live)

    @property
    def peak_memory(self) -> int:
        """The maximum bytes of live tensors created by one function, as far as known."""
        return max((segment.live for segment in self.segments()), default=0)

    # -- forms --------------------------------------------------------------------------------------------------------

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """Return the table as text. Without `sort` in program order, without `aggregate` with a row for each call."""
        from rich.console import Console

        console = Console(width=200, file=io.StringIO(), no_color=True)
        console.print(self.rich_table(sort, aggregate, col_sums))
        return "\n".join(line.rstrip() for line in console.file.getvalue().rstrip("\n").split("\n"))  # type: ignore[attr-defined]

    def rich_table(
        self, sort: bool = True, aggregate: bool = True, col_sums: bool = True, width: int | None = None
    ) -> Table:
        """Return the table for a terminal of `width` characters (None: any); other arguments as for `table`."""
        rows = self.rows if aggregate else self.by_call
        if not sort:
            order = {site.name: i for i, site in reversed(list(enumerate(self.sites)))}
            rows = sorted(rows, key=lambda row: order.get(row.name, len(order)))
        what = self.function if self.recording.single else f"{self.recording.calls:,} calls of {self.function}"
        table = rich_table(rows, self._sum(rows) if col_sums else None, width)
        table.title = f"profile of {what}: {time_text(self.seconds)}"
        table.caption = self._caption()
        return table

    def _sum(self, rows: Sequence[Row]) -> Row:
        site = Site("python", "sum", "")
        return _plain_row(site, sum(row.count for row in rows), sum(row.seconds for row in rows), self.seconds)

    def _caption(self) -> str:
        limits = self.limits
        speeds = ", ".join(f"{speed / 1e9:.0f} GB/s up to {short(size)}B" for size, speed in limits.bandwidth[:-1])
        lost = f"; {self.recording.lost} events were lost" if self.recording.lost else ""
        if self.measured < self.recording.calls and not self.recording.single:
            each = self.recording.calls / max(self.measured, 1)
            lost = f"; 1 of {each:.1f} calls was measured: times are estimates for all{lost}"
        return (
            f"peak on {_threads(limits.threads)}: {limits.operations / 1e9:.0f} GFLOP/s, {speeds}, "
            f"{limits.bandwidth[-1][1] / 1e9:.0f} GB/s above{lost}"
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        yield self.rich_table(width=options.max_width if console.is_terminal else None)

    def __str__(self) -> str:
        return self.table()

    def json(self) -> str:
        """Return everything as JSON: `configuration`, `seconds`, `attributed`, `peak_memory`, `rows`, `calls`."""
        data = {
            "configuration": self.configuration,
            "seconds": self.seconds,
            "attributed": self.attributed,
            "peak_memory": self.peak_memory,
            "rows": [asdict(row) for row in self.rows],
            "calls": self.calls,
        }
        return json.dumps(data, indent=1)

    def chrome_trace(self) -> str:
        """Return a timeline as JSON, with memory over time: for Perfetto (ui.perfetto.dev) or chrome://tracing."""
        return chrome_trace(self.function, self.seconds, self.segments(), self.configuration)

    def roofline(self) -> str:
        """Return a roofline plot as SVG: speed over operations per byte, a dot for each kernel."""
        title = f"{self.function}: {self.seconds * 1e3:.3f} ms, {_threads(self.limits.threads)}"
        return roofline(title, self.rows, self.limits)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a format chosen by the extension: .txt, .csv, .json, .trace.json (Chrome trace), .svg (roofline).

        Raises `ArgumentError` for another extension, `OSError`.
        """
        text = form_of(path)(self).rstrip("\n") + "\n"
        write_atomically(path, [text.encode()])

    def csv(self) -> str:
        """Return the calls as CSV, with TVM's names of columns."""
        out = io.StringIO()
        writer = csv.DictWriter(out, list(_TVM_COLUMNS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.calls)
        return out.getvalue()


_FORMS: Mapping[str, Callable[[Report], str]] = {
    ".trace.json": Report.chrome_trace,
    ".json": Report.json,
    ".csv": Report.csv,
    ".svg": Report.roofline,
    ".txt": Report.table,
}


def form_of(path: str | os.PathLike[str]) -> Callable[[Report], str]:
    """Return the function that formats a report for this file name. Raises `ArgumentError` for an unknown extension."""
    name = os.fspath(path)
    for extension, form in _FORMS.items():
        if name.endswith(extension):
            return form
    raise ArgumentError("no form of a profile", expected=f"a file {', '.join(_FORMS)}", found=name)


def _plain_row(site: Site, count: int, seconds: float, total: float, more: int = 0) -> Row:
    name = _HOST + site.name if site.kind == "host" else site.name
    result, place = (f"{text}, {more} more" if text and more else text for text in (site.result, site.place))
    share = seconds / total if total else 0.0
    return Row(site.kind, name, site.function, result, place, count, seconds, share, None, None, None, None, None)


def _site_of(row: Row) -> Site:
    return Site(row.kind, row.name.removeprefix(_HOST), row.function, row.result, row.place)


def _total(counts: np.ndarray, weight: np.ndarray) -> int | None:
    """Return the weighted sum; None if any count is unknown."""
    return None if (counts < 0).any() else round(float((counts * weight).sum()))


def _threads(count: int) -> str:
    return f"{count} thread" + "s" * (count != 1)


_TVM_COLUMNS: Mapping[str, Callable[[Row], Any]] = {
    "Name": lambda row: row.name,
    "Duration (us)": lambda row: round(row.seconds * 1e6, 3),
    "Percent": lambda row: round(row.share * 100, 3),
    "Count": lambda row: row.count,
    "Device": lambda row: "cpu0",
    "Operations": lambda row: row.operations,
    "Bytes": lambda row: row.bytes,
    "Part of peak": lambda row: row.limit,
    "Threads": lambda row: row.threads,
    "Balance": lambda row: row.balance,
    "Result": lambda row: row.result,
    "Source": lambda row: row.place,
}
