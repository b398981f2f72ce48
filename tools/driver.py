"""The implementation of `tirax-opt`: run passes over each piece of the input."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import DiagnosticException
from xdsl.utils.target import Target

from ..diagnostics import TiraxError, unknown_name
from ..dialects.relax.data import elided_contents, printed_for
from ..universe import full_universe
from .guard import FAILED, OK, as_usage, report, schedule_notes
from .internal_errors import reproducing
from .options import Sizes
from .outputs import OWN_TARGETS, emit, folder_of, join_pieces, make_target, write_output
from .source import FORMATS, Program, check_expected, expected_errors, read_program, split_program
from .steps import Passes, Step, inserted, pipeline_text, running, steps_of, stopped
from .watch import Dumps, Times

if TYPE_CHECKING:
    from ..ir.verification.verify import Verifier
    from .checking import MeaningCheck

_NATIVE = ("llvm", "asm", "obj")
_HIGH_LEVEL = ("relax.func", "tir.func")


@dataclass(frozen=True)
class Job:
    """The work requested for each piece of the input."""

    steps: tuple[Step, ...]
    target: Target
    dumps: Dumps
    times: Times
    check: MeaningCheck | None
    verify: bool
    allow_unregistered: bool
    folder: str | None
    """The folder of the output file, None for stdout."""
    shown: bool
    """Whether the output goes to a terminal."""

    def new_context(self) -> Context:
        """Return a new context for each piece, so that dialects loaded by one are not visible to others."""
        from ..script.mlir_text import reading_context

        return reading_context(self.allow_unregistered)

    def compile(self, program: Program, piece: int = 0) -> str | bytes:
        """Parse, run the passes and emit. Raises `TiraxError`, or xDSL's `DiagnosticException` from its own passes."""
        from ..ir.verification.verify import Verifier

        ctx, verifier = self.new_context(), Verifier()
        with self.times.measure("parse"):
            module = program.parse(ctx)
        if self.verify:
            with self.times.measure("verify"):
                verifier.verify(module)
        self.dumps.at_start(module, piece)
        if self.check:
            self.check.start(module)
        begun: list[Step] = []
        with reproducing(lambda: str(program.parse(self.new_context())), lambda: ["-p", pipeline_text(begun)]):
            for steps in (lambda: self.steps, lambda: self._rest(module)):
                for step in steps():
                    begun.append(step)
                    self._run(step, ctx, module, len(begun), piece, verifier)
        if self.check:
            report(self.check.summary())
        elide = self.dumps.elide_shown if self.shown else self.dumps.elide_written
        with self.times.measure("print"), elided_contents(elide), printed_for(self.folder):
            return emit(self.target, ctx, module)

    def _rest(self, module: ModuleOp) -> list[Step]:
        """Return the remaining passes for native targets, if the pipeline left relax or tir functions."""
        if self.target.name not in _NATIVE or not any(op.name in _HIGH_LEVEL for op in module.body.block.ops):
            return []
        from ..driver.pipelines import pipeline_passes

        return [Step(p, "lower-cpu") for p in pipeline_passes("lower-cpu", getattr(self.target, "target", "llvm"))]

    def _run(self, step: Step, ctx: Context, module: ModuleOp, number: int, piece: int, verifier: Verifier) -> None:
        group = nullcontext() if step.pipeline is None else self.times.measure(f"pipeline {step.pipeline}")
        self.dumps.before_pass(module, step.run.name)
        before = module.clone() if self.check else None
        with group, self.times.measure(f"{number}. {step.run.name}"):
            self._apply(step.run, ctx, module, verifier)
            if self.check and before is not None:
                with self.times.measure("check"):
                    self.check.check(before, module, number, step.run.name, str(step.run.pipeline_pass_spec()))
        self.dumps.after_pass(module, piece, number, step.run.name)

    def _apply(self, p: ModulePass, ctx: Context, module: ModuleOp, verifier: Verifier) -> None:
        from ..ir.passes.transform import naming_pass

        with naming_pass(p):
            p.apply(ctx, module)
        if self.verify:
            with self.times.measure("verify"):
                verifier.verify(module, after=p.name)


def run(options: argparse.Namespace) -> int:
    """Execute the options and return the exit code. Raises `TiraxError`."""
    from ..ir.passes.transform import no_gc

    universe = full_universe()
    listing = _listing(options, universe)
    if listing is not None:
        print(listing)
        return OK
    if options.format is not None and options.format not in FORMATS:
        raise as_usage(unknown_name("language", options.format, FORMATS))
    job = _job(options, universe)
    try:
        program = read_program(options.input_file, options.format)
        with no_gc(), schedule_notes(logging.DEBUG if options.explain else logging.INFO):
            return _run_pieces(job, program, options)
    finally:
        if options.timing:
            report(job.times.table())


def _listing(options: argparse.Namespace, universe: Universe) -> str | None:
    lists = (options.list_passes, options.list_pipelines, options.list_dialects, options.list_targets)
    requested = (*lists, options.print_irdl)
    if not any(requested):
        return None
    from . import irdl, listing

    makers = (
        listing.passes_text,
        listing.pipelines_text,
        listing.dialects_text,
        lambda: listing.targets_text(all_targets(universe)),
        irdl.own_descriptions,
    )
    return "\n\n".join(make() for make, want in zip(makers, requested, strict=True) if want)


def _job(options: argparse.Namespace, universe: Universe) -> Job:
    known = universe.all_passes
    steps = _steps(options, known)
    if options.dump_pass_pipeline:
        report(f"passes: {pipeline_text(steps)}")
    dumps = Dumps(
        frozenset(running(n, steps, known) for n in options.print_ir_before),
        frozenset(running(n, steps, known) for n in options.print_ir_after),
        options.print_ir_after_all,
        options.print_ir_diff,
        options.print_ir_dir,
        options.print_ir_as == "tvmscript",
        options.elide_constants,
    )
    return Job(
        tuple(steps),
        make_target(options.target, all_targets(universe), _form(options), options.print_debuginfo),
        dumps,
        Times(),
        _meaning_check(options.check_sizes, options.check_each == "proof") if options.check_each else None,
        not options.disable_verify,
        options.allow_unregistered_dialect,
        folder_of(options.output_file),
        folder_of(options.output_file) is None and sys.stdout.isatty(),
    )


def _form(options: argparse.Namespace) -> str:
    return "irdl" if options.print_for_irdl else "generic" if options.print_op_generic else "pretty"


def _meaning_check(sizes: Sizes, proof: bool) -> MeaningCheck:
    from .checking import MeaningCheck  # with the interpreter and the way down to native code

    return MeaningCheck(sizes, proof=proof)


def all_targets(universe: Universe) -> dict[str, Callable[[], type[Target]]]:
    """Return the targets of `-t` by name."""
    return universe.all_targets | OWN_TARGETS


def all_passes(steps: Sequence[tuple[str, str]], known: Passes) -> tuple[ModulePass, ...]:
    """Return the passes of `-p` and `--pipeline`, in order. Raises `UsageError`."""
    return tuple(step.run for step in steps_of(steps, known))


def _steps(options: argparse.Namespace, known: Passes) -> list[Step]:
    steps = steps_of(options.steps or (), known)
    for text in options.insert:
        steps = inserted(steps, text, known)
    return steps if options.stop_after is None else stopped(steps, options.stop_after, known)


def _run_pieces(job: Job, program: Program, options: argparse.Namespace) -> int:
    pieces = list(split_program(program)) if options.split_input_file else [program]
    outputs: list[str | bytes] = []
    code = OK
    for number, piece in enumerate(pieces, 1):
        try:
            output = _run_piece(job, piece, number if len(pieces) > 1 else 0, options.verify_diagnostics)
        except DiagnosticException as error:
            if len(pieces) == 1:
                raise
            report(str(_typed(error)))
            code = FAILED
        else:
            outputs += [] if output is None else [output]
    if code == OK and outputs:
        separator = "# -----\n" if job.target.name == "tvmscript" else "// -----\n"
        binary = any(isinstance(output, bytes) for output in outputs)
        write_output(options.output_file, join_pieces(outputs, separator), binary)
    return code


def _run_piece(job: Job, piece: Program, number: int, verify_diagnostics: bool) -> str | bytes | None:
    """Return the output of a piece, None if it raised the expected error."""
    if not verify_diagnostics:
        return job.compile(piece, number)
    expected = expected_errors(piece)
    output: str | bytes | None = None
    failure: TiraxError | None = None
    try:
        output = job.compile(piece, number)
    except DiagnosticException as error:
        failure = _typed(error)
    check_expected(expected, failure)
    return output


def _typed(error: DiagnosticException) -> TiraxError:
    return error if isinstance(error, TiraxError) else TiraxError(str(error))
