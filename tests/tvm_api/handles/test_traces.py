"""Instructions and traces written by hand, with TVM's constructors."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV, Trace

SCRIPT = """
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            A[vi] = T.float32(1)
"""


def written():
    block, loop, outer, inner = BlockRV(), LoopRV(), LoopRV(), LoopRV()
    assert isinstance(block, BlockRV) and isinstance(loop, LoopRV) and not isinstance(loop, BlockRV)
    return [
        Instruction(InstructionKind.get("GetBlock"), [], ["B", "main"], [block]),
        Instruction(InstructionKind.get("GetLoops"), [block], [], [loop]),
        Instruction("Split", [loop, [4, 4]], [True, False], [outer, inner]),
    ]


def test_a_trace_by_hand_is_that_of_a_schedule():
    trace = Trace(written(), {})
    assert isinstance(trace, Trace) and all(isinstance(inst, Instruction) for inst in trace.insts)
    sch = tir.Schedule(tvm.IRModule({"main": from_source(SCRIPT)}))
    (loop,) = sch.get_loops(sch.get_block("B", func_name="main"))
    sch.split(loop, [4, 4], preserve_unit_iters=True, disable_predication=False)
    assert trace.as_python() == sch.trace.as_python()
    replayed = tir.Schedule(tvm.IRModule({"main": from_source(SCRIPT)}))
    trace.apply_to_schedule(replayed, remove_postproc=False)
    tvm.ir.assert_structural_equal(replayed.mod, sch.mod)
    Trace.apply_json_to_schedule(trace.as_json(), tir.Schedule(tvm.IRModule({"main": from_source(SCRIPT)})))


def test_instructions_of_another_trace_are_copied():
    first, second = Trace(written(), {}), Trace([], {})
    second.append(first.insts[0])
    assert len(first) == 3 and len(second) == 1 and second.insts[0] is not first.insts[0]


def test_refusals():
    with pytest.raises(NameLookupError, match="instruction 'GetNothing'"):
        InstructionKind.get("GetNothing")
    with pytest.raises(TiraxError, match="GetBlock has too many arguments"):
        Instruction("GetBlock", [], ["B", "main", "more"], [])
