"""`tvm.tir.Schedule` and its companions by TVM's names; the course's random search (seed 003, 5.1 and 5.2)."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.tir import schedule


@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


TRACE = """\
# from tvm import tir
def apply_trace(sch: tir.Schedule) -> None:
  b0 = sch.get_block(name="C", func_name="main")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l2, n=2, max_innermost_factor=16, decision=DECISION)
  l6, l7 = sch.split(loop=l2, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  sch.reorder(l1, l6, l3, l7)
  b8 = sch.decompose_reduction(block=b0, loop=l3)"""


def stochastic_schedule_mm(sch: tvm.tir.Schedule):
    block_C = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block=block_C)
    j_factors = sch.sample_perfect_tile(loop=j, n=2)
    j_0, j_1 = sch.split(loop=j, factors=j_factors)
    sch.reorder(i, j_0, k, j_1)
    sch.decompose_reduction(block_C, k)
    return sch


def test_names() -> None:
    for name in ("BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError"):
        assert getattr(tvm.tir, name) is getattr(schedule, name)
    sch = tvm.tir.Schedule(Module)
    assert isinstance(sch.trace, schedule.Trace)
    assert isinstance(sch.state, tvm.tir.ScheduleState)
    assert isinstance(sch.get_block("C"), schedule.BlockRV)
    with pytest.raises(tvm.tir.ScheduleError):
        sch.get_block("D")


def test_a_fixed_transformation() -> None:
    sch = tvm.tir.Schedule(Module)
    block_c = sch.get_block("C", "main")
    _, j, _ = sch.get_loops(block_c)
    sch.split(j, factors=[None, 4])
    text = sch.mod.script()
    assert "for i, j_0, j_1, k in T.grid(128, 32, 4, 128):" in text
    assert "vj = T.axis.spatial(128, j_0 * 4 + j_1)" in text


def test_a_random_transformation(capsys) -> None:
    sch = stochastic_schedule_mm(tvm.tir.Schedule(Module))
    (decision,) = sch.trace.decisions.values()
    assert decision[0] * decision[1] == 128
    assert decision[1] <= 16
    assert str(sch.trace) == TRACE.replace("DECISION", str(decision))
    sch.show()
    assert capsys.readouterr().out == f"{sch.mod.script()}\n{sch.trace}\n"
    a, b = (np.random.default_rng(k).random((128, 128), np.float32) for k in range(2))
    c = tvm.nd.empty((128, 128), "float32")
    lib = tvm.build(sch.mod, target="llvm")
    lib["main"](tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)


def test_instructions_by_tvms_names() -> None:
    sch = stochastic_schedule_mm(tvm.tir.Schedule(Module))
    sample = sch.trace.insts[2]
    assert isinstance(sample, schedule.Instruction)
    assert sample.kind == schedule.InstructionKind("SamplePerfectTile", is_pure=True)
    assert sample.attrs == [2, 16]
    assert sample.inputs == [sch.trace.insts[1].outputs[1]]
    assert not sch.trace.insts[3].kind.is_pure
