"""`tirax.load`: files that hold code, or a model whose steps are compiled when they are used."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..diagnostics import suggestion
from ..runtime.errors import ArgumentError
from ..untrusted import MissingFileError
from .compiled import Compiled
from .hints import EXTENSIONS, folder_hint, missing_file, wrong_contents


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
    name = existing(path)
    if os.path.isdir(name):
        return load_folder(name)
    require_contents(name)
    suffix = Path(name).suffix.lower()
    if suffix in LOADERS:
        return LOADERS[suffix](name)
    hint = f"tirax.compile({name!r})" if suffix in _TO_COMPILE else EXTENSIONS.get(suffix)
    raise ArgumentError(
        f"'{name}' is not a compiled model",
        expected=f"{', '.join(LOADERS)}, or the folder of a language model",
        found=suffix or "no extension",
        hint=hint,
    )


def load_folder(name: str) -> Any:
    """Return the language model of a folder. Raises `ArgumentError` for other folders, and what the loader raises."""
    files = os.listdir(name)
    hint = None if any(".safetensors" in f for f in files) and "config.json" in files else folder_hint(name, files)
    if hint is not None:
        expected = "config.json and *.safetensors"
        raise ArgumentError(f"'{name}' is not a language model folder", expected=expected, hint=hint)
    return _language_model(name)


def require_contents(name: str) -> None:
    """Raise `ArgumentError` for a file that is empty, or that holds something else in place of what was downloaded."""
    if not os.path.isfile(name):
        return
    with open(name, "rb") as file:
        wrong = wrong_contents(file.read(32))
    if wrong is not None:
        raise ArgumentError(f"'{name}' is {wrong[0]}", expected="the contents of a model", hint=wrong[1])


def existing(path: Any) -> str:
    """Return the path of a file or folder that exists.

    Raises `MissingFileError`, with a name like it or what the text may be instead, and `ArgumentError` for an object
    that is not a path.
    """
    if not isinstance(path, str | os.PathLike):
        found = type(path).__name__
        raise ArgumentError("this is not a path", expected="the path of a file", found=found, hint="tirax.compile")
    name = os.fspath(path)
    if os.path.exists(name):
        return name
    folder = os.path.dirname(name) or "."
    there = os.listdir(folder) if os.path.isdir(folder) else []
    hint = suggestion(os.path.basename(name), there) or missing_file(name) or f"the current folder is {os.getcwd()}"
    raise MissingFileError("there is no such file", name, errno.ENOENT, hint=hint)
