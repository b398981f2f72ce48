"""The operator layout_transform: inference, text, meaning, what it is legalized to, compiled code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strength import thinned

from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.equality import structural_equal
from tirax.script import print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax, tir
from tirax.tvm_api.passes.params.bind_symbolic_vars import BindSymbolicVars
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

X = 'x: R.Tensor(("n", 6, 4, "m"), "float32")'
MAPS = {
    "permute": "lambda n, c, h, w: (n, h, w, c)",
    "block": "lambda n, c, h, w: (n, c // 3, h, w, c % 3)",
    "pad": "lambda n, c, h, w: (n, c // 4, h, w, c % 4)",
    "pad symbolic": "lambda a, c, h, w: (a // 4, c, h, w, a % 4)",
    "pad twice": "lambda a, c, h, w: (a // 2, c // 4, h, w, a % 2, c % 4)",
    "flat": "lambda a, c, h, w: ((a * 6 + c) * 4 * m + h * m + w,)",
    "shift": "lambda n, c, h, w: (n, (c + 1) // 4, h, w, (c + 1) % 4)",
    "turn": "lambda n, c, h, w: (n, 5 - c, h, w)",
}


def program(tools: Any, text: str, pad: str = "0.5", more: str = "") -> Any:
    call = f"R.layout_transform(x, index_map=T.index_map({text}), pad_value={pad}{more})"
    return tools.main(X, f"n = T.int64()\nm = T.int64()\ny = {call}", "y")


@thinned("name", list(MAPS), 2)
def test_meaning_and_compiled_code(tools: Any, name: str) -> None:
    module = program(tools, MAPS[name])
    run, legalized = tools.compiled(module), LegalizeOps()(module)
    for extent in (0, 1, 5, 8):
        x = np.random.default_rng(0).normal(size=(extent, 6, 4, 3)).astype("float32")
        want = interpret(module, "main", [x])
        np.testing.assert_array_equal(interpret(legalized, "main", [x]), want)
        np.testing.assert_array_equal(run(x), want)


def test_meaning_by_hand(tools: Any) -> None:
    x = np.arange(2 * 6 * 4 * 1, dtype="float32").reshape(2, 6, 4, 1)
    got = interpret(program(tools, MAPS["pad"]), "main", [x])
    padded = np.concatenate([x, np.full((2, 2, 4, 1), 0.5, "float32")], axis=1)
    np.testing.assert_array_equal(got, padded.reshape(2, 2, 4, 4, 1).transpose(0, 1, 3, 4, 2))


@pytest.mark.parametrize("dtype, pad", [("int8", -3), ("int64", 7), ("bool", 1), ("float16", 0.5), ("float64", 1)])
def test_dtypes(tools: Any, dtype: str, pad: float) -> None:
    body = f"y = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4), pad_value={pad})"
    module = tools.main(f'x: R.Tensor((6,), "{dtype}")', body, "y")
    assert tools.parse(print_script(module)).is_structurally_equivalent(module)
    x = np.array([1, 0, 1, 1, 0, 1]).astype(dtype)
    want = np.array([1, 0, 1, 1, 0, 1, pad, pad]).astype(dtype).reshape(2, 4)
    np.testing.assert_array_equal(interpret(module, "main", [x]), want)
    np.testing.assert_array_equal(tools.run(module, x), want)


def test_tvmscript(tools: Any) -> None:
    module = program(tools, MAPS["pad"], more=", axis_separators=[2], input_axis_separators=[1]")
    assert tools.bindings(module)[-1] == (
        "y = R.layout_transform(x, index_map=T.index_map(lambda n1, c, h, w: (n1, c // 4, h, w, c % 4)), "
        "pad_value=R.prim_value(T.float32(0.5)), axis_separators=[2], input_axis_separators=[1])"
    )
    again = tools.parse(print_script(module))
    assert print_script(again) == print_script(module)
    plain = tools.main(X, "y = R.layout_transform(x, index_map=lambda a, b, c, d: (d, c, b, a))", "y")
    assert tools.bindings(plain) == [
        "y = R.layout_transform(x, index_map=T.index_map(lambda a, b, c, d: (d, c, b, a)), "
        "pad_value=None, axis_separators=[], input_axis_separators=[])"
    ]


@pytest.mark.parametrize(
    "pad, printed",
    [("2", "R.prim_value(T.int32(2))"), ("R.prim_value(T.int32(2))", "R.prim_value(T.int32(2))"), ("None", "None")],
)
def test_pad_value_as_it_may_be_written(tools: Any, pad: str, printed: str) -> None:
    body = f"y = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4), pad_value={pad})"
    assert f"pad_value={printed}," in tools.bindings(tools.main('x: R.Tensor((6,), "int32")', body, "y"))[0]


TRANSPOSE = tir.IndexMap.from_func(lambda i, j: (j, i))


def test_a_map_that_the_script_captures() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((3, 2), "float32"):
            y = R.layout_transform(x, index_map=TRANSPOSE)
            return y

    assert "T.index_map(lambda i, j: (j, i))" in Module.script()


def test_symbolic_sizes_in_a_map(tools: Any) -> None:
    module = program(tools, MAPS["flat"])
    assert "a * m * 24 + c * m * 4 + h * m + w" in print_script(module)
    assert tools.parse(print_script(module)).is_structurally_equivalent(module)


def test_symbolic_sizes_are_bound_and_renamed_in_a_map(tools: Any) -> None:
    module = program(tools, MAPS["flat"])
    bound = BindSymbolicVars({"m": 3})(module)
    assert "(a * 72 + c * 12 + h * 3 + w,)" in print_script(bound)
    x = np.random.default_rng(0).normal(size=(2, 6, 4, 3)).astype("float32")
    np.testing.assert_array_equal(interpret(bound, "main", [x]), interpret(module, "main", [x]))
    renamed = tools.parse(re.sub(r"\bm\b", "k", print_script(module)))
    assert structural_equal(module, renamed)
    assert not structural_equal(module, program(tools, MAPS["turn"]))
    assert structural_equal(program(tools, MAPS["block"]), program(tools, MAPS["block"].replace("c", "k")))


@pytest.mark.parametrize("name", ["permute", "block", "pad", "pad_symbolic", "separators"])
def test_legalized_text(tools: Any, name: str) -> None:
    more = ", axis_separators=[2]" if name == "separators" else ""
    text = MAPS["permute" if name == "separators" else name.replace("_", " ")]
    module = LegalizeOps()(program(tools, text, "1.5", more))
    golden = Path(__file__).parents[2] / "golden" / "transforms" / "layout" / f"legalized_{name}.txt"
    assert print_script(module) + "\n" == golden.read_text(encoding="utf-8")


def test_unknown_shapes(tools: Any) -> None:
    body = "y = R.layout_transform(x, index_map=lambda i, j: (j, i // 4, i % 4))"
    for t in ('R.Tensor(ndim=2, dtype="float32")', 'R.Tensor(dtype="float32")'):
        module = tools.main(f"x: {t}", body, "y")
        assert 'y: R.Tensor(dtype="float32", ndim=3)' in print_script(module)
        assert "R.layout_transform" in print_script(LegalizeOps()(module))


def test_from_python() -> None:
    x = relax.Var("x", relax.TensorStructInfo((6, 3), "float32"))
    expected = relax.TensorStructInfo((3, 2, 4), "float32")
    index_map = tir.IndexMap.from_func(lambda i, j: (j, i // 4, i % 4))
    for pad in (None, 0, 1.5, tir.FloatImm("float32", 2.0), relax.PrimValue(1)):
        assert relax.op.layout_transform(x, index_map, pad).struct_info == expected
    assert relax.op.layout_transform(x, lambda i, j: (j, i // 4, i % 4)).struct_info == expected


@pytest.mark.parametrize(
    "args, error, message",
    [
        ((lambda i, j: (j,),), ShapeError, "has no inverse"),
        ((lambda i: (i,),), ShapeError, "as many dimensions"),
        ((lambda i, j: (i * 2, j),), ShapeError, "has no inverse"),
        ((lambda i, j: (j, i), 1.5), DTypeError, "pad_value"),
        ((lambda i, j: (j, i), None, [3]), ShapeError, "axis_separators"),
        ((lambda i, j: (j, i), None, [], [0]), ShapeError, "input_axis_separators"),
        ((lambda i, j: ("j", i),), TiraxError, "integer expressions"),
        ((3,), TiraxError, "not an index map"),
        ((), ShapeError, "index_map is missing"),
    ],
)
def test_refuses(args: tuple[Any, ...], error: type[Exception], message: str) -> None:
    x = relax.Var("x", relax.TensorStructInfo((6, 3), "int32"))
    with pytest.raises(error, match=message) as raised:
        assert relax.op.layout_transform(x, *args).struct_info
    assert isinstance(raised.value, TiraxError)


@pytest.mark.parametrize(
    "text, message",
    [
        ("lambda i=1: (i,)", "without defaults"),
        ("lambda *i: i", "without defaults"),
        ("lambda i: (i, x)", "integer expressions"),
        ("lambda i: (i / 2,)", "cannot be applied"),
        ("lambda i: (j,)", "undefined name 'j'"),
        ("3", "an index map is a lambda"),
    ],
)
def test_scripts_that_are_no_index_maps(tools: Any, text: str, message: str) -> None:
    body = f"y = R.layout_transform(x, index_map=T.index_map({text}))"
    with pytest.raises(TiraxError, match=message) as error:
        tools.main('x: R.Tensor((6,), "int32")', body, "y")
    assert error.value.location is not None


def test_blocked_convolution_agrees_with_the_plain_one(tools: Any) -> None:
    params = 'x: R.Tensor((2, 4, 5, 5), "float32"), w: R.Tensor((6, 2, 3, 3), "float32")'
    plain = tools.main(params, "y = R.nn.conv2d(x, w, padding=1, groups=2)", "y")
    blocked = tools.main(
        params,
        """
        x1 = R.layout_transform(x, index_map=lambda n, c, h, w: (n, c // 2, h, w, c % 2))
        w1 = R.layout_transform(w, index_map=lambda o, i, h, w: (h, o // 3, i, w, o % 3))
        y1 = R.nn.conv2d(
            x1, w1, padding=1, groups=2, data_layout="NCHW2c", kernel_layout="HOIW3o", out_layout="NHW6cC"
        )
        y = R.layout_transform(y1, index_map=lambda n, h, w, c, o: (n, o * 6 + c, h, w))
        """.replace("\n            x1, w1", " x1, w1").replace("\n        )", " )"),
        "y",
    )
    assert_same_meaning(plain, blocked)
    tools.agrees_natively(blocked, *tools.random_arrays((2, 4, 5, 5), (6, 2, 3, 3)))
    assert "conv2d_nchw2c" in print_script(LegalizeOps()(blocked))


def test_blocked_transposed_convolution(tools: Any) -> None:
    params = 'x: R.Tensor(("n", 4, 5), "float32"), w: R.Tensor((4, 3, 3), "float32")'
    plain = tools.main(params, "y = R.nn.conv1d_transpose(x, w, strides=2)", "y")
    blocked = tools.main(
        params,
        """
        x1 = R.layout_transform(x, index_map=lambda n, c, w: (n, c // 4, w, c % 4))
        y = R.nn.conv1d_transpose(x1, w, strides=2, data_layout="NCW4c", out_layout="NCW")
        """,
        "y",
    )
    assert_same_meaning(plain, blocked)
    tools.agrees_natively(blocked, *tools.random_arrays((2, 4, 5), (4, 3, 3)))


@pytest.mark.parametrize(
    "pool", ["max_pool2d(x{}, 2, strides=2, padding=1{})", "avg_pool2d(x{}, 3{})", "adaptive_avg_pool2d(x{}, 2{})"]
)
def test_blocked_pools_agree_with_the_plain_ones(tools: Any, pool: str) -> None:
    params = 'x: R.Tensor(("n", 4, 6, 5), "float32")'
    plain = tools.main(params, "y = R.nn." + pool.format("", ""), "y")
    blocked = tools.main(
        params,
        f"""
        x1 = R.layout_transform(x, index_map=lambda n, c, h, w: (n, h, c // 2, w, c % 2))
        y1 = R.nn.{pool.format("1", ', layout="NHCW2c"')}
        y = R.layout_transform(y1, index_map=lambda n, h, c, w, k: (n, c * 2 + k, h, w))
        """,
        "y",
    )
    assert_same_meaning(plain, blocked)
    tools.agrees_natively(blocked, *tools.random_arrays((3, 4, 6, 5)))


@pytest.mark.parametrize(
    "layouts, message",
    [
        ('data_layout="NCHW4c"', "other blocks|dimensions"),
        ('data_layout="NCHW2c", out_layout="NCHW4c"', "blocks of C"),
        ('data_layout="NCHW2c", out_layout="NCHWc"', "no length"),
        ('data_layout="NCHW2z"', "no dimension Z"),
    ],
)
def test_blocks_that_do_not_fit(tools: Any, layouts: str, message: str) -> None:
    params = 'x: R.Tensor((2, 2, 5, 5, 2), "float32"), w: R.Tensor((6, 4, 3, 3), "float32")'
    with pytest.raises(TiraxError, match=message):
        tools.main(params, f"y = R.nn.conv2d(x, w, {layouts})", "y")
