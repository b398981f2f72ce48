"""The way of the tutorials: own converters with tensor expressions, given to `from_fx` by name; what is printed."""

import re

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from torch import fx, nn  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax, te, topi  # noqa: E402
from tirax.tvm_api.relax.frontend.torch import from_fx  # noqa: E402


def te_matmul(A, B):
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A):
    return te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")


def map_matmul(node, importer):
    return importer.block_builder.emit_te(te_matmul, *importer.retrieve_args(node))


def map_relu(node, importer):
    return importer.block_builder.emit_te(te_relu, *importer.retrieve_args(node)[:1])


def map_linear(node, importer):
    (x,) = importer.retrieve_args(node)
    module = importer.named_modules[node.target]
    y = importer.block_builder.emit_te(topi.nn.dense, x, importer.tensor(module.weight))
    return importer.block_builder.emit_te(topi.add, y, importer.tensor(module.bias))


class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(128, 128))

    def forward(self, x):
        return torch.relu(torch.matmul(x, self.weight))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear0, self.relu, self.linear1 = nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)

    def forward(self, x):
        return self.linear1(self.relu(self.linear0(x)))


def printed(mod):
    """The module's text without comments."""
    return "\n".join(line.rstrip() for line in mod.script().splitlines() if line.strip() and "#" not in line)


MAIN = """
    @R.function
    def main(inp_0: R.Tensor((1, 128), dtype="float32")) -> R.Tensor((1, 128), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.te_matmul, (inp_0, metadata["relax.expr.Constant"][0]), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            lv1 = R.call_tir(cls.te_relu, (lv,), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            gv: R.Tensor((1, 128), dtype="float32") = lv1
            R.output(gv)
        return gv
"""  # noqa: E501 (as it is printed)

MATMUL = """
    @T.prim_func(private=True)
    def te_matmul(inp_0: T.Buffer((T.int64(1), T.int64(128)), "float32"), B: T.Buffer((T.int64(128), T.int64(128)), "float32"), matmul: T.Buffer((T.int64(1), T.int64(128)), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        for i, j, k in T.grid(T.int64(1), T.int64(128), T.int64(128)):
            with T.block("matmul"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                T.reads(inp_0[v_i, v_k], B[v_k, v_j])
                T.writes(matmul[v_i, v_j])
                with T.init():
                    matmul[v_i, v_j] = T.float32(0.0)
                matmul[v_i, v_j] = matmul[v_i, v_j] + inp_0[v_i, v_k] * B[v_k, v_j]
"""  # noqa: E501 (as it is printed)


def test_functions_by_name():
    model = MyModel()
    mod = from_fx(fx.symbolic_trace(model), [((1, 128), "float32")],
                  custom_convert_map={"matmul": map_matmul, "relu": map_relu})  # fmt: skip
    text = printed(mod)
    assert MAIN.strip("\n") in text and MATMUL.strip("\n") in text
    assert re.findall(r"def (\w+)", text) == ["te_matmul", "te_relu", "main"]
    agrees(mod, model, torch.randn(1, 128))


def test_modules_by_class():
    model = MLP()
    mod = from_fx(fx.symbolic_trace(model), [((1, 784), "float32")],
                  custom_convert_map={nn.Linear: map_linear, nn.ReLU: map_relu})  # fmt: skip
    text = printed(mod)
    assert re.findall(r"def (\w+)", text) == ["add", "add1", "dense", "dense1", "te_relu", "main"]
    calls = re.findall(r"(lv\d?) = R.call_tir\(cls.(\w+), \((\w+),", text)
    assert calls == [("lv", "dense", "inp_0"), ("lv1", "add", "lv"), ("lv2", "te_relu", "lv1"),
                     ("lv3", "dense1", "lv2"), ("lv4", "add1", "lv3")]  # fmt: skip
    agrees(mod, model, torch.randn(1, 784))


def agrees(mod, model, x):
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    with torch.no_grad():
        np.testing.assert_allclose(vm["main"](tvm.nd.from_dlpack(x)).numpy(), model(x).numpy(), rtol=1e-4, atol=1e-4)
