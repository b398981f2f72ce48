"""`tvm.script.ir`, usually imported as `I`."""

from __future__ import annotations

from typing import Any

from ...handles.module import IRModule
from ...handles.relax.expr import GlobalVar
from ...handles.struct_info import VDevice
from ..handles.from_script import parsed_class

__tirax_script_dialect__ = "ir"


def ir_module(cls: type | None = None, check_well_formed: bool = True) -> Any:
    """Make an `IRModule` of a class whose methods are functions in TVMScript.

    Raises `ScriptError` for what is not TVMScript, and `IllFormedError` for a module that is not well formed, unless
    `check_well_formed` is False.
    """
    return (lambda c: parsed_class(c, check_well_formed)) if cls is None else parsed_class(cls, check_well_formed)


def module_attrs(attrs: dict[str, Any], allow_overwrite: bool = False) -> None:
    """In a script: the attributes of the module."""


def module_global_infos(global_infos: dict[str, list[Any]]) -> None:
    """In a script: global information of the module."""


def vdevice(target: Any = None, vdevice_id: int = 0, memory_scope: str = "global") -> VDevice:
    """In a script: a virtual device of the module, a target (`llvm` where none is given), a number and a memory."""
    return VDevice(target, vdevice_id, memory_scope)


def dummy_global_info() -> None:
    """In a script: global information that says nothing."""


__all__ = ["GlobalVar", "IRModule", "dummy_global_info", "ir_module", "module_attrs", "module_global_infos", "vdevice"]
