"""Functions of bytes that become tables: which do, which stay, that all bytes give the same, and that it runs."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning, interpret
from tirax.target import Target
from tirax.transforms.operators.tabulate_bytes import TabulateBytes
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

WORDS, VNNI = "llvm -mcpu=haswell", "llvm -mcpu=icelake-server -vector-width=512"


def program(dtype, *lines):
    body = "".join(f"            {line}\n" for line in lines)
    return from_source(
        "from tvm.script import ir as I, relax as R, tir as T\n"
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main(q: R.Tensor(('n', 256), '{dtype}'), b: R.Tensor((256,), 'float32')):\n"
        f"        with R.dataflow():\n{body}            R.output(y)\n        return y\n"
    )


def number(value, dtype="float32"):
    return f"R.const({value}, '{dtype}')"


def quantize(name, dtype="uint8"):
    return f"R.quantize({name}, {number(0.03)}, {number(10, dtype)}, out_dtype='{dtype}')"


def dequantize(name, dtype="uint8", zero=120):
    return f"R.dequantize({name}, {number(0.02)}, {number(zero, dtype)}, axis=1)"


GELU = (
    f"r = {quantize('R.erf(d)')}",
    f"e = R.add(R.dequantize(r, {number(0.03)}, {number(10, 'uint8')}), {number(1.0)})",
    "m = R.multiply(d, e)",
)
BECOME = {
    "unsigned": program("uint8", f"d = {dequantize('q')}", *GELU, f"y = {quantize('m')}"),
    "signed": program("int8", f"d = {dequantize('q', 'int8', -7)}", *GELU, f"y = {quantize('m', 'int8')}"),
    "words": program(
        "uint8", f"d = {dequantize('q')}", *GELU, f"w = R.astype({quantize('m')}, 'int16')",
        f"y = R.subtract(w, {number(10, 'int16')})",
    ),
    "written out": program(
        "uint8", f"d = {dequantize('q')}", f"s = R.round(R.divide(R.sigmoid(d), {number(0.01)}))",
        f"y = R.astype(R.minimum(R.maximum(s, {number(0.0)}), {number(255.0)}), 'uint8')",
    ),
}  # fmt: skip
STAY = {
    "floats": program("uint8", f"d = {dequantize('q')}", *GELU, "y = m"),
    "cheap": program("uint8", f"d = {dequantize('q')}", f"y = {quantize('R.add(d, d)')}"),
    "a vector": program("uint8", f"d = {dequantize('q')}", f"y = {quantize('R.add(R.exp(d), b)')}"),
    "used by others": program(
        "uint8",
        f"d = {dequantize('q')}",
        "e = R.exp(d)",
        f"r = {quantize('e')}",
        "y = R.add(e, R.astype(r, 'float32'))",
    ),
    "wider ones": program("int16", "e = R.exp(R.astype(q, 'float32'))", f"y = {quantize('e')}"),
}


def inputs(func, sizes, seed):
    """Each byte is in each row."""
    kind = np.int8 if str(func.params[0].type.element) == "i8" else np.uint8
    rows = [np.roll(np.arange(256), seed + row) for row in range(dict(sizes)["n"])]
    q = np.array(rows, dtype=np.int64).reshape(-1, 256).astype(np.uint8).view(kind)
    return [q.astype(np.int16) if str(func.params[0].type.element) == "i16" else q, np.ones(256, "float32")]


@pytest.mark.parametrize("case", BECOME)
def test_becomes_a_table(case):
    before = BECOME[case]
    after = TabulateBytes(WORDS)(before)
    text = after.script()
    assert text.count("R.take") == 1 and 'R.Tensor((n, 256), dtype="float32") =' not in text
    assert_same_meaning(before.op, after.op, inputs=inputs)


@pytest.mark.parametrize("case", STAY)
def test_stays(case):
    assert TabulateBytes(WORDS)(STAY[case]).script() == STAY[case].script()


@pytest.mark.parametrize("target", [VNNI, "llvm -mcpu=skylake-avx512", "llvm -mtriple=aarch64-linux-gnu"])
def test_stays_where_products_of_bytes_are_no_words(target):
    assert TabulateBytes(target)(BECOME["unsigned"]).script() == BECOME["unsigned"].script()


def test_the_last_of_several_results_is_looked_up():
    """What others need, too, is a table of its own, which the rest is computed of."""
    mod = program("uint8", f"d = {dequantize('q')}", *GELU, f"r2 = {quantize('m')}",
                  f"f = R.add({dequantize('r2')}, b)", "y = R.add(R.astype(r2, 'float32'), f)")  # fmt: skip
    after = TabulateBytes(WORDS)(mod)
    assert after.script().count("R.take") == 1
    assert_same_meaning(mod.op, after.op, inputs=inputs)


@pytest.mark.skipif("avx2" not in Target().features, reason="this machine has no AVX2")
def test_runs():
    """As the interpreter says, but for numbers in the middle between two bytes."""
    for case in ("unsigned", "signed", "words"):
        mod = BECOME[case]
        main = relax.build(mod, target=WORDS)["main"]
        for n in (0, 1, 5):
            args = inputs(mod["main"].op, {"n": n}, n)
            result, expected = np.asarray(main(*args)), np.asarray(interpret(mod.op, "main", [a.copy() for a in args]))
            assert result.dtype == expected.dtype and result.shape == expected.shape
            assert (np.abs(result.astype(int) - expected.astype(int)) <= 1).all()
