"""Exporting the methods of a module as Relax functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...diagnostics import TiraxError
from ...dialects.sym.expr import Var as SymVar
from ...ir.expr import Expr, Tuple, Var
from ...ir.module import IRModule
from ...ir.relax_ops import to_expr
from ...ir.struct_info import ShapeStructInfo, TupleStructInfo
from ..block_builder import BlockBuilder
from .core import Parameter, Tensor
from .spec import Int, MethodSpec, Spec

if TYPE_CHECKING:
    from .core import Module


def export(module: Module, spec: Mapping[str, Mapping[str, Any]]) -> IRModule:
    """A function for each method in `spec`: inputs first, then the parameters, of which `num_input` tells the first.

    Raises `TiraxError` for a method that is missing or does not take the inputs.
    """
    builder = BlockBuilder()
    parameters = list(module.named_parameters())
    for name, inputs in spec.items():
        method = getattr(module, name, None)
        if not callable(method):
            raise TiraxError(f"{type(module).__name__} has no method '{name}'")
        _export_method(builder, method, MethodSpec.of(name, inputs), parameters)
    return builder.get()


def _export_method(
    builder: BlockBuilder, method: Any, spec: MethodSpec, parameters: Sequence[tuple[str, Parameter]]
) -> None:
    arguments = {name: _input_var(name, s) for name, s in spec.inputs.items()}
    weights = [Var(name, p.expr_handle.struct_info) for name, p in parameters]
    params = [*arguments.values(), *_parameter_vars(spec.param_mode, weights)]
    kept = [p.expr_handle for _, p in parameters]
    with builder.function(spec.name, params, attrs={"num_input": len(arguments)}):
        with builder.dataflow():
            _bind_parameters(builder, spec.param_mode, parameters, weights, params[-1] if params else None)
            try:
                outputs = method(**{name: _wrap(v, spec.inputs[name]) for name, v in arguments.items()})
            finally:
                for (_, parameter), old in zip(parameters, kept, strict=True):
                    parameter._expr = old  # pyright: ignore[reportPrivateUsage]
            result = builder.emit_output(_unwrap(outputs))
        builder.emit_func_output(result)


def _input_var(name: str, spec: Spec) -> Var:
    if isinstance(spec, Int):
        return Var(name, ShapeStructInfo([SymVar(name)]))
    return Var(name, spec.struct_info())


def _parameter_vars(mode: str, weights: list[Var]) -> list[Var]:
    if mode == "packed":
        return [Var("packed_params", TupleStructInfo([w.struct_info for w in weights]))]
    return weights if mode == "plain" else []


def _bind_parameters(
    builder: BlockBuilder,
    mode: str,
    parameters: Sequence[tuple[str, Parameter]],
    weights: Sequence[Var],
    packed: Var | None,
) -> None:
    """Let the parameters stand for the arguments of the function while the method runs."""
    for i, ((name, parameter), weight) in enumerate(zip(parameters, weights, strict=True)):
        value: Expr = weight
        if mode == "packed" and packed is not None:
            value = builder.emit(packed[i], name)
        elif mode == "none":
            if parameter.data is None:
                raise TiraxError(f"the parameter {name} has no contents", hint="load_state_dict first")
            value = to_expr(parameter.data)
        parameter._expr = value  # pyright: ignore[reportPrivateUsage]


def _wrap(var: Var, spec: Spec) -> Any:
    if isinstance(spec, Int):
        return SymVar(var.name_hint)
    if isinstance(var.struct_info, TupleStructInfo):
        return tuple(Tensor(_expr=var[i]) for i in range(len(var)))
    return Tensor(_expr=var)


def _unwrap(outputs: Any) -> Expr:
    """What a method returned as one expression."""
    if isinstance(outputs, tuple | list):
        return Tuple([_unwrap(o) for o in cast("Sequence[Any]", outputs)])
    if outputs is None:
        raise TiraxError("the method returned nothing", expected="a Tensor or a tuple of them")
    return to_expr(outputs)
