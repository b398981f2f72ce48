"""`tensorize` and tensor intrinsics: text, meaning, natively; what does not match is refused."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np
import pytest
from prologue import HEAD, scheduled
from strength import thinned

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.driver.build import build, lower
from tirax.interpreter import assert_same_meaning
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.schedule import Schedule, ScheduleError, TensorIntrin
from tirax.schedule.tensor_intrin import microkernel
from tirax.target import Target
from tirax.transforms.tir.lower_match_buffer import LowerMatchBuffer
from tirax.tvm_api.script import from_source

MATMUL = (
    HEAD
    + """\
    def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((2, 24, 48), "float32"), C: T.Buffer((16, 48), "float32")):
        for i, j, k in T.grid(16, 48, 24):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[1, vk, vj]
"""
)
DESC = """\
from tvm.script import tir as T
@T.prim_func
def desc(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("one"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)
"""
IMPL = """\
from tvm.script import tir as T
@T.prim_func
def impl(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[0:4] = A[0:4] + A[0:4]
"""
STRIDED = """\
from tvm.script import tir as T
@T.prim_func
def impl(a: T.handle, b: T.handle):
    s = T.int32()
    o = T.int32()
    A = T.match_buffer(a, (4,), "float32", strides=[s], offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", elem_offset=o, offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            B[i] = T.if_then_else(s + o < 1000, A[i] * T.float32(2), T.float32(0))
"""
DOUBLE = (
    HEAD
    + """\
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
"""
)
TEXT = """\
            with T.block("B_o"):
                vi_o, vj_o = T.axis.remap("SS", [i, j_0])
                T.reads(A[vi_o, vj_o * 4:vj_o * 4 + 4])
                T.writes(B[vi_o, vj_o * 4:vj_o * 4 + 4])
                A_1 = T.match_buffer(A[vi_o, vj_o * 4:vj_o * 4 + 4], (4,), offset_factor=1)
                B_1 = T.match_buffer(B[vi_o, vj_o * 4:vj_o * 4 + 4], (4,), offset_factor=1)
                B_1[0:4] = A_1[0:4] + A_1[0:4]"""


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(TensorIntrin, "registered", {})
    TensorIntrin.register("double_4", from_source(DESC), from_source(IMPL))


def doubled(source=DOUBLE, name="double_4"):
    module, s = scheduled(source)
    _, j_1 = s.split(s.get_loops(s.get_block("B"))[1], [None, 4])
    s.tensorize(j_1, name)
    return module, s


def gemm(s, name="gemm_4x16x4_f32", *, decompose=False, by_block=False):
    block = s.get_block("C")
    (i_0, i_1), (j_0, j_1), (k_0, k_1) = (
        s.split(lp, [None, n]) for lp, n in zip(s.get_loops(block), (4, 16, 4), strict=True)
    )
    s.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    if decompose:
        s.decompose_reduction(block, k_0)
    s.tensorize(s.blockize(i_1) if by_block else i_1, name)


def test_text() -> None:
    module, s = doubled()
    assert TEXT in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)
    assert 'sch.tensorize(block_or_loop=l4, tensor_intrin="double_4", preserve_unit_iters=True)' in str(s.trace)


def test_replayed() -> None:
    module, s = doubled()
    again = Schedule(module)
    s.trace.apply_to_schedule(again)
    assert again.mod.script() == s.mod.script()


@thinned("options", [{}, {"decompose": True}, {"decompose": True, "by_block": True}], 1)
def test_microkernel(options) -> None:
    module, s = scheduled(MATMUL)
    gemm(s, **options)
    assert "llvm.fma" in s.mod.script()
    assert_same_meaning(module.op, s.mod.op)
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 24), np.float32), rng.random((2, 24, 48), np.float32)
    c = np.zeros((16, 48), np.float32)
    build(s.mod.op)["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b[1], rtol=1e-5)


def test_microkernels_of_other_sizes() -> None:
    module = from_source(MATMUL)
    intrin = microkernel(16, rows=4, depth=4)
    TensorIntrin.register("mine", intrin.desc, intrin.impl)
    s = Schedule(module)
    gemm(s, "mine", decompose=True)
    assert_same_meaning(module.op, s.mod.op)


def test_strides_and_offsets_of_the_implementation() -> None:
    """Its variables are defined by the match; lowered, `s` is 1 and `o` is where the region begins."""
    TensorIntrin.register("strided", from_source(DESC), from_source(STRIDED))
    module, s = doubled(name="strided")
    assert 'strides=("s",)' in s.mod.script()
    assert "elem_offset=o" in s.mod.script()
    assert "vi_o * 16 + vj_o * 4" in LowerMatchBuffer()(s.mod).script()
    assert_same_meaning(module.op, s.mod.op)


def dot(da, db, dc, k):
    return (
        HEAD
        + f"""\
    def main(A: T.Buffer((8, 32), "{da}"), B: T.Buffer((3, {32 // k}, 16, {k}), "{db}"), C: T.Buffer((8, 48), "{dc}")):
        for i, jo, ji, ko, ki in T.grid(8, 3, 16, {32 // k}, {k}):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(48, jo * 16 + ji)
                vk = T.axis.reduce(32, ko * {k} + ki)
                with T.init():
                    C[vi, vj] = T.Cast("{dc}", 0)
                C[vi, vj] = C[vi, vj] + T.Cast("{dc}", A[vi, vk]) * T.Cast(
                    "{dc}", B[vj // 16, vk // {k}, vj % 16, vk % {k}])
"""
    )


def dotted(source, name):
    s = Schedule(from_source(source), debug_mask="all")
    block = s.get_block("C")
    i, jo, ji, ko, ki = s.get_loops(block)
    s.reorder(i, jo, ko, ji, ki)
    s.decompose_reduction(block, ko)
    s.tensorize(ji, name)
    return s


VNNI = dot("uint8", "int8", "int32", 4), "dot_16x4_vnni", "avx512vnni"
BF16 = dot("bfloat16", "bfloat16", "float32", 2), "dot_16x2_bf16", "avx512bf16"


def operands(name):
    rng = np.random.default_rng(0)
    if name == "dot_16x4_vnni":
        return rng.integers(0, 256, (8, 32), np.uint8), rng.integers(-128, 128, (3, 8, 16, 4), np.int8), np.int32
    a, b = rng.random((8, 32)), rng.random((3, 16, 16, 2))
    return a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16), np.float32


@pytest.mark.parametrize(("source", "name", "feature"), [VNNI, BF16], ids=["vnni", "bf16"])
def test_dot_products(source, name, feature) -> None:
    s = dotted(source, name)
    if feature not in Target.host().features:
        pytest.skip(f"the processor has no {feature}")
    a, b, dtype = operands(name)
    c = np.zeros((8, 48), dtype)
    build(s.mod.op)["main"](a, b, c)
    rows = b.transpose(0, 2, 1, 3).reshape(48, 32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ rows.astype(np.float64).T, rtol=1e-5)


@pytest.mark.parametrize(("source", "name", "feature"), [VNNI, BF16], ids=["vnni", "bf16"])
def test_the_instruction_is_in_the_machine_code(source, name, feature) -> None:
    assert compiled_for(dotted(source, name), feature)


INSTRUCTIONS = {"avx512vnni": "vpdpbusd", "avx512bf16": "vdpbf16ps"}


def compiled_for(s, feature):
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=sapphirerapids")
    return INSTRUCTIONS[feature] in emit_assembly(print_llvm(lower(s.mod.op, target)), target)


def changed(old, new):
    return lambda: doubled(DOUBLE.replace(old, new))


@pytest.mark.parametrize(
    ("steps", "rule"),
    [
        (changed("* T.float32(2)", "* T.float32(3)"), "another value"),
        (changed("* T.float32(2)", "+ T.float32(2)"), "another value"),
        (changed("A[vi, vj] * T.float32(2)", "T.float32(2) * A[vi, vj]"), "another value"),
        (changed("A[vi, vj]", "A[vi, 15 - vj]"), "another index of A"),
        (changed("A[vi, vj]", "A[vj // 2, vi]"), "it moves in dimension 0 of A"),
        (changed("float32", "float64"), "another value|a buffer of another type"),
        (changed("A[vi, vj]", "B[vi, vj]"), "another buffer"),
        (partial(doubled, name="doubel_4"), "unknown tensor intrinsic 'doubel_4'"),
    ],
)
def test_refused(steps, rule) -> None:
    with pytest.raises(ScheduleError, match=rule) as caught:
        steps()
    assert "tensorize: " in str(caught.value)
    assert "^^^" in str(caught.value)


def test_other_loops_are_refused() -> None:
    s = Schedule(from_source(DOUBLE))
    _, j_1 = s.split(s.get_loops(s.get_block("B"))[1], [None, 8])
    before = s.mod.script()
    with pytest.raises(ScheduleError, match="loop extents differ"):
        s.tensorize(j_1, "double_4")
    assert s.mod.script() == before


def test_rows_that_do_not_lie_next_to_each_other_are_refused() -> None:
    source = VNNI[0].replace("(3, 8, 16, 4)", "(48, 32)").replace("vj // 16, vk // 4, vj % 16, vk % 4", "vj, vk")
    with pytest.raises(ScheduleError, match=r"(?s)the strides of B .*expected: 4.*found: 32"):
        dotted(source, "dot_16x4_vnni")


def test_registry() -> None:
    desc, impl = from_source(DESC), from_source(IMPL)
    with pytest.raises(TiraxError, match="there is a tensor intrinsic 'double_4' already"):
        TensorIntrin.register("double_4", desc, impl)
    TensorIntrin.register("double_4", desc, impl, override=True)
    with pytest.raises(NameLookupError, match="'dot_16x4_vni'.*(?s:.*)dot_16x4_vnni"):
        TensorIntrin.get("dot_16x4_vni")
    assert TensorIntrin.get("nothing", allow_missing=True) is None
    with pytest.raises(TiraxError, match="desc and impl take different buffers"):
        TensorIntrin.register("other", desc, from_source(IMPL.replace("(4,)", "(8,)")))
