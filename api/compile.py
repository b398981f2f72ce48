"""`tirax.compile`: a model or program of any kind becomes a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Never

from ..diagnostics import ArgumentsError, suggestion
from .known_files import known_file
from .options import Options


def compile(
    model: Any,
    inputs: Any = None,
    *more: Any,
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    input_shapes: Mapping[str, Sequence[Any]] | None = None,
    params: Mapping[str, Any] | None = None,
    target: Any = None,
    pipeline: Any = "default-cpu",
    function: str | None = None,
    fallback: str = "auto",
    validate: str | None = None,
    **others: Never,
) -> Any:
    """Compile a model for this machine (or for `target`).

        f = tirax.compile(model, x)                                        # a torch.nn.Module
        f = tirax.compile(model, x, y, dynamic_shapes={"x": {0: "batch"}, "y": {0: "batch"}})
        f = tirax.compile("model.onnx")
        f(x)

    `model` is a `torch.nn.Module` (with example inputs, one by one or as one tuple, and `kwargs`), a
    `torch.export.ExportedProgram`, an ONNX `ModelProto`, a fitted estimator of scikit-learn, xgboost or lightgbm (with
    example rows of features, where they are not float32), a function of JAX with example arguments, a
    `jax.export.Exported`, an `IRModule` or a class or function of TVMScript, an MLIR module, or a path or the bytes of
    a file: `.onnx`, `.pt2`, `.py` (TVMScript), `.mlir`; files that need no compiling (`.tirax`, `.so`, `.gguf`, a
    folder of a language model) are loaded as `tirax.load` does.

    `dynamic_shapes` are the dimensions that vary from call to call, as for `torch.export.export`; a string names one.
    `input_shapes` gives inputs of an ONNX model other shapes: numbers, and names of sizes. `params` are constants by
    the names of parameters of `main`. `pipeline` is that of `tirax.driver.build.build`. `function` is the function to
    call, by default `main` or the only one. `fallback`: operators that tirax has no code for run in PyTorch, or
    in the reference implementation of ONNX ("auto", with a `FallbackWarning` that lists them), or are an error
    ("error"). `validate="proof"` proves each pass, as `build` does, whose findings are `f.executable.proofs`.

    Returns a `Compiled`. Raises `ArgumentError` for a model of an unknown kind, `MissingPackage` with the pip line,
    `UnsupportedOperators` with all operators that cannot be imported, `OSError`, and what `build` raises;
    `ArgumentsError` for `others`: there are no more keywords.
    """
    if others:
        raise _unknown_keyword(next(iter(others)))
    args = (inputs, *more) if more else _arguments(inputs)
    options = Options(
        args, kwargs, dynamic_shapes, input_shapes, params, target, pipeline, function, fallback, validate
    )
    known = known_file(model, options)
    return _compiled(model, options) if known is None else known.compiled(lambda: _compiled(model, options))


def _unknown_keyword(name: str) -> ArgumentsError:
    keywords = [
        k for k, p in signature(compile).parameters.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    message = f"tirax.compile has no keyword '{name}'"
    return ArgumentsError(message, hint=suggestion(name, keywords), expected=", ".join(keywords))


def _arguments(inputs: Any) -> tuple[Any, ...] | None:
    return None if inputs is None else tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)


def _compiled(model: Any, options: Options) -> Any:
    from .building import compiled  # the whole compiler, which a known file does not need

    return compiled(model, options)
