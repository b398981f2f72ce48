"""What a schedule costs: ten primitives on a matrix product, and replaying their trace.

    python benchmarks/schedule_cost.py [--repeats 20]

`cpu` is the time of this process alone, which other programs of a shared machine change less than `wall`.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from typing import Any

import measure

MATMUL = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), D: T.Buffer((128, 128), "float32")
    ):
        C = T.alloc_buffer((128, 128))
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""

Row = dict[str, float]


def ten_primitives(sch: Any) -> None:
    """Tiles, a copy, an inlined consumer, loops over threads and lanes: ten steps that change the program."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 32])
    k_0, k_1 = sch.split(k, [None, 4])
    sch.reorder(i_0, j_0, k_0, i_1, k_1, j_1)
    sch.reverse_compute_at(sch.get_block("D"), j_0)
    packed = sch.cache_read(block, 1, "global")
    sch.compute_at(packed, j_0)
    sch.decompose_reduction(block, k_0)
    sch.parallel(sch.fuse(i_0, j_0))


def clocked(make: Callable[[], Any], run: Callable[[Any], object], repeats: int) -> Row:
    """Milliseconds of `run(make())`, `make` not counted: the least of `repeats`, by the clock and by the process."""
    best: Row = {}
    for _ in range(repeats):
        program = make()
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run(program)
        spent = {"cpu ms": (time.process_time() - cpu) * 1e3, "wall ms": (time.perf_counter() - wall) * 1e3}
        best = {k: min(v, best.get(k, v)) for k, v in spent.items()}
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    measure.quiet()
    from tirax.schedule import Schedule
    from tirax.tvm_api.script import from_source

    module = from_source(MATMUL)
    done = Schedule(module)
    ten_primitives(done)
    trace = done.trace
    rows = {
        "ten primitives": clocked(lambda: Schedule(module), ten_primitives, repeats),
        "replaying the trace": clocked(lambda: Schedule(module), trace.apply_to_schedule, repeats),
        "replaying in a search": clocked(lambda: Schedule(module, restore=False), trace.apply_to_schedule, repeats),
    }
    print(f"{'':24}{'cpu ms':>10}{'wall ms':>10}")
    for name, row in rows.items():
        print(f"{name:24}{row['cpu ms']:10.1f}{row['wall ms']:10.1f}")
    measure.write("schedule_cost", rows)


if __name__ == "__main__":
    main()
