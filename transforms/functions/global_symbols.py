"""Make the names of functions in the module and outside agree, or make functions public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects import tir
from ...ir.functions.lookup import FunctionOp, callee_names, functions
from ...ir.locations import location_of
from ...ir.names import NameSupply
from ...ir.passes.transform import Pass

_SYMBOL = "global_symbol"


@dataclass(frozen=True)
class NormalizeGlobalVar(Pass):
    """Rename public functions to their attribute `global_symbol`.

    bar() {global_symbol = "foo"}, private foo()  ->  foo(), private foo1()

    A private function of that name gets a new one. Raises `TiraxError` if two public functions have the same symbol.
    """

    name = "normalize-global-var"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = functions(op)
        symbols = {n: symbol_of(f) or n for n, f in table.items() if not f.private}
        _check_unique(symbols, table)
        supply = NameSupply(symbols.values())
        names = symbols | {n: supply.fresh(n) for n, f in table.items() if f.private}
        for func in table.values():
            drop_symbol(func)
        rename_functions(op, {old: new for old, new in names.items() if old != new})


def symbol_of(func: FunctionOp) -> str | None:
    """Return the attribute `global_symbol` of a function; None if it has none, and its name in the module is used."""
    symbol = None if func.func_attrs is None else func.func_attrs.data.get(_SYMBOL)
    return symbol.data if isinstance(symbol, StringAttr) else None


def drop_symbol(func: FunctionOp) -> None:
    """Remove the attribute `global_symbol`, so that the name in the module is used."""
    if func.func_attrs is not None:
        kept = {k: v for k, v in func.func_attrs.data.items() if k != _SYMBOL}
        func.func_attrs = DictionaryAttr(kept) if kept else None


def _check_unique(symbols: dict[str, str], table: dict[str, FunctionOp]) -> None:
    owner: dict[str, str] = {}
    problems: list[tuple[str, str, str]] = []
    for name, symbol in symbols.items():
        if owner.setdefault(symbol, name) != name:
            problems.append((symbol, owner[symbol], name))
    if problems:
        _, _, last = problems[0]
        raise TiraxError(
            "two public functions have the same global symbol",
            location=location_of(table[last]),
            hint="make one of them private, or give it another global_symbol",
            notes=[f"'{symbol}' is wanted by @{first} and @{second}" for symbol, first, second in problems],
        )


_CALLEE = ("callee", "func")
"""The properties of calls and references that name a function of the module."""


def rename_functions(module: ModuleOp, names: Mapping[str, str]) -> None:
    """Rename functions of a module, old name -> new one, with all references to them, in place.

    Calls by name (`call_dps_packed`, …) of a function of the module are references, too.
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


@dataclass(frozen=True)
class AttachGlobalSymbol(Pass):
    """Make every function public, under its name in the module.

    private f(), g() {global_symbol = "h"}  ->  f(), g()

    Tensor functions get the module's attribute `system_lib_prefix` before their names, if it has one.
    """

    name = "attach-global-symbol"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = functions(op)
        for func in table.values():
            func.sym_visibility = None
            drop_symbol(func)
        prefix = op.attributes.get("system_lib_prefix")
        if isinstance(prefix, StringAttr) and prefix.data:
            rename_functions(op, {n: prefix.data + n for n, f in table.items() if isinstance(f, tir.FuncOp)})
