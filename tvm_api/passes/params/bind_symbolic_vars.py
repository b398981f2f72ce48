"""Bind symbolic variables to values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ....diagnostics import TiraxError
from ....ir.functions.lookup import relax_functions
from ....ir.passes.transform import Pass
from ....ir.rewriting.bind import bind_symbols, symbol_name


@dataclass(frozen=True, init=False)
class BindSymbolicVars(Pass):
    """Replace symbolic variables of Relax functions by values.

    In Python: `BindSymbolicVars({"n": 4, "m": n_expr}, func_name="main")`. In text: parallel lists `names` and
    `values`. `func_name` restricts the pass to one function; otherwise it applies to all functions with these
    variables, where a variable given by its handle is that of its own function. Raises if no function has a
    variable of a name.
    """

    name = "bind-symbolic-vars"
    names: tuple[str, ...] = ()
    values: tuple[int, ...] = ()
    func_name: str | None = None
    mapping: Mapping[Any, Any] = field(init=False, default_factory=dict[Any, Any])

    def __init__(
        self,
        binding_map: Mapping[Any, Any] | None = None,
        func_name: str | None = None,
        *,
        names: tuple[str, ...] = (),
        values: tuple[int, ...] = (),
    ):
        if len(names) != len(values):
            raise TiraxError("bind-symbolic-vars: as many values as names", expected=len(names), found=len(values))
        mapping: dict[Any, Any] = dict(zip(names, values, strict=True)) | dict(binding_map or {})
        object.__setattr__(self, "names", tuple(symbol_name(key) for key in mapping))
        object.__setattr__(self, "values", tuple(v for v in mapping.values() if isinstance(v, int)))
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "mapping", mapping)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bind_symbols(relax_functions(op, self.func_name), self.mapping)
