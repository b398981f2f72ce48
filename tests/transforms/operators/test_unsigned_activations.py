"""Signed bytes that become unsigned: which do, with what limits, that it means the same, and how it runs."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.unsigned_activations import UnsignedActivations
from tirax.tvm_api.script import from_source

VNNI = "llvm -mcpu=icelake-server -vector-width=512"


def scalar(value, dtype="float32"):
    return f"R.const({value}, '{dtype}')"


def dequantized(name, zero=0, scale=0.25):
    return f"R.dequantize({name}, {scalar(scale)}, {scalar(zero, 'int8')})"


def quantized(value, zero=0, least=-128.0, most=127.0):
    rounded = f"R.round(R.divide({value}, {scalar(0.25)}))"
    moved = f"R.add({rounded}, {scalar(float(zero))})" if zero else rounded
    return f"R.astype(R.minimum(R.maximum({moved}, {scalar(least)}), {scalar(most)}), dtype='int8')"


def chain(value, *rest, zero=0, **limits):
    lines = [f"q = {quantized(value, zero, **limits)}", f"d = {dequantized('q', zero)}"]
    body = "".join(f"            {line}\n" for line in (*lines, *(rest or ["y = R.multiply(d, d)"])))
    return from_source(
        "from tvm.script import ir as I, relax as R\n"
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(x: R.Tensor(('n', 4), 'float32')):\n        with R.dataflow():\n{body}"
        "            R.output(y)\n        return y\n"
    )


SHIFTED, AS_THEY_ARE = ("0.0", "255.0", "128"), ("0.0", "127.0", "0")
CASES = {
    "of any sign": (chain("x"), SHIFTED),
    "with a zero point": (chain("R.nn.relu(x)", zero=-5), ("0.0", "255.0", "123")),
    "within limits": (chain("x", least=-127.0, most=100.0), ("1.0", "228.0", "128")),
    "not negative": (chain("R.nn.relu(x)"), AS_THEY_ARE),
    "of what is not negative": (chain("R.add(R.nn.relu(x), R.sigmoid(x))"), AS_THEY_ARE),
    "of a maximum": (chain(f"R.maximum(x, {scalar(0.0)})"), AS_THEY_ARE),
    "of a maximum below 0": (chain(f"R.maximum(x, {scalar(-1.0)})"), SHIFTED),
    "of a sum": (chain("R.add(R.nn.relu(x), x)"), SHIFTED),
}


@pytest.mark.parametrize("case", CASES)
def test_becomes_unsigned(case):
    before, (least, most, zero) = CASES[case]
    after = UnsignedActivations(VNNI)(before)
    text = after.script()
    assert "int8" not in text.replace("uint8", "") and f'R.const({zero}, "int32")' in text
    limits = [line for line in text.splitlines() if "R.maximum" in line or "R.minimum" in line][-2:]
    assert [f"R.const({end}" in line for end, line in zip((least, most), limits, strict=True)] == [True, True], text
    assert_same_meaning(before.op, after.op)


def test_twice_it_is_quantized_once():
    again = f"e = {dequantized('q', 3, 0.5)}"
    before = chain("x", again, "y = R.multiply(d, e)")
    after = UnsignedActivations(VNNI)(before)
    assert after.script().count("R.astype") == 1 and 'R.const(131, "int32")' in after.script()
    assert_same_meaning(before.op, after.op)


def test_later_ones_are_not_negative_for_those_before():
    before = chain("R.nn.relu(x)", f"q1 = {quantized('d')}", f"y = {dequantized('q1')}")
    assert UnsignedActivations(VNNI)(before).script().count('"uint8"') == 4


@pytest.mark.parametrize(
    ("mod", "target"),
    [
        (chain("x"), "llvm -mcpu=haswell"),
        (chain("x"), "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+dotprod,+i8mm"),
        (chain("x", "y = R.add(q, q)"), VNNI),
    ],
)
def test_stays(mod, target):
    """Where signed bytes are multiplied as they are, or nothing is; and what is read as integers."""
    assert UnsignedActivations(target)(mod).script() == mod.script()


def test_runs():
    mod, _ = CASES["within limits"]
    x = np.linspace(-40, 40, 24, dtype=np.float32).reshape(6, 4)
    steps = np.clip(np.round(x / np.float32(0.25)), -127, 100) * np.float32(0.25)
    np.testing.assert_array_equal(np.asarray(build(mod)["main"](x)), steps * steps)
