"""Names and global variables that no other one has: `tvm.ir.supply`."""

from __future__ import annotations

from collections.abc import Sequence

from ...diagnostics import NameLookupError
from ...handles.module import IRModule
from ...handles.relax.expr import GlobalVar


class NameSupply:
    """Gives names that it has not given before, and that were not reserved: `f`, `f_1`, …."""

    def __init__(self, prefix: str = ""):
        self.prefix = prefix
        self._last: dict[str, int] = {}

    def _full(self, name: str, add_prefix: bool) -> str:
        return f"{self.prefix}_{name}" if add_prefix and self.prefix else name

    def fresh_name(self, name: str, add_prefix: bool = True, add_underscore: bool = True) -> str:
        """Return a new name that begins with `name`; dots become underscores."""
        base = self._full(name, add_prefix).replace(".", "_")
        fresh = base
        while fresh in self._last:
            self._last[base] += 1
            fresh = f"{base}{'_' if add_underscore else ''}{self._last[base]}"
        self._last[fresh] = 0
        return fresh

    def reserve_name(self, name: str, add_prefix: bool = True) -> str:
        """Reserve a name, and return it."""
        full = self._full(name, add_prefix)
        self._last[full] = 0
        return full

    def contains_name(self, name: str, add_prefix: bool = True) -> bool:
        """Return whether a name was given or reserved."""
        return self._full(name, add_prefix) in self._last


class GlobalVarSupply:
    """Gives global variables with names of their own, other than those of modules."""

    def __init__(self, value: NameSupply | IRModule | Sequence[IRModule] | None = None):
        self.name_supply = value if isinstance(value, NameSupply) else NameSupply()
        self._variables: dict[str, GlobalVar] = {}
        modules = [value] if isinstance(value, IRModule) else [] if isinstance(value, NameSupply) else (value or [])
        for module in modules:
            for name in module.names:
                self.reserve_global(GlobalVar(name))

    def fresh_global(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return a variable with a new name."""
        fresh = self.name_supply.fresh_name(name, add_prefix)
        return self._variables.setdefault(fresh, GlobalVar(fresh))

    def unique_global_for(self, name: str, add_prefix: bool = True) -> GlobalVar:
        """Return the variable of a name, which is made if there is none."""
        full = f"{self.name_supply.prefix}_{name}" if add_prefix and self.name_supply.prefix else name
        if full not in self._variables:
            self._variables[full] = GlobalVar(self.name_supply.reserve_name(full, False))
        return self._variables[full]

    def reserve_global(self, global_var: GlobalVar, allow_conflict: bool = False) -> None:
        """Reserve a variable. Raises `NameLookupError` if its name is reserved, unless conflicts are allowed."""
        name = global_var.name_hint
        if not allow_conflict and name in self._variables:
            raise NameLookupError("a global variable of this name is reserved", found=name)
        self.name_supply.reserve_name(name, False)
        self._variables[name] = global_var


__all__ = ["GlobalVarSupply", "NameSupply"]
