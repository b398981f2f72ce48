"""Models of PyTorch: exported with example inputs, with the names of users for arguments and sizes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from ..frontend.importing.extras import require_torch
from ..frontend.torch.expansion import expanded
from ..frontend.torch.exported_program import from_exported_program
from ..frontend.torch.fallback import is_complex
from ..handles.module import IRModule
from ..runtime.errors import ArgumentError, UnsupportedError
from .exporting import exported
from .options import Options
from .signature import Signature
from .structure import COMPLEX_LEAF, LEAF, Constant, Leaf, Node, Structure, structure_of


def read_model(model: Any, options: Options) -> tuple[IRModule, Signature]:
    """Export a `torch.nn.Module` and import it. Raises `ArgumentError` if there are no example inputs."""
    require_torch()
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        raise ArgumentError(
            "TorchScript cannot be exported",
            expected="a torch.nn.Module in Python",
            hint="pass the module that was traced or scripted",
        )
    if options.args is None and options.kwargs is None:
        raise ArgumentError(
            "a PyTorch model is compiled for example inputs",
            expected="the inputs of a call",
            hint="tirax.compile(model, (x,)); dynamic_shapes={'x': {0: 'batch'}} for sizes that vary",
        )
    if any(t.is_meta for t in (*model.parameters(), *model.buffers())):
        raise ArgumentError(
            "the weights of the model have no values",
            expected="weights on the CPU",
            found="the device meta",
            hint="model.load_state_dict(weights, assign=True), or model.to_empty(device='cpu') and values",
        )
    program = exported(model, options.args or (), dict(options.kwargs or {}), _with_dims(options.dynamic_shapes))
    if model.training and any(m.training for m in model.modules() if type(m).__name__.startswith(_TRAINED)):
        warnings.warn("the model is in training mode: call model.eval() before it is compiled", stacklevel=4)
    return read_program(program, options, inspect.signature(model.forward))


_TRAINED = ("Dropout", "AlphaDropout", "BatchNorm", "InstanceNorm", "SyncBatchNorm")
"""Layers that compute something else in training mode."""


def read_program(
    program: Any, options: Options, forward: inspect.Signature | None = None
) -> tuple[IRModule, Signature]:
    """Import a `torch.export.ExportedProgram`.

    Raises `UnsupportedError` for a program that changes buffers or inputs, and what `from_exported_program` raises.
    """
    program = expanded(program, fallback=options.fallback == "auto")
    _require_pure(program)
    signature = _signature(program, forward)
    dims = dict(_dimension_names(program, signature, options.dynamic_shapes))
    return from_exported_program(program, dimension_names=dims, fallback=options.fallback_in("torch")), signature


def _require_pure(program: Any) -> None:
    signature = program.graph_signature
    changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
    if changed:
        raise UnsupportedError(
            "the model changes its buffers or inputs, which a compiled function does not",
            found=", ".join(sorted(changed)),
            hint="model.eval() before; or torch.compile(model, backend='tirax'), which keeps them",
        )


def _with_dims(shapes: Any) -> Any:
    """Dynamic shapes with a `Dim` for each name."""
    import torch

    if isinstance(shapes, str):
        return torch.export.Dim(shapes)
    if isinstance(shapes, Mapping):
        return {key: _with_dims(value) for key, value in shapes.items()}
    return type(shapes)(map(_with_dims, shapes)) if isinstance(shapes, list | tuple) else shapes


def _signature(program: Any, forward: inspect.Signature | None) -> Signature:
    """The structures of the parameters and of the result of an exported program."""
    from torch.utils._pytree import tree_unflatten

    spec = program.call_spec
    constants = {s.arg.name: s.arg.value for s in _inputs(program) if hasattr(s.arg, "value")}
    leaves = [
        Constant(constants[s.arg.name]) if s.arg.name in constants else _leaf_of(program, s) for s in _inputs(program)
    ]
    args, kwargs = tree_unflatten(leaves, spec.in_spec)
    names = _parameter_names(program, forward)
    positional = [*names, *(f"arg{i}" for i in range(len(names), len(args)))][: len(args)]
    values = {**dict(zip(positional, args, strict=True)), **kwargs, **_defaults(forward, {*positional, *kwargs})}
    outputs = [s for s in program.graph_signature.output_specs if s.kind.name == "USER_OUTPUT"]
    result = tree_unflatten([_leaf_of(program, s) for s in outputs], spec.out_spec)
    return Signature({name: structure_of(v, _leaf) for name, v in values.items()}, structure_of(result, _leaf))


def _leaf_of(program: Any, spec: Any) -> Leaf:
    """The leaf of an input or output, which is complex if the node of its name is."""
    node = next((n for n in program.graph.nodes if n.name == spec.arg.name), None)
    return COMPLEX_LEAF if node is not None and is_complex(node.meta.get("val")) else LEAF


def _parameter_names(program: Any, forward: inspect.Signature | None) -> list[str]:
    if forward is not None:
        positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [p.name for p in forward.parameters.values() if p.kind in positional]
    return list(getattr(program.module_call_graph[0].signature, "forward_arg_names", None) or ())


def _defaults(forward: inspect.Signature | None, used: set[str]) -> dict[str, Structure]:
    """The parameters that the example inputs leave out: calls may give their defaults."""
    parameters = () if forward is None else forward.parameters.values()
    left_out = (p for p in parameters if p.name not in used and p.default is not p.empty)
    return {p.name: Constant(p.default) for p in left_out}


def _leaf(value: Any) -> Structure:
    return value if isinstance(value, Leaf | Constant) else Constant(value)


def _inputs(program: Any) -> list[Any]:
    return [s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]


def _dimension_names(program: Any, signature: Signature, shapes: Any) -> Iterator[tuple[str, str]]:
    """Pairs of a size as PyTorch calls it (`s77`) and its name in the user's `dynamic_shapes`."""
    nodes = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    values = iter([nodes[s.arg.name] for s in _inputs(program)])
    by_position = list(shapes) if isinstance(shapes, list | tuple) else []
    for i, (name, structure) in enumerate(signature.parameters.items()):
        spec = by_position[i] if i < len(by_position) else shapes.get(name) if isinstance(shapes, Mapping) else None
        yield from _names_of(structure, spec, values)


def _names_of(structure: Structure, spec: Any, values: Iterator[Any]) -> Iterator[tuple[str, str]]:
    if isinstance(structure, Node):
        for key, part in zip(structure.keys, structure.parts, strict=True):
            inner = spec[key] if isinstance(spec, Mapping | list | tuple) and _has(spec, key) else None
            yield from _names_of(part, inner, values)
        return
    shape = getattr(next(values, None), "shape", ())
    dims = spec.items() if isinstance(spec, Mapping) else enumerate(spec) if isinstance(spec, list | tuple) else ()
    for axis, dim in dims:
        name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
        size = shape[axis] if axis < len(shape) else None
        node = getattr(size, "node", None)
        if isinstance(name, str) and node is not None and node.expr.is_Symbol:
            yield str(node.expr), name


def _has(spec: Any, key: Any) -> bool:
    return key in spec if isinstance(spec, Mapping) else isinstance(key, int) and key < len(spec)
