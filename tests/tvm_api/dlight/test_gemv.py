"""The rule for products of a matrix and a vector: its schedules' texts, as TVM's are, and what they mean."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.interpreter import interpret
from tirax.schedule import Schedule
from tirax.tvm_api import dlight as dl
from tirax.tvm_api.script import from_source

HEAD = "@T.prim_func{how}\ndef main({params}):\n"
PRODUCT = """\
    for {loops} in T.grid({extents}):
        with T.block("gemv"):
            {iters} = T.axis.remap("{kinds}", [{loops}])
            with T.init():
                {out} = T.float32(0)
            {out} = {out} + {term}
"""
STATIC = HEAD.format(
    how="(private=True)",
    params='A: T.Buffer((T.int64({n}), T.int64({m}))), x: T.Buffer((T.int64({m}),)), y: T.Buffer((T.int64({n}),))',
) + PRODUCT.format(
    loops="i, k", extents="T.int64({n}), T.int64({m})", iters="vi, vk", kinds="SR", out="y[vi]",
    term="A[vi, vk] * x[vk]",
)  # fmt: skip
DYNAMIC = """\
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (T.int64(1), T.int64(2), n, m))
    x = T.match_buffer(b, (T.int64(1), T.int64(2), m))
    y = T.match_buffer(c, (T.int64(1), T.int64(2), n))
    S = T.alloc_buffer((T.int64(1), T.int64(2), n))
""" + PRODUCT.format(
    loops="b, h, i, k", extents="T.int64(1), T.int64(2), n, m", iters="vb, vh, vi, vk", kinds="SSSR",
    out="S[vb, vh, vi]", term="A[vb, vh, vi, vk] * x[vb, vh, vk]",
) + """\
    for b, h, i in T.grid(T.int64(1), T.int64(2), n):
        with T.block("scale"):
            vb, vh, vi = T.axis.remap("SSS", [b, h, i])
            y[vb, vh, vi] = S[vb, vh, vi] * T.float32(2)
"""  # fmt: skip
DECODED = HEAD.format(
    how="",
    params="A: T.Buffer((T.int64(70), T.int64(4)), 'uint32'), x: T.Buffer((T.int64(1), T.int64(32))), "
    "y: T.Buffer((T.int64(1), T.int64(70)))",
) + """\
    D = T.alloc_buffer((T.int64(70), T.int64(32)))
    for i, k in T.grid(T.int64(70), T.int64(32)):
        with T.block("decode"):
            vi, vk = T.axis.remap("SS", [i, k])
            word = T.meta_var(A[vi, vk // T.int64(8)])
            D[vi, vk] = T.Cast("float32", word >> T.Cast("uint32", vk % T.int64(8) * 4) & T.uint32(15))
""" + PRODUCT.format(
    loops="o, i, k", extents="T.int64(1), T.int64(70), T.int64(32)", iters="vo, vi, vk", kinds="SSR",
    out="y[vo, vi]", term="x[vo, vk] * D[vi, vk]",
)  # fmt: skip


def module_of(text):
    return tvm.IRModule({"main": from_source(text)})


def scheduled(module, *rules):
    with tvm.target.Target("llvm"):
        return dl.ApplyDefaultSchedule(*(rules or [dl.cpu.GEMV()]))(module)


def test_the_text_of_a_static_product():
    shown = scheduled(module_of(STATIC.format(n=256, m=512)))["main"].script()
    assert shown.endswith("""\
    T.func_attr({"tir.is_scheduled": 1})
    # with T.block("root"):
    for u_fused in range(1):
        for ax0_fused_0 in T.parallel(T.int64(4)):
            for ax0_fused_1 in T.vectorized(T.int64(64)):
                for ax1_fused_0 in T.serial(T.int64(4), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                    for ax1_fused_1, u_0, u_1 in T.grid(T.int64(128), 1, 1):
                        with T.block("gemv"):
                            v0 = T.axis.spatial(T.int64(256), ax0_fused_0 * T.int64(64) + ax0_fused_1)
                            v1 = T.axis.reduce(T.int64(512), ax1_fused_0 * T.int64(128) + ax1_fused_1)
                            T.reads(A[v0, v1], x[v1])
                            T.writes(y[v0])
                            with T.init():
                                y[v0] = T.float32(0.0)
                            y[v0] = y[v0] + A[v0, v1] * x[v1]""")  # noqa: E501
    assert "@T.prim_func(private=True)" in shown


def test_more_rows_than_columns_have_larger_tiles_of_rows():
    shown = scheduled(module_of(STATIC.format(n=512, m=256)))["main"].script()
    assert "ax0_fused_1 in T.vectorized(T.int64(128))" in shown
    assert "ax1_fused_1, u_0, u_1 in T.grid(T.int64(64), 1, 1)" in shown


def test_the_text_of_a_product_of_sizes_unknown():
    shown = scheduled(module_of(DYNAMIC))["main"].script()
    assert ("""\
    for ax0_fused in range(T.int64(2)):
        for ax1_fused_0 in T.parallel((n + T.int64(63)) // T.int64(64)):
            for ax1_fused_1 in T.vectorized(T.int64(64)):
                for ax2_fused_0 in T.serial((m + T.int64(63)) // T.int64(64), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                    for ax2_fused_1, u_0, u_1 in T.grid(T.int64(64), 1, 1):
                        with T.block("gemv"):
                            v0 = T.axis.spatial(T.int64(2), ax0_fused)
                            v1 = T.axis.spatial(n, ax1_fused_0 * T.int64(64) + ax1_fused_1)
                            v2 = T.axis.reduce(m, ax2_fused_0 * T.int64(64) + ax2_fused_1)
                            T.where(ax1_fused_0 * T.int64(64) + ax1_fused_1 < n and ax2_fused_0 * T.int64(64) + ax2_fused_1 < m)
""") in shown  # noqa: E501  # fmt: skip
    assert '    for ax0, ax1 in T.grid(T.int64(2), n):\n        with T.block("scale"):' in shown


RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.integers(-4, 5, shape).astype("float32")


def results(module, inputs, shape):
    out = np.full(shape, 7, "float32")
    interpret(module.op, "main", [*(x.copy() for x in inputs), out])
    return out


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (3, 70), (130, 65)])
def test_sizes_of_all_kinds_mean_the_same(n, m):
    module = module_of(DYNAMIC)
    inputs, shape = [floats(1, 2, n, m), floats(1, 2, m)], (1, 2, n)
    after = results(scheduled(module), inputs, shape)
    np.testing.assert_array_equal(after, results(module, inputs, shape))
    np.testing.assert_array_equal(after, 2 * np.einsum("abij,abj->abi", *inputs))


def test_machine_code_of_the_schedules_gives_the_same():
    inputs = [RNG.integers(0, 2**32, (70, 4), dtype="uint32"), floats(1, 32)]
    nibbles = (inputs[0][:, :, None] >> (4 * np.arange(8, dtype="uint32")) & 15).reshape(70, 32)
    expected = inputs[1] @ nibbles.T.astype("float32")
    module = scheduled(module_of(DECODED))
    np.testing.assert_array_equal(results(module, inputs, (1, 70)), expected)
    out = tvm.nd.empty((1, 70), "float32")
    tvm.build(module, "llvm")["main"](*map(tvm.nd.array, inputs), out)
    np.testing.assert_array_equal(out.numpy(), expected)


SQUARE = STATIC.format(n=8, m=8)
MATRICES = HEAD.format(
    how="", params="A: T.Buffer((8, 8)), B: T.Buffer((8, 8)), C: T.Buffer((8, 8))"
) + PRODUCT.format(
    loops="i, j, k", extents="8, 8, 8", iters="vi, vj, vk", kinds="SSR", out="C[vi, vj]", term="A[vi, vk] * B[vk, vj]"
)  # fmt: skip
OTHERS = {
    "the matrix is summed over its rows": SQUARE.replace("A[vi, vk]", "A[vk, vi]"),
    "a product of matrices": MATRICES,
    "a sum": SQUARE.replace(" * x[vk]", ""),
    "the largest product": SQUARE.replace("y[vi] + A[vi, vk] * x[vk]", "T.max(y[vi], A[vi, vk] * x[vk])"),
    "no blocks": HEAD.format(how="", params="A: T.Buffer((8,))")
    + "    for i in range(8):\n        A[i] = T.float32(1)\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms_stay_as_they_are(name):
    module = module_of(OTHERS[name])
    assert scheduled(module).script() == module.script()


def test_the_parts_of_the_rule():
    schedule = Schedule(from_source(STATIC.format(n=8, m=16)))
    (block,) = dl.normalize_prim_func(schedule)
    assert str(dl.cpu.gemv.get_reduction_expr(schedule.get(block.block_rv))) == "A[v0, v1] * x[v1]"
    assert [b.name for b in dl.cpu.gemv.is_gemv(schedule, block)] == ["x"]
    assert dl.cpu.gemv.normalize(schedule, block) is True
    extents = [dl.cpu.utils.get_extent(schedule, lp) for lp in schedule.get_loops(block.block_rv)]
    assert extents == [1, 8, 16, 1]
