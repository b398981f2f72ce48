"""Operators at short, odd, typical and large sizes, known and symbolic, beside PyTorch eager.

    python benchmarks/survey.py [--only "reductions: sum,topk"] [--rounds 9] [--again] [--above 1.5]

Each operator of `survey_operators.py` is compiled twice, for its sizes and with all sizes symbolic, and called with
tirax's arrays; results are compared with PyTorch's first. Rows are kept in build/benchmarks/survey.json and not
measured again unless `--again` (only those above `--above`, if it is present). Then come the rows where tirax takes
more than 1.1 of PyTorch's time, those that failed, how many lie in which range, and what symbolic sizes cost.

`ratio` is that of the fastest samples: on a busy machine it is the steadier one. Both are in the file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import measure

measure.quiet()

import torch  # noqa: E402
from survey_operators import OPERATORS, Operator  # noqa: E402

import tirax  # noqa: E402
from tirax.runtime import from_dlpack  # noqa: E402

RANGES = (0.25, 0.5, 0.8, 1.1, 2.0, float("inf"))


@dataclass(frozen=True)
class Row:
    """Microseconds of a call: the medians and the fastest samples; `failure` is the first line of an exception."""

    name: str
    symbolic: bool
    torch: float = 0.0
    tirax: float = 0.0
    torch_fastest: float = 0.0
    tirax_fastest: float = 0.0
    failure: str = ""

    @property
    def ratio(self) -> float:
        return self.tirax_fastest / self.torch_fastest if not self.failure else 0.0

    @property
    def key(self) -> tuple[str, bool]:
        return self.name, self.symbolic


def _tensor(argument: Any) -> torch.Tensor:
    shape, kind = argument if argument and isinstance(argument[0], tuple) else (argument, torch.float32)
    if isinstance(kind, int):
        return torch.randint(0, kind, shape)
    return torch.randint(0, 9, shape).to(kind) if not kind.is_floating_point else torch.rand(shape).to(kind)


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


def _row(name: str, operator: Operator, symbolic: bool, rounds: int) -> Row:
    torch.manual_seed(0)
    tensors = tuple(map(_tensor, operator.arguments))
    unknown = len(tensors) if operator.symbolic is None else operator.symbolic
    sizes = ([torch.export.Dim.AUTO] * t.ndim if i < unknown else None for i, t in enumerate(tensors))
    shapes = {"tensors": tuple(sizes)} if symbolic else None
    compiled = tirax.compile(_Module(operator.function), tensors, dynamic_shapes=shapes, fallback="error")
    main, arrays = compiled.executable[compiled.function], [from_dlpack(t) for t in tensors]
    torch.testing.assert_close(compiled(*tensors), operator.function(*tensors), rtol=2e-2, atol=2e-2, equal_nan=True)
    functions = {"torch": lambda: operator.function(*tensors), "tirax": lambda: main(*arrays)}
    times = measure.interleaved(functions, rounds=rounds, longest=0.5)
    a, b = times["torch"], times["tirax"]
    return Row(name, symbolic, a.median, b.median, a.minimum, b.minimum)


def _tried(name: str, symbolic: bool, rounds: int) -> Row:
    try:
        return _row(name, OPERATORS[name], symbolic, rounds)
    except Exception as problem:  # noqa: BLE001 - a row of the table says so, and the survey goes on
        return Row(name, symbolic, failure=f"{type(problem).__name__}: {str(problem).strip().splitlines()[0][:150]}")


def _known() -> list[Row]:
    path = measure.RESULTS / "survey.json"
    return [Row(**row) for row in json.loads(path.read_text())["rows"]] if path.is_file() else []


def _report(rows: list[Row]) -> None:
    print("| operator | sizes | torch µs | tirax µs | ratio |\n|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: -row.ratio):
        if row.ratio > 1.1:
            kind = "symbolic" if row.symbolic else "known"
            print(f"| {row.name} | {kind} | {row.torch_fastest:.1f} | {row.tirax_fastest:.1f} | {row.ratio:.2f} |")
    for row in rows:
        if row.failure:
            print(f"failed: {row.name}{' symbolic' if row.symbolic else ''}: {row.failure}")
    for symbolic in (False, True):
        ratios = [row.ratio for row in rows if row.symbolic == symbolic and not row.failure]
        if ratios:
            print("symbolic:" if symbolic else "known:", _histogram(ratios))
    times = {row.key: row.tirax_fastest for row in rows if not row.failure}
    costs = [
        times[name, True] / time for (name, symbolic), time in times.items() if not symbolic and (name, True) in times
    ]
    if costs:
        print(f"symbolic ÷ known: median {statistics.median(costs):.2f}, {_histogram(costs)}")


def _histogram(ratios: Iterable[float]) -> str:
    ratios = list(ratios)
    counts = [sum(low < r <= high for r in ratios) for low, high in zip((0.0, *RANGES), RANGES, strict=False)]
    shown = ", ".join(f"up to {high}: {count}" for high, count in zip(RANGES, counts, strict=True))
    return f"{len(ratios)} rows, geometric mean {statistics.geometric_mean(ratios):.2f}; {shown}"


def main() -> None:
    """Measure the rows that are not known, and print the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--again", action="store_true", help="measure known rows again")
    parser.add_argument(
        "--above", type=float, default=0.0, help="with --again: rows whose ratio is above this, or that failed"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = {row.key: row for row in _known()}
    new = 0
    chosen = [n for n in OPERATORS if any(part in n for part in options.only.split(","))]
    for name in chosen:
        for key in ((name, False), (name, True)):
            known = rows.get(key)
            if known is None or (options.again and (known.failure or known.ratio > options.above)):
                rows[key] = _tried(*key, options.rounds)
                new += 1
        if new >= 16 or name == chosen[-1]:
            measure.write("survey", [asdict(row) for row in rows.values()])
            new = 0
    _report([row for (name, _), row in rows.items() if name in set(chosen)])


if __name__ == "__main__":
    main()
