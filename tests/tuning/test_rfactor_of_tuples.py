"""AddRFactor for reductions with two results: argmax is factored like a sum."""

from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.target import Target
from tirax.tuning.context import TuneContext
from tirax.tuning.schedule_rules import AddRFactor
from tirax.tuning.space import PostOrderApply
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T


@T.prim_func
def argmax(
    idx: T.Buffer((4, 64), "int32"),
    val: T.Buffer((4, 64), "float32"),
    index: T.Buffer((4,), "int32"),
    most: T.Buffer((4,), "float32"),
):
    for i0, i1 in T.grid(4, 64):
        with T.block("argmax"):
            i, k = T.axis.remap("SR", [i0, i1])
            T.reads(val[i, k], idx[i, k])
            T.writes(index[i], most[i])
            with T.init():
                index[i] = T.int32(-1)
                most[i] = T.min_value("float32")
            v_index: T.int32 = T.Select(most[i] >= val[i, k], index[i], idx[i, k])
            v_most: T.float32 = T.Select(most[i] >= val[i, k], most[i], val[i, k])
            index[i] = v_index
            most[i] = v_most


def test_argmax_is_factored():
    module = Schedule(argmax).mod
    rule = AddRFactor(max_jobs_per_core=16, max_innermost_factor=64)
    space = PostOrderApply(sch_rules=[rule], postprocs=[], mutator_probs={})
    context = TuneContext(mod=module, target=Target("llvm -num-cores=8"), space_generator=space, task_name="argmax")
    sketches = context.generate_design_space()
    blocks = [[b for b in ("argmax", "argmax_rf") if tir.schedule.analysis.has_block(s, b)] for s in sketches]
    assert sorted(map(len, blocks)) == [1, 2, 2]
    for sketch in sketches:
        assert_same_meaning(module.op, sketch.mod.op)
