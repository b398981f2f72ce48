"""What looking at a program costs: calls that are profiled beside calls that are not.

    python benchmarks/tools.py

Both run in turns on one core, by the process's own clock, which stands still while others run. `off` is the executable
as it is built, `on` the one with marks, called while it is recorded; the goal is less than 2 % between them.
"""

from __future__ import annotations

import sys
import time

import measure

measure.quiet()

import numpy as np  # noqa: E402
from models import MLP  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.runtime.profiling.recorder import recording  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

GOAL = 0.02


def mlp(batch: int):
    """The MLP 784-128-10 with random weights, and its input."""
    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(MLP))
    return relax.build(mod, target="llvm -num-cores=1"), tvm.nd.array(rng.standard_normal((batch, 784), np.float32))


def row(batch: int, calls: int = 1000) -> dict[str, float]:
    """Microseconds of a call; the recorder is emptied after `calls` of them."""
    executable, x = mlp(batch)
    functions = {"off": executable["forward"], "on": executable.instrumented["forward"]}
    np.testing.assert_array_equal(*(function(x) for function in functions.values()))

    def run(function) -> None:
        for _ in range(calls):
            function(x)

    with recording() as record:
        cases = {"off": lambda: run(functions["off"]), "on": lambda: record(run, functions["on"])}
        times = measure.interleaved(cases, rounds=31, clock=time.process_time, longest=4)
    return {"batch": batch, **{name: t.minimum / calls for name, t in times.items()}}


def main() -> int:
    rows = [row(batch) for batch in (1, 32, 256)]
    print(f"{'batch':>6}{'off, us':>10}{'on, us':>10}{'cost':>8}")
    for r in rows:
        print(f"{r['batch']:>6}{r['off']:>10.2f}{r['on']:>10.2f}{r['on'] / r['off'] - 1:>8.1%}")
    measure.write("tools", rows)
    return int(any(r["on"] > r["off"] * (1 + GOAL) for r in rows[1:]))


if __name__ == "__main__":
    sys.exit(main())
