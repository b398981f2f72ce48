"""The backend: a function of a graph and its inputs that gives what is called in the graph's place."""

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
from ..tensors import array_of
from .calls import Call, graph_call
from .graphs import GraphConverter
from .inference import is_plain, visible_outputs
from .options import Options, require_mode
from .partition import partitioned
from .report import GraphReport


def tirax(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Call:
    """TorchDynamo's backend "tirax": the graph, compiled for the CPU.

    `options` are those of `Options`; `mode` is one of PyTorch's (`MODES`), all of which mean the same here. Raises
    `NameLookupError` and `TiraxError` for wrong ones. What cannot be compiled PyTorch runs.
    """
    require_mode(mode)
    return compiled(graph_module, example_inputs, Options.of(options))


def compiled(graph_module: Any, example_inputs: Sequence[Any], options: Options) -> Call:
    """What is called in the place of a graph of TorchDynamo."""
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
    """Compiles the graph of a program without gradients; `direct` is what is called without AOTAutograd's wrappers."""

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
    """A backward graph, compiled; TorchDynamo looks neither into its compilation nor into its calls."""
    from torch._dynamo.decorators import disable

    compile_graph: Any = disable(_compiled_graph, reason="compiles a backward graph")
    call: Any = compile_graph(gm, example_inputs, options=options, kind="backward")
    return disable(call, reason="a compiled graph")


def _weights(inputs: Sequence[Any]) -> dict[int, Any]:
    """The parameters among the inputs as arrays, by position."""
    import torch

    return {i: array_of(value) for i, value in enumerate(inputs) if isinstance(value, torch.nn.Parameter)}


def _compiled_graph(
    gm: Any, example_inputs: Sequence[Any], *, options: Options, kind: str
) -> Callable[[list[Any]], Any]:
    """What AOTAutograd calls with the list of a graph's arguments."""
    returned = visible_outputs() if kind == "forward" else 0
    return _boxed_call(_call_of(GraphConverter(gm, returned=returned), gm, options, kind)[0])


def _call_of(converter: GraphConverter, gm: Any, options: Options, kind: str) -> tuple[Call, bool]:
    """A graph, compiled, and whether it is as a whole: what cannot be compiled PyTorch runs."""
    coverage = converter.reader.coverage
    try:
        call, parts, complete = _built(converter, options), 1, True
    except UnsupportedOperators:
        part = partial(_part, options=options, coverage=coverage)
        call, parts = partitioned(gm, frozenset(converter.reader.refused), part)
        complete = False
    except Exception as error:  # noqa: BLE001 - whatever it is, the graph runs: `_left` says why
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
    """A part of a graph, compiled; None where it turns out that it cannot be, which `coverage` learns."""
    try:
        return _built(GraphConverter(graph_module, returned=0), options)
    except Exception as error:  # noqa: BLE001 - whatever it is, the part runs: `_left` says why
        _record_fallback(graph_module, error, options, coverage)
        return None


def _record_fallback(graph_module: Any, error: Exception, options: Options, coverage: Coverage) -> None:
    """Let `coverage` learn why a graph is left to PyTorch, and the user where the fault is tirax's own.

    With a pass of the user among the options the error is raised, since it may be that of the pass.
    """
    if options.transform is not None and not isinstance(error, UnsupportedError):
        raise error
    reason = error.message if isinstance(error, TiraxError) else f"internal error: {type(error).__name__}: {error}"
    for node in graph_module.graph.nodes:
        if node.op == "call_function":
            coverage.add(target_name(node.target), Status.UNSUPPORTED, reason=reason)
    if not isinstance(error, TiraxError):
        warnings.warn(f"tirax leaves a graph to PyTorch, {reason}; please report", RuntimeWarning, stacklevel=2)


def _built(converter: GraphConverter, options: Options) -> Call:
    module, signature = converter.convert()
    return graph_call(_executable(module, options), signature)


_executables: dict[str, Executable] = {}


def _executable(module: IRModule, options: Options) -> Executable:
    """A module compiled; the same one again where an equal module was compiled with the same options.

    Weights that are constants would be compared as text: those modules are built each time.
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
