"""`tirax reduce`: shrink a failing program to a minimal one."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from argparse import Namespace
from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...diagnostics import TiraxError, unknown_name
from ...driver.pipelines import PIPELINES
from ...hardware import usable_cores
from ...ir.verification.verify import Verifier
from ...universe import full_universe
from ..checking import require_sizes
from ..driver import all_passes
from ..guard import OK, UsageError, as_usage, report
from ..models import program_of
from ..outputs import write_output
from ..specs import parse_specs
from .edits import operations
from .predicates import PREDICATES, Predicate, Question, built_in, of_command
from .program import Reduction
from .speed import limit_of

_PIPELINE = ("pipeline", "default-cpu")
_NATIVE = ("native-differs", "numpy-differs", "slower")
"""Predicates on native code, for which the passes are completed down to it."""
_TIMES = 3
"""Repetitions of a measurement that may lie at the limit."""


def reduce(options: Namespace) -> int:
    """Reduce a program and write it. Raises `TiraxError` if the original program does not fail."""
    write = _writer(options)
    predicate, what = _predicate(options, write)
    jobs = _jobs(options)
    module = program_of(options.file, options.format)
    Verifier().verify(module)
    require_sizes(module, options.sizes)
    start = time.monotonic()
    (sign,) = predicate([module])
    if sign is None:
        raise TiraxError("the program does not have the fault", expected=what, hint="nothing was written")
    report(f"reduce: {operations(module)} operations; {sign}")
    reduction = Reduction(predicate, sign, jobs)
    small = reduction.run(module, options.seconds)
    if not any(predicate([small]) == [sign] for _ in range(_TIMES)):
        raise TiraxError("the fault comes and goes: the smaller program had it, and does not any more")
    write_output(options.output, write(small).encode())
    seconds = time.monotonic() - start
    late = "; the time was over, it may become smaller with more --seconds" if seconds > options.seconds else ""
    counts = f"{operations(module)} operations to {operations(small)}"
    report(f"reduce: {counts}, {reduction.evaluated} programs tried in {seconds:.1f} s{late}")
    return OK


def _jobs(options: Namespace) -> int:
    """Return how many programs are tried in parallel: timed ones run alone. Raises `UsageError`."""
    if options.jobs is not None and options.jobs < 1:
        raise UsageError("-j is how many programs are tried at once", expected="1 or more", found=str(options.jobs))
    if options.predicate == "slower":
        return 1
    return options.jobs or usable_cores()


def _predicate(options: Namespace, write: Callable[[ModuleOp], str]) -> tuple[Predicate, str]:
    """Return the predicate and its description. Raises `UsageError`."""
    if (options.predicate is None) == (options.command_line is None):
        raise UsageError("--predicate or --command says what is to be kept", expected=f"one of them: {_known()}")
    if options.command_line is not None:
        return _command(options, write), f"exit status 0 of {options.command_line}"
    name = options.predicate
    if name not in PREDICATES:
        raise as_usage(unknown_name("predicate", name, PREDICATES))
    if (name == "slower") != (options.than is not None):
        raise UsageError("slower than what?", expected="--predicate slower --than PIPELINE, or a time: 200us")
    return built_in(name, _question(options), options.limit), PREDICATES[name][1]


def _question(options: Namespace) -> Question:
    """Return the passes and options that the predicate uses."""
    steps: list[tuple[str, str]] = [*(options.steps or ())]
    to_native = options.predicate in _NATIVE and not any(kind == "pipeline" for kind, _ in steps)
    if to_native or not steps:
        steps.append(_PIPELINE)
    passes = all_passes(steps, full_universe().all_passes)
    limit = None if options.than is None else limit_of(options.than)
    than = () if limit is not None or options.than is None else _named(options.than)
    return Question(passes, options.sizes, than, limit, options.ratio, options.tolerance)


def _named(text: str) -> tuple[ModulePass, ...]:
    """Return the passes of a comma-separated list of pipelines and passes. Raises `UsageError`."""
    steps = [
        ("pipeline", spec.name) if spec.name in PIPELINES else ("passes", str(spec))
        for spec in parse_specs(text, "--than")
    ]
    return all_passes(steps, full_universe().all_passes)


def _known() -> str:
    return ", ".join(PREDICATES)


def _command(options: Namespace, write: Callable[[ModuleOp], str]) -> Predicate:
    if options.steps:
        raise UsageError("passes belong to --predicate", hint="a command names its own: tirax-opt {} -p …")
    try:
        words = shlex.split(options.command_line)
    except ValueError as error:
        raise UsageError(f"--command is not understood: {error}", found=options.command_line) from error
    if not words or not any("{}" in word for word in words[1:]):
        raise UsageError(
            "--command takes a file as {}", expected="'tirax-opt {} -p fuse-ops'", found=options.command_line
        )
    if shutil.which(words[0]) is None:
        raise UsageError(f"there is no command '{words[0]}'")
    return of_command(words, _suffix(options), write, options.limit)


def _suffix(options: Namespace) -> str:
    """Return the extension of written programs: that of the output file, else of the input."""
    for path in (options.output, options.file):
        extension = os.path.splitext(path or "")[1].partition(":")[0]
        if extension in (".py", ".mlir"):
            return extension
    return ".py" if options.format in ("py", "tvmscript") else ".mlir"


def _writer(options: Namespace) -> Callable[[ModuleOp], str]:
    if _suffix(options) == ".py":
        from ...script.printer import print_script

        return lambda module: print_script(module, show_meta=True) + "\n"
    return lambda module: str(module) + "\n"
