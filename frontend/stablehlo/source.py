"""What `from_stablehlo` takes: text, the bytes of a portable artifact, an exported function of JAX, a module."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...script import parse_mlir
from ..importing.extras import require
from .convert import convert, is_of_stablehlo


def from_stablehlo(program: Any, filename: str = "<stablehlo>") -> ModuleOp:
    """Return the module of relax and tir of a program of StableHLO.

    `program` is text, the bytes of a portable artifact (which jaxlib reads), a `jax.export.Exported`, or a parsed
    module. Raises `UnsupportedError` for what has no translation.
    """
    if isinstance(program, ModuleOp):
        return convert(program)
    shapes: Sequence[Sequence[object]] | None = None
    exported = getattr(program, "mlir_module_serialized", None)
    if exported is not None:
        kept = set(program.module_kept_var_idx)
        shapes = [aval.shape for k, aval in enumerate(program.in_avals) if k in kept]
        program = exported
    if isinstance(program, bytes | bytearray | memoryview):
        program = text_of_artifact(bytes(program))
    return convert(parse_mlir(program, filename), shapes)


def text_of_artifact(data: bytes) -> str:
    """Return the text of a portable artifact. Raises `MissingPackage` without jaxlib."""
    require("jaxlib", "jax")
    ir: Any = import_module("jaxlib.mlir.ir")
    stablehlo: Any = import_module("jaxlib.mlir.dialects.stablehlo")
    registry = ir.DialectRegistry()
    extension: Any = import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext")
    extension.register_dialects(registry)
    shardy: Any = import_module("jaxlib.mlir.dialects.sdy") if find_spec("jaxlib.mlir.dialects.sdy") else None
    with ir.Context() as context:
        if shardy is not None:
            shardy.register_dialect(context)
        context.append_dialect_registry(registry)
        context.load_all_available_dialects()
        module = stablehlo.deserialize_portable_artifact(context, data)
        return module.operation.get_asm(enable_debug_info=False, large_elements_limit=None)


__all__ = ["from_stablehlo", "is_of_stablehlo", "text_of_artifact"]
