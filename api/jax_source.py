"""Functions of JAX: exported for example arguments, with sizes that vary by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ..frontend.importing.extras import require
from ..frontend.stablehlo import from_stablehlo
from ..handles.module import IRModule
from ..runtime.errors import ArgumentError, UnsupportedError
from .options import Options
from .signature import Signature
from .structure import COMPLEX_LEAF, LEAF, Leaf, Structure, structure_of


def read_function(model: Any, options: Options) -> tuple[IRModule, Signature]:
    """Export a function for example arguments and import it. Raises `ArgumentError` if there are none."""
    jax, export = _jax()
    if options.args is None and options.kwargs is None:
        raise ArgumentError(
            "a function of JAX is compiled for example arguments",
            expected="the arguments of a call",
            hint="tirax.compile(f, (x,)), dynamic_shapes=({0: 'batch'},) for sizes that vary; of PyTorch's tensors: "
            "a torch.nn.Module whose forward calls the function",
        )
    args, kwargs = options.args or (), dict(options.kwargs or {})
    names = _names(model, len(args))
    shapes = _by_name(options.dynamic_shapes, [*names, *kwargs])
    scope = export.SymbolicScope()
    specs = [_spec(value, shapes.get(name), scope) for name, value in zip(names, args, strict=True)]
    named = {name: _spec(value, shapes.get(name), scope) for name, value in kwargs.items()}
    function = jax.jit(lambda *a, **k: model(*a, **k), keep_unused=True)
    return read_exported(export.export(function)(*specs, **named), names)


def read_exported(program: Any, names: Sequence[str] = ()) -> tuple[IRModule, Signature]:
    """Import a `jax.export.Exported`. Raises `UnsupportedError` for one that dropped arguments."""
    jax, _ = _jax()
    if len(program.module_kept_var_idx) != len(program.in_avals):
        raise UnsupportedError(
            "an exported function that dropped arguments which it does not use",
            hint="jax.jit(f, keep_unused=True) before it is exported",
        )
    module = IRModule(from_stablehlo(program))
    args, kwargs = jax.tree_util.tree_unflatten(program.in_tree, map(_leaf, program.in_avals))
    labels = [*names, *(f"arg{i}" for i in range(len(names), len(args)))]
    values = {**dict(zip(labels, args, strict=True)), **kwargs}
    result = jax.tree_util.tree_unflatten(program.out_tree, map(_leaf, program.out_avals))
    parameters = {name: structure_of(value, _structure) for name, value in values.items()}
    return module, Signature(parameters, structure_of(result, _structure))


def _jax() -> tuple[Any, Any]:
    """Return JAX and its module for exporting. Raises `MissingPackage`."""
    return require("jax", "jax"), require("jax.export", "jax")


def _leaf(aval: Any) -> Leaf:
    return COMPLEX_LEAF if "complex" in str(aval.dtype) else LEAF


def _structure(value: Any) -> Structure:
    if isinstance(value, Leaf):
        return value
    raise UnsupportedError(
        f"an argument or result of type {type(value).__name__}",
        expected="arrays in tuples, lists and dictionaries",
        hint="bind what is constant: tirax.compile(functools.partial(f, model), (x,))",
    )


def _names(model: Any, count: int) -> list[str]:
    """Return names of the positional arguments."""
    try:
        parameters = inspect.signature(model).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p.name for p in parameters if p.kind in kinds]
    return [*known, *(f"arg{i}" for i in range(len(known), count))][:count]


def _by_name(shapes: Any, names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(shapes, Mapping):
        return shapes
    return dict(zip(names, shapes or (), strict=False))


def _spec(value: Any, shapes: Any, scope: Any) -> Any:
    """Return the shapes and dtypes of an argument; `shapes` has the names of sizes that vary, in the same structure."""
    jax, export = _jax()
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {key: _spec(v, _inner(shapes, key), scope) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_spec(v, _inner(shapes, i), scope) for i, v in enumerate(value))
    shape = tuple(getattr(value, "shape", ()))
    dtype = jax.dtypes.canonicalize_dtype(jax.numpy.result_type(value) if not hasattr(value, "dtype") else value.dtype)
    named = dict(shapes.items() if isinstance(shapes, Mapping) else enumerate(shapes or ()))
    text = ", ".join(str(named.get(i) or size) for i, size in enumerate(shape))
    dims = export.symbolic_shape(text, scope=scope) if any(named.values()) else shape
    return jax.ShapeDtypeStruct(dims, dtype)


def _inner(shapes: Any, key: Any) -> Any:
    if isinstance(shapes, Mapping):
        return shapes.get(key)
    return shapes[key] if isinstance(shapes, list | tuple) and isinstance(key, int) and key < len(shapes) else None
