"""PyTorch's own samples of its operators, exported, imported and run natively, beside what PyTorch computes.

    python tests/frontend/torch/opinfo.py build/opinfo.jsonl                 # goes on where it stopped; then the counts
    python tests/frontend/torch/opinfo.py build/opinfo.jsonl --only add nn.functional.linear --again

A line of the file is an operator with a dtype: how many samples came out how, and what there was of each problem.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from opinfo_reasons import REASONS
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.frontend.importing.errors import UnsupportedOperators
from tirax.frontend.torch.exported_program import from_exported_program
from tirax.frontend.torch.tensors import array_of

DTYPES = (torch.float32, torch.int64, torch.bool)
TOLERANCE = 1e-4
_RANDOM = (
    "rand",
    "normal",
    "bernoulli",
    "multinomial",
    "dropout",
    "uniform",
    "exponential",
    "geometric",
    "cauchy",
    "rrelu",
)
"""What draws random numbers, by a part of its name."""
_TIES = ("kthvalue", "sort", "topk")
"""Operators whose second result is the positions of values: PyTorch leaves open which of equal ones it takes."""
_UNDEFINED = "empty"
"""A part of the names of operators whose result holds anything: its shape and dtype are compared."""
_ASIDE = ("not exported", "outside of core ATen", "complex", "random")
"""Outcomes of samples that are not counted: PyTorch does not export them, or core ATen does not reach them."""


class Sample(torch.nn.Module):
    """An operator with all arguments of one sample but its tensors, which it is called with."""

    def __init__(self, op: Any, sample: Any):
        super().__init__()
        leaves, self._spec = _pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self._op = op
        self._leaves = leaves
        self.dim = sample.args[0] if sample.args else sample.kwargs.get("dim", -1)
        self.tensors = tuple(leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor))

    def forward(self, *tensors: Any) -> Any:
        values = iter(tensors)
        leaves = [next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        first, args, kwargs = _pytree.tree_unflatten(leaves, self._spec)
        return self._op(first, *args, **kwargs)


@dataclass
class Outcome:
    """How the samples of an operator with a dtype came out."""

    operator: str
    dtype: str
    counts: Counter[str] = field(default_factory=Counter[str])
    problems: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    seconds: float = 0.0

    def add(self, status: str, what: str = "") -> None:
        self.counts[status] += 1
        if what and what not in self.problems.setdefault(status, []):
            self.problems[status].append(what[:400])


def samples_of(op: Any, dtype: Any, most: int) -> Iterator[Any]:
    """Up to `most` samples, spread over all that there are; each time the same."""
    torch.manual_seed(0)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=False))
    step = max(len(samples) / most, 1.0)
    return (samples[int(i * step)] for i in range(min(most, len(samples))))


def run_operator(op: Any, dtype: Any, most: int) -> Outcome:
    """All samples of an operator with a dtype."""
    outcome = Outcome(op.formatted_name, str(dtype).removeprefix("torch."))
    begin = time.perf_counter()
    for sample in samples_of(op, dtype, most):
        _run_sample(Sample(op, sample), outcome)
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _run_sample(module: Sample, outcome: Outcome) -> None:
    try:
        expected = list(_pytree.tree_leaves(module(*module.tensors)))
        program = torch.export.export(module, module.tensors, strict=False)
    except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is no sample)
        outcome.add("not exported", f"{type(error).__name__}: {error}".splitlines()[0])
        return
    if any(isinstance(value, torch.Tensor) and value.is_complex() for value in (*module.tensors, *expected)):
        outcome.add("complex")
        return
    try:
        main = build(from_exported_program(program)).jit()["main"]
    except UnsupportedOperators as error:
        outcome.add(_kind(error), "; ".join(error.notes))
        return
    except TiraxError as error:
        outcome.add("complex" if "complex numbers" in error.message else "failed", str(error).splitlines()[0])
        return
    except Exception as error:  # noqa: BLE001 (a mistake of ours is counted, not hidden)
        outcome.add("crashed", f"{type(error).__name__}: {error}".splitlines()[0])
        return
    _compare(main, module, expected, outcome)


def _kind(error: UnsupportedOperators) -> str:
    if any("complex numbers" in note for note in error.notes):
        return "complex"
    if any(name.startswith("aten.rand") for name in error.operators):
        return "random"
    return "unsupported" if any(_is_core(name) for name in error.operators) else "outside of core ATen"


def _is_core(name: str) -> bool:
    target: Any = torch.ops
    for part in name.split("."):
        target = getattr(target, part, None)
    return torch.Tag.core in getattr(target, "tags", ())


def _compare(main: Any, module: Sample, expected: Sequence[Any], outcome: Outcome) -> None:
    try:
        outputs = main(*(array_of(t) for t in module.tensors))
    except TiraxError as error:
        outcome.add("failed", str(error).splitlines()[0])
        return
    count = 1 if outcome.operator in _TIES else len(expected)
    for reference, output in zip(expected[:count], outputs[:count], strict=True):
        value = array_of(reference) if isinstance(reference, torch.Tensor) else np.asarray(reference)
        output = np.asarray(output)
        if _UNDEFINED in outcome.operator and (output.shape, output.dtype) == (value.shape, value.dtype):
            continue
        if outcome.operator == "argsort" and output.shape == value.shape:
            value, output = (_ordered(module, positions) for positions in (value, output))
        message = _difference(value, output, isinstance(reference, torch.Tensor))
        if message:
            outcome.add("wrong", message + f" of {[tuple(t.shape) for t in module.tensors]}")
            return
    outcome.add("right")


def _ordered(module: Sample, positions: Any) -> Any:
    """What stands at the positions of an order: which of equal elements comes first is left open."""
    values = np.atleast_1d(array_of(module.tensors[0]))
    return np.take_along_axis(values, np.atleast_1d(positions), module.dim)


def _difference(expected: Any, value: Any, typed: bool) -> str:
    if expected.shape != value.shape or (typed and expected.dtype != value.dtype):
        return f"{value.dtype} {value.shape} instead of {expected.dtype} {expected.shape}"
    if expected.dtype.kind not in "biuf":
        value, expected = value.astype("float32"), expected.astype("float32")
    if not np.allclose(value, expected, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
        return f"{value.ravel()[:4]} instead of {expected.ravel()[:4]}"
    return ""


def cases(only: Sequence[str] = ()) -> Iterator[tuple[Any, Any]]:
    """The operators of PyTorch's list with their dtypes, those aside that draw random numbers."""
    for op in op_db:
        if any(part in op.name for part in _RANDOM) or (only and op.formatted_name not in only and op.name not in only):
            continue
        yield from ((op, dtype) for dtype in DTYPES if dtype in op.supported_dtypes("cpu"))


def report(path: Path) -> None:
    """The counts of all that the file has, and the problems."""
    total: Counter[str] = Counter()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in {(entry["operator"], entry["dtype"]): entry for entry in lines}.values():
        total.update(line["counts"])
        for status, problems in line["problems"].items():
            if status not in _ASIDE:
                reason = None if status == "wrong" else REASONS.get(line["operator"])
                for problem in [f"because: {reason}"] if reason else problems:
                    print(f"{status:12} {line['operator']} {line['dtype']}: {problem}")
    counted = sum(n for status, n in total.items() if status not in _ASIDE)
    print(dict(total))
    if counted:
        print(f"{100 * total['right'] / counted:.2f} % of {counted} samples run and agree")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--again", action="store_true", help="run what the file has already, too")
    parser.add_argument("--most", type=int, default=6, help="samples of an operator with a dtype")
    parser.add_argument("--dtypes", nargs="*", default=["float32", "int64", "bool"])
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--part", default="0/1", help="the i-th of n parts: 0/2")
    args = parser.parse_args()
    known: set[tuple[str, str]] = set()
    if args.results.exists() and not args.again:
        known = {(e["operator"], e["dtype"]) for e in map(json.loads, args.results.read_text().splitlines())}
    part, parts = map(int, args.part.split("/"))
    end = time.monotonic() + args.seconds
    with args.results.open("a") as file, warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        for i, (op, dtype) in enumerate(cases(args.only)):
            key = (op.formatted_name, str(dtype).removeprefix("torch."))
            if i % parts != part or key in known or key[1] not in args.dtypes or time.monotonic() > end:
                continue
            outcome = run_operator(op, dtype, args.most)
            file.write(json.dumps(vars(outcome)) + "\n")
            file.flush()
    report(args.results)


if __name__ == "__main__":
    sys.exit(main())
