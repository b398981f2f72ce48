"""The output backends `llvm` (text), `asm` and `obj` of `tirax-opt -t`.

They take a module of the llvm dialect; all operations of other dialects are listed in one diagnostic. `obj` writes
bytes, so its output must be a file or a stream that has a binary `buffer`; `ObjectTarget.object_code` returns the
bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target as OutputTarget

from ..diagnostics import UnsupportedError
from ..target import Target
from .llvm_text import print_llvm


@dataclass(frozen=True)
class LLVMTarget(OutputTarget):
    """Emit `.ll` text."""

    name = "llvm"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(print_llvm(module))


@dataclass(frozen=True)
class AssemblyTarget(OutputTarget):
    """Emit assembly text for `target`; `opt_level` is 0 to 3, `run_passes` enables LLVM's pass manager."""

    name = "asm"

    target: str = "llvm"
    opt_level: int = 3
    run_passes: bool = True

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from .machine import emit_assembly

        output.write(emit_assembly(print_llvm(module), Target(self.target), self.opt_level, self.run_passes))


@dataclass(frozen=True)
class ObjectTarget(OutputTarget):
    """Emit an object file; options as for `asm`."""

    name = "obj"

    target: str = "llvm"
    opt_level: int = 3
    run_passes: bool = True

    def object_code(self, module: ModuleOp) -> bytes:
        """Return the object file of a module of the llvm dialect."""
        from .machine import compile_object

        return compile_object(print_llvm(module), Target(self.target), self.opt_level, self.run_passes)

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        binary = getattr(output, "buffer", None)
        if binary is None:
            raise UnsupportedError("an object file is not text", hint="write to a file or to standard output")
        data = self.object_code(module)
        output.flush()
        binary.write(data)
        binary.flush()
