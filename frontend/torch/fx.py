"""`from_fx`: convert a graph from `torch.fx.symbolic_trace` to a Relax module."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...diagnostics import TiraxError, UnsupportedError
from ...handles.module import IRModule
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Constant, Expr, ShapeExpr, Tuple, Var, const
from ...handles.struct_info import TensorStructInfo
from ...ir.passes.transform import no_gc
from ...runtime import array
from ..block_builder import BlockBuilder
from ..importing.errors import InputError, ModelError
from ..importing.extras import require_torch
from ..importing.names import Names
from ..importing.random_numbers import Seed
from ..importing.report import Status
from .arguments import dtype_name, operator_name
from .emitter import cast_to, dtype_of
from .fx_functions import DropoutLeftOut, FxEmitter, function_row, table_row
from .fx_modules import module_argument, module_row
from .graph import CustomConverter, GraphReader, NotKnown
from .places import location_of, place_of
from .tensors import array_of, constant

InputInfo = Sequence[tuple[Sequence[Any], str]]
_VIEWS = frozenset(
    ("getitem", "view", "transpose", "permute", "narrow", "select", "squeeze", "unsqueeze", "expand", "chunk", "split",
     "unbind", "detach", "reshape", "flatten", "swapaxes", "t")
)  # fmt: skip
_HINT = "custom_convert_map takes converters by the name of a function or by the class of a module"


@no_gc()
def from_fx(
    model: Any,
    input_info: InputInfo,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[Any, CustomConverter] | None = None,
    seed: Seed = None,
) -> IRModule:
    """Convert a `torch.fx.GraphModule` of functions, methods and torch.nn modules to a module with the function `main`.

    `input_info`: shape and dtype of each input, in order; extents may be symbolic (`tir.Var`). Modules behave
    as in evaluation mode: dropout does nothing (`DropoutLeftOut` warns if it is in training mode), and
    normalizations use their statistics. Weights are constants that share the model's memory.

    `keep_params_as_input`: weights are parameters, after the inputs, sorted by name; `detach_params` removes
    their values from the module. `unwrap_unit_return_tuple`: return a single output itself instead of a tuple.
    `no_bind_return_tuple`: each output is an output of the dataflow block, and the tuple is built after it.
    `custom_convert_map`: converters by the name of a function or method, or by the class of a module, called
    with the node and the reader (`GraphReader`). `seed`: see `from_exported_program`.

    Raises `UnsupportedOperators` with all functions and modules without a converter and their places;
    `InputError` if `input_info` does not match the model; `ModelError` for an invalid graph.
    """
    require_torch()
    importer = FxImporter(
        model, FxEmitter(BlockBuilder(), {}, seed=seed), custom_convert_map or {}, keep_params_as_input
    )
    return importer.module(input_info, unwrap_unit_return_tuple, no_bind_return_tuple)


class FxReader(GraphReader):
    """Reads a graph of functions, methods and modules.

    `weights` maps tensors, by identity, to variables; `named_modules` maps paths to modules.
    """

    def __init__(self, module: Any, emitter: FxEmitter, custom: Mapping[Any, CustomConverter]):
        super().__init__(emitter.builder, custom)
        self.emitter = emitter
        self._module = module
        self.named_modules = dict(module.named_modules())
        self.weights: dict[int, Var] = {}
        self._custom_modules = {kind: convert for kind, convert in custom.items() if isinstance(kind, type)}

    def read(self, nodes: Iterable[Any]) -> None:
        """Convert nodes in order, like `GraphReader.read`; nodes that depend on unsupported ones are skipped."""
        for node in nodes:
            self.emitter.node = node
            if any(isinstance(self.env.get(n), NotKnown) for n in node.all_input_nodes):
                self.env[node] = NotKnown(node.name)
                continue
            try:
                self.env[node] = self._converted(node)
                self.coverage.add(self._name(node), Status.CONVERTED)
            except UnsupportedError as error:
                reason = error.message if error.found is None else f"{error.message}: {error.found}"
                self.coverage.add(self._name(node), Status.UNSUPPORTED, place_of(node), reason)
                self.env[node] = NotKnown(node.name)
            except (TiraxError, TypeError) as error:
                raise ModelError(
                    f"{self._name(node)} cannot be converted: {error}", node=node.name, location=location_of(node)
                ) from error

    def _name(self, node: Any) -> str:
        if node.op == "call_module":
            return type(self.named_modules[node.target]).__name__
        return str(getattr(node.target, "__name__", node.target))

    def _converted(self, node: Any) -> Any:
        name = self._name(node)
        convert = self.custom.get(name)
        if node.op == "call_module":
            convert = self._custom_modules.get(type(self.named_modules[node.target]), convert)
        if convert is not None:
            return self._bound(convert(node, self))
        if node.op == "get_attr":
            return self.attribute(node)
        if node.op == "call_module":
            return self._bound(self._called_module(node))
        if hasattr(node.target, "_schema"):
            return self._called(node)
        return self._changed(node, name, self._bound(self._called_function(node, name)))

    def _called(self, node: Any) -> Any:
        override = self.emitter.overrides.get(".".join(operator_name(node.target)))
        if override is None:
            return super()._called(node)
        return self._bound(override(self.emitter, *self.retrieve_args(node)))

    # Functions and methods.

    def _called_function(self, node: Any, name: str) -> Any:
        args = self.retrieve_args(node)
        kwargs = {k: self.value(v) for k, v in node.kwargs.items() if k != "inplace"}
        if not any(isinstance(a, Expr | list) for a in (*args, *kwargs.values())) and node.op == "call_function":
            plain = _plainly(node.target, args, kwargs)
            if plain is not None:
                return plain
        convert = function_row(name) or (function_row(name[:-1]) if _is_in_place(name) else None)
        if convert is None:
            raise UnsupportedError("no converter is there")
        return convert(self.emitter, *args, **kwargs)

    def _changed(self, node: Any, name: str, value: Any) -> Any:
        """Return the value of a call; if it mutates its operand, the operand's node is remapped to it, with the same
        dtype.
        """
        changes = _is_in_place(name) or node.kwargs.get("inplace") is True or name in _OPERATORS_IN_PLACE
        if changes and node.args and type(node.args[0]).__name__ == "Node" and isinstance(value, Expr):
            operand = node.args[0]
            if self._name(operand) in _VIEWS or any(self._name(u) in _VIEWS for u in operand.users if u is not node):
                raise UnsupportedError("a tensor that has views is changed in place")
            value = self.env[operand] = self._bound(cast_to(value, dtype_of(self.env[operand])))
        return value

    # Modules and attributes.

    def _called_module(self, node: Any) -> Any:
        module = self.named_modules[node.target]
        row = module_row(module)
        if row is None:
            raise UnsupportedError("no converter is there")
        if module.training and "Dropout" in type(module).__name__ and getattr(module, "p", 0):
            warnings.warn(DropoutLeftOut(f"{node.target}, which is in training,"), stacklevel=2)
        inputs = [*self.retrieve_args(node), *(self.value(v) for v in node.kwargs.values())]
        arguments = {name: self._argument(module_argument(module, name)) for name in row.arguments}
        if row.by_keyword:
            convert = function_row(row.row)
            assert convert is not None
            return convert(self.emitter, *inputs, **arguments)
        return table_row(self.emitter, row.row, *inputs, *arguments.values())

    def _argument(self, value: Any) -> Any:
        import torch

        return self.tensor(value) if isinstance(value, torch.Tensor) else value

    def tensor(self, tensor: Any) -> Expr:
        """Return a tensor of the model: its variable, or a constant."""
        return self.weights.get(id(tensor)) or constant(tensor)

    def attribute(self, node: Any) -> Any:
        """Return an attribute of the model: a tensor, or another value."""
        value: Any = self._module
        for part in node.target.split("."):
            if not hasattr(value, part):
                raise ModelError(f"the model has no attribute {node.target}", node=node.name)
            value = getattr(value, part)
        return self._argument(value)


_OPERATORS_IN_PLACE = frozenset(("iadd", "isub", "imul", "itruediv", "ifloordiv"))


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__") and name not in ("and_", "or_")


def _plainly(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Evaluate a Python function on numbers, such as the product of two sizes, or return None if it is not one."""
    module = getattr(function, "__module__", None)
    if module in ("_operator", "math", "builtins") and all(isinstance(a, bool | int | float) for a in args):
        return function(*args, **kwargs)
    return None


class FxImporter:
    """The import of one model; see `from_fx` for the arguments."""

    def __init__(self, model: Any, emitter: FxEmitter, custom: Mapping[Any, CustomConverter], keep_params: bool):
        self._model = model
        self._keep_params = keep_params
        self._builder = emitter.builder
        self._reader = FxReader(model, emitter, custom)

    def module(self, input_info: InputInfo, unwrap: bool, no_bind: bool) -> IRModule:
        """Build the module with the function `main`."""
        inputs = [*self._inputs(input_info), *self._reader.emitter.random.params]
        tensors = sorted(self._model.named_parameters()) if self._keep_params else []
        names = Names()
        weights = [Var(names[name], _info(tensor.shape, dtype_name(tensor.dtype))) for name, tensor in tensors]
        self._reader.weights.update((id(t), var) for (_, t), var in zip(tensors, weights, strict=True))
        attrs = {"num_input": len(inputs)} if self._keep_params else None
        nodes = list(self._model.graph.nodes)
        with self._builder.function("main", [*inputs, *weights], attrs=attrs):
            with self._reader.blocks():
                self._reader.read(n for n in nodes if n.op not in ("placeholder", "output"))
                self._reader.coverage.require_supported(hint=_HINT)
                output = self._output(nodes[-1], unwrap, no_bind)
            self._builder.emit_func_output(output)
        mod = self._builder.get()
        if self._keep_params:
            mod["main"] = mod["main"].with_attr("params", [array(array_of(t, name)) for name, t in tensors])
        return mod

    def _inputs(self, input_info: InputInfo) -> list[Var]:
        placeholders = [n for n in self._model.graph.nodes if n.op == "placeholder"]
        if len(placeholders) != len(input_info):
            names = ", ".join(str(n.target) for n in placeholders)
            raise InputError("input_info does not fit the model", expected=f"{len(placeholders)} ({names})",
                             found=len(input_info))  # fmt: skip
        variables = [Var(f"inp_{i}", _info(shape, dtype)) for i, (shape, dtype) in enumerate(input_info)]
        self._reader.env.update(zip(placeholders, variables, strict=True))
        return variables

    def _output(self, node: Any, unwrap: bool, no_bind: bool) -> Any:
        value = self._reader.value(node.args[0])
        if isinstance(value, list) and unwrap and len(value) == 1:
            value = value[0]
        if isinstance(value, list) and no_bind:
            return [self._builder.emit_output(_expression(v)) for v in value]
        return self._builder.emit_output(_expression(value))


def _expression(value: Any) -> Any:
    """Return an output as an expression: a tuple for several, and constants for numbers as in TVM."""
    if isinstance(value, dict):
        return _expression(list(value.values()))
    if isinstance(value, list | tuple):
        return Tuple([_expression(v) for v in value])
    if isinstance(value, bool):
        return const(value, "bool")
    if isinstance(value, int):
        return const(value, "int32")
    if isinstance(value, Expr | Constant | ShapeExpr):
        return value
    if value is None:
        return Tuple([])
    return to_expr(value)


def _info(shape: Iterable[Any], dtype: str) -> TensorStructInfo:
    return TensorStructInfo(list(shape), dtype)
