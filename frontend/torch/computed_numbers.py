"""Numbers in floating point that a program computes from its sizes, `n ** -0.5`, as tensors of rank 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.sym.expr import SymExpr
from ...handles.relax.expr import Expr
from ..importing.relax_operators import R
from .emitter import Emitter

_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "add": R.add, "sub": R.subtract, "mul": R.multiply, "truediv": R.divide, "pow": R.power, "neg": R.negative,
    "floordiv": R.floor_divide, "mod": R.floor_mod, "sym_float": lambda x: x, "sym_max": R.maximum,
    "sym_min": R.minimum, "_sym_sqrt": R.sqrt, "sym_sqrt": R.sqrt, "sqrt": R.sqrt, "abs": R.abs,
}  # fmt: skip
"""By the name of the function of Python."""


@dataclass(frozen=True)
class Postponed:
    """A value that is emitted where it is used first: most such numbers are parts of sizes."""

    make: Callable[[], Any]


def is_known(function: str) -> bool:
    """Return whether there is an operator for a function of numbers."""
    return function in _FUNCTIONS


def computed_number(e: Emitter, function: str, args: Sequence[Any]) -> Expr:
    """Return a function of numbers, sizes and tensors of rank 0, in double precision, as PyTorch computes it."""
    wide = [e.bound(e.tensor(a, "float64")) if isinstance(a, SymExpr | Expr | int | float) else a for a in args]
    return e.bound(_FUNCTIONS[function](*wide))
