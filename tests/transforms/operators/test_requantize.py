"""Quantization that is moved, left out or multiplied: what becomes so, what stays, and that it means the same."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.requantize import Requantize
from tirax.tvm_api.script import from_source


def program(*lines, x="('n', 4)", dtype="uint8"):
    body = "".join(f"            {line}\n" for line in lines)
    return from_source(
        "from tvm.script import ir as I, relax as R, tir as T\n"
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(x: R.Tensor({x}, '{dtype}')):\n        n = T.int64()\n        with R.dataflow():\n{body}"
        "            R.output(y)\n        return y\n"
    )


def number(value, dtype="float32"):
    return f"R.const({value}, '{dtype}')"


def dequantized(name="x", scale=0.25, zero=3):
    return f"R.dequantize({name}, {number(scale)}, {number(zero, 'uint8')})"


def quantized(name, scale=0.25, zero=3, most=255.0):
    rounded = f"R.round(R.divide({name}, {number(scale)}))"
    moved = f"R.maximum(R.add({rounded}, {number(float(zero))}), {number(0.0)})"
    return f"R.astype(R.minimum({moved}, {number(most)}), dtype='uint8')"


MOVED = {
    "pool": program(
        f"y = R.nn.max_pool2d({dequantized()}, pool_size=[2, 3], padding=[0, 1, 1, 1])", x="('n', 2, 5, 6)"
    ),
    "transposed": program(f"y = R.permute_dims({dequantized()}, axes=[1, 0])"),
    "reshaped": program(f"y = R.reshape({dequantized()}, R.shape([n * 4]))"),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVED)
def test_bytes_move(case):
    before = MOVED[case]
    after = Requantize()(before)
    last = [line for line in after.script().splitlines() if "= R." in line][-1]
    assert "R.dequantize" in last
    assert_same_meaning(before.op, after.op)


def test_what_is_quantized_as_it_was_is_left_out():
    before = program(f"a = {dequantized()}", "b = R.permute_dims(a, axes=[1, 0])", f"y = {quantized('b')}")
    after = Requantize()(before)
    text = after.script()
    assert "R.round" not in text and "R.dequantize" not in text
    assert_same_meaning(before.op, after.op)


QUANTIZED_AGAIN = {
    "scale": quantized("a", scale=0.5),
    "zero point": quantized("a", zero=4),
    "limit": quantized("a", most=254.0),
}


@pytest.mark.parametrize("case", QUANTIZED_AGAIN)
def test_another_quantization_stays(case):
    before = program(f"a = {dequantized()}", f"y = {QUANTIZED_AGAIN[case]}")
    after = Requantize()(before)
    assert "R.round" in after.script()
    assert_same_meaning(before.op, after.op)


def test_scales_become_one_product_and_one_sum():
    """All scales are powers of two: exact."""
    before = program(
        "a = R.multiply(R.multiply(x, R.const(0.5, 'float32')), R.const(4.0, 'float32'))",
        "b = R.nn.relu(R.add(a, R.const(1.5, 'float32')))",
        f"y = {quantized('b')}",
        dtype="float32",
    )
    after = Requantize()(before)
    lines = [line.split(" = ", 1)[1] for line in after.script().splitlines() if "= R." in line]
    assert not any("R.divide" in line for line in lines)
    of_tensors = [line for line in lines if "x" in line.split("(", 1)[1] or "lv" in line.split("(", 1)[1]]
    assert [line.partition("(")[0] for line in of_tensors[-8:]] == [
        *("R.multiply", "R.add", "R.nn.relu", "R.round", "R.add", "R.maximum", "R.minimum", "R.astype"),
    ]
    assert_same_meaning(before.op, after.op)


STAYS = {
    "a parameter": program(f"y = {quantized('x', scale=0.1)}", dtype="float32"),
    "not rounded": program("y = R.divide(R.nn.relu(x), R.const(0.1, 'float32'))", dtype="float32"),
    "negative": program(f"a = R.nn.relu(x)\n            y = {quantized('a', scale=-0.1)}", dtype="float32"),
    "too small": program(f"a = R.nn.relu(x)\n            y = {quantized('a', scale=1e-39)}", dtype="float32"),
}  # fmt: skip


@pytest.mark.parametrize("case", STAYS)
def test_stays(case):
    assert Requantize()(STAYS[case]).script() == STAYS[case].script()


def test_what_others_use_is_not_multiplied():
    before = program(
        "a = R.add(R.multiply(x, R.const(2.0, 'float32')), R.const(1.0, 'float32'))",
        f"q = {quantized('a', scale=0.5)}",
        "y = R.add(a, R.astype(q, dtype='float32'))",
        dtype="float32",
    )
    after = Requantize()(before)
    assert "R.divide" not in after.script() and "R.const(2.0" in after.script()
    assert_same_meaning(before.op, after.op)


def test_halves_go_to_the_even_integer():
    from tirax.interpreter import interpret

    halves = program(f"y = {quantized('x', scale=1.0, zero=0)}", dtype="float32")
    x = np.array([[0.5, 1.5, 2.5, 300.0]], "float32")
    assert np.asarray(interpret(Requantize()(halves).op, "main", [x])).tolist() == [[0, 2, 2, 255]]
