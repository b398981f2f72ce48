"""`-t` and the output: what a module is written as, to stdout or atomically to a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import ArgSpec
from xdsl.utils.target import Target

from ..diagnostics import TiraxError, UnsupportedError, unknown_name
from .guard import UsageError, as_usage
from .specs import instantiate, parse_specs


@dataclass(frozen=True)
class ScriptTarget(Target):
    """TVMScript; `show_meta` prints the contents of constants first, which are needed to read it back."""

    name = "tvmscript"

    show_meta: bool = True

    def emit(self, ctx: Context, module: ModuleOp, output: io.TextIOBase) -> None:  # type: ignore[override]
        from ..script.printer import print_script

        output.write(print_script(module, show_meta=self.show_meta) + "\n")


@dataclass(frozen=True)
class UpstreamTarget(MLIRTarget):
    """MLIR text that MLIR's own tools read, too; with `irdl`, as the descriptions of our dialects say."""

    name = "mlir"

    irdl: bool = False

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from ..ir.irdl_text import IRDLPrinter
        from ..ir.upstream_text import UpstreamPrinter

        if self.syntax_highlight:
            super().emit(ctx, module, output)
            return
        printer = (
            IRDLPrinter(output, print_debuginfo=self.print_debuginfo)
            if self.irdl
            else UpstreamPrinter(
                output,
                self.print_generic_format,
                print_properties_as_attributes=self.print_properties_as_attributes,
                print_debuginfo=self.print_debuginfo,
            )
        )
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)


def _llvm() -> type[Target]:
    from ..lowering.emit import LLVMTarget

    return LLVMTarget


OWN_TARGETS: dict[str, Callable[[], type[Target]]] = {
    "mlir": lambda: UpstreamTarget,
    "tvmscript": lambda: ScriptTarget,
    "llvm": _llvm,
}
"""Targets that are not in `TIRAX_UNIVERSE`; `llvm` replaces xDSL's."""


def make_target(
    text: str, targets: dict[str, Callable[[], type[Target]]], form: str = "pretty", locations: bool = False
) -> Target:
    """Return the target of a spec such as `asm{opt_level=2}`. Raises `UsageError`.

    `form` of MLIR is `pretty`, `generic`, or `irdl`.
    """
    specs = parse_specs(text, "-t")
    if len(specs) != 1:
        raise UsageError("-t takes one target", found=text or "nothing")
    spec: ArgSpec = specs[0]
    if spec.name not in targets:
        raise as_usage(unknown_name("target", spec.name, targets))
    parameters = dict(spec.parameters)
    if spec.name == "mlir":
        own = {"print_generic_format": (form == "generic",), "irdl": (form == "irdl",), "print_debuginfo": (locations,)}
        parameters |= own | parameters
    return instantiate(targets[spec.name](), parameters, f"target '{spec.name}'")


def emit(target: Target, ctx: Context, module: ModuleOp) -> str | bytes:
    """Emit a module for `target`: text, or the bytes of an object file."""
    object_code = getattr(target, "object_code", None)
    if object_code is not None:
        return object_code(module)
    stream = io.StringIO()
    target.emit(ctx, module, stream)
    return stream.getvalue().rstrip("\n") + "\n"


def join_pieces(pieces: list[str | bytes], separator: str = "// -----\n") -> bytes:
    """Join the outputs of pieces. Raises `UnsupportedError` for several object files."""
    if len(pieces) > 1 and any(isinstance(p, bytes) for p in pieces):
        raise UnsupportedError("several object files cannot be one output", hint="leave --split-input-file out")
    return separator.encode().join(p.encode() if isinstance(p, str) else p for p in pieces)


def folder_of(path: str | None) -> str | None:
    """Return the folder of an output file, None for stdout."""
    return None if path is None or path == "-" else os.path.dirname(os.path.realpath(path))


def write_output(path: str | None, data: bytes, binary: bool = False) -> None:
    """Write to a file, or to stdout if `path` is None or `-`. Raises `TiraxError`.

    A file is replaced atomically; if writing fails, the previous file remains.
    """
    if path is None or path == "-":
        _write_stdout(data, binary)
        return
    try:
        from ..runtime.container import write_atomically

        write_atomically(os.path.realpath(path), [data])
    except BrokenPipeError:
        raise
    except OSError as error:
        raise TiraxError(f"cannot write '{path}': {error.strerror}") from error


def _write_stdout(data: bytes, binary: bool) -> None:
    if not binary:
        sys.stdout.write(data.decode())
        return
    if sys.stdout.isatty():
        raise UsageError("an object file is not written to a terminal", hint="-o FILE")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
