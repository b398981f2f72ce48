"""`tirax bisect`: find the first pass that changes a program's results or makes it ill-formed."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ..diagnostics import VerifyError
from ..dialects import tir
from ..interpreter import MeaningError
from ..interpreter.compare import Disagreement
from ..ir.functions.lookup import functions
from ..ir.passes.transform import naming_pass
from ..ir.verification.verify import Verifier
from ..lowering.host.symbols import KERNEL_PREFIX
from ..script.mlir_text import reading_context
from ..universe import full_universe
from .bisect_schedule import first_wrong_step
from .checking import MeaningCheck, interpreted, plain_name, require_sizes, save_reproducer
from .driver import all_passes
from .guard import OK
from .models import program_of
from .options import Sizes, sizes_text
from .reproducer import PROGRAM

_PIPELINE = ("pipeline", "default-cpu")


@dataclass(frozen=True)
class Change:
    """A function whose results change in pass `at`, compared with the program after `since` passes.

    `exact` means that the interpreter runs it after the pass; otherwise it runs natively, and a later pass may
    be at fault.
    """

    since: int
    difference: Disagreement
    at: int
    exact: bool


@dataclass
class Stages:
    """A program after each pass, up to the first ill-formed one (`error`)."""

    passes: Sequence[ModulePass]
    sizes: Sizes
    programs: list[ModuleOp] = field(default_factory=list[ModuleOp])
    error: VerifyError | None = None
    broken: ModuleOp | None = None
    compared: int = 0

    def run(self, module: ModuleOp) -> None:
        """Run the passes. Raises what they raise, except that an ill-formed result is stored in `error`."""
        ctx = reading_context()
        self.programs.append(module)
        for p in self.passes:
            module = module.clone()
            with naming_pass(p):
                p.apply(ctx, module)
            try:
                Verifier().verify(module, after=p.name)
            except VerifyError as error:
                self.error, self.broken = error, module
                return
            self.programs.append(module)

    def difference(self, first: int, second: int, only: str | None = None) -> Disagreement | None:
        """Return how the programs after two numbers of passes differ. Raises `MeaningError` if that is unknown."""
        self.compared += 1
        check = MeaningCheck(self.sizes, None if only is None else (only,))
        before, after = self.programs[first].clone(), self.programs[second]
        return check.difference(before, after, f"passes {first + 1} to {second}", self.passes[second - 1].name)

    def first_change(self) -> Change | None:
        """Return the first pass that changes results and the innermost function affected; None if there is none.

        Lowered functions run natively, through the remaining passes, so one of these may be the cause of a
        difference. The tensor functions, which are lowered later, decide.
        """
        at = self._first_different(0, None)
        if at is None:
            return None
        for name in self._kernels(at):
            later = self._first_different(at - 1, name)
            if later is not None:
                return self._change(at - 1, later, name)
        return self._change(0, at, None)

    def _change(self, first: int, at: int, name: str | None) -> Change:
        comparison = self._last_compared(first, at, name)
        is_run = comparison[1].function in interpreted(self.programs[at])
        return Change(*comparison, at, is_run)

    def _last_compared(self, first: int, at: int, name: str | None) -> tuple[int, Disagreement]:
        """Return the difference after pass `at`, against the last earlier program that can be compared."""
        for since in range(at - 1, first, -1):
            difference = self._difference_of(since, at, name)
            if difference is not None:
                return since, difference
        difference = self.difference(first, at, name)
        assert difference is not None
        return first, difference

    def _first_different(self, first: int, name: str | None) -> int | None:
        """Return after how many passes the program, or a function, first differs from its state after `first` passes.

        A binary search, which assumes that a difference persists, so that few programs are compared.
        """
        same, different = first, len(self.programs) - 1
        ask = self.difference if name is None else self._difference_of
        if different == first or ask(first, different, name) is None:
            return None
        while different - same > 1:
            middle = (same + different) // 2
            if ask(first, middle, name) is None:
                same = middle
            else:
                different = middle
        return different

    def _kernels(self, at: int) -> list[str]:
        """Return the tensor functions before pass `at`."""
        functions = interpreted(self.programs[at - 1]).values()
        return [plain_name(f) for f in functions if isinstance(f, tir.FuncOp)]

    def _difference_of(self, first: int, second: int, name: str | None) -> Disagreement | None:
        """As `difference`, but return None if the function cannot be compared."""
        try:
            return self.difference(first, second, name)
        except MeaningError:
            return None


def bisect(options: Namespace) -> int:
    """Print the first wrong pass, the function, and the next commands; or that no pass is wrong."""
    passes = all_passes(options.steps or (_PIPELINE,), full_universe().all_passes)
    stages = Stages(passes, options.sizes)
    module = program_of(options.file, options.format)
    Verifier().verify(module)
    require_sizes(module, options.sizes)
    stages.run(module)
    change = stages.first_change()
    if change is not None:
        print("\n".join(_changed(stages, change)))
    elif stages.error is not None:
        print("\n".join(_not_well_formed(stages, stages.error)))
    else:
        print(f"nothing is wrong: none of {len(passes)} passes changes what the program computes")
        print(f"  comparisons: {stages.compared}")
    return OK


def _changed(stages: Stages, change: Change) -> Iterator[str]:
    name, difference = stages.passes[change.at - 1].name, change.difference
    first = f"pass {change.at} of {len(stages.passes)}, '{name}'"
    yield f"{first}, is the first that changes what the program computes"
    yield from () if change.exact else ("  or a later one is wrong: from here on native code is compared",)
    yield f"  function: @{difference.function.removeprefix(KERNEL_PREFIX)}"
    decision = _decision(stages, change)
    yield from () if decision is None else (f"  decision: {decision}",)
    yield from (f"  {line.strip()}" for line in str(difference).split("\n"))
    yield f"  comparisons: {stages.compared}"
    yield from _reproducer(stages, change.since, change.at, difference.inputs, "meaning-changes")


def _decision(stages: Stages, change: Change) -> str | None:
    """Return the first wrong decision, if the pass is a schedule and the interpreter can run its result."""
    if not change.exact:
        return None
    before, step = stages.programs[change.at - 1], stages.passes[change.at - 1]
    function = change.difference.function.removeprefix(KERNEL_PREFIX)

    def differs(after: ModuleOp) -> bool:
        check = MeaningCheck(stages.sizes, (function,))
        return check.difference(before.clone(), after, "the decisions", step.name) is not None

    return first_wrong_step(before, step, function, differs)


def _not_well_formed(stages: Stages, error: VerifyError) -> Iterator[str]:
    at = len(stages.programs)
    name = stages.passes[at - 1].name
    yield f"pass {at} of {len(stages.passes)}, '{name}', is the first after which the program is not well formed"
    assert stages.broken is not None
    wrong = next((n for n, func in functions(stages.broken).items() if not _is_well_formed(func)), None)
    yield from () if wrong is None else (f"  function: @{wrong}",)
    yield from (f"  {line}" for line in str(error).split("\n"))
    yield from _reproducer(stages, at - 1, at, (), "verify-error")


def _is_well_formed(func: Any) -> bool:
    try:
        func.verify()
    except VerifyException:
        return False
    return True


def _reproducer(stages: Stages, since: int, at: int, inputs: Sequence[Any], predicate: str) -> Iterator[str]:
    """Save the program after `since` passes; yield the commands that run the passes up to `at` and reduce it."""
    specs = ",".join(str(p.pipeline_pass_spec()) for p in stages.passes[since:at])
    sizes = sizes_text(stages.sizes)
    options = ["-p", specs, "--check-each", "--check-sizes", sizes]
    command = f"tirax-opt {PROGRAM} {shlex.join(options)}"
    folder = save_reproducer(str(stages.programs[since]), inputs, command, options)
    yield f"  reproducer: {folder}"
    reduce = ["tirax", "reduce", str(folder / PROGRAM), "-p", specs, "--sizes", sizes, "--predicate", predicate]
    yield f"  make it smaller: {shlex.join(reduce)} -o small.mlir"
