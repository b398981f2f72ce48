"""`tirax.load`: files that hold code, or a model whose steps are compiled when they are used."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..runtime.errors import ArgumentError
from .compiled import Compiled


def _library(path: str) -> Any:
    from ..runtime.library.load import load_library

    return load_library(path)


def _language_model(path: str) -> Any:
    from ..llm import LanguageModel

    return LanguageModel.load(path)


LOADERS: dict[str, Callable[[str], Any]] = {
    ".tirax": Compiled.load,
    ".so": _library,
    ".gguf": _language_model,
}
"""By the extension of a file."""

_TO_COMPILE = (".onnx", ".pt2", ".mlir", ".py")


def load(path: str | os.PathLike[str]) -> Any:
    """Load a file: `.tirax` (`Compiled.save`), `.so` (`export_library`), `.gguf` or the folder of a language model.

    Returns a `Compiled`, a `Library` or a `LanguageModel`. Files with machine code run it: load only files that you
    trust. Raises `FileNotFoundError`, `ArgumentError` for files of other kinds, and what the loaders raise.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise FileNotFoundError(f"there is no file '{name}'")
    if os.path.isdir(name):
        return _language_model(name)
    suffix = Path(name).suffix.lower()
    if suffix in LOADERS:
        return LOADERS[suffix](name)
    hint = f"tirax.compile({name!r})" if suffix in _TO_COMPILE else None
    raise ArgumentError(f"'{name}' is not a compiled model", expected=" or ".join(LOADERS), found=suffix, hint=hint)
