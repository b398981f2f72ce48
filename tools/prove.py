"""`tirax prove`: prove that two programs, or a program before and after passes, compute the same for all inputs."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError, unknown_name
from ..interpreter.compare import functions_of
from ..ir.passes.transform import naming_pass
from ..ir.verification.verify import Verifier
from ..proof import Finding, Validation, Verdict, validate, validate_step
from ..proof.counterexample import parameter_names
from ..proof.steps import UNTIL, Lowerings, summary_of
from ..script.mlir_text import reading_context
from ..universe import full_universe
from .checking import interpreted, rename_as, save_reproducer
from .driver import all_passes
from .guard import UsageError, as_usage, report
from .models import program_of

_STATUS = {Verdict.PROVED: 0, Verdict.WRONG: 1, Verdict.NOT_COVERED: 2}
_PIPELINE = ("pipeline", "default-cpu")


def prove(options: Namespace) -> int:
    """Run `tirax prove` and return the exit status: 0 proved, 1 wrong, 2 not covered, or not a program."""
    try:
        return _prove(options)
    except (TiraxError, OSError, RecursionError) as error:  # status 1 is for counterexamples only
        report(error)
        print(f"{Verdict.NOT_COVERED.value}: the error above")
        return _STATUS[Verdict.NOT_COVERED]


def _prove(options: Namespace) -> int:
    before = program_of(options.file, options.format)
    functions = _functions(before, options.func)
    if options.after is not None and options.steps:
        raise UsageError("there is a second program, and passes", hint="leave one of them out")
    if options.after is None:
        return _prove_passes(before, options, functions)
    after = program_of(options.after, options.format)
    result = validate(before, after, functions=functions, sizes=options.sizes)
    for finding in result.findings:
        print(finding)
        _save(before, after, finding)
    print(f"{result.verdict.value}: {_summary(result)}" if result.findings else result)
    return _STATUS[result.verdict]


def _functions(module: ModuleOp, name: str | None) -> list[str] | None:
    """Return the functions to compare: the one of `--func`, or None for all. Raises `UsageError` for an unknown one."""
    if name is None:
        return None
    known = interpreted(module)
    if name not in known:
        raise as_usage(unknown_name("function", name, known))
    return [name]


def _prove_passes(module: ModuleOp, options: Namespace, functions: Sequence[str] | None) -> int:
    """Validate each pass; the last line sums up. Functions that the interpreter does not run end it."""
    findings, ended, lowerings = list[Finding](), "", Lowerings(options.sizes)
    for number, name, before, after in _steps(module, options.steps or [_PIPELINE]):
        if name in UNTIL:
            ended = f", down to '{name}', below which results are rounded: --check-each tests what follows"
            break
        result = validate_step(before, after, functions=functions, sizes=options.sizes)
        result.findings += lowerings.validate(before, after, functions).findings
        print(f"pass {number}, '{name}': {_summary(result)}")
        for finding in result.findings:
            if finding.verdict is not Verdict.PROVED:
                print(f"  {finding}")
            _save(before, after, finding)
        findings += result.findings
        if result.verdict is Verdict.WRONG:
            break
    total = Validation(findings)
    print(f"{total.verdict.value}: {_summary(total)}{ended}")
    return _STATUS[total.verdict]


def _steps(module: ModuleOp, steps: Sequence[Any]) -> Iterator[tuple[int, str, ModuleOp, ModuleOp]]:
    """Run passes; yield the number and the name of each one that changes something, and the module before and after."""
    ctx = reading_context()
    for number, each in enumerate(all_passes(steps, full_universe().all_passes), start=1):
        before = module.clone()
        with naming_pass(each):
            each.apply(ctx, module)
        Verifier().verify(module, after=each.name)
        if not before.is_structurally_equivalent(module):
            rename_as(before, module)
            yield number, each.name, before, module


def _summary(result: Validation) -> str:
    counts = Counter(map(summary_of, result.findings))
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "no function"


def _save(before: ModuleOp, after: ModuleOp, finding: Finding) -> None:
    """Write both programs and the inputs of a counterexample to a folder, with the commands that run them."""
    found = finding.disagreement
    if found is None:
        return
    folder = save_reproducer(str(before), found.inputs, f"tirax prove before.mlir after.mlir --func {found.function}")
    options = [f"--func {shlex.quote(found.function)}"]
    for number, (name, value) in enumerate(zip(_parameters(before, found.function), found.inputs, strict=True)):
        if isinstance(value, np.ndarray):
            np.save(folder / f"input{number}.npy", value)
            options.append(f"--input {shlex.quote(name)}=input{number}.npy")
    commands = []
    for name, module in (("before", before), ("after", after)):
        (folder / f"{name}.mlir").write_text(str(_with_public(module, found.function)) + "\n", encoding="utf-8")
        commands.append(f"tirax run {name}.mlir {' '.join(options)} --output {name}.npz\n")
    (folder / "command.txt").write_text("".join(commands), encoding="utf-8")
    print(f"  counterexample: {folder}, where the lines of command.txt run both programs")


def _parameters(module: ModuleOp, name: str) -> list[str]:
    return parameter_names(functions_of(module)[name])


def _with_public(module: ModuleOp, name: str) -> ModuleOp:
    """Return a module whose function `name` is public, so that it can be called."""
    copy = module.clone()
    functions_of(copy)[name].properties.pop("sym_visibility", None)
    return copy
