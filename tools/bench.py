"""`tirax bench`: the times of a model in tirax and in other runtimes, in interleaved repeats, with results compared."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np

from ..diagnostics import TiraxError
from ..frontend.importing.extras import MissingPackage
from ..runtime import Executable, num_threads, set_num_threads
from .arguments import Arguments
from .compiling import compile_program, function_name
from .guard import OK, UsageError, report
from .options import named, sizes_of
from .peers import PEERS, Call, Peer, arrays, chosen_peers, difference

_SAMPLE = 0.002
"""Seconds of a sample: short calls are repeated."""
_PAUSE = 0.003
"""Seconds before each sample, in which the idle threads of the runtime before it stop spinning."""
OWN = "tirax"


def bench(options: Namespace) -> int:
    """Print the table: a row for each runtime and number of threads."""
    threads = _threads(options.threads)
    peers = _installed(options.file) if options.against is None else chosen_peers(options.against, options.file)
    executable = compile_program(options)
    name = function_name(options.func, executable)
    given = Arguments(
        executable.functions[name], named(options.input, "--input"), sizes_of(options.sizes), options.seed
    )
    values = arrays(given.values())
    print(executable.functions[name])
    sizes = ", ".join(f"{symbol} = {size}" for symbol, size in sorted(given.sizes.items()))
    print(f"{sizes + '; ' if sizes else ''}medians of {options.repeat} interleaved repeats")
    rows: list[tuple[str, ...]] = []
    before = num_threads()
    try:
        for count in threads:
            rows += _rows(options, executable, name, values, peers, count)
    finally:
        set_num_threads(before)
    _print(rows, many=len(threads) > 1)
    return OK


def _threads(text: str | None) -> list[int]:
    if text is None:
        return [num_threads()]
    parts = text.split(",")
    if not all(part.isdecimal() and len(part) <= 4 and 0 < int(part) <= 1024 for part in parts):
        raise UsageError("--threads is not understood", expected="numbers of threads: 1,2", found=text)
    return [int(part) for part in parts]


def _installed(path: str) -> list[Peer]:
    from importlib.util import find_spec

    extension = os.path.splitext(path)[1].lower()
    return [p for p in PEERS.values() if extension in p.reads and find_spec(p.package) is not None]


def _rows(
    options: Namespace, executable: Executable, name: str, values: list[np.ndarray], peers: list[Peer], threads: int
) -> Iterator[tuple[str, ...]]:
    set_num_threads(threads)
    function = executable[name]
    expected = _flat(function(*values))
    calls: dict[str, Call] = {OWN: lambda: function(*values)}
    differences: dict[str, float] = {}
    for peer in peers:
        try:
            calls[peer.name] = peer.prepare(options.file, threads, values)
        except MissingPackage as error:
            report(f"note: {error.message}: {error.hint}")
        except TiraxError as error:
            report(f"note: {error.message}")
        else:
            differences[peer.name] = difference(_flat(calls[peer.name]()), expected)
    times = interleaved(calls, options.repeat)
    for runtime, seconds in times.items():
        ratio = f"{seconds / times[OWN]:.2f}"
        text = f"{differences[runtime]:.1e}" if runtime in differences else ""
        yield str(threads), runtime, _time(seconds), ratio, text


def _flat(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in _flat(each)] if isinstance(value, tuple | list) else [value]


def interleaved(calls: Mapping[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """Return the median seconds of each call; the calls take turns, so that what disturbs the machine meets all."""
    numbers = {name: _number(call) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            time.sleep(_PAUSE)
            samples[name].append(_seconds(call, numbers[name]))
    return {name: median(each) for name, each in samples.items()}


def _number(call: Callable[[], Any]) -> int:
    """Return how many calls take the time of a sample."""
    number = 1
    while (seconds := _seconds(call, number) * number) < _SAMPLE:
        number = max(2 * number, int(number * _SAMPLE / max(seconds, 1e-9)))
    return number


def _seconds(call: Callable[[], Any], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        call()
    return (time.perf_counter() - start) / number


def _time(seconds: float) -> str:
    unit, scale = next((u, s) for u, s in (("s", 1.0), ("ms", 1e3), ("us", 1e6)) if seconds * s >= 1 or u == "us")
    return f"{seconds * scale:.3g} {unit}"


def _print(rows: list[tuple[str, ...]], many: bool) -> None:
    heads = ("threads", "runtime", "median", "÷ tirax", "difference")
    shown = range(0 if many else 1, len(heads))
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    for row in (heads, *rows):
        cells = [row[i].ljust(widths[i]) if i == 1 else row[i].rjust(widths[i]) for i in shown]
        print("  ".join(cells).rstrip())
