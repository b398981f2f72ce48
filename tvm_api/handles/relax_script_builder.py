"""`tvm.script.ir_builder.relax`: build a Relax function by calls that resemble TVMScript.

with IRBuilder() as ib:
    with relax_builder.function():
        R.func_name("main")
        x = R.arg("x", R.Tensor((4,), "float32"))
        with R.dataflow() as frame:
            R.output(R.emit(R.add(x, x)))
        R.func_ret_value(frame.output_vars[0])
func = ib.get()
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import TiraxError
from ...handles.relax.builder import Builder, module_of
from ...handles.relax.expr import Expr, Var
from ...handles.relax.function import VarBinding
from ...handles.struct_info import StructInfo, type_of
from .tir_script_builder import IRBuilder


@dataclass
class Dataflow:
    """A dataflow block; `output_vars` are visible after it."""

    output_vars: list[Var] = field(default_factory=list[Var])


@dataclass
class _Function:
    pure: bool
    private: bool
    name: str = "main"
    params: list[Var] = field(default_factory=list[Var])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])
    result: StructInfo | None = None
    blocks: Builder = field(default_factory=lambda: Builder(module_of(None)))
    body: ExitStack | None = None
    frames: list[Dataflow] = field(default_factory=list[Dataflow])


def _function() -> _Function:
    scopes: list[Any] = list(IRBuilder.current().scopes)
    if not scopes or not isinstance(scopes[-1], _Function):
        raise TiraxError("no function is being built", hint="with relax_builder.function(): …")
    return scopes[-1]


def _signature(what: str) -> _Function:
    """Return the current function, whose body must not have begun."""
    func = _function()
    if func.body is not None:
        raise TiraxError(f"R.{what} stands before the bindings of the function")
    return func


def _body() -> Builder:
    """Return the builder of the function's body, which begins with the first binding."""
    func = _function()
    if func.body is None:
        func.body = ExitStack()
        options = {"attrs": func.attrs, "pure": func.pure, "private": func.private}
        func.body.enter_context(func.blocks.function(func.name, **options))
    return func.blocks


@contextmanager
def function(is_pure: bool = True, is_private: bool = False) -> Generator[None]:
    """Build a function. Raises `TiraxError` if it has no result."""
    builder, func = IRBuilder.current(), _Function(is_pure, is_private)
    scopes: list[Any] = builder.scopes
    scopes.append(func)
    try:
        yield
        if func.body is None:
            raise TiraxError(f"the function {func.name} has no result", hint="R.func_ret_value")
        func.body.close()
    finally:
        scopes.remove(func)
    result: Any = func.blocks.get()[func.name]
    if func.result is not None and not func.result.is_base_of(result.ret_struct_info):
        raise TiraxError("the result is not what is declared", expected=func.result, found=result.ret_struct_info)
    builder.finish(result, func.name)


def func_name(name: str) -> None:
    """Set the name of the function."""
    _signature("func_name").name = name


def func_attr(attrs: Mapping[str, Any]) -> None:
    """Set the attributes of the function."""
    _signature("func_attr").attrs.update(attrs)


def func_ret_struct_info(ret_sinfo: Any) -> None:
    """Declare the struct info of the result; the inferred one may be more specific."""
    _function().result = StructInfo.of(type_of(ret_sinfo))


def arg(name: str, struct_info: Any) -> Var:
    """Add and return a parameter."""
    var = Var(name, struct_info)
    _function().params.append(var)
    return var


def func_ret_value(value: Any) -> None:
    """Set the result of the function."""
    _body().emit_func_output(value, _function().params)


@contextmanager
def dataflow() -> Generator[Dataflow]:
    """Build a dataflow block."""
    frame = Dataflow()
    open_frames = _function().frames
    open_frames.append(frame)
    try:
        with _body().dataflow():
            yield frame
    finally:
        open_frames.remove(frame)


def output(*values: Expr) -> None:
    """Set the outputs of the current dataflow block. Raises `TiraxError` outside of one."""
    frames = _function().frames
    if not frames:
        raise TiraxError("R.output is allowed in a dataflow block only", hint="with R.dataflow() as frame: …")
    frames[-1].output_vars += [_body().export(v) if isinstance(v, Var) else _body().emit_output(v) for v in values]


def emit(value: Any, annotate_struct_info: Any = None) -> Var:
    """Bind a value to a new variable; declared struct info must be that of the value."""
    var = _body().emit(value)
    declared = None if annotate_struct_info is None else StructInfo.of(type_of(annotate_struct_info))
    if declared is not None and not declared.is_base_of(var.struct_info):
        raise TiraxError("the value is not what is declared", expected=declared, found=var.struct_info)
    return var


def emit_match_cast(value: Any, struct_info: Any) -> Var:
    """Bind a value to a new variable with more specific struct info, which is checked at run time."""
    return _body().match_cast(value, struct_info)


def emit_var_binding(value: VarBinding) -> Var:
    """Emit a binding whose variable was created by the caller."""
    return _body().emit_normalized(value)


__all__ = [
    "Dataflow", "arg", "dataflow", "emit", "emit_match_cast", "emit_var_binding", "func_attr", "func_name",
    "func_ret_struct_info", "func_ret_value", "function", "output",
]  # fmt: skip
