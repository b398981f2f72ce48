"""Sums that are quantized before something is added: bytes between floats are not made where words are multiplied."""

import numpy as np
import pytest
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.interpreter import interpret
from tirax.ir.passes.transform import module_op
from tirax.target import Target
from tirax.tvm_api import relax

HASWELL = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 32), "int16"), w: R.Tensor((32, 40), "int16"), y: R.Tensor(("n", 40), "float32")):
        with R.dataflow():
            a = R.multiply(R.astype(R.matmul(x, w, out_dtype="int32"), "float32"), R.const(0.01, "float32"))
            b = {byte}
            c = R.dequantize(b, R.const(0.5, "float32"), R.const(7, "{dtype}"))
            d = R.quantize(R.add(c, y), R.const(0.25, "float32"), R.const(3, "uint8"), out_dtype="uint8")
            R.output(d)
        return d
"""
QUANTIZED = 'R.quantize(a, R.const(0.5, "float32"), R.const(7, "{0}"), out_dtype="{0}")'
WEIGHTS = np.random.default_rng(3).integers(-90, 91, (32, 40)).astype("int16")


def program(byte, dtype):
    source = SOURCE.format(byte=byte.format(dtype), dtype=dtype)
    return relax.transform.BindParams("main", {"w": WEIGHTS})(tvm.script.from_source(source))


def bytes_that_go_on(module, target):
    """How many conversions of floats to bytes there are that are not stored."""
    op = module_op(module).clone()
    for step in make_passes((*OPTIMIZE, "lower-narrow-types", "default-schedule"), target):
        step.apply(Context(), op)
    casts = [c for c in op.walk() if isinstance(c, tir.CastOp) and isinstance(c.value.owner, tir.CastOp)]
    return len([c for c in casts if c.value.type.bitwidth == 8 and c.value.owner.value.type.name == "f32"])


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_bytes_between_floats_are_removed(dtype):
    module = program(QUANTIZED, dtype)
    assert bytes_that_go_on(module, HASWELL) == 0
    native = build(module, Target("llvm -mcpu=haswell" if "avx2" in Target().features else "llvm"))["main"]
    rng = np.random.default_rng(5)
    for n in (0, 1, 5, 30):
        x = rng.integers(-200, 201, (n, 32)).astype("int16")
        y = rng.standard_normal((n, 40)).astype("float32") * 20
        np.testing.assert_array_equal(np.asarray(native(x, y)), np.asarray(interpret(module, "main", [x, y])))


@pytest.mark.parametrize("bounds", [(-1.0, 255.0), (0.0, 256.0)])
def test_floats_that_are_no_bytes_are_converted(bounds):
    """Beyond the range of bytes it is not known what the conversion gives."""
    byte = (
        f'R.astype(R.minimum(R.maximum(a, R.const({bounds[0]}, "float32")), R.const({bounds[1]}, "float32")), "uint8")'
    )
    assert bytes_that_go_on(program(byte, "uint8"), HASWELL) > 0


def test_fractions_are_cut_off():
    """What is not rounded before is a whole number after."""
    byte = 'R.astype(R.minimum(R.maximum(a, R.const(0, "float32")), R.const(200, "float32")), "uint8")'
    module = program(byte, "uint8")
    assert bytes_that_go_on(module, HASWELL) == 0
    native = build(module, Target("llvm -mcpu=haswell" if "avx2" in Target().features else "llvm"))["main"]
    x = np.random.default_rng(6).integers(-200, 201, (9, 32)).astype("int16")
    y = np.zeros((9, 40), "float32")
    np.testing.assert_array_equal(np.asarray(native(x, y)), np.asarray(interpret(module, "main", [x, y])))
