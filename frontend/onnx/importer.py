"""`from_onnx`: convert a model to a module with one function, `main`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.sym.expr import SymExpr
from ...handles.module import IRModule
from ...handles.relax.expr import Expr, Tuple, TupleGetItem, Var
from ...handles.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from ...ir.passes.transform import no_gc
from ...runtime.ndarray import array as runtime_array
from ...transforms.bindings.convert_to_dataflow import ConvertToDataflow
from ..block_builder import BlockBuilder
from ..importing.errors import InputError, ModelError
from ..importing.names import Names
from ..importing.random_numbers import RandomNumbers, Seed
from ..importing.report import warn_of_fallbacks
from .coverage import coverage_of, has_branches
from .expansion import require_finite
from .graph import Scope, World
from .model import functions_of, model_versions, open_model
from .sizes import Declared, Sizes
from .strings import bound, constant
from .table import Converter, Converters
from .tensors import STRING_KIND, TensorReader, dtype_name, tensor_type
from .values import Dims, Result, TensorSequence, Value, constant_of

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
    fallback: str = "error",
) -> IRModule:
    """Convert an ONNX model (a `ModelProto` or a path) to a module with a function `main` of the graph's inputs.

    `shape_dict` overrides the shapes of inputs (with numbers, names of symbolic sizes, expressions);
    `dtype_dict` sets the dtypes of inputs without one, a single dtype or by name. `opset` overrides the model's
    opset version. With `keep_params_in_input` weights become parameters after the inputs, and their values are
    stored in the attribute `params`, which `detach_params` removes; otherwise they are constants. The attribute
    `num_input` counts the inputs. Large weights are not copied: do not change a model's file while the module
    is in use.

    `custom_convert_map` maps operator names, `Foo` or `domain.Foo`, to converters, which take precedence over
    the table. See `table.py` for their form; `converter_stub("domain.Foo")` generates a template.

    `seed` is the seed of random operators without such an attribute. None uses the state of the runtime: each
    call draws different numbers, reproducible with `runtime.manual_seed`. With an integer all calls draw the
    same numbers. `"input"` adds the parameters `seed` and `offset`, int64 of rank 0, after the inputs.

    `fallback` "onnx" lets the reference implementation of the package onnx compute operators without a converter
    when the program runs, with a `FallbackWarning` that lists them; "error" reports them.

    Each named dimension of the model is a symbolic size of that name; each unnamed one is a distinct size.

    Raises `UnsupportedOperators` with all operators that cannot be converted, `ModelError` with the node's name
    for an invalid model, and `InputError` for names and shapes that do not match its inputs.
    """
    return imported(
        model,
        shape_dict,
        dtype_dict,
        opset,
        keep_params_in_input,
        sanitize_input_names,
        None,
        custom_convert_map,
        seed,
        fallback,
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
    fallback: str = "error",
) -> IRModule:
    """Like `from_onnx`, with the user's converters in `own`; the inputs in `fixed` become constants instead of
    parameters.
    """
    opened = open_model(model)
    proto = opened.proto
    opsets = model_versions(proto, opset)
    functions = functions_of(proto)
    converters = Converters(own)
    require_finite(proto.graph, functions)
    if fallback not in ("error", "onnx"):
        raise InputError(f"unknown fallback '{fallback}'", expected="error or onnx")
    runs_in_onnx = fallback == "onnx"
    coverage_of(proto.graph, opsets, functions, converters, runs_in_onnx).require_supported(hint=_HINT)
    reader = TensorReader(opened.folder)
    names = Names(sanitize_input_names, "input", keywords=True)
    sizes = Sizes(_plain_names(proto.graph, shape_dict or {}))
    strings: dict[str, Dims | None] = {}
    inputs = _inputs(proto.graph, dict(shape_dict or {}), dtype_dict, names, sizes, strings)
    declared = {} if shape_dict else _declared(proto.graph, sizes)
    builder = BlockBuilder()
    random = RandomNumbers(builder, seed)
    world = World(builder, random, functions, reader, sizes, converters, declared, runs_in_onnx)
    scope = Scope(world, opsets)
    for name, contents in (fixed or {}).items():
        scope.values[name] = constant(np.asarray(contents))
        del inputs[name]
    scope.values.update({name: _value(name, var) for name, var in inputs.items()})
    params = [*(var for var in inputs.values() if var is not None), *random.params]
    weights = _Weights(keep_params_in_input, names)
    for i, tensor in enumerate(proto.graph.initializer):
        scope.values[tensor.name] = weights.value(tensor.name, reader.read(tensor, opened.contents.get(i)))
    branches = has_branches(proto.graph, opsets, functions)
    module = _build(world.builder, scope, proto.graph, params, weights, branches, strings)
    warn_of_fallbacks(world.coverage, "onnx")
    return module


class _Weights:
    """The initializers: constants, or parameters if `keep`."""

    def __init__(self, keep: bool, names: Names):
        self._keep = keep
        self._names = names
        self.vars: list[Var] = []
        self.arrays: list[Any] = []

    def value(self, name: str, array: Any) -> Value:
        """Return an initializer. Small integers (shapes, axes) are always constants."""
        if array.dtype.kind in "OUS":
            return constant(array)
        if not self._keep or (array.dtype.kind in "iub" and array.ndim <= 1 and array.size <= 16):
            return Value(array=array, make=lambda: constant_of(array, name))

        def parameter() -> Expr:
            self.vars.append(Var(self._names[name], TensorStructInfo(array.shape, array.dtype.name)))
            self.arrays.append(runtime_array(array))
            return self.vars[-1]

        return Value(array=array, make=parameter)


def _value(name: str, var: Var | None) -> Result:
    """Return the graph value of an input: a tuple is a sequence, and an absent optional is None."""
    if var is None:
        return None
    fields = isinstance(var.struct_info, TupleStructInfo)
    values = [Value(TupleGetItem(var, i)) for i in range(len(var))] if fields else [Value(var)]
    for value in values:
        value.sources = frozenset({name})
    return TensorSequence(values) if fields else values[0]


def _plain_names(graph: GraphProto, shapes: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of dimensions of inputs that are single names, in the model and in the caller's shapes."""
    for info in graph.input:
        if info.type.HasField("tensor_type") and info.name not in shapes:
            yield from (d.dim_param for d in info.type.tensor_type.shape.dim)
    for shape in shapes.values():
        yield from (d for d in shape or () if isinstance(d, str))


def _declared(graph: GraphProto, sizes: Sizes) -> dict[str, Declared]:
    """Return the shapes that the model declares for intermediate values."""
    types = ((info.name, tensor_type(info.type)) for info in graph.value_info)
    shapes = ((name, sizes.declared(tensor)) for name, tensor in types if tensor is not None)
    return {name: shape for name, shape in shapes if shape is not None}


def _inputs(
    graph: GraphProto,
    shapes: dict[str, Any],
    dtypes: str | Mapping[str, str],
    names: Names,
    sizes: Sizes,
    strings: dict[str, Dims | None],
) -> dict[str, Var | None]:
    """Return the function's parameters by the names of the graph's inputs, except those with an initializer.

    `strings` gets the extents of tensors of strings.
    """
    weights = {t.name for t in graph.initializer}
    infos = [info for info in graph.input if info.name not in weights]
    known = {info.name for info in infos}
    for name in (*shapes, *(() if isinstance(dtypes, str) else dtypes)):
        if name not in known:
            raise InputError(f"the model has no input '{name}'", expected=f"one of {sorted(known)}")
    if len(known) < len(infos):
        raise ModelError("two inputs have one name", found=[info.name for info in infos])
    return {info.name: _Input(info, dtypes, names, sizes, strings).var(shapes) for info in infos}


class _Input:
    """An input of the graph as a parameter."""

    def __init__(
        self,
        info: ValueInfoProto,
        dtypes: str | Mapping[str, str],
        names: Names,
        sizes: Sizes,
        strings: dict[str, Dims | None],
    ):
        self._strings = strings
        self._name = info.name
        self._type = info.type
        self._dtypes = dtypes
        self._names = names
        self._sizes = sizes

    def var(self, shapes: Mapping[str, Any]) -> Var | None:
        """Return the parameter, or None if the caller passes the shape None for an optional without a value."""
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

    def _tensor(self, kind: TypeProto, shape: Shape | None) -> StructInfo:
        tensor = tensor_type(kind)
        if tensor is None:
            raise ModelError(f"the input '{self._name}' is neither a tensor nor a sequence of tensors")
        dims = self._dims(tensor, shape)
        if tensor.elem_type == STRING_KIND:
            self._strings[self._name] = None if dims is None else tuple(dims)
            return ObjectStructInfo()
        return (
            TensorStructInfo(dims, self._dtype(tensor))
            if dims is not None
            else TensorStructInfo(dtype=self._dtype(tensor))
        )

    def _dims(self, tensor: TypeProto.Tensor, shape: Shape | None) -> list[SymExpr] | None:
        own = self._sizes.shape_of(tensor, self._name)
        if shape is not None and own is not None and len(shape) != len(own):
            raise InputError(f"the input '{self._name}' has another rank", expected=len(own), found=list(shape))
        return own if shape is None else [self._sizes.of(d) for d in shape]

    def _dtype(self, tensor: TypeProto.Tensor) -> str:
        own = dtype_name(tensor.elem_type, f"the input '{self._name}'") if tensor.elem_type else None
        if isinstance(self._dtypes, str):
            return own or self._dtypes
        return self._dtypes.get(self._name, own or "float32")


def _build(
    builder: BlockBuilder,
    scope: Scope,
    graph: GraphProto,
    params: list[Var],
    weights: _Weights,
    branches: bool,
    strings: Mapping[str, Dims | None],
) -> IRModule:
    """Return the module with the function of a graph."""
    with builder.function("main", attrs={"num_input": len(params)}):
        with nullcontext() if branches else builder.dataflow():
            for name, dims in strings.items():
                var = scope.values[name]
                if isinstance(var, Value):
                    scope.values[name] = bound(builder, var.expr, dims)
            results = [_output(v, o.name) for v, o in zip(scope.run_graph(graph), graph.output, strict=True)]
            value = results[0] if len(results) == 1 else Tuple(results)
            value = builder.emit(value) if branches else builder.emit_output(value)
        builder.emit_func_output(value, [*params, *weights.vars])
    mod = ConvertToDataflow(1)(builder.get()) if branches else builder.get()
    if weights.arrays:
        mod.update_func(mod.get_global_var("main"), mod["main"].with_attr("params", weights.arrays))
    return mod


def _output(value: Result, name: str) -> Expr:
    """Return an output of the graph as an expression; sequences become tuples. Raises `ModelError` for an absent
    one.
    """
    if isinstance(value, TensorSequence):
        return Tuple([v.expr for v in value])
    if value is None:
        raise ModelError(f"the output '{name}' is an optional without a value")
    return value.expr if isinstance(value, Value) else value
