"""Validation of a program step by step: what each pass, or each primitive of a schedule, changed is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from ..diagnostics import UnsupportedError
from ..dialects import relax, tir
from ..dialects.quick import clone
from ..interpreter import MeaningError
from ..interpreter.compare import SIZES, Function, Sizes, functions_of
from ..ir.passes.instrument import PassInstrument
from ..ir.passes.transform import PassInfo, module_op
from .algebra import Level
from .lowered import Sources, named_function, validate_kernels
from .validation import Finding, Validation, Verdict, validate

_COVERED = frozenset(("builtin", "relax", "tir", "sym", "host"))


def require_validation(validate: str | None) -> None:
    """Raise `UnsupportedError` for an option `validate` other than None and "proof"."""
    if validate not in (None, "proof"):
        raise UnsupportedError(f"validation by {validate!r}", expected='"proof", or None for no validation')


def covered_functions(module: ModuleOp) -> dict[str, Function]:
    """Return the functions that symbolic execution runs: public ones, and private tensor functions."""
    return {
        name: f
        for name, f in functions_of(module).items()
        if (isinstance(f, tir.FuncOp) or not f.private)
        and all(op.name.partition(".")[0] in _COVERED or hasattr(op, "reference") for op in f.walk())
    }


def validate_step(
    before: ModuleOp,
    after: ModuleOp,
    *,
    functions: Sequence[str] | None = None,
    sizes: Sizes = SIZES,
    packed: Mapping[str, Callable[..., Any]] | None = None,
) -> Validation:
    """Validate what differs between two modules; functions that are the same, and call the same, are left out.

    Where only tensor functions that a graph calls differ, and all of them are proved for all inputs, the graph is.
    """
    names = [n for n in covered_functions(before) if n in covered_functions(after) and n in (functions or [n])]
    own, below = _changed(before, after)
    result = Validation()
    options: dict[str, Any] = {"private": True, "sizes": sizes, "packed": packed}
    kernels = [n for n in names if n in own or (n in below and isinstance(functions_of(before)[n], tir.FuncOp))]
    if kernels:
        result.findings += validate(before, after, functions=kernels, **options).findings
    proved = {
        f.function: f for f in result.findings if f.verdict is Verdict.PROVED and (f.all_sizes or not any(f.sizes))
    }
    for name in (n for n in names if n not in kernels and n in below):
        level = _by_congruence(functions_of(after)[name], own | below, proved)
        if level is None:
            result.findings += validate(before, after, functions=[name], **options).findings
        else:
            result.findings.append(Finding(name, Verdict.PROVED, level))
    return result


@dataclass
class Lowerings:
    """The kernels below tir: each lowered function is compared with the tensor function that it was."""

    sizes: Sizes = SIZES
    _sources: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    _runs: Sources = field(default_factory=Sources)

    def validate(self, before: ModuleOp, after: ModuleOp, functions: Sequence[str] | None = None) -> Validation:
        """Validate the kernels that one pass lowered, or changed after that."""
        for name, func in functions_of(before).items():
            if isinstance(func, tir.FuncOp) and name not in functions_of(after):
                self._sources[name] = before
        if not any(named_function(after, name) for name in self._sources):
            return Validation()
        own, below = _changed(before, after)
        result = Validation()
        for name, module in self._sources.items():
            if name in own | below and (functions is None or name in functions):
                options: dict[str, Any] = {"functions": [name], "sizes": self.sizes, "sources": self._runs}
                result.findings += validate_kernels(module, after, **options).findings
        return result

    def has_kernels(self, module: ModuleOp) -> bool:
        """Return whether a module has a kernel, or may get one."""
        return any(named_function(module, name) for name in self._sources)


UNTIL = ("expand-math", "convert-to-llvm")
"""Passes before which proofs end: elementary functions become polynomials, up to rounding (docs/vector_math.md)."""


def _changed(before: ModuleOp, after: ModuleOp) -> tuple[set[str], set[str]]:
    """Return the functions that differ between two modules, and those that only call such ones."""
    one, other = _symbols(before), _symbols(after)
    own = {n for n in one.keys() | other.keys() if n not in one or n not in other or _differ(one[n], other[n])}
    mentions = {n: set(_mentioned(f, other.keys() | one.keys())) for n, f in other.items()}
    below, last = set[str](), -1
    while len(below) != last:
        last = len(below)
        below |= {n for n, called in mentions.items() if n not in own and called & (own | below)}
    return own, below


def _symbols(module: ModuleOp) -> dict[str, Operation]:
    named = ((op.properties.get("sym_name"), op) for op in module.ops)
    return {name.data: op for name, op in named if isinstance(name, StringAttr)}


def _differ(one: Operation, other: Operation) -> bool:
    here: dict[Any, Any] = {} if one.parent is None or other.parent is None else {one.parent: other.parent}
    return not one.is_structurally_equivalent(other, here)


def _mentioned(func: Operation, names: Any) -> Iterator[str]:
    for op in func.walk():
        for attr in (*op.properties.values(), *op.attributes.values()):
            if op is not func and (name := _name_in(attr)) in names:
                yield name


def _name_in(attr: Any) -> Any:
    name = attr.root_reference.data if isinstance(attr, SymbolRefAttr) else getattr(attr, "data", None)
    return name if isinstance(name, str) else None


def _by_congruence(func: Function, changed: set[str], proved: Mapping[str, Finding]) -> Level | None:
    """Return the level of a graph whose changed callees are all proved, or None.

    Its calls create the memory of results, so that no two arguments of a tensor function share it.
    """
    level = Level.BITS
    for op in func.walk():
        for attr in (*op.properties.values(), *op.attributes.values()):
            if (name := _name_in(attr)) not in changed or op is func:
                continue
            finding = proved.get(name)
            if not isinstance(op, relax.CallTIROp) or finding is None or finding.level is None:
                return None
            level = max(level, finding.level, key=list(Level).index)
    return level


@dataclass
class Proofs(PassInstrument):
    """An instrument that validates each pass: `with PassContext(instruments=[Proofs()])`.

    Raises `MeaningError` with the counterexample after a pass that changes what the program computes; the other
    findings, proofs and functions that are not covered, are in `steps`.
    """

    sizes: Sizes = SIZES
    steps: list[tuple[str, Validation]] = field(default_factory=list[tuple[str, Validation]])
    _lowerings: Lowerings = field(default_factory=Lowerings)
    _before: list[ModuleOp] = field(default_factory=list[ModuleOp])

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        self._before.append(clone(module_op(mod)))

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        before = self._before.pop()
        if info.name not in UNTIL:
            self.check(before, module_op(mod), f"the pass {info.name}")

    def check(self, before: ModuleOp, after: ModuleOp, what: str) -> Validation:
        """Validate one step, record it, and return the validation. Raises `MeaningError` if it is wrong."""
        result = validate_step(before, after, sizes=self.sizes)
        result.findings += self._lowerings.validate(before, after).findings
        if result.findings:
            self.steps.append((what, result))
        require_right(result, what)
        return result

    @property
    def verdict(self) -> Verdict:
        """Return not covered if a step is not, else proved."""
        return Validation([f for _, v in self.steps for f in v.findings]).verdict

    def __str__(self) -> str:
        counts = Counter(summary_of(f) for _, v in self.steps for f in v.findings)
        lines = [f"{what}: {f}" for what, v in self.steps for f in v.findings if f.verdict is not Verdict.PROVED]
        total = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing was validated"
        return "\n".join([*lines, f"{self.verdict.value}: {total}"])


def summary_of(finding: Finding) -> str:
    """Return the kind of a finding: its verdict, with the level of a proof."""
    return finding.verdict.value if finding.level is None else f"{finding.verdict.value} ({finding.level.value})"


def require_right(result: Validation, what: str) -> None:
    """Raise `MeaningError`, with the counterexample, if a function is wrong."""
    wrong = [f for f in result.findings if f.verdict is Verdict.WRONG]
    if wrong:
        notes = [line for f in wrong for line in str(f).split("\n")]
        raise MeaningError(f"{what} changes what the program computes", notes=notes)
