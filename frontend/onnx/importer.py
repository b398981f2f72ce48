"""`from_onnx`: a model becomes a module with one function, `main`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.sym.expr import SymExpr
from ...handles.module import IRModule
from ...handles.relax.expr import Expr, Tuple, TupleGetItem, Var
from ...handles.struct_info import TensorStructInfo, TupleStructInfo
from ...ir.passes.transform import no_gc
from ...runtime.ndarray import array as runtime_array
from ...transforms.bindings.convert_to_dataflow import ConvertToDataflow
from ..block_builder import BlockBuilder
from ..importing.errors import InputError, ModelError
from ..importing.names import Names
from ..importing.random_numbers import RandomNumbers, Seed
from .coverage import coverage_of, has_branches
from .expansion import require_finite
from .graph import Scope, World
from .model import functions_of, model_versions, open_model
from .sizes import Declared, Sizes
from .table import Converter, Converters
from .tensors import TensorReader, dtype_name, tensor_type
from .values import Result, TensorSequence, Value, constant_of

if TYPE_CHECKING:
    from onnx import GraphProto, TypeProto, ValueInfoProto

_HINT = "custom_convert_map takes converters by the names of operators; converter_stub(name) writes one to fill in"

Shape = Sequence[int | str | SymExpr | Any]


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Shape] | None = None,
    dtype_dict: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    custom_convert_map: Mapping[str, Converter] | None = None,
    seed: Seed = None,
) -> IRModule:
    """The module of an ONNX model, given as a `ModelProto` or by its path: a function `main` of the graph's inputs.

    `shape_dict` gives inputs other shapes than the model's (numbers, names of symbolic sizes, expressions),
    `dtype_dict` dtypes to those that have none in the model: one for all, or by name. `opset` stands for the version
    that the model says. With `keep_params_in_input` weights are parameters after the inputs, and their values in the
    attribute `params`, which `detach_params` takes out; else they are constants. The attribute `num_input` counts the
    inputs. Large weights are not copied: a model's file must not be changed as long as the module is in use.

    `custom_convert_map` has converters by the names of operators, `Foo` or `domain.Foo`, which come before the table's;
    `table.py` says what one is, and `converter_stub("domain.Foo")` writes one to fill in.

    `seed`: of random numbers, where nodes have no attribute of that name. None is the state of the runtime: calls draw
    different numbers, which `runtime.manual_seed` repeats. With an integer all calls draw the same numbers. With
    `"input"` the function has the parameters `seed` and `offset`, int64 of rank 0, after the inputs.

    A dimension that the model names is a symbolic size of that name; one without a name is a size of its own.

    Raises `UnsupportedOperators` with all operators that cannot be converted, `ModelError` for a model that is damaged
    or contradicts itself, with the node's name, `InputError` for names and shapes that do not fit its inputs.
    """
    return imported(
        model, shape_dict, dtype_dict, opset, keep_params_in_input, sanitize_input_names, None, custom_convert_map, seed
    )


@no_gc()
def imported(
    model: Any,
    shape_dict: Mapping[str, Shape] | None = None,
    dtype_dict: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
    fixed: Mapping[str, Any] | None = None,
    own: Mapping[str, Converter] | None = None,
    seed: Seed = None,
) -> IRModule:
    """As `from_onnx`, with a user's `own` converters; the inputs `fixed` are constants, and no parameters."""
    opened = open_model(model)
    proto = opened.proto
    opsets = model_versions(proto, opset)
    functions = functions_of(proto)
    converters = Converters(own)
    require_finite(proto.graph, functions)
    coverage_of(proto.graph, opsets, functions, converters).require_supported(hint=_HINT)
    reader = TensorReader(opened.folder)
    names = Names(sanitize_input_names, "input", keywords=True)
    sizes = Sizes(_plain_names(proto.graph, shape_dict or {}))
    inputs = _inputs(proto.graph, dict(shape_dict or {}), dtype_dict, names, sizes)
    declared = {} if shape_dict else _declared(proto.graph, sizes)
    builder = BlockBuilder()
    random = RandomNumbers(builder, seed)
    world = World(builder, random, functions, reader, sizes, converters, declared)
    scope = Scope(world, opsets)
    for name, contents in (fixed or {}).items():
        scope.values[name] = Value(array=np.asarray(contents))
        del inputs[name]
    scope.values.update({name: _value(name, var) for name, var in inputs.items()})
    params = [*(var for var in inputs.values() if var is not None), *random.params]
    weights = _Weights(keep_params_in_input, names)
    for i, tensor in enumerate(proto.graph.initializer):
        scope.values[tensor.name] = weights.value(tensor.name, reader.read(tensor, opened.contents.get(i)))
    branches = has_branches(proto.graph, opsets, functions)
    return _build(world.builder, scope, proto.graph, params, weights, branches)


class _Weights:
    """The initializers: constants, or parameters where `keep`."""

    def __init__(self, keep: bool, names: Names):
        self._keep = keep
        self._names = names
        self.vars: list[Var] = []
        self.arrays: list[Any] = []

    def value(self, name: str, array: Any) -> Value:
        """An initializer. Small integers (shapes, axes) are constants always."""
        if not self._keep or (array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= 16):
            return Value(array=array, make=lambda: constant_of(array, name))

        def parameter() -> Expr:
            self.vars.append(Var(self._names[name], TensorStructInfo(array.shape, array.dtype.name)))
            self.arrays.append(runtime_array(array))
            return self.vars[-1]

        return Value(array=array, make=parameter)


def _value(name: str, var: Var | None) -> Result:
    """What an input is in the graph: a tuple is a sequence, an optional that is absent is nothing."""
    if var is None:
        return None
    fields = isinstance(var.struct_info, TupleStructInfo)
    values = [Value(TupleGetItem(var, i)) for i in range(len(var))] if fields else [Value(var)]
    for value in values:
        value.sources = frozenset({name})
    return TensorSequence(values) if fields else values[0]


def _plain_names(graph: GraphProto, shapes: Mapping[str, Any]) -> Iterator[str]:
    """The names that dimensions of inputs have as a whole, in the model and by the caller."""
    for info in graph.input:
        if info.type.HasField("tensor_type") and info.name not in shapes:
            yield from (d.dim_param for d in info.type.tensor_type.shape.dim)
    for shape in shapes.values():
        yield from (d for d in shape or () if isinstance(d, str))


def _declared(graph: GraphProto, sizes: Sizes) -> dict[str, Declared]:
    """The shapes that the model declares of values between its inputs and outputs."""
    types = ((info.name, tensor_type(info.type)) for info in graph.value_info)
    shapes = ((name, sizes.declared(tensor)) for name, tensor in types if tensor is not None)
    return {name: shape for name, shape in shapes if shape is not None}


def _inputs(
    graph: GraphProto, shapes: dict[str, Any], dtypes: str | Mapping[str, str], names: Names, sizes: Sizes
) -> dict[str, Var | None]:
    """The parameters of the function, by the names of the graph's inputs; those with an initializer are none."""
    weights = {t.name for t in graph.initializer}
    infos = [info for info in graph.input if info.name not in weights]
    known = {info.name for info in infos}
    for name in (*shapes, *(() if isinstance(dtypes, str) else dtypes)):
        if name not in known:
            raise InputError(f"the model has no input '{name}'", expected=f"one of {sorted(known)}")
    if len(known) < len(infos):
        raise ModelError("two inputs have one name", found=[info.name for info in infos])
    return {info.name: _Input(info, dtypes, names, sizes).var(shapes) for info in infos}


class _Input:
    """An input of the graph as a parameter."""

    def __init__(self, info: ValueInfoProto, dtypes: str | Mapping[str, str], names: Names, sizes: Sizes):
        self._name = info.name
        self._type = info.type
        self._dtypes = dtypes
        self._names = names
        self._sizes = sizes

    def var(self, shapes: Mapping[str, Any]) -> Var | None:
        """The parameter; None where the caller says by the shape None that an optional has no value."""
        kind, optional = self._type, self._type.HasField("optional_type")
        if optional:
            kind = kind.optional_type.elem_type
            if self._name in shapes and shapes[self._name] is None:
                return None
        if kind.HasField("sequence_type"):
            return self._sequence(kind.sequence_type.elem_type, shapes.get(self._name))
        return Var(self._names[self._name], self._tensor(kind, shapes.get(self._name)))

    def _sequence(self, kind: TypeProto, shapes: Any) -> Var:
        if shapes is None:
            raise InputError(
                f"the input '{self._name}' is a sequence, and how many tensors it has is not known",
                hint="from_onnx(…, shape_dict={name: [a shape for each tensor]})",
            )
        return Var(self._names[self._name], TupleStructInfo([self._tensor(kind, shape) for shape in shapes]))

    def _tensor(self, kind: TypeProto, shape: Shape | None) -> TensorStructInfo:
        tensor = tensor_type(kind)
        if tensor is None:
            raise ModelError(f"the input '{self._name}' is neither a tensor nor a sequence of tensors")
        own = self._sizes.shape_of(tensor, self._name)
        if shape is not None and own is not None and len(shape) != len(own):
            raise InputError(f"the input '{self._name}' has another rank", expected=len(own), found=list(shape))
        dims = own if shape is None else [self._sizes.of(d) for d in shape]
        return (
            TensorStructInfo(dims, self._dtype(tensor))
            if dims is not None
            else TensorStructInfo(dtype=self._dtype(tensor))
        )

    def _shapeless(self, tensor: TypeProto.Tensor) -> TensorStructInfo:
        return TensorStructInfo(dtype=self._dtype(tensor))

    def _dtype(self, tensor: TypeProto.Tensor) -> str:
        own = dtype_name(tensor.elem_type, f"the input '{self._name}'") if tensor.elem_type else None
        if isinstance(self._dtypes, str):
            return own or self._dtypes
        return self._dtypes.get(self._name, own or "float32")


def _build(
    builder: BlockBuilder, scope: Scope, graph: GraphProto, params: list[Var], weights: _Weights, branches: bool
) -> IRModule:
    """The module with the function of a graph."""
    with builder.function("main", attrs={"num_input": len(params)}):
        with nullcontext() if branches else builder.dataflow():
            results = [_output(v, o.name) for v, o in zip(scope.run_graph(graph), graph.output, strict=True)]
            value = results[0] if len(results) == 1 else Tuple(results)
            value = builder.emit(value) if branches else builder.emit_output(value)
        builder.emit_func_output(value, [*params, *weights.vars])
    mod = ConvertToDataflow(1)(builder.get()) if branches else builder.get()
    if weights.arrays:
        mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("params", weights.arrays))
    return mod


def _output(value: Result, name: str) -> Expr:
    """An output of the graph as an expression; sequences are tuples. Raises `ModelError` for an absent one."""
    if isinstance(value, TensorSequence):
        return Tuple([v.expr for v in value])
    if value is None:
        raise ModelError(f"the output '{name}' is an optional without a value")
    return value.expr if isinstance(value, Value) else value
