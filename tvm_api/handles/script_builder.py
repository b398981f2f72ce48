"""`tvm.script.ir_builder.ir`: build a module of functions by calls that resemble TVMScript.

with IRBuilder() as ib, I.ir_module():
    with T.prim_func():
        T.func_name("foo")
mod = ib.get()
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...diagnostics import NameLookupError, TiraxError
from ...handles.base_func import BaseFunc
from ...handles.module import IRModule
from ...handles.relax.expr import GlobalVar
from ...handles.struct_info import VDevice
from .tir_script_builder import IRBuilder


@contextmanager
def ir_module() -> Generator[None]:
    """Build a module of the functions in the body. Raises `TiraxError` for duplicate names."""
    builder = IRBuilder.current()
    with builder.gathered() as functions:
        yield
    builder.finish(IRModule(functions, **builder.module))


def _module() -> dict[str, Any]:
    """Return the attributes and global infos of the module that is built. Raises `TiraxError` outside of one."""
    builder = IRBuilder.current()
    if builder.functions is None:
        raise TiraxError("no module is being built", hint="with I.ir_module(): …")
    return builder.module


def module_attrs(attrs: Mapping[str, Any], allow_overwrite: bool = False) -> None:
    """Set the attributes of the module. Raises `TiraxError` if it has some, unless they may be overwritten."""
    module = _module()
    if module.get("attrs") and not allow_overwrite:
        raise TiraxError("the module has attributes already", found=list(module["attrs"]))
    module["attrs"] = dict(attrs)


def module_get_attrs() -> dict[str, Any]:
    """Return the attributes of the module."""
    return dict(_module().get("attrs", {}))


def module_get_attr(attr_key: str) -> Any:
    """Return an attribute of the module, None if it is not set."""
    return module_get_attrs().get(attr_key)


def module_set_attr(attr_key: str, attr_value: Any, allow_overwrite: bool = False) -> None:
    """Set an attribute of the module. Raises `TiraxError` if it is set, unless it may be overwritten."""
    attrs = module_get_attrs()
    if attr_key in attrs and not allow_overwrite:
        raise TiraxError("the attribute of the module is set already", found=attr_key)
    module_attrs({**attrs, attr_key: attr_value}, allow_overwrite=True)


def module_global_infos(global_infos: Mapping[str, Sequence[Any]]) -> None:
    """Set the global infos of the module."""
    _module()["global_infos"] = {kind: list(infos) for kind, infos in global_infos.items()}


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> VDevice:
    """Return a virtual device of the module by its kind and its place among those. Raises `NameLookupError`."""
    infos = _module().get("global_infos", {}).get("vdevice", [])
    found = [info for info in infos if target_kind in (None, info.target)]
    if not found:
        raise NameLookupError("the module has no such virtual device", found=target_kind)
    return found[max(device_index, 0)]


def decl_function(func_name: str, func_signature: Any) -> GlobalVar:
    """Return a reference to a function of the module, which is built later or by `def_function`."""
    _module()
    return GlobalVar(func_name)


def def_function(func_name: str, func: BaseFunc) -> None:
    """Give the module a function."""
    _module()
    IRBuilder.current().finish(func, func_name)


def current_ir_module() -> IRModule:
    """Return the functions that were built so far."""
    _module()
    return IRModule(IRBuilder.current().functions or {})
