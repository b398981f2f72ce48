"""`tvm.relax.frontend.stablehlo`: programs of StableHLO as modules of Relax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...frontend.stablehlo import from_stablehlo as convert
from ...handles.module import IRModule


def from_stablehlo(stablehlo_module: Any, input_info: Sequence[tuple[tuple[int, ...], str]] | None = None) -> IRModule:
    """Return the module of a program of StableHLO: its text, a module of jaxlib's MLIR, a `jax.export.Exported`, or
    the bytes of a portable artifact.

    `input_info` is ignored, as in TVM: the program has the shapes and dtypes of its parameters. Raises
    `UnsupportedError` for what has no translation.
    """
    operation = getattr(stablehlo_module, "operation", None)
    get_asm = getattr(operation, "get_asm", None)
    return IRModule(convert(stablehlo_module if get_asm is None else get_asm()))


__all__ = ["from_stablehlo"]
