"""What looking at a program costs: calls that are profiled beside calls that are not.

    python benchmarks/tools.py

Both run in turns on one core, by the process's own clock, which stands still while others run. `off` is the executable
as it is built, `on` the one with marks, called while it is recorded. The goal is less than 2 % between them, of calls
of 10 µs or more (a look at the clock is not free: shorter ones are told). After them: `editor.py`, `traces.py`.
"""

from __future__ import annotations

import functools
import sys
import time

import measure

measure.quiet()

import editor  # noqa: E402
import numpy as np  # noqa: E402
import traces  # noqa: E402
from models import MLP  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.runtime.profiling.recorder import recording  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

GOAL = 0.02
SHORTEST = 10.0
"""Microseconds of a call of which the goal is asked."""


def mlp(batch: int):
    """The MLP 784-128-10 with random weights, and its input."""
    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(MLP))
    return relax.build(mod, target="llvm -num-cores=1"), tvm.nd.array(rng.standard_normal((batch, 784), np.float32))


def row(batch: int, calls: int = 20) -> dict[str, float]:
    """Microseconds of a call; the recorder is emptied in a turn of its own."""
    executable, x = mlp(batch)
    functions = {"off": executable["forward"], "on": executable.instrumented["forward"]}
    np.testing.assert_array_equal(*(function(x) for function in functions.values()))

    def run(function) -> None:
        for _ in range(calls):
            function(x)

    with recording() as record:
        cases = {name: functools.partial(run, function) for name, function in functions.items()}
        cases["emptied"] = lambda: record(list)
        times = measure.interleaved(cases, rounds=1001, clock=time.process_time, longest=4)
    return {"batch": batch, **{name: times[name].minimum / calls for name in functions}}


def main() -> int:
    rows = [row(batch) for batch in (1, 8, 32, 256)]
    print(f"{'batch':>6}{'off, us':>10}{'on, us':>10}{'cost':>8}")
    for r in rows:
        print(f"{r['batch']:>6}{r['off']:>10.2f}{r['on']:>10.2f}{r['on'] / r['off'] - 1:>8.1%}")
    measure.write("tools", rows)
    typing, trace = editor.main(), traces.main()
    return int(typing or trace or any(r["on"] > r["off"] * (1 + GOAL) for r in rows if r["off"] >= SHORTEST))


if __name__ == "__main__":
    sys.exit(main())
