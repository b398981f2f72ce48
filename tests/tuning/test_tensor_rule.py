"""Tiling around a tensor intrinsic: the rule finds it, the postprocessor puts it, and numbers stay what they are."""

from __future__ import annotations

import numpy as np
import pytest
from spaces import SPACES, context_of, module_of
from strength import crossed

from tirax.diagnostics import NameLookupError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.schedule import Schedule
from tirax.target import Target
from tirax.tuning.analysis import AUTO_TENSORIZE
from tirax.tuning.features import features_of
from tirax.tuning.postprocessors import RewriteReductionBlock, RewriteTensorize
from tirax.tuning.schedule_rules import MultiLevelTilingWithIntrin, ParallelizeVectorizeUnroll, ReuseType, pack_tiles
from tirax.tuning.search import ReplayTrace
from tirax.tuning.space import PostOrderApply, SpaceGenerator

INTRIN = "gemm_4x4x4_f32"
TRANSPOSED = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr({"tir.is_scheduled": T.bool(True)})
        for k, j, i in T.grid(8, 8, 8):
            with T.block("C"):
                vk, vj, vi = T.axis.remap("RSS", [k, j, i])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

BYTES = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((32, 64), "uint8"), B: T.Buffer({shape}, "int8"), C: T.Buffer((32, 48), "int32")):
        T.func_attr({{"tir.is_scheduled": T.bool(True), "layout_free_buffers": [1]}})
        for i, j, k in T.grid(32, 48, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[{index}])
"""
BYTES_OF = {
    "rows": (BYTES.format(shape=(48, 64), index="vj, vk"), lambda b: b),
    "columns": (BYTES.format(shape=(64, 48), index="vk, vj"), lambda b: b.T),
    "packed": (
        BYTES.format(shape=(3, 16, 16, 4), index="vj // 16, vk // 4, vj % 16, vk % 4"),
        lambda b: b.reshape(3, 16, 16, 4).transpose(0, 2, 1, 3),
    ),
}

FEATURES = {"vnni": "avx512vnni", "avx512": "avx512bw"}
"""What a processor needs for the intrinsics of a kind."""


def search(source: str, rule: MultiLevelTilingWithIntrin):
    strategy = ReplayTrace()
    space = PostOrderApply(sch_rules=[rule, ParallelizeVectorizeUnroll(16, 64, (0, 16), True)])
    context = context_of(source, strategy, space=space)
    spaces = context.generate_design_space()
    strategy.pre_tuning(3, 3, spaces)
    return context, spaces, strategy.generate_measure_candidates()


def test_a_product_is_computed_by_the_intrinsic() -> None:
    rule = MultiLevelTilingWithIntrin(INTRIN, reuse_write=ReuseType("may", (1, 2), "global"))
    context, spaces, actual = search(TRANSPOSED, rule)
    assert len(spaces) == 3
    assert all(f'"{INTRIN}"' in str(sch.trace) for sch in spaces)
    a, b = (np.random.default_rng(0).random((8, 8), dtype="float32") for _ in range(2))
    for candidate in actual:
        text = candidate.sch.mod.script()
        assert "llvm.fma" in text
        assert AUTO_TENSORIZE not in text
        assert np.isfinite(features_of(candidate.sch.mod)).all()
        c = np.zeros((8, 8), dtype="float32")
        build(candidate.sch.mod.op)["main"](a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert_same_meaning(context.mod.op, spaces[0].mod.op)


@pytest.mark.parametrize("name", ["softmax", "dense_bias_relu", "transpose"])
def test_what_does_not_fit_is_left_alone(name: str) -> None:
    """Other computations, and a product whose sizes the intrinsic's do not divide."""
    space = PostOrderApply(sch_rules=[MultiLevelTilingWithIntrin(INTRIN)], postprocs=(), mutator_probs=None)
    (sch,) = context_of(SPACES[name]["source"], space=space).generate_design_space()
    assert "tensorize" not in str(sch.trace)
    assert sch.mod.script() == module_of(SPACES[name]["source"]).script()


def test_an_unknown_intrinsic() -> None:
    with pytest.raises(NameLookupError, match="gemm_5x5x5"):
        MultiLevelTilingWithIntrin("gemm_5x5x5")


def test_a_wrong_mark_rejects_the_schedule() -> None:
    sch = Schedule(module_of(SPACES["sum_inner"]["source"]))
    block = sch.get_block("sum")
    outer = sch.blockize(sch.get_loops(block)[1])
    sch.annotate(outer, AUTO_TENSORIZE, INTRIN)
    assert RewriteReductionBlock().apply(sch)
    assert not RewriteTensorize().apply(sch)


@crossed("layout, kind", list(BYTES_OF), list(FEATURES))
def test_products_of_bytes(layout: str, kind: str) -> None:
    """The intrinsic is found whatever the layout of the weights, and does not saturate."""
    source, stored = BYTES_OF[layout]
    strategy = ReplayTrace()
    context = context_of(source, strategy, space=SpaceGenerator.create(kind))
    spaces = context.generate_design_space()
    assert len(spaces) == 3 and all(f"dot_16x4_{kind}" in str(sch.trace) for sch in spaces)
    assert all(("transform_layout" in str(sch.trace)) == (layout != "packed") for sch in spaces)
    strategy.pre_tuning(2, 2, spaces)
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (32, 64)), rng.integers(-128, 128, (48, 64))
    a[0], b[0], b[1] = 255, -128, 127
    array = a.astype("uint8"), np.ascontiguousarray(stored(b)).astype("int8")
    for candidate in strategy.generate_measure_candidates():
        text = candidate.sch.mod.script()
        assert {"vnni": "vpdpbusd", "avx512": "pmaddw"}[kind] in text
        assert text.count("meta_schedule.layout_rewrite_preproc") == (layout != "packed")
        if FEATURES[kind] in Target.host().features:
            c = np.zeros((32, 48), dtype="int32")
            build(candidate.sch.mod.op)["main"](*array, c)
            np.testing.assert_array_equal(c, a @ b.T)


def test_packing_does_not_change_the_meaning() -> None:
    for name in ("rows", "columns"):
        context = context_of(BYTES_OF[name][0])
        sch = Schedule(context.mod)
        assert pack_tiles(sch, sch.get_block("C"), {1: 16, 2: 4})
        assert_same_meaning(context.mod.op, sch.mod.op)
    sch = Schedule(module_of(BYTES_OF["packed"][0]))
    assert not pack_tiles(sch, sch.get_block("C"), {1: 16, 2: 4})


def test_other_dtypes_are_left_to_the_other_rules() -> None:
    source = BYTES_OF["rows"][0].replace('"uint8"', '"int8"')
    spaces = context_of(source, space=SpaceGenerator.create("vnni")).generate_design_space()
    assert spaces and not any("tensorize" in str(sch.trace) for sch in spaces)
