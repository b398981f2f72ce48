"""ConvertLayout: what each operator becomes, that it means the same, random networks, compiled code, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn, only_full, thinned

from tirax.diagnostics import TiraxError
from tirax.interpreter import assert_same_meaning
from tirax.transforms.layout.convert_layout import ConvertLayout

PARAMS = 'x: R.Tensor((2, 4, 6, 6), "float32"), w: R.Tensor((4, 4, 1, 1), "float32")'
NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"]}
CONV = "c = R.nn.conv2d(x, w)"
CONV_NHWC = 'c = R.nn.conv2d(lv, lv1, {0}data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC", out_dtype="void")'
BEFORE = [
    "lv = R.permute_dims(x, axes=[0, 2, 3, 1])",
    "lv1 = R.permute_dims(w, axes=[0, 2, 3, 1])",
    CONV_NHWC.format("strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, "),
]
POOL = (
    "pool_size=[2, 2], strides=[1, 1], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, "
    'count_include_pad=False, layout="NHWC", out_layout="NHWC"'
)
NORM = "epsilon=1.0000000000000001e-05, center=True, scale=True"
BACK = "= R.permute_dims({}, axes=[0, 3, 1, 2])"

# The binding of y on the result c of a convolution (which TVM converts alike), and what stands behind the convolution.
ROWS: dict[str, tuple[str, list[str]]] = {
    "unary": ("y = R.exp(c)", ["lv2 = R.exp(c)", "y " + BACK.format("lv2")]),
    "silu": ("y = R.nn.silu(c)", ["lv2 = R.nn.silu(c)", "y " + BACK.format("lv2")]),
    "isnan": ("y = R.isnan(c)", ["lv2 = R.isnan(c)", "y " + BACK.format("lv2")]),
    "astype": ('y = R.astype(c, "float16")', ['lv2 = R.astype(c, dtype="float16")', "y " + BACK.format("lv2")]),
    "binary": ("y = R.multiply(c, c)", ["lv2 = R.multiply(c, c)", "y " + BACK.format("lv2")]),
    "scalar": (
        'y = R.add(c, R.const(1.0, "float32"))',
        ['lv2 = R.add(c, R.const(1.0, "float32"))', "y " + BACK.format("lv2")],
    ),
    "first operand leads": ("y = R.add(x, c)", ["lv2 " + BACK.format("c"), "y = R.add(x, lv2)"]),
    "second operand follows": (
        "y = R.add(c, x)",
        ["lv2 = R.permute_dims(x, axes=[0, 2, 3, 1])", "lv3 = R.add(c, lv2)", "y " + BACK.format("lv3")],
    ),
    "lower rank leads": (
        'y = R.add(c, R.zeros(R.shape([6]), "float32"))',
        [
            'lv2 = R.zeros(R.shape([6]), dtype="float32")',
            "lv3 " + BACK.format("c"),
            "y = R.add(lv3, lv2)",
        ],
    ),
    "lower rank that moved": (
        "m = R.mean(c, axis=[0])\ny = R.add(m, x)",
        [
            "m = R.mean(c, axis=[0], keepdims=False)",
            "lv2 = R.permute_dims(x, axes=[0, 2, 3, 1])",
            "lv3 = R.add(m, lv2)",
            "y " + BACK.format("lv3"),
        ],
    ),
    "ewise_fma": ("y = R.ewise_fma(c, c, c)", ["lv2 = R.ewise_fma(c, c, c)", "y " + BACK.format("lv2")]),
    "ewise_fma mixed": ("y = R.ewise_fma(c, x, x)", ["lv2 " + BACK.format("c"), "y = R.ewise_fma(lv2, x, x)"]),
    "where": (
        "b = R.greater(c, c)\ny = R.where(b, c, c)",
        ["b = R.greater(c, c)", "lv2 = R.where(b, c, c)", "y " + BACK.format("lv2")],
    ),
    "sum kept": (
        "y = R.sum(c, axis=[1, 2], keepdims=True)",
        ["lv2 = R.sum(c, axis=[1, 3], keepdims=True)", "y " + BACK.format("lv2")],
    ),
    "sum": ("y = R.sum(c, axis=[1, 2])", ["y = R.sum(c, axis=[1, 3], keepdims=False)"]),
    "sum of all": ("y = R.sum(c)", ["y = R.sum(c, axis=[0, 1, 2, 3], keepdims=False)"]),
    "sum of batch": (
        "y = R.sum(c, axis=[0])",
        ["lv2 = R.sum(c, axis=[0], keepdims=False)", "y = R.permute_dims(lv2, axes=[2, 0, 1])"],
    ),
    "std": ("y = R.std(c, axis=-3)", ["y = R.std(c, axis=[3], keepdims=False)"]),
    "softmax": ("y = R.nn.softmax(c, axis=1)", ["lv2 = R.nn.softmax(c, axis=3)", "y " + BACK.format("lv2")]),
    "log_softmax": (
        "y = R.nn.log_softmax(c, axis=1)",
        ["lv2 " + BACK.format("c"), "y = R.nn.log_softmax(lv2, axis=1)"],
    ),
    "concat": ("y = R.concat((c, c), axis=1)", ["lv2 = R.concat((c, c), axis=3)", "y " + BACK.format("lv2")]),
    "concat leads": ("y = R.concat((x, c), axis=1)", ["lv2 " + BACK.format("c"), "y = R.concat((x, lv2), axis=1)"]),
    "concat of a tuple": (
        "t = (c, x)\ny = R.concat(t, axis=1)",
        [
            "t = c, x",
            "lv2 = t[0]",
            "lv3 = t[1]",
            "lv4 = R.permute_dims(lv3, axes=[0, 2, 3, 1])",
            "lv5 = R.concat((lv2, lv4), axis=3)",
            "y " + BACK.format("lv5"),
        ],
    ),
    "split": (
        "t = R.split(c, 2, axis=1)\ny = t[1]",
        ["t = R.split(c, indices_or_sections=2, axis=3)", "lv2 = t[1]", "y " + BACK.format("lv2")],
    ),
    "split whole": (
        "y = R.split(c, 2, axis=1)",
        [
            "lv2 = R.split(c, indices_or_sections=2, axis=3)",
            "lv3 = lv2[0]",
            "lv4 " + BACK.format("lv3"),
            "lv5 = lv2[1]",
            "lv6 " + BACK.format("lv5"),
            "y = lv4, lv6",
        ],
    ),
    "squeeze": (
        "s = R.sum(c, axis=[2, 3], keepdims=True)\ny = R.squeeze(s, [2, 3])",
        ["s = R.sum(c, axis=[1, 2], keepdims=True)", "y = R.squeeze(s, axis=[1, 2])"],
    ),
    "squeeze of all": (
        "s = R.sum(c, axis=[2, 3], keepdims=True)\ny = R.squeeze(s)",
        ["s = R.sum(c, axis=[1, 2], keepdims=True)", "y = R.squeeze(s, axis=[1, 2])"],
    ),
    "expand_dims": (
        "y = R.expand_dims(c, axis=[1])",
        ["lv2 = R.expand_dims(c, axis=[1])", "y = R.permute_dims(lv2, axes=[0, 1, 4, 2, 3])"],
    ),
    "permute_dims": ("y = R.permute_dims(c, axes=[0, 2, 3, 1])", ["y = R.permute_dims(c, axes=[0, 1, 2, 3])"]),
    "reshape": (
        "y = R.reshape(c, R.shape([2, 144]))",
        ["lv2 " + BACK.format("c"), "y = R.reshape(lv2, R.shape([2, 144]))"],
    ),
    "strided_slice": (
        "y = R.strided_slice(c, [1, 2], [0, 1], [2, 3])",
        [
            "lv2 = R.strided_slice(c, (R.prim_value(3), R.prim_value(1)), (R.prim_value(0), R.prim_value(1)), "
            "(R.prim_value(2), R.prim_value(3)), assume_inbound=False)",
            "y " + BACK.format("lv2"),
        ],
    ),
    "repeat": ("y = R.repeat(c, 2, axis=1)", ["lv2 = R.repeat(c, repeats=2, axis=3)", "y " + BACK.format("lv2")]),
    "tile": ("y = R.tile(c, [1, 2])", ["lv2 = R.tile(c, repeats=[1, 1, 2, 1])", "y " + BACK.format("lv2")]),
    "flip": ("y = R.flip(c, axis=1)", ["lv2 = R.flip(c, axis=3)", "y " + BACK.format("lv2")]),
    "max_pool2d": ("y = R.nn.max_pool2d(c, 2)", [f"lv2 = R.nn.max_pool2d(c, {POOL})", "y " + BACK.format("lv2")]),
    "avg_pool2d": ("y = R.nn.avg_pool2d(c, 2)", [f"lv2 = R.nn.avg_pool2d(c, {POOL})", "y " + BACK.format("lv2")]),
    "adaptive_avg_pool2d": (
        "y = R.nn.adaptive_avg_pool2d(c, 2)",
        [
            'lv2 = R.nn.adaptive_avg_pool2d(c, output_size=[2, 2], layout="NHWC", out_layout="NHWC")',
            "y " + BACK.format("lv2"),
        ],
    ),
    "batch_norm": (
        'v = R.ones(R.shape([4]), "float32")\nt = R.nn.batch_norm(c, v, v, v, v, axis=1)\ny = t[0]',
        [
            'v = R.ones(R.shape([4]), dtype="float32")',
            f"t = R.nn.batch_norm(c, v, v, v, v, axis=3, {NORM}, momentum=0.10000000000000001, training=True)",
            "lv2 = t[0]",
            "y " + BACK.format("lv2"),
        ],
    ),
    "layer_norm": (
        'v = R.ones(R.shape([6, 6]), "float32")\ny = R.nn.layer_norm(c, v, v, axes=[-2, -1])',
        [
            'v = R.ones(R.shape([6, 6]), dtype="float32")',
            f"lv2 = R.nn.layer_norm(c, v, v, axes=[1, 2], {NORM})",
            "y " + BACK.format("lv2"),
        ],
    ),
    "layer_norm whose parameters would turn": (
        'v = R.ones(R.shape([4, 6]), "float32")\ny = R.nn.layer_norm(c, v, v, axes=[1, 2])',
        [
            'v = R.ones(R.shape([4, 6]), dtype="float32")',
            "lv2 " + BACK.format("c"),
            f"y = R.nn.layer_norm(lv2, v, v, axes=[1, 2], {NORM})",
        ],
    ),
    "group_norm": (
        'v = R.ones(R.shape([4]), "float32")\ny = R.nn.group_norm(c, v, v, num_groups=2, channel_axis=1, axes=[2, 3])',
        [
            'v = R.ones(R.shape([4]), dtype="float32")',
            f"lv2 = R.nn.group_norm(c, v, v, num_groups=2, channel_axis=3, axes=[1, 2], {NORM})",
            "y " + BACK.format("lv2"),
        ],
    ),
    "prelu": (
        'v = R.ones(R.shape([4]), "float32")\ny = R.nn.prelu(c, v, axis=1)',
        ['v = R.ones(R.shape([4]), dtype="float32")', "lv2 = R.nn.prelu(c, v, axis=3)", "y " + BACK.format("lv2")],
    ),
    "match_cast": (
        'y = R.match_cast(c, R.Tensor((2, 4, 6, 6), "float32"))',
        ['lv2 = R.match_cast(c, R.Tensor((2, 6, 6, 4), dtype="float32"))', "y " + BACK.format("lv2")],
    ),
    "a name": (
        "y = c\nz = R.exp(y)",
        ["y1 = c", "lv2 = R.exp(y1)", "y " + BACK.format("y1"), "z " + BACK.format("lv2")],
    ),
    "matmul": (
        "y = R.matmul(c, c)",
        ["lv2 " + BACK.format("c"), "lv3 " + BACK.format("c"), 'y = R.matmul(lv2, lv3, out_dtype="void")'],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_operators(tools: Any, name: str) -> None:
    body, expected = ROWS[name]
    result = "(y, z)" if name == "a name" else "y"
    module = tools.main(PARAMS, f"{CONV}\n{body}", result)
    converted = ConvertLayout(NHWC)(module)
    assert _renamed(tools.bindings(converted)) == _renamed([*_constants_first(expected)])
    assert_same_meaning(module, converted)


def _constants_first(expected: list[str]) -> list[str]:
    return [*BEFORE, *expected]


def _renamed(lines: list[str]) -> list[str]:
    """Variables by the order in which they are bound; leaves that stand anywhere before their use, first."""
    import re

    result = sorted(lines, key=lambda line: 0 if re.search(r"= R\.(ones|zeros)\(", line) else 1)
    names: dict[str, str] = {}
    for line in result:
        names.setdefault(line.partition(" = ")[0], f"v{len(names)}")
    return [re.sub(r"\b(?<!\")([a-z]\w*)\b(?!\()", lambda k: names.get(k[1], k[1]), line) for line in result]


CONVOLUTIONS = {
    "conv1d": ((2, 4, 8), (4, 4, 3), ["NWC", "WIO"]),
    "conv1d_transpose": ((2, 4, 8), (4, 4, 3), ["NWC", "WOI"]),
    "conv2d": ((2, 4, 8, 8), (4, 4, 3, 3), ["NHWC", "HWIO"]),
    "conv2d_transpose": ((2, 4, 8, 8), (4, 4, 3, 3), ["NHWC", "HWOI"]),
    "conv3d": ((2, 4, 4, 5, 6), (4, 4, 3, 3, 3), ["NDHWC", "DHWIO"]),
    "conv3d_transpose": ((2, 4, 4, 5, 6), (4, 4, 3, 3, 3), ["NDHWC", "DHWOI"]),
}


@thinned("name", list(CONVOLUTIONS), 3)
def test_convolutions(tools: Any, name: str) -> None:
    data, kernel, layouts = CONVOLUTIONS[name]
    rank = len(data) - 2
    params = f'x: R.Tensor({data}, "float32"), w: R.Tensor({kernel}, "float32")'
    module = tools.main(params, f"c = R.nn.{name}(x, w)\ny = R.nn.max_pool{rank}d(c, 2)", "y")
    converted = ConvertLayout({f"relax.nn.{name}": layouts})(module)
    lines = tools.bindings(converted)
    assert len(lines) == 5
    assert f'data_layout="{layouts[0]}", kernel_layout="{layouts[1]}", out_layout="{layouts[0]}"' in lines[2]
    assert f'layout="{layouts[0]}", out_layout="{layouts[0]}"' in lines[3]
    assert_same_meaning(module, converted)
    tools.agrees_natively(converted, *tools.random_arrays(data, kernel))


def test_result_in_another_layout(tools: Any) -> None:
    module = tools.main(PARAMS, CONV + "\ny = R.nn.relu(c)", "y")
    lines = tools.bindings(ConvertLayout({"relax.nn.conv2d": ["NHWC", "OHWI", "NCHW"]})(module))
    assert len(lines) == 4 and 'out_layout="NCHW"' in lines[2] and lines[3] == "y = R.nn.relu(c)"


def test_images_that_are_resized_have_a_layout_of_their_own(tools: Any) -> None:
    module = tools.main('x: R.Tensor((1, 2, 3, 3), "float32")', "y = R.image.resize2d(x, (5, 5))", "y")
    after = ConvertLayout({"relax.image.resize2d": ["NHWC"]})(module)
    first, resized, last = tools.bindings(after)
    assert first == "lv = R.permute_dims(x, axes=[0, 2, 3, 1])" and 'layout="NHWC"' in resized
    assert last.endswith("axes=[0, 3, 1, 2])")
    assert_same_meaning(module, after)
    with pytest.raises(TiraxError, match="layouts are of data"):
        ConvertLayout({"relax.image.resize2d": ["NHWC", "OHWI"]})(module)


def test_back_again(tools: Any) -> None:
    params = 'x: R.Tensor((2, 6, 6, 4), "float32"), w: R.Tensor((4, 3, 3, 4), "float32")'
    body = 'c = R.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI")\ny = R.nn.relu(c)'
    module = tools.main(params, body, "y")
    converted = ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]})(module)
    assert tools.bindings(converted)[0] == "lv = R.permute_dims(x, axes=[0, 3, 1, 2])"
    assert_same_meaning(module, converted)
    same = ConvertLayout(NHWC)(module)
    assert tools.bindings(same) == tools.bindings(module)


def test_blocks(tools: Any) -> None:
    tensors = {"x": '("n", 4, 6, 6)', "w": "(8, 4, 3, 3)", "b": "(1, 8, 1, 1)"}
    params = ", ".join(f'{n}: R.Tensor({shape}, "float32")' for n, shape in tensors.items())
    body = "n = T.int64()\nc = R.nn.conv2d(x, w)\na = R.add(c, b)\nr = R.nn.relu(a)\ny = R.nn.max_pool2d(r, 2)"
    module = tools.main(params, body, "y")
    converted = ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(module)
    rest = ", pad_value=None, axis_separators=[], input_axis_separators=[]"
    lines = ["", *(line.replace(rest, "") for line in tools.bindings(converted))]
    to_blocks = "index_map=T.index_map(lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4))"
    assert lines[1] == f"lv = R.layout_transform(x, {to_blocks})"
    assert "i0 // 4, i1, i2, i3, i0 % 4" in lines[2]
    assert 'data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c"' in lines[3]
    assert lines[4] == f"lv2 = R.layout_transform(b, {to_blocks})"
    assert 'layout="NCHW4c", out_layout="NCHW4c"' in lines[7]
    assert "lambda i0, i1, i2, i3, i4: (i0, i1 * 4 + i4, i2, i3)" in lines[8]
    assert_same_meaning(module, converted)
    tools.agrees_natively(converted, *tools.random_arrays((3, 4, 6, 6), (8, 4, 3, 3), (1, 8, 1, 1)))


def test_blocks_that_do_not_divide(tools: Any) -> None:
    params = 'x: R.Tensor((1, 3, 6, 6), "float32"), w: R.Tensor((8, 3, 3, 3), "float32")'
    module = tools.main(params, "y = R.nn.conv2d(x, w)", "y")
    assert tools.bindings(ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(module)) == tools.bindings(module)


def test_unknown_extents(tools: Any) -> None:
    params = 'x: R.Tensor(ndim=4, dtype="float32"), w: R.Tensor((4, 4, 1, 1), "float32")'
    module = tools.main(params, CONV + "\ny = R.nn.relu(c)", "y")
    assert len(tools.bindings(ConvertLayout(NHWC)(module))) == 5
    assert tools.bindings(ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(module)) == tools.bindings(module)
    unknown = tools.main('x: R.Tensor(dtype="float32")', "y = R.add(x, x)", "y")
    assert tools.bindings(ConvertLayout(NHWC)(unknown)) == tools.bindings(unknown)


def test_callback(tools: Any) -> None:
    module = tools.main(PARAMS, "c = R.nn.conv2d(x, w)\ny = R.nn.conv2d(c, w, padding=1)", "y")
    seen: list[str] = []

    def choose(call: Any) -> dict[str, list[str]]:
        seen.append(call.op.name)
        return NHWC if list(call.attrs["padding"]) == [1, 1, 1, 1] else {}

    converted = ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]}, choose)(module)
    lines = tools.bindings(converted)
    assert seen == ["relax.nn.conv2d"] * 2
    assert 'data_layout="NCHW"' in lines[0] and 'data_layout="NHWC"' in lines[3]
    assert_same_meaning(module, converted)


def test_only_dataflow_blocks_change(tools: Any) -> None:
    module = tools.parse(
        f"""
@I.ir_module
class Module:
    @R.function
    def main({PARAMS}):
        y = R.nn.conv2d(x, w)
        return y
"""
    )
    assert ConvertLayout(NHWC)(module).is_structurally_equivalent(module)


def test_options_in_text() -> None:
    result = ConvertLayout(operators=("relax.nn.conv2d",), layouts=("NHWC OHWI",))
    assert result == ConvertLayout(NHWC) and result.desired_layouts == NHWC
    with pytest.raises(TiraxError, match="as many layouts"):
        ConvertLayout(operators=("relax.nn.conv2d",))


@pytest.mark.parametrize(
    "desired, message",
    [
        ({"relax.nn.conv9d": ["NHWC", "OHWI"]}, "relax.nn.conv9d"),
        ({"relax.add": ["NHWC", "OHWI"]}, "relax.add"),
        ({"relax.nn.conv2d": ["NHWC"]}, "data, kernel and result"),
        ({"relax.nn.conv2d": ["NHWC", "OHWC"]}, "kernel_layout"),
        ({"relax.nn.conv2d": ["NWC", "OHWI"]}, "data_layout"),
        ({"relax.nn.conv2d": ["NHW!", "OHWI"]}, "relax.nn.conv2d: a layout is written"),
    ],
)
def test_refuses(tools: Any, desired: dict[str, list[str]], message: str) -> None:
    module = tools.main(PARAMS, CONV, "c")
    with pytest.raises(TiraxError, match=message):
        ConvertLayout(desired)(module)


STEPS = (
    "R.nn.relu({a})", "R.tanh({a})", "R.add({a}, {b})", "R.multiply({b}, {a})", "R.maximum({a}, {bias})",
    "R.nn.conv2d({a}, w, padding=1)", "R.nn.max_pool2d({a}, 3, padding=1)", "R.nn.avg_pool2d({a}, 3, padding=1)",
    "R.nn.softmax({a}, axis=1)", "R.subtract({a}, R.mean({b}, axis=[2, 3], keepdims=True))",
    "R.add({a}, R.sum({b}, axis=[0]))", "R.where(R.greater({a}, {b}), {a}, {b})", "R.ewise_fma({a}, {b}, {a})",
    "R.concat(R.split({a}, 2, axis=1), axis=1)", "R.flip({a}, axis=2)",
    "R.permute_dims(R.permute_dims({a}, axes=[0, 1, 3, 2]), axes=[0, 1, 3, 2])",
    "R.squeeze(R.expand_dims({a}, axis=[2]), [2])", "R.nn.layer_norm({a}, g, g, axes=[-2, -1])",
    "R.reshape(R.reshape({a}, R.shape([2, 64])), R.shape([2, 4, 4, 4]))",
    "R.strided_slice(R.concat(({a}, {b}), axis=1), [1], [2], [6])",
)  # fmt: skip
LAYOUTS = (["NHWC", "OHWI"], ["NHWC", "HWIO", "NCHW"], ["NCHW4c", "OIHW4o"], ["NCHW2c", "OIHW4i2o"], ["HWNC", "HWIO"])


@drawn(60)
@given(data=st.data())
def test_random_networks(tools: Any, data: st.DataObject) -> None:
    params = (
        'x: R.Tensor((2, 4, 4, 4), "float32"), w: R.Tensor((4, 4, 3, 3), "float32"), '
        'bias: R.Tensor((1, 4, 1, 1), "float32"), g: R.Tensor((4, 4), "float32")'
    )
    values = ["x", "c"]
    lines = ["c = R.nn.conv2d(x, w, padding=1)"]
    for i in range(data.draw(st.integers(1, 6))):
        a, b = (data.draw(st.sampled_from(values[-3:])) for _ in range(2))
        lines.append(f"v{i} = " + data.draw(st.sampled_from(STEPS)).format(a=a, b=b, bias="bias"))
        values.append(f"v{i}")
    module = tools.main(params, "\n".join(lines), f"({values[-1]}, {values[-2]})" if len(lines) > 2 else values[-1])
    converted = ConvertLayout({"relax.nn.conv2d": data.draw(st.sampled_from(LAYOUTS))})(module)
    assert_same_meaning(module, converted)
    again = ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]})(converted)
    assert_same_meaning(module, again)


@only_full
def test_a_network_compiles(tools: Any) -> None:
    params = (
        'x: R.Tensor(("n", 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32"), v: R.Tensor((4,), "float32")'
    )
    body = """
    n = T.int64()
    c = R.nn.conv2d(x, w, padding=1)
    t = R.nn.batch_norm(c, v, v, v, v, axis=1, training=False)
    b = t[0]
    r = R.nn.relu(b)
    d = R.nn.conv2d(r, w, padding=1)
    s = R.add(d, r)
    p = R.nn.adaptive_avg_pool2d(s, 1)
    y = R.squeeze(p, [2, 3])
    """
    module = tools.main(params, body, "y")
    converted = ConvertLayout(NHWC)(module)
    assert sum("permute_dims" in line for line in tools.bindings(converted)) == 3
    x, w = tools.random_arrays((3, 4, 8, 8), (4, 4, 3, 3))
    tools.agrees_natively(converted, x, w, np.abs(w[:, 0, 0, 0]) + 1)
    assert_same_meaning(module, converted)
