"""AlterOpImpl and OptimizeLayoutTransform: other implementations, and layouts that undo each other."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.interpreter import assert_same_meaning
from tirax.script import parse_source, print_script
from tirax.transforms.bindings.dead_code_elimination import DeadCodeElimination
from tirax.tvm_api.passes.layout.alter_op_impl import AlterOpImpl
from tirax.tvm_api.passes.layout.optimize_layout_transform import OptimizeLayoutTransform
from tirax.tvm_api.tir import IndexMap

ADD = """
    @T.prim_func(private=True)
    def add(a: T.Buffer(({n},), "float32"), b: T.Buffer(({n},), "float32"), o: T.Buffer(({n},), "float32")):
        T.func_attr({{"operator_name": "relax.add"}})
        for i in range({n}):
            with T.block("add"):
                v = T.axis.spatial({n}, i)
                o[v] = a[v] + b[v]
"""
ADD_2D = """
@T.prim_func(private=True)
def add_2d(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32"), o: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("add"):
            v, w = T.axis.remap("SS", [i, j])
            o[v, w] = a[v, w] + b[v, w]
"""
REST = ", pad_value=None, axis_separators=[], input_axis_separators=[]"
INTO = "index_map=T.index_map(lambda i: (i // 4, i % 4))"
OUT_OF = "index_map=T.index_map(lambda axis0, axis1: (axis0 * 4 + axis1,))"


def split(i: Any) -> tuple[Any, Any]:
    return i // 4, i % 4


def kernel(text: str) -> tir.FuncOp:
    op = parse_source(text)
    return next(o for o in op.walk() if isinstance(o, tir.FuncOp))


def chain(tools: Any, n: int) -> ModuleOp:
    t = f'R.Tensor(({n},), "float32")'
    body = f"u = R.call_tir(cls.add, (x, y), {t})\nv = R.call_tir(cls.add, (u, y), {t})"
    return tools.main(f"x: {t}, y: {t}", body, "v", ADD.format(n=n))


def lines(tools: Any, module: ModuleOp) -> list[str]:
    return [line.replace(REST, "") for line in tools.bindings(module)]


def call(name: str, args: str, shape: str) -> str:
    return f'R.call_tir(cls.{name}, {args}, out_sinfo=R.Tensor({shape}, dtype="float32"))'


def altered(tools: Any, n: int) -> tuple[ModuleOp, ModuleOp]:
    module = chain(tools, n)
    return module, AlterOpImpl({"relax.add": kernel(ADD_2D)}, {"relax.add": [split, split, split]})(module)


def test_calls_are_replaced(tools: Any) -> None:
    module, after = altered(tools, 16)
    new = "relax_add_replacement"
    assert lines(tools, after) == [
        f"lv = R.layout_transform(x, {INTO})",
        f"lv1 = R.layout_transform(y, {INTO})",
        f"lv2 = {call(new, '(lv, lv1)', '(4, 4)')}",
        f"u = R.layout_transform(lv2, {OUT_OF})",
        f"lv3 = R.layout_transform(u, {INTO})",
        f"lv4 = R.layout_transform(y, {INTO})",
        f"lv5 = {call(new, '(lv3, lv4)', '(4, 4)')}",
        f"v = R.layout_transform(lv5, {OUT_OF})",
    ]
    assert_same_meaning(module, after)
    tools.agrees_natively(after, *tools.random_arrays((16,), (16,)))


def test_what_comes_back_to_its_layout_goes(tools: Any) -> None:
    module, after = altered(tools, 16)
    optimized = DeadCodeElimination()(OptimizeLayoutTransform()(after))
    assert [line.partition(" = ")[2] for line in lines(tools, optimized)] == [
        f"R.layout_transform(x, {INTO})",
        f"R.layout_transform(y, {INTO})",
        call("relax_add_replacement", "(lv, lv1)", "(4, 4)"),
        f"R.layout_transform(y, {INTO})",
        call("relax_add_replacement", "(lv2, lv4)", "(4, 4)"),
        f"R.layout_transform(lv5, {OUT_OF})",
    ]
    assert "def add(" not in print_script(optimized)
    assert_same_meaning(module, optimized)


def test_padding_is_cut_off(tools: Any) -> None:
    module, after = altered(tools, 14)
    assert lines(tools, after)[2:6] == [
        f"lv2 = {call('relax_add_replacement', '(lv, lv1)', '(4, 4)')}",
        f"lv3 = R.layout_transform(lv2, {OUT_OF})",
        f"u = {call('remove_pad', '(lv3,)', '(14,)')}",
        f"lv4 = R.layout_transform(u, {INTO})",
    ]
    text = print_script(after)
    assert 'T.func_attr({"operator_name": "remove_pad", "tir.noalias": T.bool(True)})' in text
    assert text.count("def remove_pad") == 1
    optimized = OptimizeLayoutTransform()(after)
    assert sum("remove_pad" in line for line in tools.bindings(optimized)) == 1
    for other in (after, optimized):
        assert_same_meaning(module, other)
        tools.agrees_natively(other, *tools.random_arrays((14,), (14,)))


def test_several_outputs_and_buffers_that_stay(tools: Any) -> None:
    both = """
    @T.prim_func(private=True)
    def both(a: T.Buffer((2, 3), "float32"), o: T.Buffer((2, 3), "float32"), p: T.Buffer((2, 3), "float32")):
        T.func_attr({"operator_name": "both"})
        for i, j in T.grid(2, 3):
            with T.block("both"):
                v, w = T.axis.remap("SS", [i, j])
                o[v, w] = a[v, w] + T.float32(1)
                p[v, w] = a[v, w] * T.float32(2)
"""
    turned = """
@T.prim_func(private=True)
def turned(a: T.Buffer((3, 2), "float32"), o: T.Buffer((2, 3), "float32"), p: T.Buffer((3, 2), "float32")):
    for i, j in T.grid(2, 3):
        with T.block("both"):
            v, w = T.axis.remap("SS", [i, j])
            o[v, w] = a[w, v] + T.float32(1)
            p[w, v] = a[w, v] * T.float32(2)
"""
    t = 'R.Tensor((2, 3), "float32")'
    module = tools.main(f"x: {t}", f"y = R.call_tir(cls.both, (x,), [{t}, {t}])", "y", both)
    transpose = IndexMap.from_func(lambda i, j: (j, i))
    after = AlterOpImpl({"both": kernel(turned)}, {"both": [transpose, None, (transpose, [])]})(module)
    assert [line.partition(" = ")[2].partition("(")[0] for line in lines(tools, after)] == [
        "R.layout_transform", "R.call_tir", "lv1[0]", "lv1[1]", "R.layout_transform", "lv2, lv4",
    ]  # fmt: skip
    assert_same_meaning(module, after)
    tools.agrees_natively(after, *tools.random_arrays((2, 3)))


def test_axis_separators(tools: Any) -> None:
    module = chain(tools, 16)
    with_mark = lambda i: (i // 4, IndexMap.AXIS_SEPARATOR, i % 4)  # noqa: E731
    after = AlterOpImpl(
        {"relax.add": kernel(ADD_2D)},
        {"relax.add": [with_mark] * 3},
        {"relax.add": [[1], [1], []]},
        {"relax.add": [[], [], [1]]},
    )(module)
    exprs = tools.bindings(after)
    assert "axis_separators=[1], input_axis_separators=[]" in exprs[0]
    assert "axis_separators=[], input_axis_separators=[1]" in exprs[3]
    assert_same_meaning(module, after)


def test_other_functions_stay(tools: Any) -> None:
    module = chain(tools, 16)
    assert print_script(AlterOpImpl({"relax.mul": kernel(ADD_2D)}, {})(module)) == print_script(module)
    same_layouts = AlterOpImpl({"relax.add": kernel(textwrap.dedent(ADD.format(n=16)))}, {})(module)
    assert [line.partition("(")[0] for line in lines(tools, same_layouts)] == ["u = R.call_tir", "v = R.call_tir"]


@pytest.mark.parametrize(
    "implementation, transforms, separators, message",
    [
        (ADD_2D, [split, split], None, "for every buffer, or for none"),
        (ADD_2D, [split] * 3, [[1]], "axis separators are given for every buffer"),
        (ADD_2D, [split, split, lambda i, j: (j, i)], None, "does not fit the buffer"),
        (ADD_2D, [split, split, 3], None, "not an index map"),
        (None, [split] * 3, None, "no tensor function"),
    ],
)
def test_refuses(tools: Any, implementation: Any, transforms: Any, separators: Any, message: str) -> None:
    func = 3 if implementation is None else kernel(implementation)
    with pytest.raises(TiraxError, match=message):
        arguments = None if separators is None else {"relax.add": separators}
        AlterOpImpl({"relax.add": func}, {"relax.add": transforms}, arguments)(chain(tools, 16))


@pytest.mark.parametrize(
    "first, second, goes",
    [
        ("lambda i, j: (j, i)", "lambda i, j: (j, i)", True),
        ("lambda i, j: (j, i)", "lambda i, j: (i, j)", False),
        ("lambda i, j: (i * 4 + j,)", "lambda k: (k // 4, k % 4)", True),
        ("lambda i, j: (j * 4 + i,)", "lambda k: (k // 4, k % 4)", False),
        ("lambda i, j: (i, j // 2, j % 2)", "lambda i, o, k: (i, o * 2 + k)", True),
    ],
)
def test_only_what_is_undone_goes(tools: Any, first: str, second: str, goes: bool) -> None:
    body = f"a = R.layout_transform(x, index_map={first})\ny = R.layout_transform(a, index_map={second})\nz = R.exp(y)"
    module = tools.main('x: R.Tensor((4, 4), "float32")', body, "z")
    after = OptimizeLayoutTransform()(module)
    assert (tools.bindings(after) == ["z = R.exp(x)"]) is goes
    assert_same_meaning(module, after)


def test_padding_that_a_transformation_says_stays(tools: Any) -> None:
    _, after = altered(tools, 14)
    text = print_script(after)
    module = tools.parse(text.replace("i % 4)), pad_value=None", "i % 4)), pad_value=R.prim_value(T.float32(2.0))"))
    assert tools.bindings(OptimizeLayoutTransform()(module)) == tools.bindings(module) != tools.bindings(after)


SYMBOLIC = """
    @T.prim_func(private=True)
    def add(a: T.handle, b: T.handle, o: T.handle):
        T.func_attr({"operator_name": "relax.add"})
        n = T.int64()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        O = T.match_buffer(o, (n,))
        for i in range(n):
            with T.block("add"):
                v = T.axis.spatial(n, i)
                O[v] = A[v] + B[v]
"""
SYMBOLIC_2D = """
@T.prim_func(private=True)
def add_2d(a: T.handle, b: T.handle, o: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(4)))
    B = T.match_buffer(b, (n, T.int64(4)))
    O = T.match_buffer(o, (n, T.int64(4)))
    for i, j in T.grid(n, T.int64(4)):
        with T.block("add"):
            v, w = T.axis.remap("SS", [i, j])
            O[v, w] = A[v, w] + B[v, w]
"""


def test_symbolic_extents(tools: Any) -> None:
    t = 'R.Tensor(("n",), "float32")'
    u = 'R.Tensor((n,), "float32")'
    module = tools.main(f"x: {t}, y: {t}", f"n = T.int64()\nz = R.call_tir(cls.add, (x, y), {u})", "z", SYMBOLIC)
    after = AlterOpImpl({"relax.add": kernel(SYMBOLIC_2D)}, {"relax.add": [split] * 3})(module)
    assert "cls.remove_pad" in tools.bindings(after)[-1]
    assert_same_meaning(module, after)
    run = tools.compiled(after)
    for n in (0, 1, 13, 16):
        x, y = tools.random_arrays((n,), (n,))
        np.testing.assert_array_equal(run(x, y), x + y)
