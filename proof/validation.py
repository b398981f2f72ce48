"""Validation of two modules for all values of their inputs: symbolic execution of both, and comparison of the terms."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..diagnostics import UnsupportedError
from ..dialects import tir
from ..dialects.names import name_of
from ..interpreter.compare import (
    SIZES,
    Disagreement,
    Function,
    Sizes,
    compare,
    difference_of_signatures,
    functions_of,
    is_compared,
    iterations_of,
    observe,
    random_inputs,
    symbolic_sizes,
    takes,
)
from ..interpreter.scalars import AssertionFailedError, InterpreterError
from ..ir.passes.limits import limit
from ..ir.passes.transform import module_op
from .algebra import Algebra, Level, algebra_of
from .counterexample import Counterexample, explained, parameter_names
from .execution import run, same_terms
from .inputs import Inputs, candidates, is_rounding, zeros
from .sizes import prove_sizes
from .terms import NotCoveredError, Terms

_MORE_SIZES = (7, 16, 17, 64)
"""Sizes of tensor functions that are not proved for all sizes: around the factors of loops."""
_MOST_ITERATIONS = 1 << 14


class Verdict(enum.Enum):
    """What is known of a function after a transformation."""

    PROVED = "proved"
    WRONG = "wrong"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Finding:
    """The verdict on one function.

    `level` is the weakest algebra that a proof needed, at any of `sizes`, the values of the symbolic variables and of
    integer arguments; without these, or with `all_sizes`, the proof covers all inputs. `reason` says why a function is
    not covered, or not for all sizes, `counterexample` on which inputs it is wrong.
    """

    function: str
    verdict: Verdict
    level: Level | None = None
    sizes: tuple[Mapping[str, int], ...] = ()
    all_sizes: bool = False
    reason: str = ""
    counterexample: Counterexample | None = None

    @property
    def disagreement(self) -> Disagreement | None:
        """The inputs of the counterexample, and both results."""
        return None if self.counterexample is None else self.counterexample.disagreement

    def __str__(self) -> str:
        if self.verdict is Verdict.PROVED:
            assert self.level is not None
            where = [", ".join(f"{n}={v}" for n, v in s.items()) for s in self.sizes if s]
            sizes = " and sizes" if self.all_sizes else f", at the sizes {'; '.join(where)}" if where else ""
            reason = f"; not for all sizes: {self.reason}" if self.reason else ""
            return f"proved @{self.function} for all inputs{sizes} (level: {self.level.value}){reason}"
        if self.verdict is Verdict.WRONG:
            return f"wrong @{self.function} {self.counterexample}"
        return f"not covered @{self.function}: {self.reason}"


@dataclass
class Validation:
    """The findings on the functions of two modules."""

    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def verdict(self) -> Verdict:
        """Return wrong if one function is, else not covered if one is not or there are none, else proved."""
        verdicts = {f.verdict for f in self.findings}
        for verdict in (Verdict.WRONG, Verdict.NOT_COVERED):
            if verdict in verdicts:
                return verdict
        return Verdict.PROVED if self.findings else Verdict.NOT_COVERED

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "not covered: the modules have no function in common"


def validate(
    before: Any,
    after: Any,
    *,
    functions: Sequence[str] | None = None,
    private: bool = False,
    sizes: Sizes = SIZES,
    packed: Mapping[str, Callable[..., Any]] | None = None,
) -> Validation:
    """Prove that functions of `before` and their namesakes in `after` compute the same for all values of inputs.

    Takes the arguments of `compare`. Data are symbolic; sizes are concrete, those of `sizes` one after the other.
    Where the terms of the results differ, random inputs are tried: a function is only `WRONG` with inputs that show
    it.
    """
    before, after = module_op(before), module_op(after)
    theirs, result = functions_of(after), Validation()
    for name, func in functions_of(before).items():
        if is_compared(func, functions, private):
            fixed = sizes if isinstance(sizes, Mapping) else {}
            pair = _Pair(before, after, func, theirs.get(name), packed, fixed)
            result.findings.append(pair.finding(list(symbolic_sizes(func, sizes))))
    return result


@dataclass(frozen=True)
class _Pair:
    """A function before and after."""

    before: Any
    after: Any
    func: Function
    other: Function | None
    packed: Mapping[str, Callable[..., Any]] | None
    fixed: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.func.sym_name.data

    def finding(self, sizes: Sequence[Mapping[str, int]]) -> Finding:
        why = difference_of_signatures(self.func, self.other)
        if why is not None:
            return Finding(self.name, Verdict.NOT_COVERED, reason=why)
        finding = self._at_each(sizes)
        if finding.verdict is not Verdict.PROVED or not any(finding.sizes) or not isinstance(self.func, tir.FuncOp):
            return finding
        return self._at_all_sizes(finding, self.func, sizes)

    def _at_each(self, sizes: Sequence[Mapping[str, int]]) -> Finding:
        weakest, proved = Level.BITS, list[Mapping[str, int]]()
        for chosen in sizes:
            try:
                inputs = random_inputs(self.func, chosen)
            except InterpreterError as error:
                return Finding(self.name, Verdict.NOT_COVERED, reason=error.message)
            outcome = self._at(chosen, inputs)
            if isinstance(outcome, Finding):
                return outcome
            if outcome is not None:
                proved.append({**chosen, **self._integers(inputs)})
                weakest = max(weakest, outcome, key=list(Level).index)
        if not proved:
            return Finding(
                self.name, Verdict.NOT_COVERED, reason="it has no meaning, or too many iterations, at these sizes"
            )
        return Finding(self.name, Verdict.PROVED, weakest, tuple(proved))

    def _at_all_sizes(self, finding: Finding, func: tir.FuncOp, sizes: Sequence[Mapping[str, int]]) -> Finding:
        """Return the finding of a function that is proved at some sizes: for all, or at more sizes, and why not all."""
        assert isinstance(self.other, tir.FuncOp)
        outcome = prove_sizes(func, self.other)
        if outcome.is_proved:
            reordered = outcome.reduces and finding.level is not Level.REAL
            return replace(finding, level=Level.REASSOCIATED if reordered else finding.level, all_sizes=True)
        if sizes == list(symbolic_sizes(func)):
            more = [s for s in symbolic_sizes(func, _MORE_SIZES) if iterations_of(func, s) < _MOST_ITERATIONS]
            further = self._at_each(more) if more else finding
            if further.verdict is not Verdict.PROVED:
                return further
            assert finding.level is not None and further.level is not None
            weakest = max(finding.level, further.level, key=list(Level).index)
            finding = replace(finding, level=weakest, sizes=(*finding.sizes, *further.sizes))
        return replace(finding, reason=outcome.reason)

    def _integers(self, inputs: Sequence[Any]) -> dict[str, int]:
        """Return the arguments that are integers, which are numbers in a proof, by the names of their parameters."""
        pairs = (
            (name_of(p) or f"argument {i}", v) for i, (p, v) in enumerate(zip(self.func.params, inputs, strict=True))
        )
        return {name: int(v) for name, v in pairs if isinstance(v, int | np.integer | np.bool_)}

    def _at(self, sizes: Mapping[str, int], inputs: Sequence[Any]) -> Level | Finding | None:
        """Return the weakest level of a proof at some sizes, None where the function has no meaning, or a finding."""
        if iterations_of(self.func, sizes) > limit("check.iterations"):
            return None
        assert self.other is not None
        if not takes(self.other, inputs, sizes):
            return Finding(self.name, Verdict.NOT_COVERED, reason="the types of its parameters change")
        try:
            for level in Level:
                equal = self._is_equal(algebra_of(level), inputs)
                if equal is None:
                    return None
                if equal:
                    overflows = level is Level.REAL and self._sample(sizes, 0)  # floats that real numbers are not
                    return overflows or level
        except NotCoveredError as error:
            return self._unproved(sizes, error.message)
        return self._unproved(sizes, "no law of the algebras makes the results equal")

    def _is_equal(self, algebra: Algebra, inputs: Sequence[Any]) -> bool | None:
        try:
            expected, asserted = run(self.before, self.func, algebra, inputs, "before", self.packed)
        except InterpreterError:
            return None
        assert self.other is not None
        try:
            actual, still_asserted = run(self.after, self.other, algebra, inputs, "after", self.packed)
        except InterpreterError:
            return False
        if not asserted <= still_asserted:
            raise NotCoveredError("an assertion on data is not there after")
        if not still_asserted <= asserted:
            raise NotCoveredError("an assertion on data is only there after")
        return same_terms(algebra, _without_status(expected, actual))

    def _unproved(self, sizes: Mapping[str, int], reason: str) -> Finding:
        """Return the finding of a function whose terms differ: inputs on which the results do, or not covered."""
        assert self.other is not None
        for seed, inputs in candidates(self.func, self.other):
            wrong = self._sample(sizes, seed, inputs) or self._failing(sizes, seed, inputs)
            if wrong is not None:
                return wrong
        return self._at_zero(sizes) or Finding(self.name, Verdict.NOT_COVERED, reason=reason)

    def _at_zero(self, sizes: Mapping[str, int]) -> Finding | None:
        """Return that a tensor function is wrong where all data are 0: nothing hides a small number there."""
        if not isinstance(self.func, tir.FuncOp):
            return None
        values = zeros(self.func, sizes, 0)
        try:
            (_, expected), (_, actual) = (observe(m, self.name, values, self.packed) for m in (self.before, self.after))
        except (InterpreterError, UnsupportedError):
            return None
        pairs = [(a, b) for a, b in zip(expected, actual, strict=True) if getattr(a, "dtype", None) == np.float32]
        if all(np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True) for a, b in pairs):
            return None
        found = Disagreement(self.name, sizes, values, expected, actual)
        return Finding(self.name, Verdict.WRONG, counterexample=Counterexample(found))

    def _sample(self, sizes: Mapping[str, int], seed: int, inputs: Inputs = random_inputs) -> Finding | None:
        both = self.before, self.after
        try:
            tried = compare(
                *both, functions=[self.name], sizes=dict(sizes), seed=seed, packed=self.packed, inputs=inputs
            ).disagreement
        except UnsupportedError:  # the interpreter does not run functions of the host dialect
            return None
        if tried is None or is_rounding(lambda values: observe(self.before, self.name, values, self.packed), tried):
            return None
        shown = explained(*both, tried, parameter_names(self.func), self.packed, self.fixed)
        return Finding(self.name, Verdict.WRONG, counterexample=shown)

    def _failing(self, sizes: Mapping[str, int], seed: int, inputs: Inputs) -> Finding | None:
        """Return that an assertion fails before, and none does after, on inputs that show it."""
        values = inputs(self.func, sizes, seed)
        before, after = (_ending(module, self.name, values, self.packed) for module in (self.before, self.after))
        if before is None or after is None or not before[0] or after[0]:
            return None
        found = Disagreement(self.name, sizes, values, before[1], after[1])
        return Finding(self.name, Verdict.WRONG, counterexample=Counterexample(found))


def _ending(module: Any, name: str, values: list[Any], packed: Any) -> tuple[bool, str] | None:
    """Return whether an assertion fails in a call, or a status says so, and how the call ends."""
    try:
        result = observe(module, name, values, packed)
    except AssertionFailedError as error:
        return True, error.message
    except InterpreterError as error:
        return False, error.message
    except UnsupportedError:
        return None
    status = result[0] if isinstance(result, tuple) else None
    return (True, f"the status {status}") if isinstance(status, np.integer) and status else (False, "no failure")


def _without_status(expected: Any, actual: Any) -> tuple[Any, Any]:
    """Drop the status 0 that `lower-asserts` adds to functions without results."""
    match expected, actual:
        case (None, list()), (status, list(arrays)) if (
            status is not None and not isinstance(status, Terms) and status == 0
        ):
            return expected, (None, arrays)
        case _:
            return expected, actual


def assert_proved(before: Any, after: Any, **options: Any) -> Validation:
    """Return the validation of two modules. Raises `MeaningError` unless all functions are proved."""
    from ..interpreter import MeaningError

    result = validate(before, after, **options)
    if result.verdict is not Verdict.PROVED:
        raise MeaningError("the programs are not proved equal", notes=str(result).split("\n"))
    return result
