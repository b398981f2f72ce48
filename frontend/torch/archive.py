"""Safe loading of `.pt2` files from untrusted sources: contents that would execute code are refused.

`torch.export.load` unpickles weights (if so marked), example inputs and custom objects; it passes size
expressions to sympy, which evaluates them as Python; and it resolves the names of operators. All of these
are checked here first.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ...untrusted import ExpressionError, brief, checked_path, open_file, read_expression, read_json
from ..importing.errors import ModelError
from ..importing.extras import require_torch

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_SAVE_AGAIN = "save it again: torch.export.save(program, file)"
_OTHER_ARCHIVES = (
    (r"\.onnx(\n|$)", "unpack it, and give the .onnx file"),
    (r"(^|\n)[^/\n]+/code/", "it holds TorchScript: export the module that was traced or scripted"),
    (r"(^|\n)[^/\n]+/data\.pkl", "it holds weights: load them into a model, model.load_state_dict(torch.load(path))"),
)
"""What to do about a zip file with such files."""
_CODE_OBJECTS = ("custom_obj_", "opaque_obj_")

_TARGET = re.compile(r"torch\.ops(\.\w+){2,3}|_operator\.\w+|math\.\w+|torch\.sym_\w+|torch\._sym_\w+", re.ASCII)
"""Valid targets: operators, and arithmetic on sizes."""

_ARITHMETIC = {
    "Add": "+", "Mul": "*", "Pow": "**", "Mod": "%", "PythonMod": "%", "FloorDiv": "//", "CleanDiv": "//",
    "IntTrueDiv": "/", "FloatTrueDiv": "/", "Rational": "/", "PowByNatural": "**", "FloatPow": "**", "LShift": "<<",
    "RShift": ">>", "Max": "max", "Min": "min",
}  # fmt: skip
_FUNCTIONS = _ARITHMETIC | {name: name for name in (
    "Symbol", "Integer", "Float", "Abs", "And", "Or",
    "Not", "Eq", "Ne", "Lt", "Le", "Gt", "Ge", "Equality", "Unequality", "LessThan", "GreaterThan",
    "StrictLessThan", "StrictGreaterThan", "Piecewise", "ExprCondPair", "Identity", "CeilDiv", "CeilToInt",
    "FloorToInt", "ModularIndexing", "RoundDecimal", "RoundToInt", "ToFloat", "TruncToFloat",
    "TruncToInt", "Where", "floor", "ceiling", "IsNonOverlappingAndDenseIndicator", "sqrt", "log", "log2",
    "OpaqueUnaryFn_sqrt", "OpaqueUnaryFn_log2",
)}  # fmt: skip
"""The functions that sympy uses in size expressions."""
_MOST_JSON = 1 << 28
"""The maximal size of a program without its weights, in bytes."""


def load_exported_program(path: str | os.PathLike[str]) -> ExportedProgram:
    """Load a program from a file written by `torch.export.save`, without executing code from the file.

    Raises `ModelError` for files that are invalid or damaged, or whose contents require code execution to be
    read.
    """
    name = brief(os.fspath(path))
    with _reading(name):
        checked_path(path)
    require_torch()
    import torch

    try:
        with _reading(name), open_file(path) as file, zipfile.ZipFile(file) as archive:
            _require_harmless(name, archive, os.fstat(file.fileno()).st_size)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError, RuntimeError, struct.error) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"'{name}' is no exported program, or is damaged: {error}", hint=_SAVE_AGAIN) from error
    try:
        return torch.export.load(path)
    except Exception as error:  # noqa: BLE001 - torch raises what comes to it for damaged files
        raise ModelError(f"torch cannot read '{name}': {_first_line(error)}", hint=_SAVE_AGAIN) from error


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Convert an `OSError` inside to a `ModelError`."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"cannot read '{name}': {error.strerror}") from error


def _require_harmless(name: str, archive: zipfile.ZipFile, size: int) -> None:
    files = [info.filename for info in archive.infolist()]
    models = [f for f in files if re.fullmatch(r"[^/]+/models/[^/]+\.json", f)]
    if not models:
        hint = next((hint for pattern, hint in _OTHER_ARCHIVES if re.search(pattern, "\n".join(files))), _SAVE_AGAIN)
        raise ModelError(f"'{name}' holds no exported program", expected="a .pt2 of torch 2.9 or later", hint=hint)
    if len(set(files)) < len(files) or archive.comment or any(i.compress_type for i in archive.infolist()):
        raise ModelError(f"'{name}' is not as torch writes it: names come twice, or files are compressed")
    if sum(i.file_size for i in archive.infolist()) > size:
        raise ModelError(f"'{name}' is damaged: what it holds is larger than the file", found=f"{size} bytes")
    problems = [
        *(
            f"{f}: a pickle of the format before"
            for f in files
            if re.search(r"/data/(weights|constants)/[^/]+\.pt$", f)
        ),
        *(p for f in files if f.endswith("_config.json") for p in _payload_problems(archive, f)),
        *(p for f in files if re.search(r"/data/sample_inputs/", f) for p in _pickle_problems(archive, f)),
        *(p for f in models for p in _program_problems(_json(archive, f))),
    ]
    if problems:
        raise ModelError(
            f"'{name}' holds what only running its code could read",
            notes=list(dict.fromkeys(problems)),
            hint=_SAVE_AGAIN,
        )


def _json(archive: zipfile.ZipFile, file: str) -> Any:
    if archive.getinfo(file).file_size > _MOST_JSON:
        raise ModelError(f"{file} is too large", expected=f"at most {_MOST_JSON} bytes")
    return read_json(archive.read(file), file, ModelError)


def _payload_problems(archive: zipfile.ZipFile, file: str) -> Iterator[str]:
    """Report pickled weights and constants that torch's restricted unpickler rejects."""
    folder = file.rpartition("/")[0]
    config = _json(archive, file)
    if not isinstance(config, dict) or not isinstance(config.get("config"), dict):
        raise ValueError(f"{file} is no table of tensors")
    for key, row in cast("dict[str, Any]", config["config"]).items():
        path = str(row["path_name"]) if isinstance(row, dict) and "path_name" in row else ""
        if path.startswith(_CODE_OBJECTS):
            yield f"{key}: an object of a class of its own"
        elif f"{folder}/{path}" not in archive.namelist():
            yield f"{brief(key)}: it names no file of the archive"
        elif row.get("use_pickle") is not False:
            yield from _pickle_problems(archive, f"{folder}/{path}")


def _pickle_problems(archive: zipfile.ZipFile, file: str) -> Iterator[str]:
    """Report objects that torch's weights-only unpickler rejects; it calls only constructors of tensors."""
    import torch

    data = archive.read(file)
    try:
        if data:
            torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # noqa: BLE001 - any refusal is one
        yield f"{file}: {_first_line(error)}"


def _program_problems(program: Any) -> Iterator[str]:
    """Report invalid operator names and size expressions anywhere in a program."""
    stack = [program]
    while stack:
        value = stack.pop()
        if isinstance(value, list):
            stack += cast("list[Any]", value)
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            stack += fields.values()
            target, text = fields.get("target"), fields.get("expr_str")
            if isinstance(target, str) and not _TARGET.fullmatch(target):
                yield f"the operator '{brief(target)}' is none of torch"
            if text is not None and not is_arithmetic(text):
                yield f"the size '{brief(text)}' is no arithmetic"
            constraints = fields.get("range_constraints")
            for name in constraints if isinstance(constraints, dict | list) else ():
                if not is_arithmetic(str(name)):
                    yield f"the size '{brief(str(name))}' is no arithmetic"


def is_arithmetic(text: object) -> bool:
    """Return whether a text is an expression of numbers, symbols and the functions that torch uses for sizes.

    The cost of evaluation is bounded: sympy would compute powers of numbers even if they do not fit into
    memory.
    """
    try:
        read_expression(text, _FUNCTIONS)
    except ExpressionError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
