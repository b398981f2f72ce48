"""`--check-each`: compare a program's results before and after each pass, down to native code.

Functions of relax and tir, including private tensor functions, run on the reference interpreter. After the
pass that lowers a function, it runs natively (`native.py`) on the earlier inputs, and is compared with the
interpreter's results.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..diagnostics import TiraxError, unknown_name
from ..dialects import relax, tir
from ..interpreter import Comparison, InterpreterError, MeaningError, compare, random_inputs, symbolic_sizes
from ..interpreter.compare import (
    Disagreement,
    Function,
    copied,
    observe,
    same_values,
    symbolic_vars,
    widening_tolerance,
)
from ..lowering.host.symbols import kernel_symbol, rename_kernels
from .guard import as_usage
from .native import NativeModule
from .options import Sizes, sizes_text
from .reproducer import PROGRAM, configuration

_INTERPRETED = frozenset(("builtin", "relax", "tir", "sym"))


class MeaningChangedError(TiraxError):
    """Raised when a pass changes a program's results."""


@dataclass(frozen=True)
class _Case:
    """A function, with inputs and the interpreter's results."""

    function: Function
    sizes: Mapping[str, int]
    inputs: list[Any]
    expected: Any
    tolerance: float

    def native(self, module: NativeModule) -> Any:
        """Return the results of the native code, or the message of the error that it raised."""
        args = [copied(v) for v in self.inputs]
        try:
            if isinstance(self.function, tir.FuncOp):
                return module.call_kernel(self.function, args), args
            return module.call(self.function.sym_name.data, args)
        except TiraxError as error:
            return str(error)


def require_sizes(module: ModuleOp, sizes: Sizes) -> None:
    """Raise `UsageError` for names of sizes that no function of a program has."""
    if not isinstance(sizes, Mapping):
        return
    known = {str(v.name) for func in interpreted(module).values() for v in symbolic_vars(func)}
    for name in sizes:
        if name not in known:
            raise as_usage(unknown_name("size", name, known))


@dataclass
class MeaningCheck:
    """Runs a program before and after each pass; `sizes` are those of symbolic variables, `only` restricts the
    functions.

    With `proof`, functions are proved equal for all inputs where that is covered, and run on samples elsewhere.
    Call `start` first, `check` after each pass, and `summary` at the end.
    """

    sizes: Sizes
    only: Collection[str] | None = None
    proof: bool = False
    proved: dict[str, int] = field(default_factory=dict[str, int])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    _cases: list[_Case] = field(default_factory=list[_Case])
    _noted: set[str] = field(default_factory=set[str])
    _passes: list[str] = field(default_factory=list[str])
    _program: str = ""

    def start(self, module: ModuleOp) -> None:
        """Begin with a new program. Raises `UsageError` for names of sizes that it does not have."""
        require_sizes(module, self.sizes)
        self._program, self._cases, self._passes = str(module), [], []

    def summary(self) -> str:
        """Return what was compared, as text."""
        calls = ", ".join(f"@{name} {count} times" for name, count in self.counts.items())
        proofs = ", ".join(f"@{name} {count} times" for name, count in self.proved.items())
        proved = f"; proved: {proofs or 'nothing'}" if self.proof else ""
        return f"check-each: {len(self._passes)} passes{proved}; compared: {calls or 'nothing'}"

    def check(self, before: ModuleOp, after: ModuleOp, number: int, name: str, spec: str | None = None) -> None:
        """Compare two modules. The check may change `before`, a copy; `spec` is the pass with its options.

        Raises `MeaningChangedError`, which names the pass and the inputs, and `MeaningError` if the pass changed
        something and nothing was compared.
        """
        self._passes.append(spec or name)
        difference = self.difference(before, after, f"pass {number}, '{name}'", name)
        if difference is not None:
            raise self._changed(difference, number, name)

    def difference(self, before: ModuleOp, after: ModuleOp, what: str, name: str) -> Disagreement | None:
        """Return the first inputs on which two programs differ. The check may change `before`, a copy.

        `what` and `name` describe the passes between them in messages. Raises `MeaningError` if the texts differ
        and nothing was compared.
        """
        if before.is_structurally_equivalent(after):
            return None
        rename_as(before, after)
        runs, still = self._interpreted(before), self._interpreted(after)
        both = [n for n in runs if n in still]
        result = self._compared(before, after, both)
        if result.disagreement is not None:
            return result.disagreement
        self._count(result.compared)
        lowered = [f for n, f in runs.items() if n not in still and _has_native(f, after)]
        native = self._native(before, after, lowered)
        if isinstance(native, Disagreement):
            return native
        gone = [
            plain_name(f) for n, f in runs.items() if n not in still and not f.private and plain_name(f) not in native
        ]
        reasons = [*result.reasons, *(f"@{n}: it cannot be run after" for n in gone)]
        self._note(name, reasons)
        if not result.compared and not native and not self._has_proved(both) and not _same_but(before, after, still):
            hint = "begin where the program is relax and tir"
            raise MeaningError(f"{what}: nothing was compared", notes=reasons, hint=hint)
        return None

    def _compared(self, before: ModuleOp, after: ModuleOp, names: Sequence[str]) -> Comparison:
        """Return the comparison of functions on samples; with `proof`, of those that are not proved."""
        if not self.proof:
            return compare(before, after, functions=names, sizes=self.sizes)
        from ..proof import Verdict, validate

        findings = validate(before, after, functions=names, private=True, sizes=self.sizes).findings
        for finding in findings:
            if finding.disagreement is not None:
                return Comparison(disagreement=finding.disagreement)
            if finding.verdict is Verdict.PROVED:
                self.proved[finding.function] = self.proved.get(finding.function, 0) + 1
        rest = [f.function for f in findings if f.verdict is not Verdict.PROVED]
        return compare(before, after, functions=rest, sizes=self.sizes)

    def _has_proved(self, names: Sequence[str]) -> bool:
        return self.proof and not self.proved.keys().isdisjoint(names)

    def _interpreted(self, module: ModuleOp) -> dict[str, Function]:
        functions = interpreted(module)
        return functions if self.only is None else {n: f for n, f in functions.items() if plain_name(f) in self.only}

    def _native(self, before: ModuleOp, after: ModuleOp, lowered: list[Function]) -> set[str] | Disagreement:
        """Return the functions whose native code was compared, lowered or perhaps changed ones; or the difference."""
        self._cases += [case for f in lowered for case in self._record(before, f)]
        if not self._cases or (not lowered and _same_but(before, after, interpreted(after))):
            return {plain_name(c.function) for c in self._cases}
        native = NativeModule(after)
        counts: dict[str, int] = {}
        for case in self._cases:
            results = case.native(native)
            function = plain_name(case.function)
            if not same_values(case.expected, results, case.tolerance):
                return Disagreement(function, case.sizes, case.inputs, case.expected, results)
            counts[function] = counts.get(function, 0) + 1
        self._count(counts)
        return set(counts)

    def _record(self, module: ModuleOp, function: Function) -> list[_Case]:
        cases: list[_Case] = []
        tolerance = widening_tolerance(module)
        for n, sizes in enumerate(symbolic_sizes(function, self.sizes)):
            try:
                inputs = random_inputs(function, sizes, n)
                expected = observe(module, function.sym_name.data, inputs)
            except InterpreterError:
                continue  # no meaning on these inputs; a function without any case is in the notes
            cases.append(_Case(function, sizes, inputs, expected, tolerance))
        return cases

    def _count(self, compared: Mapping[str, int]) -> None:
        for name, count in compared.items():
            name = name.removeprefix(kernel_symbol(""))
            self.counts[name] = self.counts.get(name, 0) + count

    def _note(self, name: str, reasons: Sequence[str]) -> None:
        for reason in reasons:
            if reason not in self._noted:
                self._noted.add(reason)
                print(f"note: check-each: '{name}' is not compared on {reason}", file=sys.stderr)

    def _changed(self, difference: Disagreement, number: int, name: str) -> MeaningChangedError:
        sizes = sizes_text(self.sizes)
        options = ["-p", ",".join(self._passes), "--check-each", "--check-sizes", sizes]
        command = f"tirax-opt {PROGRAM} {shlex.join(options)}"
        folder = save_reproducer(self._program, difference.inputs, command, options)
        notes = [*(line.strip() for line in str(difference).split("\n")), f"reproducer: {folder}"]
        return MeaningChangedError(f"pass {number}, '{name}', changes what the program computes", notes=notes)


def save_reproducer(program: str, inputs: Sequence[Any], command: str, options: Sequence[str] = ()) -> Path:
    """Create a folder with `program.mlir`, `inputs.npz` and `command.txt`, to be run there; return its path.

    With `options` of `tirax-opt`, `tirax-opt FOLDER --run-reproducer` does the same. The arrays are `input0`,
    …; the fields of a tuple `input1.0`, …; a shape is an array of its extents.
    """
    folder = Path(tempfile.mkdtemp(prefix="tirax-reproducer-"))
    arrays = {name: array for i, value in enumerate(inputs) for name, array in _arrays(f"input{i}", value)}
    np.savez(folder / "inputs.npz", **cast("dict[str, Any]", arrays))
    head = configuration(options) if options else ""
    (folder / PROGRAM).write_text(head + program + "\n", encoding="utf-8")
    (folder / "command.txt").write_text(command + "\n", encoding="utf-8")
    return folder


def _arrays(name: str, value: Any) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if not isinstance(value, tuple) or all(isinstance(extent, int) for extent in cast("tuple[Any, ...]", value)):
        yield name, np.asarray(value)
        return
    for i, field_value in enumerate(cast("tuple[Any, ...]", value)):
        yield from _arrays(f"{name}.{i}", field_value)


def rename_as(before: ModuleOp, after: ModuleOp) -> None:
    """Rename the kernels of `before` as in `after`, if the pass between them named them."""
    present = {f.sym_name.data for f in after.ops if isinstance(f, tir.FuncOp)}
    kernels = {f.sym_name.data: f for f in before.ops if isinstance(f, tir.FuncOp)}
    if not present & kernels.keys() and all(kernel_symbol(name) in present for name in kernels):
        rename_kernels(before, kernels)


def plain_name(function: Function) -> str:
    """Return the name that a function had before it became a kernel."""
    return function.sym_name.data.removeprefix(kernel_symbol(""))


def interpreted(module: ModuleOp) -> dict[str, Function]:
    """Return the functions that the interpreter runs: public ones, and private tensor functions."""
    functions = [f for f in module.ops if isinstance(f, relax.FuncOp | tir.FuncOp)]
    return {
        f.sym_name.data: f
        for f in functions
        if (isinstance(f, tir.FuncOp) or not f.private)
        and all(op.name.partition(".")[0] in _INTERPRETED or hasattr(op, "reference") for op in f.walk())
    }


def _has_native(function: Function, after: ModuleOp) -> bool:
    """Return whether a module still has a lowered function, as itself or as its kernel or entry point."""
    name = function.sym_name.data
    symbols = {op.properties.get("sym_name") for op in after.ops}
    names = {s.data for s in symbols if s is not None}  # pyright: ignore[reportAttributeAccessIssue]
    return not names.isdisjoint((name, kernel_symbol(name), f"entry_{name}"))


def _same_but(before: ModuleOp, after: ModuleOp, interpreted: Mapping[str, Function]) -> bool:
    """Return whether two modules are equal apart from the functions that the interpreter ran."""

    def rest(module: ModuleOp) -> list[Operation]:
        return [op for op in module.ops if not (isinstance(op, tir.FuncOp) and op.sym_name.data in interpreted)]

    first, second = rest(before), rest(after)
    return len(first) == len(second) and all(
        a.is_structurally_equivalent(b) for a, b in zip(first, second, strict=True)
    )
