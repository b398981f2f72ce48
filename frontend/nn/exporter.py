"""Export the methods of a module as Relax functions."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.ir import Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects.sym.expr import Var as SymVar
from ...handles.module import IRModule
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, GlobalVar, Tuple, TupleGetItem, Var, const
from ...handles.struct_info import TupleStructInfo
from ..block_builder import BlockBuilder
from ..places import place_of_caller
from . import spec as _spec
from .effects import IOEffect
from .tensor import Effect, Object, Parameter, Tensor


class _Builder(BlockBuilder):
    """A builder that records the last function and the source location of each operation."""

    last_declared = ""

    def _insert(self, op: Operation, name: str | None) -> SSAValue:
        op.location = place_of_caller()
        return super()._insert(op, name)

    def _declare(self, name: str) -> GlobalVar:
        gv = super()._declare(name)
        self.last_declared = gv.name_hint
        return gv


Parameters = Sequence[tuple[str, Parameter]]
Effects = Sequence[tuple[str, Effect]]


class Exporter:
    """The state of one export: the builder, the effect of input and output, and the external modules in use."""

    def __init__(self, debug: bool = False):
        self.builder = _Builder()
        self.io_effect = IOEffect() if debug else None
        self.extern_mods: list[Any] = []
        """The `ExternModule`s that the model calls."""
        self.subroutines: dict[Any, Any] = {}
        """What a subroutine depends on -> its function."""

    @staticmethod
    def current() -> Exporter:
        """Return the current export. Raises `TiraxError` if there is none."""
        stack = _stack()
        if not stack:
            raise TiraxError("no module is being exported", hint="this is called by methods of modules, in export_tvm")
        return stack[-1]

    def add_extern(self, mod: Any) -> None:
        """Record an `ExternModule` that the model calls."""
        if mod not in self.extern_mods:
            self.extern_mods.append(mod)

    def refuse_extern(self) -> None:
        """Raise `TiraxError` if the model calls external modules."""
        if self.extern_mods:
            symbols = ", ".join(name for mod in self.extern_mods for name in mod.symbols)
            raise TiraxError("the model calls external modules", found=symbols, hint="export_tvm(…, allow_extern=True)")

    @contextmanager
    def inside_subroutine(self) -> Iterator[None]:
        """Disable effects while a subroutine is built."""
        kept, self.io_effect = self.io_effect, None
        try:
            yield
        finally:
            self.io_effect = kept

    def build(self, spec: _spec.ModuleSpec) -> IRModule:
        """Build a function for each method of `spec`: its parameters are inputs, then effects, then module parameters.

        The attribute `num_input` counts the inputs and effects. With effects, there is also `_initialize_effect`,
        and the functions return a tuple of their result and the effects.
        """
        parameters = list(spec.module.named_parameters())
        effects: list[tuple[str, Effect]] = [] if self.io_effect is None else [("", self.io_effect)]
        effects += spec.module.named_effects()
        with self._exporting():
            if effects:
                self._emit_initial(effects)
            for name, method in zip(spec.method_names, spec.method_specs, strict=True):
                with _restored(parameters):
                    self._emit_method(name, method, parameters, effects)
        return self.builder.get()

    @contextmanager
    def _exporting(self) -> Iterator[None]:
        _stack().append(self)
        try:
            yield
        finally:
            _stack().pop()

    def _emit_initial(self, effects: Effects) -> None:
        with self.builder.function("_initialize_effect", []):
            with self.builder.dataflow():
                states = [state for name, e in effects for state in e.emit_init(name, self.builder)]
                result = self.builder.emit_output(self.builder.emit(Tuple(states)))
            self.builder.emit_func_output(result)

    def _emit_method(self, name: str, spec: _spec.MethodSpec, parameters: Parameters, effects: Effects) -> None:
        builder = self.builder
        arguments = {n: Var(n, s.struct_info(n)) for n, s in spec.inputs.items()}
        states = _effect_vars(spec.effect_mode, effects)
        weights = _parameter_vars(spec.param_mode, parameters)
        counted = len(arguments) + len(states)
        with builder.function(name, [*arguments.values(), *states, *weights], attrs={"num_input": counted}):
            with builder.dataflow():
                _bind_effects(builder, spec.effect_mode, effects, states)
                _bind_parameters(builder, spec.param_mode, parameters, weights)
                inputs = {n: _wrap(builder, v, spec.inputs[n], n) for n, v in arguments.items()}
                outputs = _unwrap(spec.method(**inputs))
                if states:
                    outputs = Tuple([outputs, Tuple([s for _, e in effects for s in e.finalize()])])
                result = builder.emit_output(outputs)
            builder.emit_func_output(result)


_local = threading.local()


def _stack() -> list[Exporter]:
    """Return the active exports of this thread, innermost last."""
    if not hasattr(_local, "exporters"):
        _local.exporters = []
    return _local.exporters


@contextmanager
def _restored(parameters: Parameters) -> Iterator[None]:
    """Restore the expressions of the parameters after a method, in which they represent arguments."""
    kept = [p._expr for _, p in parameters]
    try:
        yield
    finally:
        for (_, parameter), old in zip(parameters, kept, strict=True):
            parameter._expr = old
            parameter.lacks_contents_as = None


def _effect_vars(mode: str, effects: Effects) -> list[Var]:
    if mode == "none" or not effects:
        return []
    states = [state for name, effect in effects for state in effect.create(name)]
    return states if mode == "plain" else [Var("packed_effects", TupleStructInfo([s.struct_info for s in states]))]


def _bind_effects(builder: BlockBuilder, mode: str, effects: Effects, states: Sequence[Var]) -> None:
    """Set the states of the effects from the function's arguments, unpacking them if they are packed."""
    if mode != "packed" or not states:
        return
    position = 0
    for name, effect in effects:
        created = effect.create(name)
        fields = range(position, position + len(created))
        effect.set_state(
            [builder.emit(TupleGetItem(states[0], i), v.name_hint) for i, v in zip(fields, created, strict=True)]
        )
        position += len(created)


def _parameter_vars(mode: str, parameters: Parameters) -> list[Var]:
    if mode == "packed":
        return [Var("packed_params", TupleStructInfo([p.expr_handle.struct_info for _, p in parameters]))]
    return [Var(name, p.expr_handle.struct_info) for name, p in parameters] if mode == "plain" else []


def _bind_parameters(builder: BlockBuilder, mode: str, parameters: Parameters, weights: Sequence[Var]) -> None:
    """Let the parameters represent the function's arguments while the method runs."""
    for i, (name, parameter) in enumerate(parameters):
        if mode == "plain":
            value: Expr = weights[i]
        elif mode == "packed":
            value = builder.emit(TupleGetItem(weights[0], i), name)
        elif parameter.data is None:
            parameter.lacks_contents_as = name
            continue
        else:
            value = const(parameter.data, parameter.dtype)
        parameter._expr = value


def _wrap(builder: BlockBuilder, var: Var, spec: _spec.Spec, name: str) -> Any:
    """Return the object that a method receives for an input."""
    if isinstance(spec, _spec.Int):
        return SymVar(name)
    if isinstance(spec, _spec.Object):
        return spec.object_type(_expr=var, _name=name)
    if isinstance(spec, _spec.Tensor):
        return Tensor(_expr=var)
    names = [f"{spec.name}_{i}" for i in range(len(spec.elements))]
    fields = [
        _wrap(builder, builder.emit(TupleGetItem(var, i), n), e, n)
        for i, (n, e) in enumerate(zip(names, spec.elements, strict=True))
    ]
    return fields if isinstance(spec.elements, list) else tuple(fields)


def _unwrap(outputs: Any) -> Expr:
    """Return a method's result as one expression."""
    if isinstance(outputs, tuple | list):
        return Tuple([_unwrap(o) for o in cast("Sequence[Any]", outputs)])
    if isinstance(outputs, Tensor | Object | Expr):
        return to_expr(outputs)
    raise TiraxError("not what a method returns", expected="a Tensor, or a tuple of them", found=type(outputs).__name__)


def add_extern(mod: Any) -> None:
    """Record an `ExternModule` in the current export. Raises `TiraxError` outside of an export."""
    Exporter.current().add_extern(mod)


__all__ = ["Exporter", "add_extern"]
