"""Predicates for reductions: a fault that occurs in passes, or the exit status of a command.

A predicate returns the signature of the fault, None if there is none; smaller programs must have the same
signature. It is evaluated on several programs at once, each in its own process.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ...diagnostics import VerifyError
from ...driver.build import run_passes
from ...script.mlir_text import reading_context
from ..checking import MeaningCheck
from ..forks import Outcome, in_forks
from ..options import Sizes
from .precision import differs
from .search import gist
from .speed import times

Predicate = Callable[[Sequence[ModuleOp]], list[str | None]]
Ask = Callable[["Question", ModuleOp], str | None]


@dataclass(frozen=True)
class Question:
    """The passes that a predicate runs, and the symbolic sizes on which it compares.

    A program is slower if it takes `ratio` times as long as after the passes `than`, or as `limit` seconds.
    """

    passes: tuple[ModulePass, ...]
    sizes: Sizes
    than: tuple[ModulePass, ...] = ()
    limit: float | None = None
    ratio: float = 2.0
    tolerance: float = 1e-3

    def run(self, module: ModuleOp, verify: bool = True) -> ModuleOp:
        """Run the passes on a copy and return it."""
        copy = module.clone()
        run_passes(self.passes, reading_context(), copy, verify_each=verify)
        return copy


def _crash(question: Question, module: ModuleOp) -> str | None:
    """Detect an exception of a pass that is not a diagnostic."""
    try:
        question.run(module)
    except DiagnosticException:
        return None
    except Exception as error:  # noqa: BLE001 (any exception is the fault to find)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {os.path.basename(place.filename)}:{place.name}"
    return None


def _verify_error(question: Question, module: ModuleOp) -> str | None:
    """Detect an ill-formed program after a pass."""
    try:
        question.run(module)
    except VerifyError as error:
        return gist(error.message)
    except DiagnosticException:
        return None
    return None


def _meaning_changes(question: Question, module: ModuleOp) -> str | None:
    """Detect changed results after the passes, on the interpreter or, for lowered functions, natively."""
    try:
        after = question.run(module, verify=False)
        difference = MeaningCheck(question.sizes).difference(module.clone(), after, "the passes", "reduce")
    except DiagnosticException:
        return None
    return None if difference is None else "computes something else"


def _slower(question: Question, module: ModuleOp) -> str | None:
    """Detect native code that is slower than that of other passes, or than a limit."""
    try:
        others = [question.than] if question.limit is None else []
        took, *limit = times(module, [question.passes, *others], question.sizes)
    except DiagnosticException:
        return None
    return "it is slower" if took >= question.ratio * (limit[0] if limit else question.limit or 0.0) else None


def _numpy_differs(question: Question, module: ModuleOp) -> str | None:
    """Detect native code whose results differ from double-precision numpy by more than the tolerance."""
    try:
        return "differs from numpy" if differs(module, question.passes, question.sizes, question.tolerance) else None
    except DiagnosticException:
        return None


PREDICATES: dict[str, tuple[Ask, str]] = {
    "crash": (_crash, "a pass ends with an internal error, or ends the process"),
    "verify-error": (_verify_error, "the program is not well formed after a pass"),
    "meaning-changes": (_meaning_changes, "the program computes something else after the passes"),
    "native-differs": (_meaning_changes, "native code computes something else than the interpreter"),
    "numpy-differs": (_numpy_differs, "native code is further from numpy with 64 bits than --tolerance"),
    "slower": (_slower, "native code takes longer than that of other passes, or than a limit"),
}
"""The function that detects a fault and its description, by name."""

_ENDINGS = {"crash": ("crash", "hang")}


def built_in(name: str, question: Question, seconds: float) -> Predicate:
    """Return a predicate of `PREDICATES` that is evaluated in child processes for at most `seconds`."""
    ask = PREDICATES[name][0]

    def sign(outcome: Outcome) -> str | None:
        return outcome.message if outcome.status in _ENDINGS.get(name, ()) else outcome.report

    def predicate(modules: Sequence[ModuleOp]) -> list[str | None]:
        return [sign(o) for o in in_forks([functools.partial(ask, question, module) for module in modules], seconds)]

    return predicate


def of_command(words: Sequence[str], suffix: str, write: Callable[[ModuleOp], str], seconds: float) -> Predicate:
    """Return a predicate that runs a command: exit code 0 means that a program still fails; `{}` is its file."""

    def predicate(modules: Sequence[ModuleOp]) -> list[str | None]:
        with tempfile.TemporaryDirectory(prefix="tirax-reduce-") as folder:
            paths = [Path(folder, str(number), f"program{suffix}") for number in range(len(modules))]
            for path, module in zip(paths, modules, strict=True):
                path.parent.mkdir()
                path.write_text(write(module), encoding="utf-8")
            commands = [[word.replace("{}", str(path)) for word in words] for path in paths]
            return in_threads(lambda command: _run_command(command, seconds), commands)

    return predicate


def in_threads(function: Callable[[list[str]], str | None], arguments: list[list[str]]) -> list[str | None]:
    """Return the results of a function for all arguments, computed in parallel."""
    with ThreadPoolExecutor(max(1, len(arguments))) as pool:
        return list(pool.map(function, arguments))


def _run_command(words: Sequence[str], seconds: float) -> str | None:
    null = subprocess.DEVNULL
    try:
        done = subprocess.run(words, timeout=seconds, check=False, stdin=null, stdout=null, stderr=null)
    except subprocess.TimeoutExpired:
        return None
    return "exit status 0" if done.returncode == 0 else None
