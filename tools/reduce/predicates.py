"""What has to hold of a program that is made smaller: a fault that passes have with it, or what a command says.

A predicate gives the sign of the fault, None where there is none: smaller programs must have the same sign. It is asked
of several programs at once, each in a process of its own.
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
from .precision import differs
from .search import gist
from .speed import times

Predicate = Callable[[Sequence[ModuleOp]], list[str | None]]
Ask = Callable[["Question", ModuleOp], str | None]


@dataclass(frozen=True)
class Question:
    """The passes that a predicate runs, and sizes of symbolic variables on which it compares.

    What is slower is `ratio` times as slow as after the passes `than`, or takes as many times `limit` seconds.
    """

    passes: tuple[ModulePass, ...]
    sizes: tuple[int, ...]
    than: tuple[ModulePass, ...] = ()
    limit: float | None = None
    ratio: float = 2.0
    tolerance: float = 1e-3

    def run(self, module: ModuleOp, verify: bool = True) -> ModuleOp:
        """What the passes make of a copy."""
        copy = module.clone()
        run_passes(self.passes, reading_context(), copy, verify_each=verify)
        return copy


def _crash(question: Question, module: ModuleOp) -> str | None:
    """A pass raises what is no diagnostic."""
    try:
        question.run(module)
    except DiagnosticException:
        return None
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is asked for)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {os.path.basename(place.filename)}:{place.name}"
    return None


def _verify_error(question: Question, module: ModuleOp) -> str | None:
    """A program is not well formed after a pass."""
    try:
        question.run(module)
    except VerifyError as error:
        return gist(error.message)
    except DiagnosticException:
        return None
    return None


def _meaning_changes(question: Question, module: ModuleOp) -> str | None:
    """The program computes something else after the passes, on the interpreter or, where they lower it, natively."""
    try:
        after = question.run(module, verify=False)
        difference = MeaningCheck(question.sizes).difference(module.clone(), after, "the passes", "reduce")
    except DiagnosticException:
        return None
    return None if difference is None else "computes something else"


def _slower(question: Question, module: ModuleOp) -> str | None:
    """Native code takes longer than that of other passes, or than a limit."""
    try:
        others = [question.than] if question.limit is None else []
        took, *limit = times(module, [question.passes, *others], question.sizes)
    except DiagnosticException:
        return None
    return "it is slower" if took >= question.ratio * (limit[0] if limit else question.limit or 0.0) else None


def _numpy_differs(question: Question, module: ModuleOp) -> str | None:
    """Native code is further from numpy with 64 bits than the tolerance."""
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
"""Name -> what finds the fault, what it is."""

_ENDINGS = {"crash": ("crash", "hang")}


def built_in(name: str, question: Question, seconds: float) -> Predicate:
    """A predicate of `PREDICATES`, asked in processes of their own that may take so many seconds."""
    ask = PREDICATES[name][0]

    def sign(outcome: Outcome) -> str | None:
        return outcome.message if outcome.status in _ENDINGS.get(name, ()) else outcome.report

    def predicate(modules: Sequence[ModuleOp]) -> list[str | None]:
        return [sign(o) for o in in_forks([functools.partial(ask, question, module) for module in modules], seconds)]

    return predicate


def of_command(words: Sequence[str], suffix: str, write: Callable[[ModuleOp], str], seconds: float) -> Predicate:
    """A command that ends with 0 where a program is of interest; `{}` in its words stands for the program's file."""

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
    """What a function gives for each, all at once."""
    with ThreadPoolExecutor(max(1, len(arguments))) as pool:
        return list(pool.map(function, arguments))


def _run_command(words: Sequence[str], seconds: float) -> str | None:
    null = subprocess.DEVNULL
    try:
        done = subprocess.run(words, timeout=seconds, check=False, stdin=null, stdout=null, stderr=null)
    except subprocess.TimeoutExpired:
        return None
    return "exit status 0" if done.returncode == 0 else None
