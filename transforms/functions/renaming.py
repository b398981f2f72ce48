"""Giving functions of a module other names."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from ...ir.functions.lookup import callee_names, functions

_CALLEE = ("callee", "func")
"""The properties of calls and references that name a function of the module."""


def rename_functions(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Rename functions of a module, old name -> new one, with every mention of them, in place.

    Calls by name (`call_dps_packed`, …) of a function of the module are mentions, too.
    """
    if not names:
        return
    for op in module.walk():
        if any(n in names for n in callee_names(op)):
            op.properties = {k: _renamed(v, names) if k in _CALLEE else v for k, v in op.properties.items()}
    for name, func in functions(module).items():
        func.sym_name = StringAttr(names.get(name, name))


def _renamed(attr: Attribute, names: Mapping[str, str]) -> Attribute:
    if isinstance(attr, SymbolRefAttr):
        name = attr.root_reference.data
        return SymbolRefAttr(names.get(name, name))
    return StringAttr(names.get(attr.data, attr.data)) if isinstance(attr, StringAttr) else attr
