"""Compiles and runs test programs of StableHLO, and counts: right, refused, wrong.

python -m tirax.dev.stablehlo DIRECTORY [--half first|second] [--match TEXT] [--jobs 2] [--list]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...api import compile as compile_
from ...diagnostics import TiraxError
from ...frontend.stablehlo import from_stablehlo
from .judging import difference
from .programs import Program, parts_of, programs_of

_NAMES = "cholesky convolution dot_general fft reduce reduce_window scatter triangular_solve while"
ACCUMULATING = frozenset(f"stablehlo.{name}" for name in _NAMES.split())
"""Operations that add up rounding errors, which depend on the order."""


@dataclass(frozen=True)
class Outcome:
    """What became of a program."""

    name: str
    verdict: str
    reason: str = ""


def run_file(path: str) -> list[Outcome]:
    """Run the programs of a file; a module that is not read counts as one."""
    name, outcomes = Path(path).name, list[Outcome]()
    for text in parts_of(Path(path).read_text(encoding="utf-8")):
        try:
            outcomes += [run(p) for p in programs_of(text, name)]
        except (TiraxError, NotImplementedError, KeyError) as error:
            outcomes.append(Outcome(name, "refused", _first_line(error)))
    return outcomes or [Outcome(name, "no results", "the file has no checks")]


def run(program: Program) -> Outcome:
    """Compile a program, run it, and compare."""
    try:
        function = compile_(from_stablehlo(program.module))
    except TiraxError as error:
        return Outcome(program.name, "refused", _first_line(error))
    except Exception as error:  # noqa: BLE001 - a defect, which is counted like a wrong result
        return Outcome(program.name, "failed", f"{type(error).__name__}: {_first_line(error)}")
    try:
        result = function(*program.inputs)
    except Exception as error:  # noqa: BLE001
        return Outcome(program.name, "failed", f"{type(error).__name__}: {_first_line(error)}")
    sums = any(op.name in ACCUMULATING for op in program.module.walk())
    results = list(result) if isinstance(result, tuple) else [result]
    for check in program.checks:
        found = difference(check.kind, np.asarray(results[check.result]), check.expected, sums, check.limits)
        if found is not None:
            return Outcome(program.name, "wrong", f"{check.kind}: {found}")
    return Outcome(program.name, "right")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rpartition("error: ")[2][:200]


def files_of(directory: Path, half: str, text: str) -> list[str]:
    """Return the test files, sorted; of every two the first, or the second."""
    paths = sorted(str(p) for p in directory.rglob("*.mlir"))
    start = {"first": 0, "second": 1}.get(half)
    paths = paths if start is None else paths[start::2]
    return [p for p in paths if text in p]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.stablehlo", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--half", choices=("first", "second", "all"), default="all")
    parser.add_argument("--match", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name every program that is not right")
    args = parser.parse_args()
    paths = files_of(args.directory, args.half, args.match)[:: args.every]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(args.jobs) as pool:
        for outcomes in pool.map(run_file, paths):
            for outcome in outcomes:
                counts[outcome.verdict] += 1
                if args.list and outcome.verdict != "right":
                    print(f"{outcome.verdict:10} {outcome.name}: {outcome.reason}", flush=True)
    print(f"{len(paths)} files:", ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    return int(bool(counts["wrong"] or counts["failed"]))


if __name__ == "__main__":
    sys.exit(main())
