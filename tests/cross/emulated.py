"""A library of another processor, called by a C program that an emulator runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tirax.runtime import Executable
from tirax.runtime.library.functions import c_type


@dataclass(frozen=True)
class Processor:
    """What code is compiled for, the C compiler and the emulator (empty: this machine)."""

    target: str
    compiler: str
    emulator: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """What is not installed here, None where all is."""
        needed = (self.compiler, *self.emulator[:1])
        return next((f"{command} is not installed" for command in needed if shutil.which(command) is None), None)


@dataclass(frozen=True)
class Call:
    """A call of a function with its arguments and symbolic sizes; the results have these shapes and dtypes."""

    function: str
    arguments: Sequence[np.ndarray]
    sizes: Sequence[int]
    results: Sequence[np.ndarray]


def run(executable: Executable, processor: Processor, calls: Sequence[Call], folder: Path) -> list[list[np.ndarray]]:
    """What the calls give on the processor."""
    executable.export_library(folder / "all.a", header=folder / "all.h")
    (folder / "main.c").write_text(_program(calls))
    for i, call in enumerate(calls):
        for j, argument in enumerate(call.arguments):
            argument.tofile(folder / f"in{i}_{j}")
    program = folder / "main"
    link = [processor.compiler, "-O1", "-static", str(folder / "main.c"), str(folder / "all.a"), "-o", str(program)]
    subprocess.run([*link, "-lm", "-lpthread"], check=True, capture_output=True, text=True)
    done = subprocess.run(
        [*processor.emulator, str(program)], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return [
        [np.fromfile(folder / f"out{i}_{j}", r.dtype).reshape(r.shape) for j, r in enumerate(call.results)]
        for i, call in enumerate(calls)
    ]


_HELPERS = """
#include "all.h"
#include <stdio.h>
#include <stdlib.h>
static void *taken(const char *name, size_t size) {
  void *memory = aligned_alloc(64, (size + 127) / 64 * 64);
  FILE *file = fopen(name, "rb");
  if (memory == NULL || file == NULL || fread(memory, 1, size, file) != size) exit(2);
  fclose(file);
  return memory;
}
static void given(const char *name, const void *memory, size_t size) {
  FILE *file = fopen(name, "wb");
  if (file == NULL || fwrite(memory, 1, size, file) != size || fclose(file) != 0) exit(3);
}
int main(void) {
"""


def _program(calls: Sequence[Call]) -> str:
    lines = [_HELPERS]
    for i, call in enumerate(calls):
        inputs = [f'taken("in{i}_{j}", {a.nbytes})' for j, a in enumerate(call.arguments)]
        outputs = [f"out{i}_{j}" for j in range(len(call.results))]
        for name, result in zip(outputs, call.results, strict=True):
            lines.append(
                f"  {c_type(result.dtype.name)} *{name} = aligned_alloc(64, {-(-(result.nbytes + 1) // 64) * 64});"
            )
        args = ", ".join([*inputs, *map(str, call.sizes), *outputs])
        lines.append(f'  if (all_{call.function}_raw({args})) return fprintf(stderr, "%s", all_error()), 1;')
        for name, result in zip(outputs, call.results, strict=True):
            lines.append(f'  given("{name}", {name}, {result.nbytes});')
    return "\n".join([*lines, "  return 0;", "}", ""])
