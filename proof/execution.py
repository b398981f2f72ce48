"""Symbolic execution of one function, and the comparison of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from ..diagnostics import nesting_checked
from ..dialects import relax
from ..interpreter.compare import Function
from .algebra import Algebra
from .semantics import make_machine
from .terms import NotCoveredError, Terms


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
    names: Sequence[str] = (),
) -> tuple[Any, set[int]]:
    """Return the terms of a function's results, and the conditions on data that it asserts.

    The results of a tensor function include its buffers after the call. `inputs` are arrays of the shapes and dtypes to
    take; their numbers become unknown, under `names` where they are recorded. Raises `NotCoveredError`, and
    `InterpreterError` where the function is undefined.
    """
    machine, functions = make_machine(module, algebra, side, packed)
    named = dict(enumerate(names))
    args = tuple(symbolic(algebra, v, named.get(i, f"input {i}")) for i, v in enumerate(inputs))
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
