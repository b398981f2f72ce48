"""Weights that are put into the order in which the tiled loops read them."""

from __future__ import annotations

import pytest
from spaces import SMALL, context_of, finished, module_of

from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.transforms.layout.split_layout_rewrite_preproc import MARK, SplitLayoutRewritePreproc
from tirax.tuning.postprocessors import RewriteLayout

FREE = SMALL.replace("        for i, j, k", '        T.func_attr({"layout_free_buffers": [1]})\n        for i, j, k', 1)


def tiled(source: str) -> Schedule:
    sch = Schedule(module_of(source))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    j_0, j_1 = sch.split(j, [2, 8])
    k_0, k_1 = sch.split(k, [3, 4])
    sch.reorder(j_0, k_0, i, k_1, j_1)
    return sch


def test_a_weight_is_read_in_order() -> None:
    sch = tiled(FREE)
    assert RewriteLayout().apply(sch)
    text = sch.mod.script()
    assert f'"{MARK}": 1' in text
    assert "B_global = T.alloc_buffer((2, 3, 4, 8))" in text
    assert "B_global[vj // 8, vk // 4, vk % 4, vj % 8] = B[vk, vj]" in text.replace("v0", "vk").replace("v1", "vj")
    assert_same_meaning(module_of(FREE).op, sch.mod.op)
    split = SplitLayoutRewritePreproc()(sch.mod.op)
    assert "weight_prepack" in str(split)


TWICE = """
@I.ir_module
class Module:
    @T.prim_func
    def main(B: T.Buffer((4, 8), "float32"), X: T.Buffer((8, 4), "float32"), Y: T.Buffer((8, 4), "float32")):
        T.func_attr({"layout_free_buffers": [0]})
        for i, j in T.grid(8, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = B[vj, vi]
        for i, j in T.grid(8, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = B[vj, vi]
"""


def in_order() -> Schedule:
    sch = Schedule(module_of(FREE))
    i, j, k = sch.get_loops(sch.get_block("C"))
    sch.reorder(i, k, j)
    return sch


def uneven() -> Schedule:
    sch = Schedule(module_of(FREE))
    sch.split(sch.get_loops(sch.get_block("C"))[1], [None, 5])
    return sch


@pytest.mark.parametrize(
    "make",
    [lambda: tiled(SMALL), in_order, uneven, lambda: Schedule(module_of(TWICE))],
    ids=["not free", "in order", "uneven", "two blocks"],
)
def test_others_are_left_alone(make) -> None:
    sch = make()
    before = sch.mod.script()
    assert RewriteLayout().apply(sch)
    assert sch.mod.script() == before


def test_it_belongs_to_the_default() -> None:
    context = context_of(FREE, seed=2)
    space = [finished(context, sch.trace) for sch in context.generate_design_space()]
    assert any(MARK in sch.mod.script() for sch in space)
    for sch in space:
        assert_same_meaning(context.mod.op, sch.mod.op)
