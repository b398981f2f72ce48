"""What looking at a program costs: calls that are profiled beside calls that are not.

    python benchmarks/tools.py

Both run in turns on one core, by the process's own clock, which stands still while others run. `off` is the executable
as it is built, `on` its calls in `executable.profiling()`. The goal is less than 2 % between them, by the medians;
`reported` is how long the profile says that a call takes. After them: `editor.py`, `traces.py`.
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
from tirax.runtime.profiling.limits import Limits  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

GOAL = 0.02
LIMITS = Limits(1, 1e11, ((1 << 40, 1e10),))
"""Stand in for measured ones, which take a while."""
BATCHES = (1, 4, 8, 32, 100, 1000)


def mlp(batch: int):
    """The MLP 784-128-10 with random weights, and its input."""
    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(MLP))
    return relax.build(mod, target="llvm -num-cores=1"), tvm.nd.array(rng.standard_normal((batch, 784), np.float32))


def row(batch: int) -> dict[str, float]:
    """Microseconds of a call, and how many were made for each that was measured."""
    executable, x = mlp(batch)
    with executable.profiling() as session:
        functions = {"off": executable["forward"], "on": session["forward"]}
        np.testing.assert_array_equal(*(function(x) for function in functions.values()))
        cases = {name: functools.partial(function, x) for name, function in functions.items()}
        times = measure.interleaved(cases, rounds=1001, clock=time.process_time, longest=4)
    report = session.report(LIMITS)
    each = report.recording.calls / report.measured
    reported = sum(r.seconds for r in report.rows if r.kind != "python") / report.recording.calls
    return {
        "batch": batch,
        **{name: times[name].median for name in functions},
        "calls": each,
        "reported": reported * 1e6,
    }


def main() -> int:
    missed = profiles()
    typing, trace = editor.main(), traces.main()
    return int(typing or trace or missed)


def profiles() -> bool:
    """What profiles cost; whether that is too much."""
    rows = [row(batch) for batch in BATCHES]
    print(f"{'batch':>6}{'off, us':>10}{'on, us':>10}{'cost':>8}{'measured':>12}{'reported':>10}")
    for r in rows:
        cost, part = r["on"] / r["off"] - 1, f"1 of {r['calls']:.1f}"
        print(f"{r['batch']:>6}{r['off']:>10.2f}{r['on']:>10.2f}{cost:>8.1%}{part:>12}{r['reported']:>10.2f}")
    measure.write("tools", rows)
    return any(r["on"] > r["off"] * (1 + GOAL) for r in rows)


if __name__ == "__main__":
    sys.exit(main())
