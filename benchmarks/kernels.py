"""Where the time of a program goes: each of its tensor functions by itself.

    python benchmarks/whole_models.py --breakdown

A function is called as the program calls it, on arrays of its own that stay in the caches as far as they fit. The sum
is therefore an estimate of the whole; the ranking is what it is for. Times are of the process's own clock, which stands
still while others run: everything is on one thread.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

import tirax.tvm_api as tvm
from tirax.dialects import host, tir
from tirax.dialects.dtypes import dtype_name
from tirax.driver.build import build, run_passes
from tirax.driver.pipelines import pipeline_passes
from tirax.ir.passes.transform import module_op, new_context, no_gc
from tirax.transforms.tir.analysis import estimate_tir_flops


@dataclass(frozen=True)
class Kernel:
    """A tensor function: its time a call in µs, how often a call of the program calls it, and what it does."""

    name: str
    calls: int
    us: float
    mflop: float
    mbyte: float
    shapes: str

    @property
    def total_us(self) -> float:
        """Its share of a call of the program."""
        return self.calls * self.us


def lowered(mod: Any, last: str) -> ModuleOp:
    """The module after the default pipeline up to and with the pass `last`."""
    passes = pipeline_passes("default-cpu")
    names = [p.name for p in passes]
    op = module_op(mod).clone()
    with no_gc():
        run_passes(passes[: names.index(last) + 1], new_context(), op, verify_each=False)
    return op


def breakdown(mod: Any, rounds: int = 5) -> list[Kernel]:
    """The kernels of a module without symbolic sizes, those that take longest in all first."""
    op = lowered(mod, "plan-memory")
    calls = Counter(k.callee_name for k in op.walk() if isinstance(k, host.KernelOp))
    functions = {f.sym_name.data: f for f in op.ops if isinstance(f, tir.FuncOp) and f.sym_name.data in calls}
    exported = ModuleOp([_public(f) for f in functions.values()])
    executable = build(exported, pipeline="lower-cpu")
    actual = [_timed(executable[name], f, calls[name], rounds) for name, f in functions.items()]
    return sorted(actual, key=lambda k: -k.total_us)


def _public(function: tir.FuncOp) -> tir.FuncOp:
    copy = function.clone()
    copy.properties.pop("sym_visibility", None)
    return copy


def _timed(call: Any, function: tir.FuncOp, calls: int, rounds: int) -> Kernel:
    rng = np.random.default_rng(0)
    arrays = [_array(rng, p.type) for p in function.body.block.args]
    devices = [tvm.nd.array(a) for a in arrays]
    call(*devices)
    best, number = float("inf"), 1
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(number):
            call(*devices)
        spent = time.process_time() - start
        best = min(best, spent / number * 1e6)
        number = max(1, min(1000, int(2e-3 / max(spent / number, 1e-7))))
    shapes = " ".join("×".join(map(str, a.shape)) or "()" for a in arrays)
    mbyte = sum(a.nbytes for a in arrays) / 1e6
    return Kernel(function.sym_name.data, calls, best, estimate_tir_flops(function) / 1e6, mbyte, shapes)


def _array(rng: np.random.Generator, t: tir.BufferType) -> np.ndarray:
    """Random numbers; zeros where they may be indices."""
    shape = tuple(d.data.evaluate({}) for d in t.shape)
    dtype = np.dtype(dtype_name(t.dtype))
    return rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else np.zeros(shape, dtype)


def table(kernels: list[Kernel], count: int = 10) -> str:
    """The slowest ones, and their sum."""
    total = sum(k.total_us for k in kernels)
    lines = [f"{'share':>6} {'total us':>9} {'calls':>5} {'us':>9} {'GFLOP/s':>8} {'GB/s':>6}  function: arguments"]
    for k in kernels[:count]:
        rate, speed = k.mflop / k.us * 1e3, k.mbyte / k.us * 1e3
        figures = f"{k.total_us / total:>6.1%} {k.total_us:>9.1f} {k.calls:>5} {k.us:>9.2f} {rate:>8.1f} {speed:>6.1f}"
        lines.append(f"{figures}  {k.name}: {k.shapes}")
    return "\n".join([*lines, f"{'':>6} {total:>9.1f} {sum(k.calls for k in kernels):>5}  all"])
