"""Bytes that become floats do so in the kernels that read the floats."""

import numpy as np
import pytest
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.dialects.dtypes import dtype_name
from tirax.driver.pipelines import make_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import module_op
from tirax.tvm_api import relax

SOURCE = """
# from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 16), "float32"), v: R.Tensor((4, 16), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            q = R.quantize(y, R.const(0.5, "float32"), R.const(3, "{kind}"), axis=-1, out_dtype="{kind}")
            f = R.dequantize(q, R.const(0.5, "float32"), R.const(3, "{kind}"), axis=-1)
            z = R.matmul(R.add(R.exp(f), v), R.permute_dims(w))
            R.output(z)
        return z
"""
VNNI, WORDS = "llvm -mtriple=x86_64-linux-gnu -mcpu=cascadelake", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"


def fused(target, kind="uint8"):
    before = tvm.script.from_source(SOURCE.format(kind=kind))
    after = module_op(before).clone()
    names = ("legalize-ops", "widen-at-use", "annotate-tir-op-pattern", "fuse-ops", "fuse-tir")
    for step in make_passes(names, target):
        step.apply(Context(), after)
    return before, after


def product(op):
    """The function that multiplies and quantizes: its name, and what it stores."""
    functions = [f for f in op.walk() if isinstance(f, tir.FuncOp) and "matmul_quantize" in f.sym_name.data]
    (only,) = functions
    return only.sym_name.data, dtype_name(only.params[-1].type.dtype)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_kernels_hand_on_bytes(kind):
    before, after = fused(VNNI, kind)
    name, stored = product(after)
    assert "dequantize" not in name and stored == kind
    assert_same_meaning(module_op(before), after)


def test_where_products_are_those_of_words_nothing_changes():
    _, after = fused(WORDS)
    name, stored = product(after)
    assert "dequantize" in name and stored == "float32"


def test_scales_along_an_axis_are_left_as_they_are():
    """They are read with the bytes: there is more than one tensor."""
    scales = np.linspace(0.1, 1, 16).astype(np.float32)
    x = relax.Var("x", relax.TensorStructInfo((4, 16), "uint8"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        zero = relax.const(np.zeros(16, np.uint8), "uint8")
        bb.emit_func_output(bb.emit(relax.op.dequantize(x, relax.const(scales), zero, axis=1)))
    op = module_op(bb.finalize()).clone()
    for step in make_passes(("legalize-ops", "widen-at-use"), VNNI):
        step.apply(Context(), op)
    assert all("op_pattern" not in str(f.func_attrs) for f in op.walk() if isinstance(f, tir.FuncOp))
