"""The decorators of TVMScript, which pass the decorated source to the parser; it is never executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from ... import script
from ...diagnostics import TiraxError, nesting_checked
from ...dialects import relax, tir
from ...handles.module import IRModule
from ...handles.tir.prim_func import PrimFunc
from ...ir.passes.transform import no_gc
from ...ir.verification.well_formed import check_well_formed
from .diagnostics import rendering


def parsed_class(cls: type, well_formed: bool = True) -> IRModule:
    """Parse a class as a module. Raises `IllFormedError` for an ill-formed module if `well_formed`."""
    module = IRModule(script.parse_class(cls))
    module.python_name = cls.__name__
    return _checked(module) if well_formed else module


@nesting_checked()
def _checked(module: IRModule) -> IRModule:
    check_well_formed(module)
    return module


def function_decorator(kind: str) -> Callable[..., Any]:
    """Return the decorator for functions of one dialect, with or without options such as `private=True`."""

    def decorate(func: Any = None, **options: Any) -> Any:
        if func is None:
            return partial(decorate, **options)
        if not isinstance(func, FunctionType):
            raise TiraxError(f"the decorator of {kind} takes a function", found=type(func).__name__)
        if script.in_module_class(func):
            return func
        with rendering():
            op = script.parse_decorated(func)
        name = _named_by_symbol(op, _name_in_text(op, func.__name__))
        module = IRModule(op)
        function = (_checked(module) if options.get("check_well_formed", True) else module)[name]
        if isinstance(function, PrimFunc):
            function.python_name = func.__name__
        return function

    return decorate


def _name_in_text(module: ModuleOp, name: str) -> str:
    """Return a function's name in the source; notebooks add a prefix to names of a cell."""
    names = [f.sym_name.data for f in module.body.block.ops if isinstance(f, relax.FuncOp | tir.FuncOp)]
    return name if name in names else next(n for n in names if name.endswith(n))


def _named_by_symbol(module: ModuleOp, name: str) -> str:
    """Name a standalone function by its attribute `global_symbol` instead of its Python name."""
    func = next(f for f in module.body.block.ops if getattr(f, "sym_name", None) == StringAttr(name))
    attrs = func.func_attrs if isinstance(func, relax.FuncOp | tir.FuncOp) else None
    symbol = None if attrs is None else attrs.data.get("global_symbol")
    private = func.properties.get("sym_visibility") is not None
    if attrs is None or not isinstance(symbol, StringAttr) or private or _calls(func, name):
        return name
    others = {k: v for k, v in attrs.data.items() if k != "global_symbol"}
    func.properties.update(sym_name=symbol, func_attrs=DictionaryAttr(others))
    if not others:
        del func.properties["func_attrs"]
    return symbol.data


def _calls(func: Operation, name: str) -> bool:
    """Return whether a function refers to a function by name."""
    mentioned = (a for op in func.walk() for a in op.properties.values() if isinstance(a, SymbolRefAttr))
    return any(a.root_reference.data == name for a in mentioned)


@nesting_checked()
def from_source(text: str, extra_vars: Mapping[str, Any] | None = None, check_well_formed: bool = True) -> Any:
    """Parse TVMScript text as a module, or as a function if the text is a single function without a module.

    Raises `ScriptError`, which shows the location, for invalid text, and `IllFormedError` for an ill-formed
    module unless `check_well_formed` is False.
    """
    with rendering(), no_gc():
        op = script.parse_source(text, extra_vars=extra_vars)
    functions = [f for f in op.body.block.ops if isinstance(f, relax.FuncOp | tir.FuncOp)]
    alone = len(functions) == 1 and op.location is UNKNOWN_LOC  # a class has a location
    name = _named_by_symbol(op, functions[0].sym_name.data) if alone else ""
    module = IRModule(op)
    if check_well_formed:
        _checked(module)
    return module[name] if alone else module


@nesting_checked()
def from_mlir(text: str, filename: str = "<string>", check_well_formed: bool = True) -> IRModule:
    """Parse a module from MLIR text. Raises `MLIRSyntaxError`, and otherwise as `from_source`."""
    module = IRModule(script.parse_mlir(text, filename))
    return _checked(module) if check_well_formed else module
