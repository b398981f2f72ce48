"""`tirax explain`: a program is compiled, checked and run while all of it is written into one HTML to look at."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator

from xdsl.passes import ModulePass

from ..diagnostics import TiraxError
from ..driver.pipelines import pipeline_passes
from ..driver.tracing import recording
from ..driver.tracing.file import TraceFile
from ..driver.tracing.recorder import Recorder
from ..interpreter import MeaningError
from ..ir.passes.transform import naming_pass
from ..runtime import Executable
from ..script.mlir_text import reading_context
from ..target import Target
from .arguments import Arguments, named, sizes_of
from .checking import MeaningChangedError, MeaningCheck
from .compiling import compile_program, function_name, own_passes, read_source
from .guard import OK, UsageError, report

_CALLS = 5
"""Of which the fastest one is told."""


def explain(options: Namespace) -> int:
    """Write the trace. It is whole as far as it goes where the program does not compile: the error is in it, too."""
    if _are_one_file(options.output, options.file):
        raise UsageError("the trace would be written over the program", hint="-o another file")
    file = TraceFile(options.output)
    try:
        recorder = Recorder(file, title=os.path.basename(options.file))
        with recording(recorder):
            executable = compile_program(options, [recorder])
        if options.check_each:
            _check(recorder, options)
        if options.run:
            _profile(recorder, options, executable)
    finally:
        file.close()
    print(f"{file.path}: {os.path.getsize(file.path) / 1e6:.1f} MB")
    return OK


def _are_one_file(first: str, second: str) -> bool:
    return os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second)


def _check(recorder: Recorder, options: Namespace) -> None:
    """Run the passes once more and mark each by what `--check-each` says of it. Raises `MeaningChangedError`."""
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


def _profile(recorder: Recorder, options: Namespace, executable: Executable) -> None:
    """Call the program, and write where the time goes; a program that cannot be called is told of."""
    if not executable.functions:
        report("note: the program has no function of Relax, so it was not run")
        return
    name = function_name(options.func, executable)
    try:
        arguments = Arguments(
            executable.functions[name], named(options.input, "--input"), sizes_of(options.sizes), options.seed
        )
        profile = executable.profile(name, *arguments.values(), repeat=_CALLS)
    except UsageError:
        raise
    except TiraxError as error:
        report(f"note: the program was not run: {error}")
        return
    sizes = ", ".join(f"{symbol} = {size}" for symbol, size in sorted(arguments.sizes.items()))
    recorder.profile(profile, sizes)
