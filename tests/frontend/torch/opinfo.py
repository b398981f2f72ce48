"""PyTorch's own samples of its operators, exported, imported and run natively, beside what PyTorch computes.

    python tests/frontend/torch/opinfo.py build/opinfo.jsonl                 # goes on where it stopped; then the counts
    python tests/frontend/torch/opinfo.py build/opinfo.jsonl --only add nn.functional.linear --again
    python tests/frontend/torch/opinfo.py build/opinfo.jsonl --part 0/2      # one of two processes

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
from tirax.frontend.torch.expansion import expanded
from tirax.frontend.torch.exported_program import from_exported_program
from tirax.frontend.torch.tensors import array_of
from tirax.interpreter import interpret

DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool)
TOLERANCES = {"float64": 1e-7, "bfloat16": 3e-2}
"""Tolerance by the dtype of the samples, otherwise 1e-4: relative, and absolute, of bfloat16 to the greatest number."""
RANDOM = (
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
    "fractional",
    "lowrank",
)
"""What draws random numbers, by a part of its name: shapes and dtypes are compared."""
_DRAWS_NOTHING = ("logspace_random",)
_TIES = ("kthvalue", "sort", "topk", "msort", "mode", "median", "nanmedian", "linalg_eig")
"""Operators whose second result is the positions of values, of which PyTorch leaves open which of equal ones it takes,
or vectors whose signs are free.
"""
_UNDEFINED = "empty"
"""A part of the names of operators whose result holds anything: its shape and dtype are compared."""
NATIVE, DECOMPOSED, FALLBACK = "native", "decomposed", "fallback"
RIGHT = (NATIVE, DECOMPOSED, FALLBACK)
LEFT_OUT = "not exported"


class Sample(torch.nn.Module):
    """An operator with all arguments of one sample but its tensors, which it is called with."""

    def __init__(self, op: Any, dtype: Any, sample: Any):
        super().__init__()
        leaves, self._spec = _pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        self._op = op
        self._leaves = leaves
        self.operator = op.formatted_name
        self.dtype = str(dtype).removeprefix("torch.")
        self.dim = sample.args[0] if sample.args else sample.kwargs.get("dim", -1)
        self.tensors = tuple(leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor))
        self.expected: list[Any] = []

    def forward(self, *tensors: Any) -> Any:
        values = iter(tensors)
        leaves = [next(values) if isinstance(leaf, torch.Tensor) else leaf for leaf in self._leaves]
        first, args, kwargs = _pytree.tree_unflatten(leaves, self._spec)
        return self._op(first, *args, **kwargs)

    def arguments(self) -> str:
        """The arguments that are no tensors."""
        return str([leaf for leaf in self._leaves if not isinstance(leaf, torch.Tensor)])


class Samples(torch.nn.Module):
    """Several samples as one program, which is exported and compiled faster than each.

    Complex tensors are pairs of numbers outside of it.
    """

    def __init__(self, samples: Sequence[Sample]):
        super().__init__()
        self.samples = list(samples)
        self.tensors = tuple(as_pairs(t) for s in samples for t in s.tensors)

    def forward(self, *tensors: Any) -> Any:
        results: list[Any] = []
        for sample in self.samples:
            own, tensors = tensors[: len(sample.tensors)], tensors[len(sample.tensors) :]
            pairs = zip(own, sample.tensors, strict=True)
            results += _pytree.tree_leaves(
                sample(*(torch.view_as_complex(t) if s.is_complex() else t for t, s in pairs))
            )
        return tuple(as_pairs(r) for r in results)


def as_pairs(value: Any) -> Any:
    """A complex tensor as pairs of numbers, anything else itself."""
    is_complex = isinstance(value, torch.Tensor) and value.is_complex()
    return torch.view_as_real(value.resolve_conj()) if is_complex else value


@dataclass
class Outcome:
    """How the samples of an operator came out: the number of samples for each dtype and status, and problems."""

    operator: str
    counts: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    problems: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    seconds: float = 0.0

    def add(self, sample: Sample, status: str, what: str = "") -> None:
        self.counts.setdefault(sample.dtype, Counter())[status] += 1
        self.note(sample, status, what)

    def note(self, sample: Sample, status: str, what: str) -> None:
        """Remember what a sample's problem is, once."""
        line = f"{sample.dtype}: {what[:400]}"
        if what and line not in self.problems.setdefault(status, []):
            self.problems[status].append(line)


def samples_of(op: Any, dtype: Any, most: int) -> Iterator[Sample]:
    """Up to `most` samples, spread over all that there are; each time the same."""
    torch.manual_seed(0)
    samples = list(op.sample_inputs_func(op, "cpu", dtype, False))  # `sample_inputs` also looks for the test it is in
    count = min(most, len(samples))
    return (Sample(op, dtype, samples[int((i + 0.5) * len(samples) / count)]) for i in range(count))


def run_operator(op: Any, dtypes: Sequence[Any], most: int, how: str = "build") -> Outcome:
    """All samples of an operator with dtypes."""
    outcome = Outcome(op.formatted_name)
    begin = time.perf_counter()
    samples: list[Sample] = []
    for dtype in dtypes:
        for sample in samples_of(op, dtype, most):
            try:
                torch.manual_seed(0)
                sample.expected = list(_pytree.tree_leaves(sample(*(t.clone() for t in sample.tensors))))
            except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is no sample)
                outcome.add(sample, LEFT_OUT, f"{type(error).__name__}: {error}".splitlines()[0])
                continue
            samples.append(sample)
    _run(samples, outcome, how)
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _run(samples: Sequence[Sample], outcome: Outcome, how: str) -> None:
    """Run samples together; where that has a problem, in halves."""
    if not samples:
        return
    statuses = _together(Samples(samples), len(samples) == 1, how)
    if statuses is None:
        middle = len(samples) // 2
        _run(samples[:middle], outcome, how)
        _run(samples[middle:], outcome, how)
        return
    for sample, (status, what) in zip(samples, statuses, strict=True):
        outcome.add(sample, status, what)


def _together(module: Samples, single: bool, how: str) -> list[tuple[str, str]] | None:
    """How each sample of a program came out, and why. None: one of several has a problem."""
    try:
        program = torch.export.export(module, module.tensors, strict=False)
    except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is no sample)
        return [(LEFT_OUT, f"{type(error).__name__}: {error}".splitlines()[0])] if single else None
    try:
        ir, status, what = _imported(program, single)
        if how == "import":
            return [(status, what) for _ in module.samples]
        arrays = [as_array(t) for t in module.tensors]
        outputs = interpret(ir, "main", arrays) if how == "interpret" else build(ir).jit()["main"](*arrays)
    except UnsupportedOperators as error:
        return [("refused", "; ".join(error.notes))] if single else None
    except TiraxError as error:
        return [("failed", str(error).splitlines()[0])] if single else None
    except Exception as error:  # noqa: BLE001 (a mistake of ours is counted, not hidden)
        return [("crashed", f"{type(error).__name__}: {error}".splitlines()[0])] if single else None
    results: list[tuple[str, str]] = []
    for sample in module.samples:
        message = compared(outputs, sample, sample.expected)
        outputs = outputs[len(sample.expected) :]
        results.append(("wrong", message) if message else (status, what))
    return results


def _imported(program: Any, single: bool) -> tuple[Any, str, str]:
    """A program as a module, how it came to be one, and why not natively.

    Raises what the import raises: of a `single` sample the one with a fallback.
    """
    try:
        whole = expanded(program)
        return from_exported_program(program), NATIVE if whole is program else DECOMPOSED, ""
    except TiraxError as error:
        if not single:
            raise
        notes = error.notes if isinstance(error, UnsupportedOperators) else [str(error).splitlines()[0]]
    return from_exported_program(program, fallback="torch"), FALLBACK, "; ".join(notes)


def compared(outputs: Sequence[Any], sample: Sample, expected: Sequence[Any]) -> str:
    """What is wrong with the first outputs, which are those of a sample."""
    name = sample.operator
    count = 1 if name in _TIES else len(expected)
    for i, (reference, output) in enumerate(zip(expected[:count], outputs, strict=False)):
        value, output = as_array(reference), np.asarray(output)
        if is_undetermined(name) and (output.shape, output.dtype) == (value.shape, value.dtype):
            continue
        if name == "argsort" and output.shape == value.shape:
            value, output = (_ordered(sample, positions) for positions in (value, output))
        message = _difference(value, output, isinstance(reference, torch.Tensor), TOLERANCES.get(sample.dtype, 1e-4))
        if message and not _is_nearer(sample, i, output, reference):
            return message + f" of {[tuple(t.shape) for t in sample.tensors]} {sample.arguments()}"
    return ""


def as_array(value: Any) -> Any:
    """A tensor as an array, complex ones as pairs of numbers; a number as one of rank 0."""
    if isinstance(value, torch.Tensor):
        return array_of(as_pairs(value))
    return np.asarray([value.real, value.imag] if isinstance(value, complex) else value)


def _is_nearer(sample: Sample, i: int, output: Any, reference: Any) -> bool:
    """Whether a result in bfloat16 is nearer than PyTorch's to what PyTorch computes in float64."""
    if sample.dtype != "bfloat16" or output.shape != tuple(reference.shape):
        return False
    wide = [t.double() if t.dtype == torch.bfloat16 else t for t in sample.tensors]
    try:
        exact = _pytree.tree_leaves(sample(*wide))[i].double().numpy()
    except Exception:  # noqa: BLE001 (a sample with a dtype among its arguments)
        return False
    ours, theirs = (np.abs(v.astype("float64") - exact).max() for v in (output, reference.double().numpy()))
    return bool(ours <= theirs) or bool(np.isfinite(ours) and np.isnan(theirs))


def is_undetermined(operator: str) -> bool:
    """Whether the values of an operator's results are nobody's to compare: random, or not initialized."""
    return any(part in operator for part in (*RANDOM, _UNDEFINED))


def _ordered(module: Sample, positions: Any) -> Any:
    """What stands at the positions of an order: which of equal elements comes first is left open."""
    values = np.atleast_1d(array_of(module.tensors[0]))
    return np.take_along_axis(values, np.atleast_1d(positions), module.dim)


def _difference(expected: Any, value: Any, typed: bool, tolerance: float) -> str:
    if expected.shape != value.shape or (typed and expected.dtype != value.dtype):
        return f"{value.dtype} {value.shape} instead of {expected.dtype} {expected.shape}"
    absolute = tolerance
    if expected.dtype.kind not in "biuf":  # bfloat16: what is between is rounded at other places
        value, expected = value.astype("float32"), expected.astype("float32")
        absolute *= np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    off = ~np.isclose(value, expected, rtol=tolerance, atol=absolute, equal_nan=True)
    return f"{value[off].ravel()[:4]} instead of {expected[off].ravel()[:4]}" if off.any() else ""


def cases(only: Sequence[str] = ()) -> Iterator[tuple[Any, list[Any]]]:
    """The operators of PyTorch's list with their dtypes."""
    for op in op_db:
        if not only or op.formatted_name in only or op.name in only:
            yield op, [dtype for dtype in DTYPES if dtype in op.supported_dtypes("cpu")]


def report(path: Path) -> None:
    """The counts of all that the file has, and the problems."""
    total: Counter[str] = Counter()
    lines = {entry["operator"]: entry for entry in map(json.loads, path.read_text().splitlines())}
    for line in lines.values():
        for counts in line["counts"].values():
            total.update(counts)
        for status, problems in line["problems"].items():
            if status != LEFT_OUT:
                reason = None if status == "wrong" else REASONS.get(line["operator"])
                for problem in [f"because: {reason}"] if reason else problems:
                    print(f"{status:12} {line['operator']} {problem}")
    print(dict(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--again", action="store_true", help="run what the file has already, too")
    parser.add_argument("--most", type=int, default=4, help="samples of an operator with a dtype")
    parser.add_argument("--dtypes", nargs="*", default=[str(d).removeprefix("torch.") for d in DTYPES])
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    parser.add_argument("--part", default="0/1", help="the i-th of n parts: 0/2")
    parser.add_argument("--how", choices=("build", "interpret", "import"), default="build", help="how programs are run")
    args = parser.parse_args()
    known: set[str] = set()
    if args.results.exists() and not args.again:
        known = {json.loads(line)["operator"] for line in args.results.read_text().splitlines()}
    part, parts = map(int, args.part.split("/"))
    end = time.monotonic() + args.seconds
    with args.results.open("a") as file, warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        for i, (op, dtypes) in enumerate(cases(args.only)):
            if i % parts != part or op.formatted_name in known or time.monotonic() > end:
                continue
            chosen = [dtype for dtype in dtypes if str(dtype).removeprefix("torch.") in args.dtypes]
            outcome = run_operator(op, chosen, args.most, args.how)
            file.write(json.dumps(vars(outcome)) + "\n")
            file.flush()
    report(args.results)


if __name__ == "__main__":
    sys.exit(main())
