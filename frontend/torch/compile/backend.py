"""The backend: compiles a graph to a function that is called in its place."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from functools import partial
from typing import Any

from ....diagnostics import TiraxError, UnsupportedError
from ....driver.build import build
from ....handles.module import IRModule
from ....runtime import Executable
from ....runtime.cache import cache_key
from ....transforms.operators.to_mixed_precision import ToMixedPrecision
from ...importing.errors import UnsupportedOperators
from ...importing.report import Coverage, Status
from ..expansion import decompositions
from ..graph import target_name
from ..symbols import symbolic_sizes
from ..tensors import array_of
from .calls import Call, graph_call
from .graphs import GraphConverter
from .inference import is_plain, visible_outputs
from .options import Options, check_mode
from .partition import partitioned
from .report import GraphReport


def tirax(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Call:
    """Compile a graph for the CPU: TorchDynamo's backend "tirax".

    `options` are those of `Options`; `mode` is one of PyTorch's (`MODES`), which are all equivalent here. Unknown ones
    are ignored with a warning. Raises `TiraxError` for invalid values. PyTorch runs whatever cannot be compiled.
    """
    check_mode(mode)
    return compiled(graph_module, example_inputs, Options.of(options))


def compiled(graph_module: Any, example_inputs: Sequence[Any], options: Options) -> Call:
    """Return the compiled replacement of a TorchDynamo graph."""
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.utils import flatten_graph_inputs
    from torch._functorch.aot_autograd import aot_module_simplified

    if any(isinstance(value, list | tuple | dict) for value in example_inputs):
        return flatten_graph_inputs(graph_module, example_inputs, partial(compiled, options=options))
    inference = _Inference(example_inputs, options)
    wrapped: Call = aot_module_simplified(
        graph_module,
        example_inputs,
        fw_compiler=partial(_compiled_graph, options=options, kind="forward"),
        bw_compiler=partial(_backward, options=options),
        inference_compiler=inference,
        partition_fn=min_cut_rematerialization_partition,
        decompositions=decompositions(),
    )
    return inference.direct or wrapped


class _Inference:
    """Compiles the inference graph of a program; `direct` is the function to call without AOTAutograd's wrappers."""

    def __init__(self, inputs: Sequence[Any], options: Options):
        self._inputs = inputs
        self._options = options
        self._weights = _weights(inputs) if options.freeze else {}
        self.direct: Call | None = None

    def __call__(self, gm: Any, example_inputs: Sequence[Any]) -> Callable[[list[Any]], Any]:
        call, complete = _call_of(GraphConverter(gm, self._weights), gm, self._options, "inference")
        if complete and is_plain(gm, self._inputs):
            self.direct = call
        return _boxed_call(call)


def _backward(gm: Any, example_inputs: Sequence[Any], *, options: Options) -> Any:
    """Compile a backward graph; TorchDynamo traces neither its compilation nor its calls."""
    from torch._dynamo.decorators import disable

    compile_graph: Any = disable(_compiled_graph, reason="compiles a backward graph")
    call: Any = compile_graph(gm, example_inputs, options=options, kind="backward")
    return disable(call, reason="a compiled graph")


def _weights(inputs: Sequence[Any]) -> dict[int, Any]:
    """Return the parameters among the inputs as arrays, by position."""
    import torch

    return {i: array_of(value) for i, value in enumerate(inputs) if isinstance(value, torch.nn.Parameter)}


def _compiled_graph(
    gm: Any, example_inputs: Sequence[Any], *, options: Options, kind: str
) -> Callable[[list[Any]], Any]:
    """Compile a graph to a function that AOTAutograd calls with the list of its arguments."""
    returned = visible_outputs() if kind == "forward" else 0
    return _boxed_call(_call_of(GraphConverter(gm, returned=returned), gm, options, kind)[0])


def _call_of(converter: GraphConverter, gm: Any, options: Options, kind: str) -> tuple[Call, bool]:
    """Compile a graph as far as possible; return the function, and whether it is the complete graph."""
    coverage = converter.reader.coverage
    try:
        call, parts, complete = _built(converter, gm, options), 1, True
    except UnsupportedOperators:
        part = partial(_part, options=options, coverage=coverage)
        call, parts = partitioned(gm, frozenset(converter.reader.refused), part)
        complete = False
    except Exception as error:  # noqa: BLE001 - PyTorch runs the graph: `_record_fallback` reports why
        call, parts, complete, coverage = gm, 0, False, Coverage()
        _record_fallback(gm, error, options, coverage)
    options.tell(GraphReport(kind, coverage, parts))
    return call, complete


def _boxed_call(call: Call) -> Callable[[list[Any]], Any]:
    def boxed(args: list[Any]) -> Any:
        return call(*args)

    boxed._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess] (what AOTAutograd looks for)
    return boxed


def _part(graph_module: Any, *, options: Options, coverage: Coverage) -> Call | None:
    """Compile a part of a graph, or return None if it turns out to be unsupported, which is recorded in `coverage`."""
    try:
        return _built(GraphConverter(graph_module, returned=0), graph_module, options)
    except Exception as error:  # noqa: BLE001 - PyTorch runs the part: `_record_fallback` reports why
        _record_fallback(graph_module, error, options, coverage)
        return None


def _record_fallback(graph_module: Any, error: Exception, options: Options, coverage: Coverage) -> None:
    """Record why a graph falls back to PyTorch, and warn the user if the fault is tirax's.

    If the options contain a user's pass the error is raised, since the pass may have caused it.
    """
    if options.transform is not None and not isinstance(error, UnsupportedError):
        raise error
    reason = error.message if isinstance(error, TiraxError) else f"internal error: {type(error).__name__}: {error}"
    for node in graph_module.graph.nodes:
        if node.op == "call_function":
            coverage.add(target_name(node.target), Status.UNSUPPORTED, reason=reason)
    if not isinstance(error, TiraxError):
        warnings.warn(f"tirax leaves a graph to PyTorch, {reason}; please report", RuntimeWarning, stacklevel=2)


def _built(converter: GraphConverter, graph_module: Any, options: Options) -> Call:
    """Return the compiled function of a graph; PyTorch runs the calls whose sizes it refuses."""
    module, signature = converter.convert()
    call = graph_call(_executable(module, options), signature)
    inputs = (node for node in graph_module.graph.nodes if node.op == "placeholder")
    if options.transform is not None or not any(symbolic_sizes(node.meta.get("val")) for node in inputs):
        return call  # a user's pass may be the reason; fixed sizes are checked by TorchDynamo

    def checked(*args: Any) -> Any:
        try:
            return call(*args)
        except TiraxError as error:
            warnings.warn(f"tirax leaves a call to PyTorch, {error.message}", RuntimeWarning, stacklevel=2)
            return graph_module(*args)

    return checked


_executables: dict[str, Executable] = {}


def _executable(module: IRModule, options: Options) -> Executable:
    """Compile a module, reusing the executable of an equal module compiled with the same options.

    Comparing modules with constant weights would be slow: these are always compiled.
    """
    if options.transform is not None:
        return _build(options.transform(module), options)
    if options.freeze:
        return _build(module, options)
    key = cache_key(str(module.op), repr(astuple(replace(options, report=False))))
    if key not in _executables:
        _executables[key] = _build(module, options)
    return _executables[key]


def _build(module: IRModule, options: Options) -> Executable:
    if options.precision != "float32":
        module = ToMixedPrecision(dtype=options.precision)(module)
    return build(module, options.resolved_target, pipeline=options.pipeline)
