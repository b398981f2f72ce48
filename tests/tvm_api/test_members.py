"""Members that only programs of TVM read: a row for each, with what it gives."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError
from tirax.tvm_api import arith, relax, te, tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] + T.float32(1)
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] + T.float32(1)
"""
PLACE = tir.decl_buffer((16,), "float32", "place")
CONSTANTS = tir.AllocateConst(PLACE.data, "float32", (16,), tvm.nd.array(np.zeros(16, "float32")), tir.Evaluate(0))
TENSOR = te.placeholder((4, 4), name="T")
GPU = tvm.target.Target("cuda -max_num_threads=1024 -arch=sm_80")
CALL = R.sum(relax.Var("x", R.Tensor((4, 4))), axis=[1], keepdims=True)


@pytest.mark.parametrize(
    "found, expected",
    [
        (lambda: GPU.max_num_threads, 1024),
        (lambda: GPU.arch, "sm_80"),
        (lambda: GPU.thread_warp_size, -1),
        (lambda: GPU.get_kind_attr("name"), "cuda"),
        (lambda: tvm.target.Target("llvm -mcpu=skylake").mcpu, "skylake"),
        (lambda: tvm.target.Target.target_or_current("llvm").kind.name, "llvm"),
        (lambda: "mcpu" in GPU.kind.options, True),
        (lambda: tvm.target.TargetKind.options_from_name("nothing"), {}),
        (lambda: arith.IterMapLevel.from_str("nocheck"), arith.IterMapLevel.NoCheck),
        (lambda: arith.IterMapLevel.Bijective, arith.IterMapLevel.BIJECTIVE),
        (lambda: CALL.attrs.get_int_tuple("axis"), (1,)),
        (lambda: CALL.attrs.get_int("keepdims"), 1),
        (lambda: CALL.attrs.get_str("keepdims"), "True"),
        (lambda: CALL.attrs.list_field_info(), ["axis", "keepdims"]),
        (lambda: tir.IterVar.Vectorized, 6),
        (lambda: tir.Var("x", "int32").name_hint, "x"),
        (lambda: (CONSTANTS.dtype, CONSTANTS.extents, CONSTANTS.irmod_storage_idx), ("float32", [16], None)),
        (lambda: tvm.meta_schedule.schedule_rule.ReuseType("may", [1], "local").as_dict()["levels"], [1]),
        (lambda: TENSOR[0].dtype, "float32"),
        (lambda: relax.training.SetupTrainer.BACKBONE_FUNC, "backbone"),
        (lambda: tvm.topi.tag.is_injective("broadcast"), True),
        (lambda: tvm.topi.tag.is_broadcast("injective"), False),
        (lambda: tvm.ir.expr.is_relax_expr(CALL), True),
    ],
)
def test_members(found, expected):
    assert found() == expected


def test_a_level_that_does_not_exist():
    with pytest.raises(NameLookupError, match="level"):
        arith.IterMapLevel.from_str("half")


def test_schedules():
    from tirax.tvm_api.tir.schedule import analysis

    sch = tir.Schedule(from_source(SCRIPT))
    block = sch.get_block("B")
    assert analysis.has_block(sch, "B") and not analysis.has_block(sch, "D")
    assert analysis.is_output_block(sch, sch.get_block("C")) and not analysis.is_output_block(sch, block)
    assert not sch.can_decompose_padding(block, sch.get_loops(block)[0])
    assert sch.state.debug_mask == 0 and sch.get_sref(block).seq_index == -1


def test_calls_between_functions():
    module = from_source(
        """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        return cls.other(x)

    @R.function
    def other(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.exp(x)
"""
    )
    found = tvm.ir.analysis.collect_call_map(module)
    assert {k.name_hint: [v.name_hint for v in found[k]] for k in found} == {"main": ["other"], "other": []}
