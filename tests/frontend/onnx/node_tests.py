"""ONNX's own tests of operators, run as native code through its interface of backends.

    python tests/frontend/onnx/node_tests.py -j 2 [-k PATTERN] [--json FILE] [--failures]

Each case is `passed`, `rounded` (within four units of float16, but not within the tolerance), `wrong` (it ran, with
another result), `refused` (a typed error says why, or ONNX cannot compare its results) or `failed` (another error).
`node_test_reasons.py` lists those that need not pass, with the reason of each.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import multiprocessing
import pkgutil
import re
import sys
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from node_test_reasons import HALF, RANDOM, reason_of

PASSED, ROUNDED, WRONG, REFUSED, FAILED = "passed", "rounded", "wrong", "refused", "failed"
LOOSER = {"rtol": 4e-3, "atol": 1e-6}
"""The tolerance within which a result is that of other roundings, and not wrong: four units of float16."""


@dataclass
class Outcome:
    """What became of a case."""

    name: str
    status: str
    detail: str = ""
    seconds: float = 0.0


def modules() -> list[str]:
    """The modules of the package that make the cases, each those of an operator or a few."""
    import onnx.backend.test.case.node as package

    actual = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [m.name.removeprefix(f"{package.__name__}.") for m in actual if not m.ispkg and "._" not in m.name]


@cache
def cases_of(module: str) -> dict[str, Any]:
    """The cases of a module by name; they are made as it is imported, all of them in ten seconds."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count = len(node._NodeTestCases)
        import_module(f"{node.__name__}.{module}")
    return {case.name: case for case in node._NodeTestCases[count:]}


@cache
def cases() -> dict[str, Any]:
    """All cases by name."""
    return {name: case for module in modules() for name, case in cases_of(module).items()}


def kinds_of_nodes(graph: Any) -> set[tuple[str, ...]]:
    """The operators of a graph and of those inside of it, each with the names of its attributes."""
    kinds = {(node.op_type, *sorted(a.name for a in node.attribute)) for node in graph.node}
    inner = [a.g for node in graph.node for a in node.attribute if a.HasField("g")]
    return kinds.union(*map(kinds_of_nodes, inner))


def group_of(name: str) -> str:
    """The operator that a case is about: its first node's."""
    case = cases()[name]
    return case.model.graph.node[0].op_type if case.model.graph.node else ""


def run_case(name: str, module: str | None = None, native: bool = True) -> Outcome:
    """Run a case, of a module where one is named, through `prepare` and compare its outputs as ONNX does.

    Not `native`, what was imported is interpreted, which costs a tenth.
    """
    from tirax.frontend.onnx import backend

    case = (cases() if module is None else cases_of(module))[name]
    start = time.perf_counter()
    with nullcontext() if native else patch.object(backend, "build", interpreted):
        status, detail = _run(case)
    return Outcome(name, status, detail, time.perf_counter() - start)


def interpreted(module: Any) -> dict[str, Any]:
    """The functions of a module as an executable has them."""
    from tirax.interpreter import interpret

    return {"main": lambda *args: interpret(module, "main", args)}


def _run(case: Any) -> tuple[str, str]:
    from onnx.backend.test.runner import _normalize_tensor

    from tirax.diagnostics import TiraxError
    from tirax.frontend.onnx import backend

    try:
        program = backend.prepare(case.model, "CPU")
        for inputs, expected in case.data_sets:
            outputs = program.run([_normalize_tensor(v) for v in inputs])
            status, detail = _compared([_normalize_tensor(v) for v in expected], outputs, case)
            if status != PASSED:
                return status, detail
    except TiraxError as error:
        return REFUSED, str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what became of the case
        return FAILED, f"{type(error).__name__}: {error}"
    return PASSED, ""


def _compared(expected: list[Any], outputs: Any, case: Any) -> tuple[str, str]:
    from onnx.backend.test.runner import Runner

    try:
        Runner.assert_similar_outputs(expected, outputs, rtol=case.rtol, atol=case.atol)
    except TypeError as error:  # it cannot compare what these are
        return REFUSED, str(error)
    except AssertionError as error:
        try:
            Runner.assert_similar_outputs(expected, outputs, **LOOSER)
        except AssertionError:
            return WRONG, str(error)
        return ROUNDED, str(error)
    return PASSED, ""


def unexpected(outcome: Outcome) -> str | None:
    """What is not as the table of reasons says of a case; None where all is."""
    reason = reason_of(outcome.name)
    if reason is None:
        return None if outcome.status == PASSED else f"{outcome.status} {outcome.name}: {first_lines(outcome.detail)}"
    if outcome.status == PASSED and reason == HALF:
        return None  # the order of sums is the processor's
    if outcome.status == PASSED:
        return f"{outcome.name} passes, and has a reason not to: {reason}"
    if outcome.status == WRONG and reason == RANDOM and "Mismatched elements" in outcome.detail:
        return None  # its dtype and shape are right; the numbers are those of another generator
    if outcome.status in (WRONG, FAILED):
        return f"{outcome.status} {outcome.name}, whatever its reason: {first_lines(outcome.detail)}"
    return None


def run_cases(names: list[str], jobs: int = 1) -> list[Outcome]:
    """Run cases, `jobs` at once."""
    if jobs == 1:
        return [run_case(name) for name in names]
    cases()
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=300) as pool:
        return pool.map(run_case, names, chunksize=8)


def main() -> int:
    """Run cases and print what became of them; 1 where one is not as the table of reasons says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=1, help="processes")
    parser.add_argument("-k", default="*", help="a pattern of names, such as '*resize*'")
    parser.add_argument("--again", type=Path, help="a file of outcomes: run those that did not pass, and update it")
    parser.add_argument("--json", type=Path, help="a file for the outcomes")
    parser.add_argument("--failures", action="store_true", help="print each case that did not pass")
    args = parser.parse_args()
    names = sorted(n for n in cases() if fnmatch.fnmatch(n, args.k) or args.k in n)
    kept: list[Outcome] = []
    if args.again:
        before = [Outcome(**o) for o in json.loads(args.again.read_text())]
        kept = [o for o in before if o.status == PASSED]
        names = [n for n in names if n not in {o.name for o in kept}]
        args.json = args.again
    outcomes = [*kept, *run_cases(names, args.j)]
    if args.json and (args.k == "*" or not args.again):
        args.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1))
    if args.failures:
        for o in outcomes:
            if o.status != PASSED:
                print(f"{o.status:8} {o.name}: {first_lines(o.detail)}")
    print(", ".join(f"{n} {s}" for s, n in Counter(o.status for o in outcomes).items()), f"of {len(outcomes)}")
    problems = [p for o in outcomes if (p := unexpected(o)) is not None]
    print(*problems, sep="\n")
    return 1 if problems else 0


def first_lines(text: str) -> str:
    """An error on one line."""
    return re.sub(r"\s+", " ", text)[:260]


if __name__ == "__main__":
    sys.exit(main())
