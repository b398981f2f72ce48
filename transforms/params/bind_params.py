"""Bind parameters to constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.bind import bind_parameters
from ...untrusted import brief
from ...untrusted.arrays import read_arrays


@dataclass(frozen=True, init=False)
class BindParams(Pass):
    """Bind parameters of the Relax function `func_name` to arrays, and remove them from the signature.

    In Python: `BindParams("main", {"w0": array, …})`, where a key is a parameter's name or handle, and a value anything
    that numpy accepts as an array. In text: `file`, an `.npz` file whose arrays are named like parameters. Symbolic
    variables that the arrays' shapes determine are replaced everywhere in the function.

    Raises `NameLookupError` for an unknown parameter, `ShapeError` and `DTypeError` for arrays that do not fit.
    """

    name = "bind-params"
    func_name: str = "main"
    file: str | None = None
    params: Mapping[Any, Any] = field(init=False, default_factory=dict[Any, Any], compare=False)

    def __init__(self, func_name: str = "main", params: Mapping[Any, Any] | None = None, *, file: str | None = None):
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "file", file)
        object.__setattr__(self, "params", dict(params or {}))

    def arrays(self) -> dict[Any, Any]:
        """Return the arrays by parameter, including those of the file."""
        return {**_from_file(self.file), **self.params}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        (func,) = relax_functions(op, self.func_name)
        bind_parameters(func, self.arrays())


_HINT = "an .npz file of arrays"


def _from_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    arrays = read_arrays(path, TiraxError, _HINT)
    if not isinstance(arrays, dict):
        raise TiraxError(f"'{brief(path)}' holds no parameters by name", found="a single array", hint=_HINT)
    return arrays
