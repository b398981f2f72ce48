"""Validation of kernels: a tensor function, and the function of scf, memref and vector that it was lowered to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import InterpretationError

from ...dialects import tir
from ...dialects.names import name_of
from ...interpreter.compare import (
    SIZES,
    Disagreement,
    Sizes,
    functions_of,
    iterations_of,
    observe,
    random_inputs,
    same_values,
    symbolic_sizes,
    widening_tolerance,
)
from ...interpreter.scalars import InterpreterError
from ...ir.passes.limits import limit
from ..algebra import Algebra, Level, algebra_of
from ..counterexample import Counterexample
from ..execution import run, same_terms, symbolic
from ..inputs import Inputs, candidates, is_rounding
from ..terms import NotCoveredError, Terms
from ..validation import Finding, Validation, Verdict
from .semantics import Lowered, named_function
from .values import OutsideError, number


@dataclass
class Sources:
    """What runs of tensor functions gave, for all the passes that change what they were lowered to.

    `levels` are those of the last proofs: what needed a law of floats needs it after a further pass, too.
    """

    runs: dict[tuple[Any, ...], tuple[Algebra, Any]] = field(default_factory=dict[tuple[Any, ...], tuple[Algebra, Any]])
    levels: dict[tir.FuncOp, Level] = field(default_factory=dict[tir.FuncOp, Level])


def validate_kernels(
    before: ModuleOp,
    after: ModuleOp,
    *,
    functions: Sequence[str] | None = None,
    sizes: Sizes = SIZES,
    sources: Sources | None = None,
) -> Validation:
    """Prove that the lowered functions of `after` compute what their namesakes, tensor functions of `before`, do.

    Levels of floats include the order of vectors' reductions, and that a `contract`ed product and sum may be one
    operation is not modelled. `WRONG` functions differ where the lowered one runs on numbers.
    """
    result = Validation()
    for name, func in functions_of(before).items():
        lowered = named_function(after, name)
        if isinstance(func, tir.FuncOp) and lowered is not None and (functions is None or name in functions):
            result.findings.append(_Kernel(before, func, after, lowered, sources or Sources()).finding(sizes))
    return result


class _Kernel:
    """A tensor function, and what it was lowered to."""

    def __init__(self, before: ModuleOp, func: tir.FuncOp, after: ModuleOp, lowered: Any, sources: Sources):
        self.before, self.func, self.after, self.lowered, self.sources = before, func, after, lowered, sources
        self.name = func.sym_name.data

    def finding(self, sizes: Sizes) -> Finding:
        weakest, proved = Level.BITS, list[Mapping[str, int]]()
        for chosen in symbolic_sizes(self.func, sizes):
            if iterations_of(self.func, chosen) > limit("check.iterations"):
                continue
            try:
                inputs = random_inputs(self.func, chosen)
                outcome = self._at(chosen, inputs)
            except InterpreterError:
                continue
            except NotCoveredError as error:
                return self._unproved(chosen, error.message)
            if outcome is None:
                return self._unproved(chosen, "no law of the algebras makes the results equal")
            integers = {n: int(v) for n, v in zip(self._names, inputs, strict=True) if _is_integer(v)}
            proved.append({**chosen, **integers})
            weakest = max(weakest, outcome, key=list(Level).index)
        if not proved:
            return Finding(self.name, Verdict.NOT_COVERED, reason="it has no meaning at these sizes")
        self.sources.levels[self.func] = weakest
        return Finding(self.name, Verdict.PROVED, weakest, tuple(proved))

    @property
    def _names(self) -> list[str]:
        return [name_of(p) or f"argument {i}" for i, p in enumerate(self.func.params)]

    def _at(self, sizes: Mapping[str, int], inputs: Sequence[Any]) -> Level | None:
        """Return the weakest level of a proof at some sizes, or None."""
        levels = list(Level)
        for level in levels[levels.index(self.sources.levels.get(self.func, Level.BITS)) :]:
            algebra, (expected, arrays) = self._source(level, sizes, inputs)
            args = [symbolic(algebra, v, f"input {i}") for i, v in enumerate(inputs)]
            actual = self._run(algebra, sizes, args)
            if same_terms(algebra, ((_status(expected), arrays), actual)):
                return level
        return None

    def _source(self, level: Level, sizes: Mapping[str, int], inputs: Sequence[Any]) -> tuple[Algebra, Any]:
        """Return an algebra, and the results of the tensor function in it."""
        key = self.func, level, tuple(sizes.items())
        known = self.sources.runs.get(key)
        if known is None:
            algebra = algebra_of(level)
            known = algebra, run(self.before, self.func, algebra, inputs, "before")[0]
            self.sources.runs[key] = known
        return known

    def _run(self, algebra: Algebra, sizes: Mapping[str, int], args: list[Any]) -> tuple[Any, list[Any]]:
        """Return the status of a call and the arguments after it. Raises `NotCoveredError`."""
        values = [_flat(a) for a in args]
        values += [np.int64(self._extent(v, sizes, args)) for v in self._variables()]
        lowered = Lowered(algebra, "after")
        machine = lowered.machine(self.after, [self.lowered])
        if len(values) != len(self.lowered.body.block.args):
            raise NotCoveredError("a kernel of another signature")
        try:
            with np.errstate(all="ignore"):
                status = machine.drive(machine.region(self.lowered.body, tuple(values), self.name))
        except InterpretationError as error:
            raise NotCoveredError(str(error)) from error
        except OutsideError as error:
            raise NotCoveredError(f"{error} is accessed") from error
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            raise NotCoveredError(f"numbers are needed: {error}") from error
        return _status(status[0] if status else None), args

    def _variables(self) -> list[str]:
        """Return the sizes that follow the parameters: those of the buffers' types that are no parameters."""
        own = {n for n, p in zip(self._names, self.func.params, strict=True) if not isinstance(p.type, tir.BufferType)}
        exprs = (e for p in self.func.buffer_params for e in p.type.exprs())  # pyright: ignore[reportAttributeAccessIssue]
        names = (v.name for e in exprs for v in e.free_vars())
        return list(dict.fromkeys(n for n in names if isinstance(n, str) and n not in own))

    def _extent(self, name: str, sizes: Mapping[str, int], args: Sequence[Any]) -> int:
        if name not in sizes:
            raise NotCoveredError(f"the size {name} follows from no shape")
        return sizes[name]

    def _unproved(self, sizes: Mapping[str, int], reason: str) -> Finding:
        """Return the finding of a kernel whose terms differ: inputs on which numbers do, or not covered."""
        for seed, inputs in candidates(self.func):
            found = self._sample(sizes, seed, inputs)
            if found is not None:
                return Finding(self.name, Verdict.WRONG, counterexample=Counterexample(found))
        return Finding(self.name, Verdict.NOT_COVERED, reason=reason)

    def _sample(self, sizes: Mapping[str, int], seed: int, inputs: Inputs) -> Disagreement | None:
        try:
            values = inputs(self.func, sizes, seed)
            expected, arrays = observe(self.before, self.name, values)
            algebra = algebra_of(Level.BITS)
            args = [Terms.lift(algebra, v) if isinstance(v, np.ndarray) else v for v in values]
            status, actual = self._run(algebra, sizes, args)
            if any(isinstance(a, Terms) and a.data["unwritten"].any() for a in actual):
                return Disagreement(self.name, sizes, values, arrays, "memory that nothing wrote")
            numbers = [a.numbers() if isinstance(a, Terms) else a for a in actual]
            code = int(number(status))
        except (InterpreterError, NotCoveredError):
            return None
        if code != int(_status(expected)):
            return Disagreement(self.name, sizes, values, expected, f"the status {code}")
        if code != 0 or same_values(arrays, numbers, widening_tolerance(self.before)):
            return None
        found = Disagreement(self.name, sizes, values, arrays, numbers)
        return None if is_rounding(lambda each: observe(self.before, self.name, each)[1], found) else found


def _flat(value: Any) -> Any:
    return value.reshape(-1) if isinstance(value, Terms) and value.ndim else value


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer | np.bool_)


def _status(result: Any) -> Any:
    """Return a status as an i32: 0 if there is none."""
    return np.int32(0) if result is None else result
