"""What is compiled for other processors computes what the interpreter does: run by an emulator, where there is one.

Debian: `apt-get install qemu-user-static gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu`.
"""

from __future__ import annotations

import numpy as np
import programs
import pytest
from emulated import Call, Processor, run
from strength import thinned

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.target import Target

ARM = "aarch64-linux-gnu-gcc"
PROCESSORS = {
    "neon": Processor("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", ARM, ("qemu-aarch64-static",)),
    "neon with dots": Processor(
        "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+dotprod", ARM, ("qemu-aarch64-static",)
    ),
    "neon with matrices": Processor(
        "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -mattr=+dotprod,+i8mm,+bf16", ARM,
        ("qemu-aarch64-static", "-cpu", "max"),
    ),
    "risc-v": Processor(
        "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c", "riscv64-linux-gnu-gcc",
        ("qemu-riscv64-static",),
    ),
    "risc-v with vectors": Processor(
        "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c,+v", "riscv64-linux-gnu-gcc",
        ("qemu-riscv64-static", "-cpu", "rv64,v=true,vlen=128"),
    ),
    "x86-64-v2": Processor("llvm -mcpu=x86-64-v2", "cc"),
    "x86-64-v3": Processor("llvm -mcpu=x86-64-v3", "cc"),
}  # fmt: skip
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "float16": 4e-3}
"""Of the largest magnitude of a result."""


@thinned("name", list(PROCESSORS), 1)
def test_programs_compute_what_the_interpreter_does(name, tmp_path):
    processor = PROCESSORS[name]
    if processor.missing() is not None:
        pytest.skip(f"{processor.missing()}: see the head of this file")
    module = programs.module()
    calls: list[tuple[str, Call]] = []
    for label, program in programs.PROGRAMS.items():
        for n in program.sizes:
            arguments = programs.inputs(program, n)
            expected = interpret(module, programs.name_of(label), [a.copy() for a in arguments])
            sizes = [s for s, name in ((n, "'n'"), (19, "'m'")) if any(name in t for t in program.params)]
            calls.append((f"{label} at {n}", Call(programs.name_of(label), arguments, sizes, [np.asarray(expected)])))
    executable = build(module, Target(processor.target))
    results = run(executable, processor, [call for _, call in calls], tmp_path)
    wrong = [
        label for (label, call), actual in zip(calls, results, strict=True) if not close(call.results[0], actual[0])
    ]
    assert len(calls) > 80 and not wrong


def close(expected: np.ndarray, actual: np.ndarray) -> bool:
    """Whether integers are equal, floats within the tolerance of their largest magnitude."""
    if expected.dtype.kind != "f":
        return np.array_equal(expected, actual)
    a, b = expected.astype(np.float64), actual.astype(np.float64)
    return bool(np.abs(a - b).max(initial=0) <= TOLERANCE[expected.dtype.name] * max(1.0, np.abs(a).max(initial=0)))
