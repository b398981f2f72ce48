"""`tvm.script.ir`, usually imported as `I`."""

from __future__ import annotations

from typing import Any

from ...handles.module import IRModule
from ...handles.relax.expr import GlobalVar
from ...handles.struct_info import VDevice
from ..handles.from_script import parsed_class

__tirax_script_dialect__ = "ir"


def ir_module(cls: type | None = None, check_well_formed: bool = True) -> Any:
    """Parse a class whose methods are functions in TVMScript as an `IRModule`.

    Raises `ScriptError` for invalid TVMScript, and `IllFormedError` for an ill-formed module unless
    `check_well_formed` is False.
    """
    return (lambda c: parsed_class(c, check_well_formed)) if cls is None else parsed_class(cls, check_well_formed)


def module_attrs(attrs: dict[str, Any], allow_overwrite: bool = False) -> None:
    """Set the attributes of the module, in a script."""


def module_global_infos(global_infos: dict[str, list[Any]]) -> None:
    """Set the global infos of the module, in a script."""


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """Declare a virtual device in a script: a target (default: `llvm`), an index and a memory scope."""
    return VDevice(target, vdevice_id, memory_scope)


def dummy_global_info() -> None:
    """Declare an empty global info, in a script."""


__all__ = ["GlobalVar", "IRModule", "dummy_global_info", "ir_module", "module_attrs", "module_global_infos", "vdevice"]
