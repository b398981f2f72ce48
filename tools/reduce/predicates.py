"""What has to hold of a program that is made smaller: a fault that passes have with it, or what a command says.

A predicate gives the sign of the fault, None where there is none: smaller programs must have the same sign.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException

from ...diagnostics import VerifyError
from ...lowering.build import run_passes
from ...script.mlir_text import reading_context
from ..checking import MeaningCheck
from ..forks import in_fork
from .search import gist

Predicate = Callable[[ModuleOp], str | None]


@dataclass(frozen=True)
class Passes:
    """The passes that a predicate runs, and sizes of symbolic variables on which it compares."""

    passes: tuple[ModulePass, ...]
    sizes: tuple[int, ...]

    def run(self, module: ModuleOp, verify: bool = True) -> ModuleOp:
        """What the passes make of a copy."""
        copy = module.clone()
        run_passes(self.passes, reading_context(), copy, verify_each=verify)
        return copy


def _crash(options: Passes, module: ModuleOp) -> str | None:
    """A pass raises what is no diagnostic."""
    try:
        options.run(module)
    except DiagnosticException:
        return None
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is asked for)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} in {os.path.basename(place.filename)}:{place.name}"
    return None


def _verify_error(options: Passes, module: ModuleOp) -> str | None:
    """A program is not well formed after a pass."""
    try:
        options.run(module)
    except VerifyError as error:
        return gist(error.message)
    except DiagnosticException:
        return None
    return None


def _meaning_changes(options: Passes, module: ModuleOp) -> str | None:
    """The program computes something else after the passes, on the interpreter or, where they lower it, natively."""
    try:
        after = options.run(module, verify=False)
        found = MeaningCheck(options.sizes).difference(module.clone(), after, "the passes", "reduce")
    except DiagnosticException:
        return None
    return None if found is None else "computes something else"


PREDICATES: dict[str, tuple[Callable[[Passes, ModuleOp], str | None], str]] = {
    "crash": (_crash, "a pass ends with an internal error, or ends the process"),
    "verify-error": (_verify_error, "the program is not well formed after a pass"),
    "meaning-changes": (_meaning_changes, "the program computes something else after the passes"),
    "native-differs": (_meaning_changes, "native code computes something else than the interpreter"),
}
"""Name -> what finds the fault, what it is."""

_ENDINGS = {"crash": ("crash", "hang")}


def built_in(name: str, passes: Sequence[ModulePass], sizes: Sequence[int], seconds: float) -> Predicate:
    """A predicate of `PREDICATES`, asked in a process of its own that may take so many seconds."""
    ask, options = PREDICATES[name][0], Passes(tuple(passes), tuple(sizes))

    def predicate(module: ModuleOp) -> str | None:
        outcome = in_fork(lambda: ask(options, module), seconds)
        return outcome.message if outcome.status in _ENDINGS.get(name, ()) else outcome.report

    return predicate


def of_command(words: Sequence[str], suffix: str, write: Callable[[ModuleOp], str], seconds: float) -> Predicate:
    """A command that ends with 0 where a program is of interest; `{}` in its words stands for the program's file."""

    def predicate(module: ModuleOp) -> str | None:
        with tempfile.TemporaryDirectory(prefix="tirax-reduce-") as folder:
            path = Path(folder, f"program{suffix}")
            path.write_text(write(module), encoding="utf-8")
            return _asked([word.replace("{}", str(path)) for word in words], seconds)

    return predicate


def _asked(words: Sequence[str], seconds: float) -> str | None:
    null = subprocess.DEVNULL
    try:
        done = subprocess.run(words, timeout=seconds, check=False, stdin=null, stdout=null, stderr=null)
    except subprocess.TimeoutExpired:
        return None
    return "exit status 0" if done.returncode == 0 else None
