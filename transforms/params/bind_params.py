"""Make parameters constants."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.bind import bind_parameters


@dataclass(frozen=True, init=False)
class BindParams(Pass):
    """Bind parameters of the Relax function `func_name` to arrays; they leave the signature.

    From Python: `BindParams("main", {"w0": array, …})`, a key being a parameter's name or its handle, a value anything
    that numpy takes as an array. In text: `file`, an `.npz` file whose arrays are named by parameters. Symbolic
    variables that the arrays' shapes determine are replaced everywhere in the function.

    Raises `NameLookupError` for a name that is no parameter, `ShapeError` and `DTypeError` for arrays that do not fit.
    """

    name = "bind-params"
    func_name: str = "main"
    file: str | None = None
    params: Mapping[Any, Any] = field(init=False, default_factory=dict[Any, Any], compare=False)

    def __init__(self, func_name: str = "main", params: Mapping[Any, Any] | None = None, *, file: str | None = None):
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "file", file)
        object.__setattr__(self, "params", dict(params or {}))

    def arrays(self) -> dict[Any, Any]:
        """The arrays by parameter, those of the file included."""
        return {**_from_file(self.file), **self.params}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        (func,) = relax_functions(op, self.func_name)
        bind_parameters(func, self.arrays())


def _from_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("a single array")
        with archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise TiraxError(f"cannot read parameters from '{path}'", found=error, hint="an .npz file of arrays") from error
