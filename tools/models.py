"""Model files of other frameworks, which `tirax` accepts besides program texts, by extension."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from ..diagnostics import TiraxError
from ..dialects import relax
from ..dialects.relax.data import TensorDataAttr
from ..driver.timings import stage
from ..frontend.importing.summary import Summary
from .guard import UsageError
from .options import named
from .source import read_program

Shapes = Mapping[str, list[int | str]]

_LARGE = 1024
"""Size in bytes above which a constant is written to the weights file; smaller ones stay in the text."""


@dataclass(frozen=True)
class ModelFormat:
    """How to import and to summarize files of a framework. `stub` returns the text of a converter to fill in,
    by operator.
    """

    read: Callable[[str, Shapes], ModuleOp]
    summary: Callable[[str], Summary]
    stub: Callable[[str], str]


def _read_onnx(path: str, shapes: Shapes) -> ModuleOp:
    from ..frontend.onnx import from_onnx

    return from_onnx(path, cast("Any", shapes)).op


def _onnx_summary(path: str) -> Summary:
    from ..frontend.onnx import summary_of

    return summary_of(path)


def _onnx_stub(operator: str) -> str:
    from ..frontend.onnx import converter_stub

    return converter_stub(operator)


def _read_exported_program(path: str, shapes: Shapes) -> ModuleOp:
    if shapes:
        raise UsageError("shapes of an exported program are what it was exported with", hint="torch.export.export")
    from ..frontend.torch.archive import load_exported_program
    from ..frontend.torch.exported_program import from_exported_program

    return from_exported_program(load_exported_program(path)).op


def _exported_program_summary(path: str) -> Summary:
    from ..frontend.torch.archive import load_exported_program
    from ..frontend.torch.summary import summary_of

    return summary_of(load_exported_program(path), os.path.basename(path))


def _torch_stub(operator: str) -> str:
    from ..frontend.torch.stub import converter_stub

    return converter_stub(operator)


FORMATS: dict[str, ModelFormat] = {
    ".onnx": ModelFormat(_read_onnx, _onnx_summary, _onnx_stub),
    ".pt2": ModelFormat(_read_exported_program, _exported_program_summary, _torch_stub),
}
"""The model formats by file extension."""


def format_of(path: str) -> ModelFormat | None:
    """Return the format of a model file, None if it is not one."""
    return FORMATS.get(os.path.splitext(path)[1].lower())


def import_model(path: str, shapes: Shapes) -> ModuleOp:
    """Import a model as a program. Raises `TiraxError` for any problem of the file."""
    model = format_of(path)
    if model is None:
        raise UsageError("this is not a model", expected=f"a file {' or '.join(FORMATS)}", found=path)
    with stage(f"import {os.path.basename(path)}"):
        return model.read(path, shapes)


def program_of(path: str, language: str | None = None, shapes: Shapes | None = None) -> ModuleOp:
    """Read a model or a program; `language` is that of a program whose extension does not determine it.

    `shapes` are those of a model's inputs. Raises `TiraxError`.
    """
    if format_of(path) is not None:
        return import_model(path, shapes or {})
    return of_relax(read_program(path, language).parse())


def of_relax(module: ModuleOp) -> ModuleOp:
    """Return a module of relax and tir: `module` itself, or what its functions of other dialects become."""
    from ..frontend.mlir_programs import of_relax as imported

    return imported(module)


def store_weights(module: ModuleOp, path: str) -> int:
    """Move the large constants of a module to `path` (safetensors), and return their number.

    Constants keep their names in the model; the others are numbered. If there are none, no file is written.
    Raises `TiraxError` if the file cannot be written.
    """
    constants = [op for op in module.walk() if isinstance(op, relax.ConstantOp) and len(op.value.data.raw) > _LARGE]
    keys: dict[int, str] = {}
    arrays: dict[str, Any] = {}
    for op in constants:
        data = op.value.data
        if id(data) not in keys:
            keys[id(data)] = _free(data.key or f"constant{len(keys)}", arrays)
            arrays[keys[id(data)]] = data.numpy()
    if not arrays:
        return 0
    from ..runtime.safetensors import write_weights

    try:
        write_weights(path, arrays)
    except OSError as error:
        raise TiraxError(f"cannot write '{path}': {error.strerror}") from error
    file = os.path.realpath(path)
    originals = {id(op.value.data): op.value.data for op in constants}
    stored = {i: TensorDataAttr(replace(data, key=keys[i], file=file)) for i, data in originals.items()}
    for op in constants:
        op.value = stored[id(op.value.data)]
    return len(arrays)


def _free(key: str, taken: Mapping[str, Any]) -> str:
    number, name = 0, key
    while name in taken:
        number += 1
        name = f"{key}.{number}"
    return name


def shapes_of(texts: list[str]) -> dict[str, list[int | str]]:
    """Parse `x=1,3,h,w` or `x=1x3x8x8` into shapes of numbers and symbolic sizes. Raises `UsageError`."""
    shapes: dict[str, list[int | str]] = {}
    for name, text in named(texts, "--shape").items():
        parts = text.split("," if "," in text else "x") if text != "()" else []
        if not all(p.isdecimal() or p.isidentifier() for p in parts):
            raise UsageError("--shape is not understood", expected="x=1,3,h,w: numbers and names of sizes", found=text)
        shapes[name] = [int(p) if p.isdecimal() else p for p in parts]
    return shapes
