"""Instructions that are in no trace, queries of nested blocks, and errors that are TVM's `ValueError`."""

import pytest

from tirax.tvm_api import IRModule, te, tir
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV


@pytest.mark.parametrize(
    ("kind", "inputs", "attrs", "outputs", "text"),
    [
        ("GetLoops", ["block"], [], ["loop", "loop"], "_, _ = sch.get_loops(block=_)"),
        ("ComputeInline", ["block"], [], [], "sch.compute_inline(block=_)"),
        ("GetBlock", [], ["C", "main"], ["block"], '_ = sch.get_block(name="C", func_name="main")'),
        ("Fuse", [["loop", "loop"]], [True], ["loop"], None),
    ],
)
def test_instructions_alone(kind, inputs, attrs, outputs, text):
    make = {"block": BlockRV, "loop": LoopRV}

    def handles(names):
        return [[make[n]() for n in v] if isinstance(v, list) else make[v]() for v in names]

    inst = Instruction(InstructionKind.get(kind), handles(inputs), attrs, handles(outputs))
    assert str(inst) == (text or str(inst)) and "sch." in str(inst) and "%" not in str(inst)


@T.prim_func
def nested(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    with T.block("outer"):
        vo = T.axis.spatial(1, 0)
        C = T.alloc_buffer((8, 8))
        for i, j in T.grid(8, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(8, 8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj] * T.float32(2)


@pytest.mark.parametrize(("scope", "names"), [("root", ["outer", "B"]), ("outer", ["B"])])
def test_output_blocks_may_be_in_others(scope, names):
    sch = tir.Schedule(nested)
    assert [sch.get(b).name_hint for b in sch.get_output_blocks(scope)] == names


def test_errors_are_value_errors():
    sch = tir.Schedule(IRModule({"one": nested, "two": nested}))
    with pytest.raises(ValueError, match="does not know which function to be working on"):
        sch.get_block("B")
    with te.tag_scope("a"), pytest.raises(ValueError, match="tag scope"), te.tag_scope("b"):
        pass


def test_the_function_worked_on_is_a_global_var():
    sch = tir.Schedule(IRModule({"one": nested, "two": nested}))
    assert sch.func_working_on is None
    sch.work_on("two")
    assert sch.func_working_on == sch.mod.get_global_var("two")
    assert InstructionKind.get("Split").same_as(InstructionKind.get("Split"))
