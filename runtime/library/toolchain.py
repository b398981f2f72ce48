"""The C compiler and binutils: the system's, or those of the package ziglang, also for cross compilation."""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import LibraryError

_SYSTEM = ("cc", "gcc", "clang")
_FLAGS = (
    "-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections",
    "-Werror=implicit-function-declaration",
)  # fmt: skip
_HINT = "install gcc or clang, say which one by the variable CC, or pip install 'tirax[library]' (ziglang)"


@dataclass(frozen=True)
class Toolchain:
    """A compiler driver, and the prefix of the binutils for the same target."""

    compiler: tuple[str, ...]
    prefix: str = ""

    def compile(self, source: Path, output: Path) -> None:
        """Compile C to an object. Raises `LibraryError`."""
        _run([*self.compiler, *_FLAGS, "-c", str(source), "-o", str(output)])

    def link_shared(self, objects: Sequence[Path], exports: Path, output: Path) -> None:
        """Link objects to a shared library that depends on libc only. Raises `LibraryError`."""
        _run([*self.compiler, "-shared", "-s", "-o", str(output), *map(str, objects), f"-Wl,--version-script={exports}",
              "-Wl,-z,defs", "-Wl,-z,noexecstack", "-Wl,--gc-sections", "-lm", "-lpthread"])  # fmt: skip

    def link_object(self, objects: Sequence[Path], exports: Sequence[str], output: Path) -> None:
        """Link objects to one that exports only `exports`. Raises `LibraryError`."""
        _run([*self.compiler, "-r", "-nostdlib", "-o", str(output), *map(str, objects)])
        keep = [f"--keep-global-symbol={symbol}" for symbol in exports]
        _run([self._tool("objcopy"), *keep, str(output)])

    def archive(self, objects: Sequence[Path], output: Path) -> None:
        """Archive objects to a static library. Raises `LibraryError`."""
        _run([self._tool("ar"), "crs", str(output), *map(str, objects)])

    def _tool(self, name: str) -> str:
        path = shutil.which(self.prefix + name) or shutil.which(f"llvm-{name}")
        if path is None:
            hint = f"install binutils, which have {self.prefix}{name}; a shared library (.so) needs none of it"
            raise LibraryError(f"'{self.prefix}{name}' is missing, which .o and .a need", hint=hint)
        return path


def find_toolchain(triple: str) -> Toolchain:
    """Return the C toolchain for a target. Raises `LibraryError` if there is none."""
    architecture = triple.split("-")[0]
    native = architecture == platform.machine() and ("linux" in triple) == sys.platform.startswith("linux")
    command = shlex.split(os.environ.get("CC", ""))
    if command:
        return Toolchain(tuple(command))
    prefix = "" if native else f"{architecture}-linux-gnu-"
    for name in _SYSTEM if native else ("gcc",):
        path = shutil.which(prefix + name)
        if path is not None:
            return Toolchain((path,), prefix)
    if importlib.util.find_spec("ziglang") is not None:
        target = () if native else ("-target", f"{architecture}-linux-gnu")
        return Toolchain((sys.executable, "-m", "ziglang", "cc", *target), prefix)
    looked = ", ".join(_SYSTEM) if native else f"{prefix}gcc"
    raise LibraryError(f"no C compiler for {triple}", expected=f"{looked}, or the package ziglang", hint=_HINT)


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        hint = _HINT if isinstance(error, FileNotFoundError | PermissionError) else None
        raise LibraryError(f"'{command[0]}' cannot be run: {error.strerror}", hint=hint) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise LibraryError(f"'{' '.join(command[:2])} …' failed ({done.returncode})", notes=lines[:20])
