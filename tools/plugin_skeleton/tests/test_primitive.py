"""The primitive preserves results, is recorded in traces of every form, and is rejected where it must be."""

import pytest

from tirax.extend import Schedule, ScheduleError, Trace, assert_same_meaning, parse_source

MODULE = parse_source("""@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 3), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.alloc_buffer((n, 3), "float32")
    for i, j in T.grid(n, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(n, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + C[vi, vj]""")


def reversed_once():
    sch = Schedule(MODULE)
    sch.acme_reverse(sch.get_loops(sch.get_block("C"))[0])
    return sch


def test_the_loop_runs_backwards():
    sch = reversed_once()
    assert "T.axis.spatial(n, n - i - T.int64(1))" in sch.mod.script()
    assert_same_meaning(MODULE, sch.mod.op)


def test_traces_have_the_step():
    sch = reversed_once()
    for trace in (Trace.from_mlir(sch.trace.mlir()), Trace.from_json(sch.trace.as_json())):
        again = Schedule(MODULE)
        trace.apply_to_schedule(again)
        assert again.mod.script() == sch.mod.script()
    assert "sch.acme_reverse(loop=" in str(sch.trace)


def test_a_reduction_is_refused():
    sch = Schedule(MODULE)
    with pytest.raises(ScheduleError, match="acme_reverse"):
        sch.acme_reverse(sch.get_loops(sch.get_block("B"))[1])
    assert sch.mod.script() == Schedule(MODULE).mod.script()
