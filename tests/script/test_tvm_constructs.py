"""Ways of writing that TVM reads: each is the same program as a plainer text, and what runs runs as that."""

import textwrap
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from tirax.interpreter import interpret
from tirax.ir.equality import assert_structural_equal
from tirax.script import ScriptError, parse_mlir, parse_source, print_script
from tirax.tvm_api import relax, te, tir, topi
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T

TIR = "@T.prim_func\ndef f(A: T.Buffer((4, 8), 'float32'), B: T.Buffer((4,), 'int32')):\n"
RELAX = "@R.function\ndef main(x: R.Tensor((2, 3), 'float32'), y: R.Tensor((2, 3), 'float32')):\n"


class Size(IntEnum):
    SMALL = 2


CAPTURED: dict[str, Any] = {
    "abs_": relax.op.abs,
    "relax": relax,
    "te": te,
    "tir": tir,
    "topi": topi,
    "Size": Size,
    "ones": relax.const(np.ones((2, 3), "float32")),
    "info": R.Tensor((2, 3), "float32"),
    "transposed": lambda i, j: (j, i),
    "e": T.exp(0.5),
    "hint": "name",
}

SAME: dict[str, tuple[str, str, str]] = {
    "a captured operator": (RELAX, "return abs_(x)", "return R.abs(x)"),
    "relax.op": (RELAX, "return relax.op.nn.relu(relax.op.add(x, y))", "return R.nn.relu(R.add(x, y))"),
    "relax.const": (RELAX, "return R.add(x, relax.const(1.0, 'float32'))", "return R.add(x, R.const(1.0, 'float32'))"),
    "a return that ends a dataflow block": (
        RELAX,
        "with R.dataflow():\n    z = R.add(x, y)\n    R.output(z)\n    return z",
        "with R.dataflow():\n    z = R.add(x, y)\n    R.output(z)\nreturn z",
    ),
    "a return that says what a dataflow block outputs": (
        RELAX,
        "with R.dataflow():\n    z = R.add(x, y)\n    w = R.exp(z)\n    return (w, z, x)",
        "with R.dataflow():\n    z = R.add(x, y)\n    w = R.exp(z)\n    R.output(w, z)\nreturn (w, z, x)",
    ),
    "nonlocal": (RELAX, "nonlocal hint\nreturn x", "return x"),
    "struct info of a class": (
        RELAX,
        "return R.match_cast(x, relax.TensorStructInfo((2, 3), 'float32'))",
        "return R.match_cast(x, R.Tensor((2, 3), 'float32'))",
    ),
    "captured struct info": (
        RELAX,
        "return R.match_cast(x, info)",
        "return R.match_cast(x, R.Tensor((2, 3), 'float32'))",
    ),
    "the parts of struct info": (
        RELAX,
        "return R.zeros(x.struct_info.shape, y.struct_info.dtype)",
        "return R.zeros((2, 3), 'float32')",
    ),
    "the index map of a captured lambda": (
        RELAX,
        "return R.layout_transform(x, index_map=transposed)",
        "return R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i)))",
    ),
    "the type of indices": (
        RELAX,
        "return R.layout_transform(x, index_map=T.index_map(lambda i, j: (j, i), index_dtype='int32'))",
        "return R.layout_transform(x, index_map=lambda i, j: (j, i))",
    ),
    "a member of an enumeration": (RELAX, "return R.sum(x, axis=Size.SMALL - 1)", "return R.sum(x, axis=1)"),
    "dtype= of an intrinsic": (TIR, "A[0, 0] = T.exp(A[0, 1], dtype='float32')", "A[0, 0] = T.exp(A[0, 1])"),
    "dtype= of a foreign call": (TIR, "T.call_extern('g', 1, dtype='int32')", "T.call_extern('int32', 'g', 1)"),
    "dtype= of a choice": (
        TIR,
        "A[0, 0] = T.if_then_else(B[0] < 1, A[0, 1], A[0, 2], dtype='float32')",
        "A[0, 0] = T.if_then_else(B[0] < 1, A[0, 1], A[0, 2])",
    ),
    "one name for a grid": (
        TIR,
        "for at in T.grid(4, 8):\n    A[at] = 1.0",
        "for at_0, at_1 in T.grid(4, 8):\n    A[at_0, at_1] = 1.0",
    ),
    "a name for the loops left": (
        TIR,
        "for i, *at in T.grid(2, 4, 8):\n    A[at] = 1.0",
        "for i, at_0, at_1 in T.grid(2, 4, 8):\n    A[at_0, at_1] = 1.0",
    ),
    "a thread by position": (
        TIR,
        "for i in T.thread_binding(4, 'threadIdx.x'):\n    B[i] = 1",
        "for i in T.thread_binding(4, thread='threadIdx.x'):\n    B[i] = 1",
    ),
    "the parameters of a macro": (
        "@T.macro\ndef put(i, *at, to, by=2, **more):\n    to[i, at[0]] = more['of'][i, at[1]] * by\n" + TIR,
        "put(1, 2, 3, to=A, of=A)",
        "A[1, 2] = A[1, 3] * 2",
    ),
    "numbers of a type": (TIR, "B[0] = T.IntImm('int32', 3) + tir.const(4, 'int32')", "B[0] = 7"),
    "the length of a shape": (TIR, "B[0] = len(A.shape)", "B[0] = 2"),
    "a captured expression": (TIR, "A[0, 0] = e", "A[0, 0] = T.exp(T.float32(0.5))"),
    "te.var": (TIR, "n = te.var('n', 'int64')\nB[0] = 1", "B[0] = 1"),
}


@pytest.mark.parametrize("head, text, plain", SAME.values(), ids=SAME)
def test_both_texts_are_one_program(head: str, text: str, plain: str) -> None:
    module, expected = (parse_source(head + textwrap.indent(t, "    "), extra_vars=CAPTURED) for t in (text, plain))
    module.verify()
    assert_structural_equal(module, expected)
    printed = print_script(module, show_meta=True)
    assert print_script(parse_source(printed), show_meta=True) == printed


def test_a_captured_constant_is_a_value() -> None:
    module = parse_source(RELAX + "    return R.add(x, ones)", extra_vars=CAPTURED)
    x = np.zeros((2, 3), "float32")
    assert np.array_equal(interpret(module, "main", [x, x]), x + 1)


def test_tensor_functions_of_topi_become_prim_funcs() -> None:
    body = "    z = R.emit_te(topi.add, x, y, primfunc_name_hint=f'my_{hint}')\n"
    body += "    return R.emit_te(topi.sum, z, axis=1)"
    module = parse_source(RELAX + body, extra_vars=CAPTURED)
    module.verify()
    assert {"my_name", "sum", "main"} == {op.sym_name.data for op in module.body.block.ops}
    x = np.arange(6, dtype="float32").reshape(2, 3)
    assert np.array_equal(interpret(module, "main", [x, x]), (2 * x).sum(1))


def test_floats_stored_as_integers_are_cast_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="its fraction is lost"):
        module = parse_source(TIR + "    B[0] = A[0, 0]")
    assert "T.Cast" in print_script(module)


def test_a_declared_result_is_refined_by_the_body_and_checked_where_the_body_says_less() -> None:
    head = "@R.function\ndef main(x: R.Tensor((2, 3), 'float32'), y: R.Object) -> "
    refined = parse_source(head + "R.Tensor(ndim=2):\n    return x").body.block.first_op
    assert str(refined.ret_type) == "!relax.tensor<[2, 3], f32>"
    checked = parse_source(head + "R.Tensor((3,), 'float32'):\n    return y")
    assert [op.name for op in checked.walk()].count("relax.match_cast") == 1
    checked.verify()


def runs(*args: Any) -> Any:
    raise AssertionError("the text of a user ran")


@pytest.mark.parametrize(
    "call, message",
    [
        ("R.emit_te(runs, x)", "cannot be called in a script"),
        ("R.emit_te(x, x)", "a tensor function is expected"),
        ("runs(x)", "cannot be called in a script"),
        ("R.layout_transform(x, index_map=runs)", "must be a constant"),
    ],
)
def test_functions_of_users_are_not_run(call: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message) as info:
        parse_source(RELAX + f"    return {call}", "t.py", extra_vars={"runs": runs})
    assert info.value.location.line == 3


def halves(x: Any, y: Any, count: int = 2) -> Any:
    total = topi.add(x, y) * 0.5
    return topi.split(total, count)


SQUARES = [lambda x: topi.multiply(x, x), lambda x: topi.clip(x, 5, 8)]


def test_simple_functions_of_tensors_are_read() -> None:
    square, clip = SQUARES

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            a = R.emit_te(square, x)
            b = R.emit_te(halves, a, y, primfunc_name_hint="cut")
            c = R.emit_te(clip, b[1])
            return c

    assert [gv.name_hint for gv in Module.get_global_vars()] == ["lambda", "cut", "lambda1", "main"]
    x, y = np.arange(4, dtype="float32"), np.full(4, 3, "float32")
    np.testing.assert_array_equal(interpret(Module.op, "main", [x, y]), np.clip(((x * x + y) / 2)[2:], 5, 8))


def through(decorator: Callable[[type], Any]) -> Callable[[type], Any]:
    return lambda cls: decorator(cls)


def test_decorators_called_by_others_see_the_names_around() -> None:
    width = 4

    @through(I.ir_module)
    class Module:
        @R.function
        def main(x: R.Tensor((width,), "float32")):
            return x

    assert "R.Tensor((4,)" in Module.script()


class Case:
    @T.prim_func
    def before(A: T.Buffer((4,), "float32")):
        A[0] = 1.0


def test_functions_in_plain_classes_are_functions() -> None:
    assert isinstance(Case.before, tir.PrimFunc)


ABOUT_A_REDUCER = """@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", 0):
        A[0] = 1.0
    T.attr(T.comm_reducer(lambda a, b, c, d: (T.Select(a > c, a, c), T.Select(a > c, b, d)), [T.float32(0), 1]), "x", 0)
    A[1] = 2.0
"""
NOTED_BUFFERS = """@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("x"):
            vi = T.axis.spatial(4, i)
            T.block_attr({"by": {"b": B}, "free": [C, B]})
            A[vi] = B[vi] + C[vi]
"""


@pytest.mark.parametrize("source", [ABOUT_A_REDUCER, NOTED_BUFFERS])
def test_text_comes_back(source: str) -> None:
    module = parse_source(source, "t.py")
    text = print_script(module)
    assert_structural_equal(parse_source(text, "again.py"), module)
    assert_structural_equal(parse_mlir(str(module)), module)
    if "comm_reducer" in source:
        assert 'T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), "reduce_scope", 0)' in text
    else:
        assert 'T.block_attr({"by": {"b": B}, "free": [C, B]})' in text


def test_a_condition_that_always_holds_is_none() -> None:
    plain = "with T.block('x'):\n        vi = T.axis.spatial(1, 0)\n{}        A[vi, 0] = 1.0"
    with_condition = parse_source(TIR + "    " + plain.format("        T.where(True)\n"), "t.py")
    assert_structural_equal(with_condition, parse_source(TIR + "    " + plain.format(""), "t.py"))


@pytest.mark.parametrize("index", ["n * (m + 1)", "(m + 3) * (n + m) - m", "m + 1 - 1", "m * 4 // 2", "m + m", "n * 2"])
def test_sizes_among_indices_stay_as_they_are_written(index: str) -> None:
    module = parse_source(
        f"""@T.prim_func
def f(a: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (m * (m + 1),))
    T.evaluate(A[{index}])
    T.evaluate({index})
"""
    )
    printed = print_script(module)
    assert f"A[{index}]" in printed and f"T.evaluate({index})" in printed and "(m * m + m,)" in printed
    assert_structural_equal(parse_source(printed), module)


def test_addresses_are_of_what_their_annotation_says():
    text = """@T.prim_func
def f(p: T.handle("void"), q: T.handle, A: T.Buffer((4,), "float32")):
    r: T.handle("float16") = T.address_of(A[0])
    T.call_extern("int32", "g", p, q, r)
"""
    module = parse_source(text)
    printed = print_script(module)
    assert 'p: T.handle("void", "global"), q: T.handle,' in printed
    assert 'r: T.handle("float16", "global") = T.address_of(A[0])' in printed
    assert_structural_equal(parse_source(printed), module)
    assert_structural_equal(parse_mlir(str(module)), module)
    assert (
        T.handle("void").type_annotation.element_type.dtype == "void" and T.handle().type_annotation.dtype == "handle"
    )


def test_the_address_of_a_declared_buffer_is_where_it_was_declared() -> None:
    body = "    h = T.allocate([4], 'float32')\n    X = T.decl_buffer((4,), 'float32', data=h)\n"
    twice = body + "    Y = T.decl_buffer((4,), 'float32', data={})\n    Y[0] = X[0]"
    assert_structural_equal(
        parse_source(TIR + twice.format("X.data"), "t.py"), parse_source(TIR + twice.format("h"), "t.py")
    )


def test_a_macro_from_a_function():
    with pytest.raises(ValueError, match="takes a function"):
        T.macro(True)


def test_tensor_functions_are_called_by_their_names():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.Buffer((8,), "float32"), n: T.int32):
            tir.call_tir(Module.part, a.data, n)

        @T.prim_func(private=True)
        def part(a: T.Buffer((8,), "float32"), n: T.int32):
            a[n] = T.float32(2)

    assert "Module.part(a.data, n)" in Module.script()
    call = tir.call_tir(Module.get_global_var("part"), tir.Var("p", "handle"), 1)
    assert call.op.name == "part" and len(call.args) == 2 and call.dtype == "void"


def test_outputs_of_packed_functions_have_the_declared_types():
    @R.function
    def main(x: R.Tensor([4], "float32")):
        f = R.ExternFunc("f")
        y: R.Tensor(ndim=1, dtype="float32") = R.call_dps_packed(f, [x], out_sinfo=R.Tensor([4], "float32"))
        return y

    assert main.ret_struct_info.shape is None  # as the variable is declared
    assert main.body.blocks[0].bindings[-1].value.struct_info.shape is not None


TRIANGLE = """
@T.prim_func
def f(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), n: T.int32):
    for i in range(n):
        for j in range(i, i + 3):
            with T.block("B"):
                T.where(j < 8)
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
"""


def test_domains_of_nests_that_are_no_boxes_hold_all_values():
    module = parse_source(TRIANGLE)
    assert "vj = T.axis.spatial(n + 2, j)" in print_script(module)
    assert_structural_equal(parse_source(print_script(module)), module)
    x, y = np.arange(64, dtype="float32").reshape(8, 8), np.zeros((8, 8), "float32")
    interpret(module, "f", [x, y, 8])
    np.testing.assert_array_equal(y, np.triu(np.tril(2 * x, 2)))
    with pytest.raises(ScriptError, match="depends on computed values"):
        parse_source(TRIANGLE.replace("range(i, i + 3)", 'range(T.Cast("int32", A[i, 0]))'))


def test_regions_that_depend_on_data_are_all_of_the_dimension():
    module = parse_source("""
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), ends: T.Buffer((5,), "int32")):
    for i in range(4):
        with T.block("outer"):
            vi = T.axis.spatial(4, i)
            T.reads(ends[vi : vi + 2], A[ends[vi] : ends[vi + 1]])
            T.writes(B[vi])
            for j in range(ends[vi], ends[vi + 1]):
                with T.block("inner"):
                    vj = T.axis.reduce(8, j)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vj]
""")
    text = print_script(module)
    assert "T.reads(ends[vi:vi + 2], A[0:8])" in text and "in range(ends[vi], ends[vi + 1]):" in text
    assert_structural_equal(parse_source(text), module)
    match = "T.match_buffer(A[vi : vi + vj], (4,))"
    with pytest.raises(ScriptError, match="must not depend on loops"):
        parse_source(text.replace("B[vi] = B[vi] + A[vj]", f"C = {match}"))


def test_prim_funcs_may_call_themselves():
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        Module.sums(T.address_of(A[0]), 16)

    @T.prim_func(private=True)
    def sums(data: T.handle("float32"), size: T.int32):
        A = T.decl_buffer((size,), "float32", data=data)
        A[1] = A[0] + A[1]
        if size > 2:
            Module.sums(T.address_of(A[1]), size - 1)
"""
    module = parse_source(text)
    assert_structural_equal(parse_source(print_script(module)), module)
    x = np.ones(16, "float32")
    interpret(module, "main", [x])
    np.testing.assert_array_equal(x, np.arange(1, 17))
    with pytest.raises(ScriptError, match="calls itself"):
        parse_source("@T.prim_func\ndef f(n: T.int32) -> T.int32:\n    return f(n - 1)")
