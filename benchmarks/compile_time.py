"""From `import` to the first result of the MLP 784-128-10, and building it again, with where the time goes.

    python benchmarks/compile_time.py [--repeats 5]

Each repeat is a fresh process. `cold` has the cache of compiled objects switched off, `cached` finds the objects there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median

import measure

PHASES = ("start", "import", "parse", "bind", "build", "load", "first call")


def child(started: float) -> None:
    """Do it once and print the milliseconds of each phase as JSON; `started` is the parent's monotonic clock."""
    marks = [started, time.monotonic()]
    import numpy as np
    from models import MLP

    import tirax.tvm_api as tvm
    from tirax.tvm_api import relax

    marks.append(time.monotonic())
    mod = tvm.script.from_source(MLP)
    marks.append(time.monotonic())
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    bound = relax.transform.BindParams("forward", params)(mod)
    marks.append(time.monotonic())
    executable = relax.build(bound, target="llvm")
    marks.append(time.monotonic())
    vm = relax.VirtualMachine(executable, tvm.cpu())
    marks.append(time.monotonic())
    vm["forward"](tvm.nd.array(np.ones((1, 784), np.float32)))
    marks.append(time.monotonic())
    relax.build(bound, target="llvm")
    again = time.monotonic() - marks[-1]
    row = {name: (after - before) * 1e3 for name, before, after in zip(PHASES, marks, marks[1:], strict=False)}
    print(json.dumps({**row, "total": (marks[-1] - marks[1]) * 1e3, "build again": again * 1e3}))


def once(cache: str | None) -> dict[str, float]:
    """One fresh process, with its cache in the folder `cache` or none."""
    chosen = {"TIRAX_CACHE": "0"} if cache is None else {"TIRAX_CACHE": "1", "XDG_CACHE_HOME": cache}
    env = {**os.environ, **chosen}
    command = [sys.executable, __file__, "--child", repr(time.monotonic())]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    """Print the table and write it to build/benchmarks/compile_time.json."""
    options = argparse.ArgumentParser(description="from import to the first result, and rebuild")
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--child", type=float, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child is not None:
        child(chosen.child)
        return
    with tempfile.TemporaryDirectory() as cache:
        once(cache)
        actual = {"cold": [], "cached": []}
        for _ in range(chosen.repeats):
            actual["cold"].append(once(None))
            actual["cached"].append(once(cache))
    rows = {name: {key: median(run[key] for run in runs) for key in runs[0]} for name, runs in actual.items()}
    print(f"{measure.processor()}; ms, medians of {chosen.repeats} fresh processes\n")
    print(f"{'':<12} {'cold':>9} {'cached':>9}")
    for key in (*PHASES, "total", "build again"):
        print(f"{key:<12} {rows['cold'][key]:>9.1f} {rows['cached'][key]:>9.1f}")
    print("\ntotal: from the first line of the program to the first result, without the start of Python")
    measure.write("compile_time", rows)


if __name__ == "__main__":
    main()
