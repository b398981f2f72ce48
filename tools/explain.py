"""`tirax explain`: compile, check and run a program, and write a trace of every step as one HTML page."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial

from xdsl.passes import ModulePass

from ..diagnostics import TiraxError
from ..driver.pipelines import pipeline_passes
from ..driver.tracing import recording
from ..driver.tracing.file import TraceFile
from ..driver.tracing.recorder import Recorder
from ..interpreter import MeaningError
from ..ir.passes.transform import naming_pass
from ..runtime import Executable, FunctionInfo
from ..script.mlir_text import reading_context
from ..target import Target
from .arguments import Arguments
from .checking import MeaningChangedError, MeaningCheck
from .compiling import compile_program, function_name, own_passes, read_source
from .guard import OK, UsageError, report
from .options import named, sizes_of

_CALLS = 5
"""Calls to time, of which the fastest is reported."""


def explain(options: Namespace) -> int:
    """Write the trace. If the program does not compile, the trace ends with the error."""
    if _are_one_file(options.output, options.file):
        raise UsageError("the trace would be written over the program", hint="-o another file")
    arguments = partial(
        Arguments, inputs=named(options.input, "--input"), sizes=sizes_of(options.sizes), seed=options.seed
    )
    file = TraceFile(options.output)
    try:
        recorder = Recorder(file, title=os.path.basename(options.file))
        with recording(recorder):
            executable = compile_program(options, [recorder])
        if options.check_each:
            _check(recorder, options)
        if options.run:
            _profile(recorder, options.func, executable, arguments)
    finally:
        file.close()
    print(f"{file.path}: {os.path.getsize(file.path) / 1e6:.1f} MB")
    return OK


def _are_one_file(first: str, second: str) -> bool:
    return os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second)


def _check(recorder: Recorder, options: Namespace) -> None:
    """Run the passes again and mark each with the result of `--check-each`. Raises `MeaningChangedError`."""
    module, context = read_source(options), reading_context()
    check = MeaningCheck(options.check_sizes)
    check.start(module)
    for number, p in enumerate(_passes(options)):
        before, compared = module.clone(), sum(check.counts.values())
        with naming_pass(p):
            p.apply(context, module)
        try:
            check.check(before, module, number + 1, p.name, str(p.pipeline_pass_spec()))
        except MeaningError as error:
            recorder.check(number, "unknown", str(error))
        except MeaningChangedError as error:
            recorder.check(number, "changed", str(error))
            raise
        else:
            count = sum(check.counts.values()) - compared
            text = f"{count} calls were compared" if count else "nothing was changed"
            recorder.check(number, "same", text)


def _passes(options: Namespace) -> Iterator[ModulePass]:
    yield from own_passes(options)
    yield from pipeline_passes(options.pipeline, options.target or Target.host().text)


def _profile(
    recorder: Recorder, func: str | None, executable: Executable, arguments: Callable[[FunctionInfo], Arguments]
) -> None:
    """Call the program and record its profile; if it cannot be called, print a note."""
    if not executable.functions:
        report("note: the program has no function of Relax, so it was not run")
        return
    name = function_name(func, executable)
    try:
        chosen = arguments(executable.functions[name])
        profile = executable.profile(name, *chosen.values(), repeat=_CALLS)
    except UsageError:
        raise
    except TiraxError as error:
        report(f"note: the program was not run: {error}")
        return
    sizes = ", ".join(f"{symbol} = {size}" for symbol, size in sorted(chosen.sizes.items()))
    recorder.profile(profile, sizes)
