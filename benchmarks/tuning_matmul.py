"""What tuning finds for a square f32 matrix product on one core, beside the default schedule, numpy and the FMA peak.

    python benchmarks/tuning_matmul.py [--sizes 128 512] [--trials 64]

The peak is that of a loop of independent multiply-adds in registers, measured in turns with the rest. `cpu` is the
time of the tuner and of the processes that it started, which other programs of a shared machine change less.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import measure

os.environ.update(dict.fromkeys(measure.THREADS, "1"))

MATMUL = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        T.func_attr({{"tir.noalias": True}})
        A = T.match_buffer(a, ({n}, {n}), "float32")
        B = T.match_buffer(b, ({n}, {n}), "float32")
        C = T.match_buffer(c, ({n}, {n}), "float32")
        for i, j, k in T.grid({n}, {n}, {n}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
TARGET = "llvm -num-cores=1"


def cpu_seconds() -> float:
    """Of this process, and of those that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def bench(n: int, trials: int) -> dict[str, float]:
    """Tune one size, and measure what was found."""
    import numpy as np
    from peaks import Peak

    from tirax.driver.build import build
    from tirax.tuning.processes import close_idle
    from tirax.tvm_api import meta_schedule as ms
    from tirax.tvm_api.script import from_source

    mod = from_source(MATMUL.format(n=n))
    wall, cpu = time.perf_counter(), cpu_seconds()
    database = ms.tune_tir(mod, TARGET, None, trials, seed=1)
    close_idle()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    sch = ms.tir_integration.compile_tir(database, mod, TARGET)
    assert sch is not None, "no candidate could be measured"
    a, b = np.random.default_rng(0).standard_normal((2, n, n), dtype=np.float32)
    c, peak = np.empty((n, n), np.float32), Peak(TARGET)
    tuned, default = (build(m, TARGET)["main"] for m in (sch.mod, mod))
    for function in (tuned, default):
        function(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    functions = {
        "tuned": lambda: tuned(a, b, c),
        "default": lambda: default(a, b, c),
        "numpy": lambda: np.matmul(a, b, out=c),
        "peak": peak.call,
    }
    flops = dict.fromkeys(functions, 2.0 * n**3) | {"peak": peak.flop}
    times = measure.interleaved(functions, rounds=51)
    speeds = {name: flops[name] / t.minimum / 1e3 for name, t in times.items()}
    return {"n": n, "trials": trials, "wall": wall, "cpu": cpu, **speeds}


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--trials", type=int, default=64)
    options = parser.parse_args()
    rows = []
    print("GFLOP/s of the fastest sample, one core:", measure.processor())
    for n in options.sizes:
        row = bench(n, options.trials)
        rows.append(row)
        speeds = "  ".join(f"{name} {row[name]:7.1f}" for name in ("tuned", "default", "numpy", "peak"))
        print(f"{n:5}^3  {speeds}   tuned/peak {row['tuned'] / row['peak']:.2f}   ", end="")
        print(f"{row['trials']} trials in {row['wall']:.0f} s, {row['cpu']:.0f} s cpu", flush=True)
    print(measure.write("tuning_matmul", rows))


if __name__ == "__main__":
    main()
