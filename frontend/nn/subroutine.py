"""Modules whose calls become calls of separate functions."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, cast

from ...diagnostics import TiraxError
from ...dialects.relax import free_symbolic_vars
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.expr import Var as SymVar
from ...handles.relax.calls import call_value, to_expr
from ...handles.relax.expr import Expr, GlobalVar, ShapeExpr, Tuple, Var
from ...handles.struct_info import ShapeStructInfo, StructInfo, type_of
from ...ir.functions.symbolic_vars import definable_vars
from ..block_builder import BlockBuilder
from .exporter import Exporter
from .tensor import Object, Parameter, Tensor, wrap_nested


class SubroutineMixin:
    """Turns `forward` of a class with `define_subroutine = True` into a separate Relax function.

    Modules of the same class with equal attributes and parameter types share the function for equal argument
    types. Its parameters are the tensor arguments, then `sizes`, a shape of the symbolic variables that these
    do not determine (if any), then the parameters of the module.
    """

    define_subroutine: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        forward = cls.__dict__.get("forward")
        if inspect.isfunction(forward):
            cls.forward = _as_subroutine(forward)


def _as_subroutine(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        builder = BlockBuilder.current() if self.define_subroutine else None
        if builder is None:
            return forward(self, *args, **kwargs)
        return _call(builder, self, forward, args, kwargs)

    return called


def _call(
    builder: BlockBuilder, module: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    arguments = dict(list(inspect.signature(forward).bind(module, *args, **kwargs).arguments.items())[1:])
    values = {n: _bound(builder, v) for n, v in arguments.items() if isinstance(v, Tensor | Object)}
    plain = {n: v for n, v in arguments.items() if n not in values}
    parameters = dict(module.named_parameters())
    weights = [p.expr_handle for p in parameters.values()]
    sizes = _undetermined([*values.values(), *weights], plain)
    known = Exporter.current().subroutines
    key = (forward, tuple((n, v.struct_info) for n, v in values.items()), _fingerprint(plain), _fingerprint(module))
    if key not in known:
        known[key] = _define(module, forward, arguments, values, sizes, parameters)
    name, info = known[key]
    call = call_value(GlobalVar(name), [*values.values(), *([ShapeExpr(sizes)] if sizes else []), *weights], [info])
    return wrap_nested(builder.emit(call, f"{name}_output"), f"{name}_output")


def _undetermined(values: Sequence[Expr], plain: Mapping[str, Any]) -> list[SymVar]:
    """Return the symbolic variables that a subroutine may use but its arguments do not determine.

    Raises `TiraxError` for tensors nested in other arguments.
    """
    types = [type_of(v.struct_info) for v in values]
    used = dict.fromkeys(free_symbolic_vars(types))
    for name, value in plain.items():
        for part in _leaves(value):
            if isinstance(part, Tensor | Object):
                raise TiraxError(f"the argument {name} of a subroutine has tensors in it", hint="pass them one by one")
            if isinstance(part, SymExpr):
                used |= dict.fromkeys(part.free_vars())
    determined = definable_vars(types)
    return [v for v in used if v not in determined]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(cast("dict[Any, Any]", value).values())
    if isinstance(value, tuple | list):
        for part in cast("list[Any]", value):
            yield from _leaves(part)
    else:
        yield value


def _bound(builder: BlockBuilder, value: Tensor | Object) -> Var:
    expr = value.expr_handle
    return expr if isinstance(expr, Var) else builder.emit(expr)


def _define(
    module: Any,
    forward: Callable[..., Any],
    arguments: Mapping[str, Any],
    values: Mapping[str, Var],
    sizes: Sequence[SymVar],
    parameters: Mapping[str, Parameter],
) -> tuple[str, StructInfo]:
    """Define a private function that computes `forward`; return its name and the struct info of its result."""
    if next(module.named_effects(), None) is not None:
        raise TiraxError(f"{type(module).__name__} has effects, and is a subroutine", hint="define_subroutine = False")
    exporter = Exporter.current()
    kept = {name: p.expr_handle for name, p in parameters.items()}
    inputs = {n: Var(n, v.struct_info) for n, v in values.items()}
    weights = {n: Var(e.name_hint if isinstance(e, Var) else n, e.struct_info) for n, e in kept.items()}
    builder = exporter.builder
    shapes = [Var("sizes", ShapeStructInfo(sizes))] if sizes else []
    params = [*inputs.values(), *shapes, *weights.values()]
    function = builder.function(snake_case(type(module).__name__), params, private=True)
    with exporter.inside_subroutine(), _standing_for(parameters, weights), function:
        with builder.dataflow():
            wrapped = {n: _like(v, inputs[n], n) if n in inputs else v for n, v in arguments.items()}
            result = builder.emit_output(_result(forward(module, **wrapped)))
        info = result.struct_info
        builder.emit_func_output(result)
    return builder.last_declared, info


@contextmanager
def _standing_for(parameters: Mapping[str, Parameter], weights: Mapping[str, Expr]) -> Iterator[None]:
    """Let parameters represent the arguments of the subroutine while it is built."""
    kept = {name: p.expr_handle for name, p in parameters.items()}
    try:
        for name, parameter in parameters.items():
            parameter._expr = weights[name]
        yield
    finally:
        for name, parameter in parameters.items():
            parameter._expr = kept[name]


def _like(value: Tensor | Object, var: Var, name: str) -> Any:
    return Tensor(_expr=var) if isinstance(value, Tensor) else type(value)(_expr=var, _name=name)


def _result(outputs: Any) -> Expr:
    if isinstance(outputs, tuple | list):
        return Tuple([_result(o) for o in cast("list[Any]", outputs)])
    return to_expr(outputs)


def _fingerprint(value: Any) -> Any:
    """Return a key that is equal for values a subroutine cannot distinguish; parameters count by their struct info."""
    if isinstance(value, Parameter):
        return value.expr_handle.struct_info
    if isinstance(value, SubroutineMixin):
        return type(value), _fingerprint(vars(value))
    if isinstance(value, dict):
        return tuple((k, _fingerprint(v)) for k, v in cast("dict[str, Any]", value).items())
    if isinstance(value, tuple | list):
        return tuple(map(_fingerprint, cast("list[Any]", value)))
    return type(value), value if isinstance(value, Hashable) else id(value)


def snake_case(name: str) -> str:
    """Return the function name of a class: `FeedForward2` -> `feed_forward2`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


__all__ = ["SubroutineMixin"]
