"""Profiles as Chrome traces: JSON that Perfetto and chrome://tracing open."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .rows import Segment

_PROCESS = {"pid": 1, "tid": 1}


def chrome_trace(function: str, seconds: float, segments: Iterable[Segment], about: Mapping[str, Any]) -> str:
    """Return the segments in microseconds since the begin of the call; `memory` is that of live tensors."""
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", **_PROCESS, "args": {"name": f"tirax: {function}"}},
        {"ph": "M", "name": "thread_name", **_PROCESS, "args": {"name": "calls"}},
        {"ph": "X", "name": function, **_PROCESS, "ts": 0, "dur": seconds * 1e6},
    ]
    for segment in segments:
        events.append(_slice(segment))
        if segment.live >= 0:
            events.append(
                {"ph": "C", "name": "memory", **_PROCESS, "ts": events[-1]["ts"], "args": {"B": segment.live}}
            )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns", "otherData": dict(about)})


def _slice(segment: Segment) -> dict[str, Any]:
    site = segment.site
    known = {"result": site.result, "source": site.place, "in": site.function}
    counts = {"operations": segment.operations, "bytes": segment.bytes}
    return {
        "ph": "X",
        "name": site.name if site.kind != "host" else f"host code of {site.name}",
        "cat": site.kind,
        **_PROCESS,
        "ts": segment.begin / 1e3,
        "dur": (segment.end - segment.begin) / 1e3,
        "args": {k: v for k, v in known.items() if v} | {k: v for k, v in counts.items() if v >= 0},
    }
