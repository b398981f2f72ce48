"""The five models of `models/`: how long they take to build and to run, how much memory, and where the time goes.

    python benchmarks/whole_models.py [--models bert,vit] [--rounds 7] [--dynamic] [--breakdown] [--small] …

Each model is built in a process of its own with an empty cache, and again in another one that finds its objects there:
`build_s` and `again_s` are seconds on the wall, on all cores of the process, imports of the compiler included, the
module and its weights not. Then it is compared with numpy in float64, and timed in turns with numpy in float32, on one
thread and by the process's own clock. `--dynamic` builds it with symbolic batch and length, too; `--breakdown` times
each kernel by itself; `--small` takes narrow models, to see that all of it runs; `--build-only` stops after building.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import measure

measure.quiet()

import kernels  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
from models import workload as workloads  # noqa: E402
from models.workload import Workload  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.lowering.memory.bound import memory_uses  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

TOLERANCE = 1e-4
"""Of the greatest magnitude of the result: float32 through dozens of layers, compared with float64."""


def bound_model(name: str, options: argparse.Namespace) -> tuple[Workload, dict[str, np.ndarray], int | None, object]:
    """A model, its weights, the length of its input, and its module with the weights as constants."""
    workload = models.make(name, **(models.SMALL[name] if options.small else {}))
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    weights = workloads.random_weights(workload)
    return workload, weights, length, workloads.bind(workloads.export(workload, 1, length), weights)


def measure_build(name: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds of building a model once in this process."""
    mod = bound_model(name, options)[-1]
    start, used = time.perf_counter(), time.process_time()
    relax.build(mod, target="llvm")
    return {"s": time.perf_counter() - start, "cpu_s": time.process_time() - used}


def compiled(executable: object, inputs: list[np.ndarray]) -> Callable[[], np.ndarray]:
    """A call of the compiled model on arrays that are on the device already."""
    forward = relax.VirtualMachine(executable, tvm.cpu())["forward"]
    arguments = [tvm.nd.array(x) for x in inputs]
    return lambda: forward(*arguments).numpy()


def measure_model(name: str, options: argparse.Namespace) -> dict[str, object]:
    """The row of one model. Raises `AssertionError` where a result is wrong."""
    workload, weights, length, bound = bound_model(name, options)
    inputs = workload.inputs(1, length)
    expected = workload.reference(workloads.in_double(weights), *inputs)
    calls = {
        "tirax": compiled(relax.build(bound, target="llvm"), inputs),
        "numpy": lambda: workload.reference(weights, *inputs),
    }
    if options.dynamic:
        dynamic = workloads.bind(workloads.export(workload), weights)
        calls["dynamic"] = compiled(relax.build(dynamic, target="llvm"), inputs)
    differences = {peer: workloads.difference(call(), expected) for peer, call in calls.items()}
    assert max(differences.values()) < TOLERANCE, differences
    times = measure.interleaved(calls, options.rounds, sample=0, clock=time.process_time)
    memory = memory_uses(kernels.lowered(bound, "plan-memory"), {})["forward"]
    row = {
        "model": name,
        **{f"{peer}_ms": t.median / 1e3 for peer, t in times.items()},
        **{f"{peer}_min_ms": t.minimum / 1e3 for peer, t in times.items()},
        "gflops": workload.flop(1, length) / times["tirax"].minimum / 1e3,
        "difference": differences["tirax"],
        "planned_mb": memory.planned / 1e6,
        "memory_ratio": memory.ratio,
    }
    if options.breakdown:
        row["kernels"] = [vars(k) for k in kernels.breakdown(bound)]
    return row


def in_child(name: str, options: argparse.Namespace, what: str, cache: str) -> dict[str, object]:
    """`measure_model` or `measure_build` in a fresh process, so that none inherits the memory of another."""
    flags = [f"--{flag}" for flag in ("dynamic", "breakdown", "small") if getattr(options, flag)]
    command = [sys.executable, __file__, "--child", what, "--models", name, "--rounds", str(options.rounds), *flags]
    environment = {**os.environ, "TIRAX_CACHE": "1", "XDG_CACHE_HOME": cache}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def row_of(name: str, options: argparse.Namespace) -> dict[str, object]:
    """All that is measured of a model."""
    row: dict[str, object] = {"model": name}
    with tempfile.TemporaryDirectory() as cache:
        for column in ("build", "again"):
            row |= {f"{column}_{unit}": v for unit, v in in_child(name, options, "build", cache).items()}
        return row if options.build_only else row | in_child(name, options, "run", cache)


COLUMNS = (
    ("model", "{:<8}", "<8"),
    ("build_s", "{:>8.2f}", ">8"),
    ("build_cpu_s", "{:>11.2f}", ">11"),
    ("again_s", "{:>8.2f}", ">8"),
    ("again_cpu_s", "{:>11.2f}", ">11"),
    ("tirax_ms", "{:>9.2f}", ">9"),
    ("tirax_min_ms", "{:>13.2f}", ">13"),
    ("numpy_ms", "{:>9.1f}", ">9"),
    ("dynamic_ms", "{:>11.2f}", ">11"),
    ("gflops", "{:>7.1f}", ">7"),
    ("planned_mb", "{:>11.2f}", ">11"),
    ("memory_ratio", "{:>13.3f}", ">13"),
    ("difference", "{:>11.1e}", ">11"),
)


def print_rows(rows: list[dict[str, object]]) -> None:
    """The table, and the slowest kernels of each model below it where they were timed."""
    shown = [c for c in COLUMNS if all(c[0] in row for row in rows)]
    print(" ".join(f"{name:{align}}" for name, _, align in shown))
    for row in rows:
        print(" ".join(text.format(row[name]) for name, text, _ in shown))
    for row in rows:
        if "kernels" in row:
            print(f"\n{row['model']}")
            print(kernels.table([kernels.Kernel(**k) for k in row["kernels"]]))


def main() -> None:
    """Print the table and write it to build/benchmarks/whole_models.json."""
    parser = argparse.ArgumentParser(description="whole models, one thread")
    parser.add_argument("--models", default=",".join(models.WORKLOADS), help="names, with commas")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each")
    parser.add_argument("--dynamic", action="store_true", help="symbolic batch and length, too")
    parser.add_argument("--breakdown", action="store_true", help="time each kernel by itself")
    parser.add_argument("--small", action="store_true", help="narrow models")
    parser.add_argument("--build-only", action="store_true", help="only build them")
    parser.add_argument("--child", choices=("build", "run"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.models.split(",")
    if options.child != "run" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, measure.CORES)
    if options.child:
        print(json.dumps((measure_model if options.child == "run" else measure_build)(names[0], options)))
        return
    rows = [row_of(name, options) for name in names]
    print(f"{measure.processor()}, one thread, batch 1\n")
    print_rows(rows)
    measure.write("whole_models", rows)


if __name__ == "__main__":
    main()
