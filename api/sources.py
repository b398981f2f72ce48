"""The kinds of models supported by `tirax.compile`: a row each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..handles.base_func import BaseFunc
from ..handles.module import IRModule
from ..runtime.errors import ArgumentError
from ..runtime.executable import Executable
from .compiled import Compiled, callable_function
from .hints import EXTENSIONS, hint_for
from .load import LOADERS, existing, load, load_folder, require_contents
from .options import Options
from .signature import Signature


@dataclass(frozen=True)
class Program:
    """A module to compile. If `signature` is None, the function takes arrays by the names of its parameters."""

    module: Any
    signature: Signature | None = None


@dataclass(frozen=True)
class Source:
    """A kind of models: which objects are of it, and how one becomes a program or what `load` returns."""

    name: str
    accepts: Callable[[Any], bool]
    read: Callable[[Any, Options], Any]


def _of_class(*paths: str) -> Callable[[Any], bool]:
    """Whether an object's class is, or is derived from, one of those at `module:Class`; imports nothing."""
    names = {tuple(path.split(":")) for path in paths}
    return lambda model: any(_is_at(c, names) for c in type(model).__mro__)


def _is_at(cls: type, names: set[tuple[str, ...]]) -> bool:
    return any(cls.__name__ == name and cls.__module__.startswith(module) for module, name in names)


def _is_of_jax(model: Any) -> bool:
    """Whether an object is a jitted function, or a plain one where JAX is in use."""
    if any(_is_at(c, {("jax", "PjitFunction")}) for c in type(model).__mro__):
        return True
    return isinstance(model, FunctionType | partial) and "jax" in sys.modules


def _torch_model(model: Any, options: Options) -> Program:
    from .torch_source import read_model

    return Program(*read_model(model, options))


def _torch_program(model: Any, options: Options) -> Program:
    from .torch_source import read_program

    return Program(*read_program(model, options))


def _onnx(model: Any, options: Options) -> Program:
    from ..frontend.importing.extras import require_onnx

    require_onnx()
    from ..frontend.onnx import from_onnx

    return Program(from_onnx(model, options.input_shapes, fallback=options.fallback_in("onnx")))


def _estimator(model: Any, options: Options) -> Program:
    from .estimator_source import read_estimator

    return Program(*read_estimator(model, options))


def _executable(model: Executable, options: Options) -> Compiled:
    return Compiled(model, callable_function(model, options.function))


def _pt2(path: str, options: Options) -> Program:
    from ..frontend.torch.archive import load_exported_program

    return _torch_program(load_exported_program(path), options)


def _script(path: str, _options: Options) -> Program:
    from ..script import parse_source

    return Program(parse_source(Path(path).read_text(encoding="utf-8"), path))


def _mlir(path: str, _options: Options) -> Program:
    from ..frontend.mlir_programs import of_relax
    from ..script import parse_mlir

    return Program(of_relax(parse_mlir(Path(path).read_text(encoding="utf-8"), path)))


def _artifact(path: str, _options: Options) -> Program:
    from ..frontend.stablehlo import from_stablehlo

    return Program(from_stablehlo(Path(path).read_bytes()))


def _jax_function(model: Any, options: Options) -> Program:
    from .jax_source import read_function

    return Program(*read_function(model, options))


def _jax_exported(model: Any, _options: Options) -> Program:
    from .jax_source import read_exported

    return Program(*read_exported(model))


FILES: dict[str, Callable[[str, Options], Any]] = {
    ".onnx": _onnx,
    ".pt2": _pt2,
    ".py": _script,
    ".mlir": _mlir,
    ".mlirbc": _artifact,
    **{suffix: lambda path, _options: load(path) for suffix in LOADERS},
}
"""By the extension of a file."""


def _file(path: Any, options: Options) -> Any:
    name = existing(path)
    if os.path.isdir(name):
        return load_folder(name)
    require_contents(name)
    suffix = Path(name).suffix.lower()
    if suffix not in FILES:
        raise ArgumentError(
            f"'{name}' is of no known kind",
            expected=", ".join(FILES),
            found=suffix or "no extension",
            hint=EXTENSIONS.get(suffix, "bytes need no extension: tirax.compile(path.read_bytes())"),
        )
    return FILES[suffix](name, options)


_MAGIC = {b"\x7fELF": ".so", b"PK\x03\x04": ".pt2", b"\x89TIR": ".tirax", b"GGUF": ".gguf", b"ML\xefR": ".mlirbc"}
"""The first bytes of files, by extension; a file without is a text or an ONNX model, which has none."""


def _bytes(data: Any, options: Options) -> Any:
    import tempfile

    content = bytes(data)
    if not content:
        hint = "path.read_bytes(); a file that was read to its end before gives none"
        raise ArgumentError("there are no bytes", expected="the contents of a model's file", hint=hint)
    suffix = _MAGIC.get(content[:4]) or _suffix_of_text(content)
    with tempfile.NamedTemporaryFile(prefix="bytes-", suffix=suffix) as file:
        file.write(content)
        file.flush()
        return _file(file.name, options)


def _suffix_of_text(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ".onnx"
    if any(ord(c) < ord("\t") for c in text):
        return ".onnx"
    return ".py" if "import" in text and "module" in text and "builtin.module" not in text else ".mlir"


SOURCES = (
    Source("a compiled model", lambda m: isinstance(m, Compiled), lambda m, _: m),
    Source("an executable", lambda m: isinstance(m, Executable), _executable),
    Source("an IRModule", lambda m: isinstance(m, IRModule | ModuleOp), lambda m, _: Program(m)),
    Source("a Relax or TIR function", lambda m: isinstance(m, BaseFunc), lambda m, _: Program(IRModule.from_expr(m))),
    Source("a torch.export.ExportedProgram", _of_class("torch:ExportedProgram"), _torch_program),
    Source("a torch.nn.Module", _of_class("torch:Module"), _torch_model),
    Source("an ONNX ModelProto", _of_class("onnx:ModelProto"), _onnx),
    Source("an estimator of scikit-learn, xgboost or lightgbm", _of_class("sklearn:BaseEstimator"), _estimator),
    Source("a function of JAX", _is_of_jax, _jax_function),
    Source("a jax.export.Exported", _of_class("jax:Exported"), _jax_exported),
    Source("a path", lambda m: isinstance(m, str | os.PathLike), _file),
    Source("the bytes of a file", lambda m: isinstance(m, bytes | bytearray | memoryview), _bytes),
)
"""The first row that accepts a model reads it."""


def read(model: Any, options: Options) -> Any:
    """Return the `Program` of a model, or what `load` makes of a file. Raises `ArgumentError` for other objects."""
    source = next((s for s in SOURCES if s.accepts(model)), None)
    if source is None:
        raise ArgumentError(
            "this is not a model",
            expected=", ".join(s.name for s in SOURCES[2:]),
            found=f"{type(model).__module__}.{type(model).__qualname__}".removeprefix("builtins."),
            hint=hint_for(model, lambda key: _of_class(":".join(key))(model)),
        )
    return source.read(model, options)


__all__ = ["FILES", "SOURCES", "Program", "Source", "read"]
