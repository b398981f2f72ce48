"""Parallel loops on a busy machine: all threads beside one, while other processes keep the cores busy.

    python benchmarks/busy.py [--spinning 2] [--only matmul,softmax] [--rounds 15]

`--spinning` processes do nothing but count, by default one a core; 0 is an idle machine. One thread and as many as
there are cores take turns, in bursts of half a second, on the same executable; results are equal bit by bit.
`ratio` is what all calls with all threads took ÷ what all with one took: the system gives a thread its core whole or by
halves, for a second or so each, so that a median would say which of both came a little more often. It should not be
above 1.15: where workers are held back, the pool leaves loops to the caller for a while (runtime/thread_pool.py).
"""

from __future__ import annotations

import argparse
import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import measure

for name in measure.CHOSEN_BY_HAND:
    os.environ.pop(name, None)

import numpy as np  # noqa: E402
from peers import programs  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.runtime import set_num_threads  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

BURST = 0.5
"""Seconds."""
ROWS = "matmul 128,matmul 512,1x4096x4096,MLP,softmax 1024,layernorm,conv3x3 56x56x64 NHWC,gelu"


@contextmanager
def spinning(processes: int) -> Iterator[None]:
    """Keep so many processes counting."""
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def forward_of(program: programs.Program, counts: tuple[int, ...]) -> Callable[[], object]:
    """The compiled program on its inputs; raises where two numbers of threads differ in a bit of the result."""
    forward = relax.VirtualMachine(relax.build(program.mod, target="llvm"), tvm.cpu())["forward"]
    inputs = [tvm.nd.array(x) for x in program.inputs]

    def result(threads: int) -> bytes:
        set_num_threads(threads)
        return forward(*inputs).numpy().tobytes()

    if len({result(threads) for threads in counts}) != 1:
        raise ValueError(f"{program.name}: the number of threads changes the result")
    return functools.partial(forward, *inputs)


def interleaved_times(function: Callable[[], object], counts: tuple[int, ...], rounds: int) -> dict[int, float]:
    """Microseconds of a call by number of threads, over `rounds` bursts each."""
    spent, calls = dict.fromkeys(counts, 0.0), dict.fromkeys(counts, 0)
    for _ in range(rounds):
        for threads in counts:
            set_num_threads(threads)  # the pool tries its workers again
            start = now = time.perf_counter()
            while now - start < BURST:
                function()
                calls[threads] += 1
                now = time.perf_counter()
            spent[threads] += now - start
    return {threads: spent[threads] / calls[threads] * 1e6 for threads in counts}


def main() -> None:
    """Print the table and write it to build/benchmarks/busy.json."""
    cores = len(measure.CORES)
    parser = argparse.ArgumentParser(description="all threads beside one on a busy machine")
    parser.add_argument("--spinning", type=int, default=cores)
    parser.add_argument("--only", default=ROWS, help="parts of the names of programs, with commas")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(f"{measure.processor()}, {cores} cores, {options.spinning} busy processes; µs a call\n")
    print(f"{'':24}{'1 thread':>12}{f'{cores} threads':>12}{'ratio':>8}")
    rows = []
    for program in programs.small_programs():
        if not any(part in program.name for part in options.only.split(",")):
            continue
        forward = forward_of(program, (1, cores))
        with spinning(options.spinning):
            times = interleaved_times(forward, (1, cores), options.rounds)
        one, all_ = times[1], times[cores]
        rows.append({"program": program.name, "one_us": one, "all_us": all_, "ratio": all_ / one})
        print(f"{program.name:24}{one:12.1f}{all_:12.1f}{all_ / one:8.2f}", flush=True)
    if not rows:
        raise SystemExit(f"no program has a name with any of: {options.only}")
    print(f"\ngreatest ratio: {np.max([row['ratio'] for row in rows]):.2f} of {len(rows)} programs")
    measure.write("busy", rows)


if __name__ == "__main__":
    main()
