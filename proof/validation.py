"""Validation of two modules for all values of their inputs: symbolic execution of both, and comparison of the terms."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from ..diagnostics import nesting_checked
from ..dialects import relax
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
    random_inputs,
    symbolic_sizes,
    takes,
)
from ..interpreter.scalars import InterpreterError
from ..ir.passes.limits import limit
from ..ir.passes.transform import module_op
from .algebra import Algebra, Level, algebra_of
from .semantics import make_machine
from .terms import NotCoveredError, Terms


class Verdict(enum.Enum):
    """What is known of a function after a transformation."""

    PROVED = "proved"
    WRONG = "wrong"
    NOT_COVERED = "not covered"


@dataclass(frozen=True)
class Finding:
    """The verdict on one function.

    `level` is the weakest algebra that a proof needed, at any of `sizes`, the values of the symbolic variables and of
    integer arguments; without these the proof covers all inputs. `reason` says why a function is not covered.
    """

    function: str
    verdict: Verdict
    level: Level | None = None
    sizes: tuple[Mapping[str, int], ...] = ()
    reason: str = ""
    disagreement: Disagreement | None = None

    def __str__(self) -> str:
        if self.verdict is Verdict.PROVED:
            assert self.level is not None
            where = [", ".join(f"{n}={v}" for n, v in s.items()) for s in self.sizes if s]
            sizes = f", at the sizes {'; '.join(where)}" if where else ""
            return f"proved @{self.function} for all inputs{sizes} (level: {self.level.value})"
        if self.verdict is Verdict.WRONG:
            return f"wrong @{self.function}: {self.disagreement}"
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
            pair = _Pair(before, after, func, theirs.get(name), packed)
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

    @property
    def name(self) -> str:
        return self.func.sym_name.data

    def finding(self, sizes: Sequence[Mapping[str, int]]) -> Finding:
        why = difference_of_signatures(self.func, self.other)
        if why is not None:
            return Finding(self.name, Verdict.NOT_COVERED, reason=why)
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
        return same_terms(algebra, _without_status(expected, actual))

    def _unproved(self, sizes: Mapping[str, int], reason: str) -> Finding:
        """Return the finding of a function whose terms differ: inputs on which the results do, or not covered."""
        for seed in range(3):
            wrong = self._sample(sizes, seed)
            if wrong is not None:
                return wrong
        return Finding(self.name, Verdict.NOT_COVERED, reason=reason)

    def _sample(self, sizes: Mapping[str, int], seed: int) -> Finding | None:
        tried = compare(
            self.before, self.after, functions=[self.name], sizes=dict(sizes), seed=seed, packed=self.packed
        )
        return tried.disagreement and Finding(self.name, Verdict.WRONG, disagreement=tried.disagreement)


def symbolic(algebra: Algebra, value: Any, name: str) -> Any:
    """Return an input whose numbers are unknown; integers and shapes, which may decide control, stay."""
    if isinstance(value, tuple):
        return tuple(symbolic(algebra, v, f"{name}.{i}") for i, v in enumerate(value))
    is_data = isinstance(value, np.ndarray) or (isinstance(value, np.generic) and value.dtype.kind not in "iub")
    return Terms.atoms(algebra, value.dtype, name, value.shape) if is_data else value


@nesting_checked()
def run(
    module: Any,
    func: Function,
    algebra: Algebra,
    inputs: Sequence[Any],
    side: str,
    packed: Mapping[str, Callable[..., Any]] | None = None,
) -> tuple[Any, set[int]]:
    """Return the terms of a function's results, and the conditions on data that it asserts.

    The results of a tensor function include its buffers after the call. `inputs` are arrays of the shapes and dtypes
    to take; their numbers become unknown. Raises `NotCoveredError`, and `InterpreterError` where the function is
    undefined.
    """
    machine, functions = make_machine(module, algebra, side, packed)
    args = tuple(symbolic(algebra, v, f"input {i}") for i, v in enumerate(inputs))
    try:
        with np.errstate(all="ignore"):
            if isinstance(func, relax.FuncOp):
                result = machine.drive(functions.call(machine, func, args))
            else:
                results = machine.drive(functions.tir.call(machine, func, args))
                result = (results[0] if results else None, list(args))
            return result, functions.env.assertions
    except InterpretationError as error:
        raise NotCoveredError(str(error)) from error
    except (TypeError, AttributeError) as error:
        raise NotCoveredError(f"numbers are needed: {error}") from error


def _without_status(expected: Any, actual: Any) -> tuple[Any, Any]:
    """Drop the status 0 that `lower-asserts` adds to functions without results."""
    match expected, actual:
        case (None, list()), (status, list(arrays)) if (
            status is not None and not isinstance(status, Terms) and status == 0
        ):
            return expected, (None, arrays)
        case _:
            return expected, actual


def same_terms(algebra: Algebra, pair: tuple[Any, Any]) -> bool:
    """Return whether two results have the same structure, dtypes, shapes and terms."""
    a, b = pair
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(same_terms(algebra, p) for p in zip(a, b, strict=True))
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return a is b or (type(a) is type(b) and a == b)
    x, y = (Terms.lift(algebra, v) for v in (a, b))
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.data["unwritten"].any() or y.data["unwritten"].any():
        return False
    return bool((x.data["term"][..., 0, :] == y.data["term"][..., 0, :]).all())


def assert_proved(before: Any, after: Any, **options: Any) -> Validation:
    """Return the validation of two modules. Raises `MeaningError` unless all functions are proved."""
    from ..interpreter import MeaningError

    result = validate(before, after, **options)
    if result.verdict is not Verdict.PROVED:
        raise MeaningError("the programs are not proved equal", notes=str(result).split("\n"))
    return result
