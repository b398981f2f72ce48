"""Compile programs and models named on a command line: the common part of `tirax run`, `build` and `explain`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..diagnostics import unknown_name
from ..runtime import Executable
from ..universe import full_universe
from .guard import UsageError, as_usage, report, schedule_notes
from .internal_errors import reproducing
from .progress import Progress


def function_name(name: str | None, executable: Executable) -> str:
    """Return the function to call: `name`, else `main`, else the only function. Raises `UsageError`."""
    if name is None:
        name = next(iter(executable.functions)) if len(executable.functions) == 1 else "main"
    if name not in executable.functions:
        raise as_usage(unknown_name("function", name, executable.functions))
    return name


def compile_program(options: Namespace, instruments: Sequence[Any] = ()) -> Executable:
    """Compile the file that the options name; `instruments` observe the passes. Raises `TiraxError`."""
    from ..driver.build import build as build_executable
    from ..ir.passes.extern import ALLOW_EXTERN
    from ..ir.passes.transform import PassContext

    timings = Progress(options.file)
    config = {ALLOW_EXTERN: options.allow_extern} if options.allow_extern else None
    context = PassContext(config=config, instruments=instruments)
    try:
        with timings, context, schedule_notes(), reproducing(*_reproducer(options)):
            module = read_module(options)
            return build_executable(module, options.target, pipeline=options.pipeline)
    finally:
        if options.timing:
            report(str(timings))


def _reproducer(options: Namespace) -> tuple[Callable[[], str], Callable[[], list[str]]]:
    """Return functions for the text of the program and for the `tirax-opt` options that run the passes of a build."""
    passes = ["-p", options.passes] if options.passes else []
    return lambda: str(read_source(options)), lambda: [*passes, "--pipeline", options.pipeline]


def read_module(options: Namespace) -> ModuleOp:
    """Read the program and run the passes requested before the pipeline."""
    from ..driver.build import run_passes
    from ..script.mlir_text import reading_context

    module = read_source(options)
    run_passes(own_passes(options), reading_context(), module)
    return module


def own_passes(options: Namespace) -> Sequence[ModulePass]:
    """Return the passes of `-p`. Raises `UsageError`."""
    from .driver import all_passes

    return all_passes([("passes", options.passes)] if options.passes else (), full_universe().all_passes)


def read_source(options: Namespace) -> ModuleOp:
    """Read the program or model in the file, without passes. Raises `TiraxError`."""
    from .models import format_of, program_of, shapes_of

    if options.shape and format_of(options.file) is None:
        raise UsageError("--shape is for models", hint="a program says its shapes; --sizes gives symbolic ones")
    return program_of(options.file, shapes=shapes_of(options.shape))
