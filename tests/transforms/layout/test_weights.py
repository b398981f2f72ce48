"""AttachAttrLayoutFreeBuffers and SplitLayoutRewritePreproc: weights, and functions that rearrange them."""

from __future__ import annotations

from typing import Any

from tirax.interpreter import assert_same_meaning
from tirax.script import print_script
from tirax.transforms.layout.attach_attr_layout_free_buffers import AttachAttrLayoutFreeBuffers
from tirax.transforms.layout.split_layout_rewrite_preproc import SplitLayoutRewritePreproc

T4 = 'R.Tensor((4, 4), "float32")'
MATMUL = """
    @T.prim_func{private}
    def matmul(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32"), C: T.Buffer((4, 4), "float32")):
        for i, j, k in T.grid(4, 4, 4):
            with T.block("matmul"):
                a, b, r = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[a, b] = T.float32(0)
                C[a, b] = C[a, b] + A[a, r] * B[r, b]
"""


def calls(tools: Any, pairs: list[str], num_input: str = "1", private: str = "(private=True)") -> Any:
    lines = [f"v{i} = R.call_tir(cls.matmul, ({args}), {T4})" for i, args in enumerate(pairs)]
    module = tools.main(
        f"x: {T4}, w: {T4}, u: {T4}", "\n".join(lines), f"v{len(pairs) - 1}", MATMUL.format(private=private)
    )
    text = print_script(module)
    if num_input:
        text = text.replace(
            "        cls = Module", f'        R.func_attr({{"num_input": {num_input}}})\n        cls = Module'
        )
    return tools.parse(text)


def attributes(module: Any) -> list[str]:
    """The functions and their lists of weights."""
    lines = [line.strip() for line in print_script(module).splitlines()]
    names = [line.partition("(")[0].removeprefix("def ") for line in lines if line.startswith("def matmul")]
    lists = [line.partition('buffers": ')[2].rstrip("})") for line in lines if "layout_free_buffers" in line]
    return [f"{n} {w}" for n, w in zip(names, lists, strict=True)] if lists else names


def callees(tools: Any, module: Any) -> list[str]:
    return [line.partition("cls.")[2].partition(",")[0] for line in tools.bindings(module)]


def test_weights_become_attributes(tools: Any) -> None:
    module = calls(tools, ["x, w", "v0, u", "u, v1", "v2, x"])
    after = AttachAttrLayoutFreeBuffers()(module)
    assert attributes(after) == ["matmul1 [1]", "matmul2 [0]", "matmul3 []"]
    assert callees(tools, after) == ["matmul1", "matmul1", "matmul2", "matmul3"]
    assert_same_meaning(module, after)


def test_constants_are_weights_without_num_input(tools: Any) -> None:
    module = calls(tools, ["x, w"], num_input="")
    assert attributes(AttachAttrLayoutFreeBuffers()(module)) == ["matmul1 []"]
    scalar = """
    @T.prim_func(private=True)
    def matmul(A: T.Buffer((), "float32"), B: T.Buffer((), "float32")):
        with T.block("b"):
            B[()] = A[()]
"""
    t = 'R.Tensor((), "float32")'
    module = tools.main(f"x: {t}", f'y = R.call_tir(cls.matmul, (R.const(1.0, "float32"),), {t})', "y", scalar)
    assert attributes(AttachAttrLayoutFreeBuffers()(module)) == ["matmul1 [0]"]


def test_public_functions_stay(tools: Any) -> None:
    module = calls(tools, ["x, w"], private="")
    after = AttachAttrLayoutFreeBuffers()(module)
    assert print_script(after).count("def matmul") == 2
    assert callees(tools, after) == ["matmul1"]


PREPACKED = """
    @T.prim_func(private=True)
    def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
        T.func_attr({"layout_free_buffers": [%s], "tir.noalias": T.bool(True)})
        Br = T.alloc_buffer((2, 8, 4))
        for ax0, ax1 in T.grid(8, 8):
            with T.block("layout_rewrite"):
                i0, i1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(B[i0, i1])
                T.writes(Br[i1 // 4, i0, i1 %% 4])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                Br[i1 // 4, i0, i1 %% 4] = B[i0, i1]
        for i, j, k in T.grid(8, 8, 8):
            with T.block("matmul"):
                a, b, r = T.axis.remap("SSR", [i, j, k])
                T.reads(A[a, r], Br[b // 4, r, b %% 4])
                T.writes(C[a, b])
                with T.init():
                    C[a, b] = T.float32(0)
                C[a, b] = C[a, b] + A[a, r] * %s
"""
T8 = 'R.Tensor((8, 8), "float32")'
PACKED = 'R.Tensor((2, 8, 4), dtype="float32")'
READ = "Br[b // 4, r, b % 4]"
FULL = 'R.Tensor((8, 8), dtype="float32")'


def prepacked(tools: Any, free: str = "1", read: str = READ) -> Any:
    body = f"y = R.call_tir(cls.f, (x, w), {T8})\nz = R.call_tir(cls.f, (y, w), {T8})"
    return tools.main(f"x: {T8}, w: {T8}", body, "z", PREPACKED % (free, read))


def test_rearranging_becomes_a_function(tools: Any) -> None:
    module = prepacked(tools)
    after = SplitLayoutRewritePreproc()(module)
    assert tools.bindings(after) == [
        f"lv = R.call_tir(cls.f_weight_prepack, (w,), out_sinfo={PACKED})",
        f"y = R.call_tir(cls.f_prepacked, (x, lv), out_sinfo={FULL})",
        f"lv1 = R.call_tir(cls.f_weight_prepack, (w,), out_sinfo={PACKED})",
        f"z = R.call_tir(cls.f_prepacked, (y, lv1), out_sinfo={FULL})",
    ]
    text = print_script(after)
    assert 'def f_weight_prepack(B: T.Buffer((8, 8), "float32"), Br: T.Buffer((2, 8, 4), "float32")):' in text
    assert 'def f_prepacked(A: T.Buffer((8, 8), "float32"), Br: T.Buffer((2, 8, 4), "float32"), C: T.B' in text
    for gone in ("layout_free_buffers", "layout_rewrite_preproc", "def f(", "alloc_buffer"):
        assert gone not in text
    assert print_script(tools.parse(text)) == text
    assert_same_meaning(module, after)
    tools.agrees_natively(after, *tools.random_arrays((8, 8), (8, 8)))


def test_two_weights(tools: Any) -> None:
    func = """
    @T.prim_func(private=True)
    def f(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
        T.func_attr({"layout_free_buffers": [0, 1]})
        Br = T.alloc_buffer((6, 4))
        Ar = T.alloc_buffer((24,))
        for i, j in T.grid(4, 6):
            with T.block("b_rewrite"):
                a, b = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                Br[b, a] = B[a, b]
        for i, j in T.grid(4, 6):
            with T.block("a_rewrite"):
                a, b = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                Ar[a * 6 + b] = A[a, b]
        for i, j in T.grid(4, 6):
            with T.block("c"):
                a, b = T.axis.remap("SS", [i, j])
                C[a, b] = Ar[a * 6 + b] - Br[b, a]
"""
    t = 'R.Tensor((4, 6), "float32")'
    module = tools.main(f"x: {t}, w: {t}", f"y = R.call_tir(cls.f, (x, w), {t})", "y", func)
    after = SplitLayoutRewritePreproc()(module)
    assert [line.partition(", out")[0] for line in tools.bindings(after)] == [
        "lv = R.call_tir(cls.f_weight_prepack, (x, w)",
        "lv1 = lv[0]",
        "lv2 = lv[1]",
        "y = R.call_tir(cls.f_prepacked, (lv1, lv2)",
    ]
    assert_same_meaning(module, after)
    tools.agrees_natively(after, *tools.random_arrays((4, 6), (4, 6)))


def test_what_cannot_be_split_stays(tools: Any) -> None:
    module = prepacked(tools, read=f"({READ} + B[r, b])")
    assert print_script(SplitLayoutRewritePreproc()(module)) == print_script(module)


def test_weights_need_not_be_marked(tools: Any) -> None:
    module = prepacked(tools, free="0")
    after = SplitLayoutRewritePreproc()(module)
    assert "f_weight_prepack" in print_script(after)
    assert_same_meaning(module, after)
