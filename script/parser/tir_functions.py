"""Calls in a prim_func of functions that do not belong to `T`: other functions of the module, and macros."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any, NoReturn

from xdsl.ir import SSAValue

from ...diagnostics import suggestion
from ...dialects import tir
from ...dialects.names import name_of
from ...ir.passes.limits import check_limit
from .evaluator import Evaluator, inlined
from .scope import Environment, Scope
from .source import Source
from .tir_blocks import read_body
from .tir_buffers import METHODS
from .tir_state import TirParser
from .tir_values import cast_to
from .values import CallSite, GlobalRef, Method, Ref, describe

MACROS = (Ref("tir", "macro"), Ref("tir", "inline"))
"""The decorators of macros."""


_MAX_DEPTH = 64


@dataclass(frozen=True)
class Macro:
    """Statements that are parsed at each call of the macro, with the arguments in place of its parameters.

    Free names are resolved in `environment`, or without one at the call.
    """

    node: ast.FunctionDef
    source: Source
    environment: Environment | None


def member(p: TirParser, name: str, node: ast.AST) -> Any:
    """Resolve `cls.f`, a function of the module."""
    if not p.state.module.has_function(name):
        hint = suggestion(name, p.state.module.function_names())
        raise p.error(node, f"the module has no function '{name}'", hint=hint)
    return GlobalRef(name)


def call_value(p: TirParser, target: Any, site: CallSite) -> Any:
    """Parse a call whose callee is not a function of `T`: a macro, a method, a function of the module, a captured
    function.
    """
    if isinstance(target, Macro):
        _expand(p, target, site)
        return None
    if isinstance(target, Method) and target.name in METHODS:
        return METHODS[target.name](p, target.value, site)
    imported = p.state.module.imported(target)
    if imported is not None:
        return call_function(p, imported.name, site)
    return inlined(p, target, site)


def call_function(p: TirParser, name: str, site: CallSite) -> SSAValue:
    callee = p.state.module.tensor_function(name, site)
    if site.kwargs or len(site.args) != len(callee.params):
        names = ", ".join(name_of(v) or "" for v in callee.params)
        expected = f"{len(callee.params)}: {names}"
        raise site.error("wrong number of arguments", expected=expected, found=len(site.args))
    args = [_argument(p, v, a, site) for v, a in zip(callee.params, site.args, strict=True)]
    result = tir.VOID if callee.ret_type is None else callee.ret_type
    return p.emit(tir.CallOp(callee.name, args, result), site.node)


def _argument(p: TirParser, param: SSAValue, argument: Any, site: CallSite) -> SSAValue:
    """Return an argument as the parameter requires it: a buffer by its address, a scalar cast to the parameter's
    type.
    """
    if not isinstance(param.type, tir.BufferType | tir.HandleType):
        return cast_to(p, argument, param.type, site.node)
    if isinstance(argument, SSAValue) and isinstance(argument.type, tir.BufferType):
        argument = p.emit(tir.BufferDataOp(argument), site.node)
    if not (isinstance(argument, SSAValue) and isinstance(argument.type, tir.HandleType)):
        what = f"parameter '{name_of(param)}' is a buffer"
        raise site.error(what, expected="an address: A.data", found=describe(argument))
    return argument


def define_macro(p: TirParser, node: ast.FunctionDef) -> None:
    """Define a macro inside of a function; its free names are those of the function."""
    if not is_macro(p, node):
        raise p.error(node, "a function may not stand in a prim_func", expected="@T.macro or @T.inline")
    p.scope.define(node.name, Macro(node, p.source, None))


def _expand(p: TirParser, macro: Macro, site: CallSite) -> None:
    try:
        bound = _signature(macro.node.args).bind(*site.args, **site.kwargs)
    except TypeError as error:
        raise site.error(str(error), expected=ast.unparse(macro.node.args)) from None
    explicit = set(bound.arguments)
    bound.apply_defaults()
    if p.state.macro_depth >= _MAX_DEPTH:
        raise site.error("macros call each other without end", expected=f"at most {_MAX_DEPTH} levels")
    p.state.macro_calls += 1
    check_limit("parse.macros", p.state.macro_calls, "macros call each other too often", site.source.place(site.node))
    scope = p.scope if macro.environment is None else Scope(macro.environment)
    p.state.macro_depth += 1
    try:
        with p.elsewhere(scope, macro.source), p.scope.frame() as frame:
            for name, value in bound.arguments.items():
                frame[name] = p.visit(value) if name not in explicit and isinstance(value, ast.AST) else value
            read_body(p, macro.node.body)
    finally:
        p.state.macro_depth -= 1


def _signature(arguments: ast.arguments) -> inspect.Signature:
    """Return the signature of a macro. Defaults are syntax nodes that are evaluated when needed."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = {a.arg: d for a, d in zip(reversed(plain), reversed(arguments.defaults), strict=False)}
    defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None}
    kinds = [
        (inspect.Parameter.POSITIONAL_ONLY, arguments.posonlyargs),
        (inspect.Parameter.POSITIONAL_OR_KEYWORD, arguments.args),
        (inspect.Parameter.VAR_POSITIONAL, [a for a in [arguments.vararg] if a is not None]),
        (inspect.Parameter.KEYWORD_ONLY, arguments.kwonlyargs),
        (inspect.Parameter.VAR_KEYWORD, [a for a in [arguments.kwarg] if a is not None]),
    ]
    empty = inspect.Parameter.empty
    return inspect.Signature(
        [inspect.Parameter(a.arg, kind, default=defaults.get(a.arg, empty)) for kind, args in kinds for a in args]
    )


def is_macro(p: Evaluator[Any], node: ast.FunctionDef) -> bool:
    """Return whether a function has a macro decorator."""
    return any(p.visit(d.func if isinstance(d, ast.Call) else d) in MACROS for d in node.decorator_list)


def hygienic(p: Evaluator[Any], node: ast.FunctionDef) -> bool:
    """Return the `hygienic` argument of `@T.macro(hygienic=…)`."""
    calls = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    flags = [p.visit(k.value) for d in calls for k in d.keywords if k.arg == "hygienic"]
    return not flags or bool(flags[0])


def call_builtin(p: TirParser, name: str, site: CallSite) -> NoReturn:
    """Reject Python's `min` and similar builtins on non-constants."""
    hint = f"write T.{name}" if name != "len" else None
    raise p.error(site.node, f"Python's '{name}' may only be applied to constants", hint=hint)
