"""A program like a model, and passes that are wrong."""

from __future__ import annotations

from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32

from tirax.dialects import tir
from tirax.ir.rewriting.edit import set_type

MODEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        for i, j in T.grid(8, 16):
            with T.block("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def head(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32")):
        with R.dataflow():
            h0 = R.nn.relu(x)
            h1 = R.matmul(h0, w)
            h2 = R.nn.softmax(h1)
            R.output(h2)
        return h2

    @R.function
    def main(x: R.Tensor((8, 16), "float32"), wq: R.Tensor((16, 16), "float32"),
             wk: R.Tensor((16, 16), "float32"), wv: R.Tensor((16, 16), "float32"),
             w1: R.Tensor((16, 32), "float32"), w2: R.Tensor((32, 16), "float32")):
        cls = Module
        with R.dataflow():
            mean = R.mean(x, axis=[1], keepdims=True)
            centred = R.subtract(x, mean)
            square = R.multiply(centred, centred)
            variance = R.mean(square, axis=[1], keepdims=True)
            shifted = R.add(variance, R.const(0.1, "float32"))
            deviation = R.sqrt(shifted)
            normal = R.divide(centred, deviation)
            q = R.matmul(normal, wq)
            k = R.matmul(normal, wk)
            v = R.matmul(normal, wv)
            kt = R.permute_dims(k, axes=[1, 0])
            scores = R.matmul(q, kt)
            scaled = R.multiply(scores, R.const(0.25, "float32"))
            weights = R.nn.softmax(scaled, axis=-1)
            attended = R.matmul(weights, v)
            residual = R.add(attended, x)
            twice = R.call_tir(cls.scale, (residual,), out_sinfo=R.Tensor((8, 16), "float32"))
            up = R.matmul(twice, w1)
            active = R.nn.gelu(up)
            down = R.matmul(active, w2)
            out = R.add(down, residual)
            shape = R.reshape(out, R.shape([4, 32]))
            loss = R.mean(out)
            R.output(shape, loss)
        return (shape, loss)
"""


def swap_differences(module: ModuleOp) -> None:
    """x - mean(x)  ->  mean(x) - x: another result."""
    for op in module.walk():
        if op.name == "relax.subtract" and op.operands[1].owner.name == "relax.mean":
            op.operands = op.operands[::-1]


def look_up_softmax(module: ModuleOp) -> None:
    """An internal error for a softmax of a product."""
    for op in module.walk():
        if op.name == "relax.nn.softmax" and op.operands[0].owner.name == "relax.multiply":
            raise KeyError("softmax")


def forget_reshape(module: ModuleOp) -> None:
    """The result of a reshape gets the type of its operand."""
    for op in module.walk():
        if op.name == "relax.reshape":
            set_type(op.results[0], op.operands[0].type)


def change_constant(module: ModuleOp) -> None:
    """2 -> 3 in tensor functions."""
    for op in module.walk():
        if isinstance(op, tir.ConstOp) and op.result.type == f32 and op.py_value == 2:
            op.properties["value"] = FloatAttr(3.0, f32)
