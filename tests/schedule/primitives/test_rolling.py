"""`rolling_buffer`: TVM's text (tests/golden/schedule/rolling), meaning, machine code, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from prologue import HEAD, scheduled
from strength import crossed

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api.script import from_source

POOLS = (
    HEAD
    + """\
    def main(A: T.Buffer((12, 16), "int8"), C: T.Buffer((8, 12), "int8")):
        B = T.alloc_buffer((10, 14), "int8")
        for i, j, k, l in T.grid(10, 14, 3, 3):
            with T.block("B"):
                vi, vj, vk, vl = T.axis.remap("SSRR", [i, j, k, l])
                with T.init():
                    B[vi, vj] = T.int8(-128)
                B[vi, vj] = T.max(B[vi, vj], A[vi + vk, vj + vl])
        for i, j, k, l in T.grid(8, 12, 3, 3):
            with T.block("C"):
                vi, vj, vk, vl = T.axis.remap("SSRR", [i, j, k, l])
                with T.init():
                    C[vi, vj] = T.int8(-128)
                C[vi, vj] = T.max(C[vi, vj], B[vi + vk, vj + vl])
"""
)


def rolled(rows: int | None, cols: int | None, order: str, at: int):
    """Split the consumer's loops, order them, compute the producer at one of them, and roll."""

    def steps(sch: Schedule) -> None:
        block, producer = sch.get_block("C"), sch.get_block("B")
        loops = dict(zip("ij", sch.get_loops(block), strict=False))
        for name, factor in (("i", rows), ("j", cols)):
            if factor is not None:
                loops[name.upper()], loops[name] = sch.split(loops[name], [None, factor])
        ordered = [loops[c] for c in order]
        sch.reorder(*ordered)
        sch.compute_at(producer, ordered[at])
        sch.rolling_buffer(producer, 0)

    return steps


CASES = {
    "tiles": rolled(4, 4, "IJij", 1),
    "rows": rolled(None, None, "ij", 0),
    "columns_outside": rolled(None, 4, "Jij", 1),
    "uneven_tiles": rolled(3, 5, "IJij", 1),
    "columns": rolled(None, 4, "Jij", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_text_and_meaning(name, golden) -> None:
    module, sch = scheduled(POOLS, CASES[name])
    golden(f"schedule/rolling/{name}.txt", f"{sch.mod.script()}\n{sch.trace}")
    assert_same_meaning(module.op, sch.mod.op)
    other = Schedule(module)
    Trace.from_mlir(sch.trace.mlir()).apply_to_schedule(other)
    assert other.mod.script() == sch.mod.script()


@crossed("rows, cols, order", [1, 3, 7], [5, 12], ["IJij", "JIij"])
def test_every_tiling_in_machine_code(rows, cols, order) -> None:
    module, sch = scheduled(POOLS, rolled(rows, cols, order, 1))
    x = np.random.default_rng(rows).integers(-128, 127, (12, 16)).astype(np.int8)
    actual, expected = np.zeros((8, 12), np.int8), np.zeros((8, 12), np.int8)
    build(sch.mod.op)["main"](x, actual)
    windows = np.lib.stride_tricks.sliding_window_view
    middle = windows(x, (3, 3)).max((2, 3))
    expected[:] = windows(middle, (3, 3)).max((2, 3))
    np.testing.assert_array_equal(actual, expected)


def test_iterations_stay_in_order() -> None:
    _, sch = scheduled(POOLS, CASES["rows"])
    with pytest.raises(ScheduleError, match="opaque"):
        sch.parallel(sch.get_loops(sch.get_block("C"))[0])


def parallel_first(sch: Schedule) -> None:
    block, producer = sch.get_block("C"), sch.get_block("B")
    loop = sch.get_loops(block)[0]
    sch.parallel(loop)
    sch.compute_at(producer, loop)
    sch.rolling_buffer(producer, 0)


def without_overlap(sch: Schedule) -> None:
    block, producer = sch.get_block("C"), sch.get_block("B")
    sch.compute_at(producer, sch.get_loops(block)[0])
    sch.rolling_buffer(producer, 0)


ELEMENTWISE = POOLS.replace("B[vi + vk, vj + vl]", "B[vi, vj]")
REFUSED = {
    "not_tiled": (POOLS, lambda sch: sch.rolling_buffer(sch.get_block("B"), 0), "no loop is around"),
    "parameter": (POOLS, lambda sch: sch.rolling_buffer(sch.get_block("C"), 0), "not allocated in a block"),
    "parallel": (POOLS, parallel_first, "not a serial one"),
    "no_overlap": (ELEMENTWISE, without_overlap, "no iteration writes what the one before has written"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name) -> None:
    source, steps, message = REFUSED[name]
    with pytest.raises(ScheduleError, match=message) as caught:
        steps(Schedule(from_source(source)))
    assert "^^^" in str(caught.value)
