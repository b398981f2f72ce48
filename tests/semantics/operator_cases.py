"""The operators' cases, by operator: those of the tests of legalization. A case is a name, arguments, attributes.

An argument is a tensor's type as text, a list of such, or a function that makes a leaf.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.relax.types import free_symbolic_vars
from tirax.ir.verification.verify import verify_module

LEGALIZE = Path(__file__).parents[1] / "transforms" / "legalize"
one_operator = runpy.run_path(str(LEGALIZE / "conftest.py"))["one_operator"]
_MEANING = runpy.run_path(str(LEGALIZE / "test_meaning.py"))
POSITIVE: set[str] = _MEANING["POSITIVE"]
"""Operators whose operands are made positive."""

Case = tuple[str, list[Any], dict[str, Any]]


def texts(case: Case) -> list[str]:
    """The types of a case's tensors."""
    return [a for arg in case[1] for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, str)]


def shapes(case: Case) -> str:
    """The shapes of a case's tensors."""
    return " ".join(t.rpartition(" ")[0] for t in texts(case))


def _cases() -> dict[str, list[Case]]:
    rows = [*_MEANING["CASES"], *runpy.run_path(str(LEGALIZE / "test_operators.py"))["CASES"]]
    found: dict[str, list[Case]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return {name: sorted(some, key=lambda row: "n" not in shapes(row)) for name, some in found.items()}


CASES = _cases()
"""The cases of each operator, those with symbolic shapes first."""


def built(arg: Any) -> Any:
    """An argument with its leaves made."""
    if isinstance(arg, list):
        return [built(a) for a in arg]
    return arg if isinstance(arg, str) or arg is None else arg()


def function(case: Case) -> ModuleOp | None:
    """A module whose `main` is the operator; None where it refuses these arguments."""
    name, args, attrs = case
    try:
        module: ModuleOp = one_operator(f"relax.{name}", [built(a) for a in args], **attrs)
        verify_module(module)
    except (TiraxError, VerifyException):
        return None
    (func,) = module.ops
    assert isinstance(func, relax.FuncOp)
    given = free_symbolic_vars([p.type for p in func.params])
    mentioned = free_symbolic_vars([r.type for op in func.walk() for r in op.results])
    return module if set(mentioned) <= set(given) else None
