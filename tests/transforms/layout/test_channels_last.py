"""Functions of several convolutions with the channels last: which ones become so, and that they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.dialects import relax as ops
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import Sequential
from tirax.transforms.layout.channels_last import ChannelsLast
from tirax.transforms.operators.pack_convolutions import PackConvolutions
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source


def program(body: str, count: int, params: str = 'x: R.Tensor((1, 16, 6, 6), "float32")', bind: bool = True) -> Any:
    """`count` kernels w0, w1, … of 16 channels; the body's last binding is y."""
    kernels = "".join(f', w{i}: R.Tensor((16, 16, 3, 3), "float32")' for i in range(count))
    lines = "\n".join(f"            {line.strip()}" for line in body.strip().splitlines())
    mod = from_source(f"""
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main({params}{kernels}):
        with R.dataflow():
{lines}
            R.output(y)
        return y
""")
    rng = np.random.default_rng(0)
    weights = {f"w{i}": rng.integers(-2, 3, (16, 16, 3, 3)).astype("float32") for i in range(count)}
    return BindParams("main", weights)(mod) if bind else mod


def chain(count: int, between: str = "", last: str = "y = R.nn.relu(c{0})") -> str:
    """Convolutions one after the other, with `between` behind each of them."""
    lines, value = [], "x"
    for i in range(count):
        lines.append(f"b{i} = R.nn.conv2d({value}, w{i}, padding=1)")
        lines.append((between or "c{0} = R.nn.relu(b{0})").format(i))
        value = f"c{i}"
    return "\n".join([*lines, last.format(count - 1)])


def layouts(mod: Any) -> list[str]:
    convolutions = [op for op in mod.op.walk() if op.name == "relax.nn.conv2d"]
    return [op.attr("data_layout") for op in convolutions]


def moves(mod: Any) -> int:
    actual = [op for op in mod.op.walk() if op.name == "relax.permute_dims"]
    return sum(not isinstance(op.operands[0].owner, ops.ConstantOp) for op in actual)


RESIDUAL = "d{0} = R.nn.max_pool2d(b{0}, pool_size=[3, 3], padding=[1, 1])\nc{0} = R.add(d{0}, b{0})"
CHANGED = {
    "a chain": (chain(8), 2),
    "what TVM's pass stops at": (chain(8, "d{0} = R.clip(b{0}, 0, 6)\nc{0} = R.nn.leakyrelu(d{0}, alpha=0.1)"), 2),
    "sums and pools": (chain(8, RESIDUAL), 2),
    "a mean over places needs no way back": (chain(4, last="y = R.mean(c{0}, axis=[2, 3])"), 1),
}


@pytest.mark.parametrize("case", CHANGED)
def test_changed(case: str) -> None:
    body, count = CHANGED[case]
    before = program(body, body.count("conv2d"))
    after = ChannelsLast()(before)
    assert set(layouts(after)) == {"NHWC"} and moves(after) == count
    assert_same_meaning(before.op, after.op)


def test_channels_that_are_taken() -> None:
    """By a vector of indices, along the dimension of the channels wherever that is now."""
    between = "t{0} = R.take(b{0}, i, axis=1)\nd{0} = R.concat((b{0}, t{0}), axis=2)\nc{0} = R.nn.relu(d{0})"
    params = 'x: R.Tensor((1, 16, 6, 6), "float32"), i: R.Tensor((16,), "int64")'
    before = program(chain(8, between), 8, params)
    before = BindParams("main", {"i": np.array([3, 0, 3, 15] * 4)})(before)
    after = ChannelsLast()(before)
    assert set(layouts(after)) == {"NHWC"} and moves(after) == 2
    assert {op.attr("axis") for op in after.op.walk() if op.name == "relax.take"} == {3}
    assert_same_meaning(before.op, after.op)


def test_symbolic_extents() -> None:
    before = program(chain(8), 8, 'x: R.Tensor(("n", 16, "h", "h"), "float32")')
    after = ChannelsLast()(before)
    assert set(layouts(after)) == {"NHWC"}
    assert_same_meaning(before.op, after.op)


def test_one_of_unknown_rows() -> None:
    before = program(chain(1), 1, 'x: R.Tensor((1, 16, 6, "w"), "float32")')
    assert layouts(ChannelsLast()(before)) == ["NHWC"]


LINES = (
    'x: R.Tensor(({n}, 16, {w}), "float32"), u: R.Tensor((16, 16, 3), "float32"), v: R.Tensor((1, 16, 1), "float32")'
)
LINE = """
a = R.nn.relu(R.nn.conv1d(x, u, padding=1))
b = R.nn.relu(R.nn.conv1d(a, u, strides=2, padding=1))
c = R.nn.conv1d(b, u, padding=1)
y = R.sigmoid(R.nn.conv1d(R.strided_slice(c, [1, 2], [0, 0], [16, 1]), v))
"""


@pytest.mark.parametrize(("n", "w"), [('"n"', 5), (1, '"w"'), (2, 6)])
def test_one_dimension(n: Any, w: Any) -> None:
    before = program(LINE, 0, LINES.format(n=n, w=w), bind=False)
    rng = np.random.default_rng(0)
    weights = {p: rng.integers(-2, 3, shape) for p, shape in {"u": (16, 16, 3), "v": (1, 16, 1)}.items()}
    before = BindParams("main", {p: w.astype("float32") for p, w in weights.items()})(before)
    after = Sequential([ChannelsLast(), PackConvolutions("llvm -mcpu=x86-64-v3")])(before)
    assert {op.attr("data_layout") for op in after.op.walk() if op.name == "relax.nn.conv1d"} == {"NWC"}
    assert sum(isinstance(op, ops.CallTIROp) for op in after.op.walk()) == 3
    assert_same_meaning(before.op, after.op)


def test_moving_a_dimension_of_one_is_no_move() -> None:
    before = program(chain(4), 4, 'x: R.Tensor((4, 16, 1, 1), "float32")')
    assert set(layouts(ChannelsLast()(before))) == {"NHWC"}


NHWC = 'data_layout="NHWC", kernel_layout="HWIO"'
GROUPS = f"""
a = R.nn.conv2d(x, v, groups=4, padding=1, {NHWC})
b = R.nn.conv2d(a, u, {NHWC})
y = R.nn.conv2d(b, t, groups=8, padding=1, {NHWC})
"""
GROUPED = (
    'x: R.Tensor((1, 5, 6, 8), "float32"), v: R.Tensor((3, 3, 2, 8), "float32"), u: R.Tensor((1, 1, 8, 8), "float32"),'
    ' t: R.Tensor((3, 3, 1, 8), "float32")'
)


def test_groups_have_the_channels_first() -> None:
    before = program(GROUPS, 0, GROUPED)
    after = ChannelsLast()(before)
    assert layouts(after) == ["NCHW", "NHWC", "NHWC"]
    assert_same_meaning(before.op, after.op)


def test_groups_in_a_chain() -> None:
    body = chain(12, last="d = R.nn.conv2d(c{0}, v, groups=4, padding=1)\ny = R.mean(d, axis=[2, 3])")
    before = program(body, 12, 'x: R.Tensor((1, 16, 6, 6), "float32"), v: R.Tensor((16, 4, 3, 3), "float32")')
    after = ChannelsLast()(before)
    assert layouts(after) == ["NHWC"] * 12 + ["NCHW"]
    assert_same_meaning(before.op, after.op)


BACK = "y = R.permute_dims(c0, axes=[0, 2, 3, 1])"
THERE = {
    "once": "t = R.permute_dims(x, axes=[0, 3, 1, 2])\n",
    "by way of another order": "s = R.permute_dims(x, axes=[0, 2, 3, 1])\nt = R.permute_dims(s, axes=[0, 2, 3, 1])\n",
}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("there", THERE)
def test_a_single_one_between_transpositions(there: str, n: int) -> None:
    """It is put in the place of transpositions: what is transposed back and forth stays where it is."""
    body = THERE[there] + chain(1, last=BACK).replace("(x, w0", "(t, w0")
    before = program(body, 1, f'x: R.Tensor(({n}, 6, 6, 16), "float32")')
    after = ChannelsLast()(before)
    assert layouts(before) == ["NCHW"] and layouts(after) == ["NHWC"]
    assert_same_meaning(before.op, after.op)


FLAT = "d{0} = R.reshape(b{0}, R.shape([16, 36]))\nc{0} = R.reshape(R.nn.softmax(d{0}), R.shape([1, 16, 6, 6]))"
LEFT = {
    "few": (program(chain(3), 3), 4),
    "few for a way there and back": (program(chain(4), 4), 4),
    "fewer than asked for": (program(chain(8), 8), 9),
    "parameters": (program(chain(8), 8, bind=False), 4),
    "reshaped between": (program(chain(8, FLAT), 8), 4),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case: str) -> None:
    before, least = LEFT[case]
    assert ChannelsLast(least)(before).script() == before.script()


STEPS = [
    "R.nn.conv2d({a}, w0, padding=1)",
    "R.nn.conv2d({a}, w1, padding=[1, 2, 1, 0])",
    "R.nn.conv2d({a}, v, padding=1, groups=8)",
    "R.clip({a}, -2, 2)",
    "R.add({a}, {b})",
    "R.nn.avg_pool2d({a}, pool_size=[3, 3], padding=[1, 1, 1, 1])",
    "R.nn.log_softmax({a}, axis=1)",
    "R.multiply({a}, R.mean({b}, axis=[2, 3], keepdims=True))",
    "R.nn.conv2d(R.concat(({a}, {b}), axis=1), u)",
]
PARAMS = (
    'x: R.Tensor((1, 16, 4, 5), "float32"), v: R.Tensor((16, 2, 3, 3), "float32"),'
    ' u: R.Tensor((16, 32, 1, 1), "float32")'
)


@drawn(10, quick=3)
@given(data=st.data())
def test_random_networks(data: st.DataObject) -> None:
    lines, values = ["c = R.nn.conv2d(x, w0, padding=1)"], ["x", "c"]
    for i in range(data.draw(st.integers(1, 6))):
        a, b = (data.draw(st.sampled_from(values[-3:])) for _ in range(2))
        lines.append(f"v{i} = " + data.draw(st.sampled_from(STEPS)).format(a=a, b=b))
        values.append(f"v{i}")
    before = program("\n".join([*lines, f"y = R.nn.relu({values[-1]})"]), 2, PARAMS).op
    after = Sequential([ChannelsLast(1), PackConvolutions("llvm -mcpu=x86-64-v3")])(before)
    assert_same_meaning(before, after)
