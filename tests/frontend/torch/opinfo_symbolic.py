"""Samples of PyTorch's operators with each of their dimensions symbolic in turn, compiled once and run at two sizes.

    python tests/frontend/torch/opinfo_symbolic.py build/symbolic.jsonl                 # goes on where it stopped
    python tests/frontend/torch/opinfo_symbolic.py build/symbolic.jsonl --only add cumsum --again

Dimensions of the same extent grow together, in all tensors of a sample; its other arguments stay as they are. A sample
counts where PyTorch itself computes the larger one and exports the program without fixing the size.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from opinfo import LEFT_OUT, NATIVE, Outcome, Sample, Samples, as_array, cases, compared, is_undetermined, samples_of
from torch.utils import _pytree

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.frontend.importing.errors import UnsupportedOperators
from tirax.frontend.torch.exported_program import from_exported_program

FIXED, TOO_LARGE = "fixed by PyTorch", "of one size"

_FACTORED = ("linalg", "lu", "cholesky", "det", "inverse", "triangular_solve", "qr", "svd")
"""Parts of the names of operators that take regular matrices."""
_FREE_SIGNS = ("eigh", "svd", "qr")
"""Parts of the names of operators whose vectors have free signs."""
_BOUNDS = ("out of its bounds", "traced_for_these_sizes", "wrong extent")
"""Of errors for sizes that PyTorch has not traced the program for."""


class Growing:
    """A sample with the extent of its dimensions that grow, and its larger form."""

    def __init__(self, sample: Sample, extent: int):
        self.sample, self.extent = sample, extent
        self.sizes = tuple({i: torch.export.Dim.AUTO for i, n in enumerate(t.shape) if n == extent}
                           for t in sample.tensors)  # fmt: skip
        is_factored = any(part in sample.operator for part in _FACTORED)
        self.larger = copy.copy(sample)
        self.larger.tensors = self.tensors = tuple(
            bordered(t) if is_factored and t.shape[-2:] == (extent, extent) else grown(t, extent)
            for t in sample.tensors
        )
        self.expected: list[Any] = []

    def is_possible(self) -> bool:
        """Compute the larger sample; whether PyTorch does."""
        try:
            torch.manual_seed(0)
            self.expected = list(_pytree.tree_leaves(self.sample(*(t.clone() for t in self.tensors))))
        except Exception:  # noqa: BLE001 (whatever PyTorch refuses is no sample)
            return False
        return True


def grown(tensor: Any, extent: int) -> Any:
    """A tensor whose dimensions of an extent have one element more: their first one once again.

    Of a vector it is the last one, so that what ascends goes on doing so.
    """
    for axis, count in enumerate(tensor.shape):
        if count == extent:
            tensor = torch.cat([tensor, tensor.narrow(axis, count - 1 if tensor.ndim == 1 else 0, 1)], axis)
    return tensor


def bordered(matrices: Any) -> Any:
    """Square matrices with one element more on the diagonal, so that they stay regular, and positive definite."""
    larger = torch.nn.functional.pad(grown_in_front(matrices, matrices.shape[-1]), (0, 1, 0, 1))
    larger[..., -1, -1] = larger[..., 0, 0]
    return larger


def grown_in_front(matrices: Any, extent: int) -> Any:
    """Matrices whose dimensions in front have one element more where they have this extent."""
    for axis in range(matrices.ndim - 2):
        if matrices.shape[axis] == extent:
            matrices = torch.cat([matrices, matrices.narrow(axis, 0, 1)], axis)
    return matrices


def is_random(sample: Sample) -> bool:
    """Whether a sample draws random numbers: its results differ from call to call, if it does not set the seed."""
    results: list[list[Any]] = []
    with mock.patch("torch.manual_seed"):
        for _ in range(2):
            results.append(_pytree.tree_leaves(sample(*(t.clone() for t in sample.tensors))))
            torch.rand(1)  # some samples restore the state of the generator
    return any(
        isinstance(a, torch.Tensor) and not torch.equal(torch.nan_to_num(as_float(a)), torch.nan_to_num(as_float(b)))
        for a, b in zip(*results, strict=True)
    )


def as_float(tensor: Any) -> Any:
    """A tensor in double precision, complex ones as pairs."""
    return (torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor).double()


def growing_of(sample: Sample) -> Iterator[Growing]:
    """The forms of a sample in which a dimension is symbolic."""
    if any(t.layout != torch.strided for t in sample.tensors):
        return
    for extent in sorted({n for t in sample.tensors for n in t.shape if n > 1}):
        yield Growing(sample, extent)


def run_operator(op: Any, dtype: Any, most: int) -> Outcome:
    """All forms of the samples of an operator."""
    outcome = Outcome(op.formatted_name)
    begin = time.perf_counter()
    forms: list[Growing] = []
    for sample in samples_of(op, dtype, most):
        with suppress(Exception):
            if is_random(sample):
                continue
            torch.manual_seed(0)
            sample.expected = list(_pytree.tree_leaves(sample(*(t.clone() for t in sample.tensors))))
        for form in growing_of(sample):
            if form.is_possible():
                forms.append(form)
            else:
                outcome.add(sample, TOO_LARGE)
    _run(forms, outcome)
    outcome.seconds = time.perf_counter() - begin
    return outcome


def _run(forms: Sequence[Growing], outcome: Outcome) -> None:
    if not forms:
        return
    statuses = _together(forms)
    if statuses is None:
        middle = len(forms) // 2
        _run(forms[:middle], outcome)
        _run(forms[middle:], outcome)
        return
    for form, (status, what) in zip(forms, statuses, strict=True):
        outcome.add(form.sample, status, what and f"{what} (extent {form.extent})")


def _together(forms: Sequence[Growing]) -> list[tuple[str, str]] | None:
    """How each form came out, and why. None: one of several has a problem."""
    single = len(forms) == 1
    module = Samples([f.sample for f in forms])
    sizes = (tuple(s for f in forms for s in f.sizes),)
    try:
        program = torch.export.export(module, module.tensors, dynamic_shapes=sizes, strict=False)
    except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is no sample)
        return [(LEFT_OUT, f"{type(error).__name__}: {error}".splitlines()[0])] if single else None
    if not _is_symbolic(program, sizes[0]):
        return [(FIXED, "")] if single else None
    try:
        main = build(from_exported_program(program)).jit()["main"]
        results = [
            main(*(as_array(t) for t in tensors)) for tensors in (module.tensors, [t for f in forms for t in f.tensors])
        ]
    except UnsupportedOperators as error:
        return [("refused", "; ".join(error.notes))] if single else None
    except TiraxError as error:
        what = str(error).splitlines()[0]
        return [(FIXED if any(text in what for text in _BOUNDS) else "failed", what)] if single else None
    except Exception as error:  # noqa: BLE001 (a mistake of ours is counted, not hidden)
        return [("crashed", f"{type(error).__name__}: {error}".splitlines()[0])] if single else None
    statuses: list[tuple[str, str]] = []
    for form in forms:
        if any(part in form.sample.operator for part in _FREE_SIGNS):
            results = [[np.abs(value) for value in of_one] for of_one in results]
            form.sample.expected, form.expected = ([v.abs() for v in e] for e in (form.sample.expected, form.expected))
        message = compared(results[0], form.sample, form.sample.expected) or compared(
            results[1], form.larger, form.expected
        )
        results = [r[len(form.expected) :] for r in results]
        statuses.append(("wrong", message) if message else (NATIVE, ""))
    return statuses


def _is_symbolic(program: Any, sizes: Sequence[Any]) -> bool:
    """Whether all dimensions that grow are symbolic in the program."""
    values = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    shapes = [values[name].shape for name in program.graph_signature.user_inputs]
    extents = [shape[i] for shape, own in zip(shapes, sizes, strict=True) for i in own]
    return all(isinstance(n, torch.SymInt) and n.node.expr.free_symbols for n in extents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--again", action="store_true", help="run what the file has already, too")
    parser.add_argument("--most", type=int, default=2, help="samples of an operator")
    parser.add_argument("--part", default="0/1", help="the i-th of n parts: 0/2")
    args = parser.parse_args()
    known: set[str] = set()
    if args.results.exists() and not args.again:
        known = {json.loads(line)["operator"] for line in args.results.read_text().splitlines()}
    part, parts = map(int, args.part.split("/"))
    with args.results.open("a") as file, warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        for i, (op, dtypes) in enumerate(cases(args.only)):
            if (
                i % parts == part
                and op.formatted_name not in known
                and dtypes
                and not is_undetermined(op.formatted_name)
            ):
                outcome = run_operator(op, dtypes[0], args.most)
                file.write(json.dumps(vars(outcome)) + "\n")
                file.flush()


if __name__ == "__main__":
    sys.exit(main())
