"""Give symbolic variables values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError, unknown_name
from ...dialects import relax
from ...dialects.sym.expr import SymExpr, Var, as_expr
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.substitute import substitute_symbols
from ..bindings.normalize import refine_struct_info


@dataclass(frozen=True, init=False)
class BindSymbolicVars(Pass):
    """Replace symbolic variables of Relax functions by values.

    From Python: `BindSymbolicVars({"n": 4, "m": n_expr}, func_name="main")`. In text: `names` and `values` in step.
    `func_name`: this function only; otherwise all that have the variables. Raises where a name is no variable of any.
    """

    name = "bind-symbolic-vars"
    names: tuple[str, ...] = ()
    values: tuple[int, ...] = ()
    func_name: str | None = None
    mapping: Mapping[str, Any] = field(init=False, default_factory=dict[str, Any])

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
        mapping = dict(zip(names, values, strict=True)) | {_name(k): v for k, v in (binding_map or {}).items()}
        object.__setattr__(self, "names", tuple(mapping))
        object.__setattr__(self, "values", tuple(v for v in mapping.values() if isinstance(v, int)))
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "mapping", mapping)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        chosen = relax_functions(op, self.func_name)
        known = {str(v.name) for f in chosen for v in function_symbols(f)}
        for name in self.mapping:
            if name not in known:
                raise unknown_name("symbolic variable", name, known)
        for func in chosen:
            bind_symbols(func, {n: _expr(v) for n, v in self.mapping.items()})


def _name(key: Any) -> str:
    """A variable's name, given as a string or as a handle that has one."""
    if isinstance(key, str):
        return key
    name = getattr(key, "name", None) or getattr(key, "name_hint", None)
    if not isinstance(name, str):
        raise TiraxError("a symbolic variable is given by its name or its handle", found=type(key).__name__)
    return name


def _expr(value: Any) -> SymExpr:
    if isinstance(value, int | SymExpr):
        return as_expr(value)
    convert = getattr(value, "as_sym", None)
    if convert is None:
        raise TiraxError("the value of a symbolic variable is an integer or an expression", found=type(value).__name__)
    return convert()


def function_symbols(func: relax.FuncOp) -> list[Var]:
    """The symbolic variables of a Relax function: of its parameters and of all bindings."""
    types = [p.type for p in func.params] + [r.type for op in func.walk() for r in op.results]
    return relax.free_symbolic_vars(types)


def bind_symbols(func: relax.FuncOp, values: Mapping[str, SymExpr]) -> None:
    """Replace variables by name everywhere in the function, in place, and refine struct info."""
    mapping = {v: values[str(v.name)] for v in function_symbols(func) if v.name in values}
    substitute_symbols(func, mapping)
    refine_struct_info(func)
