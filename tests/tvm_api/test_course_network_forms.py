"""The course's two-layer network in its three forms (seed 003, 4.1 to 4.5), and tensor expressions (6.1, 6.2).

The weights are random; where torch is not installed numpy takes its place.
"""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import relax, te
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@tvm.script.ir_module
class MyModule:
    @T.prim_func
    def relu0(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (1, n), "float32")
        Y = T.match_buffer(y, (1, n), "float32")
        for i, j in T.grid(1, n):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func
    def linear0(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (1, m), "float32")
        W = T.match_buffer(w, (n, m), "float32")
        B = T.match_buffer(b, (n,), "float32")
        Z = T.match_buffer(z, (1, n), "float32")
        Y = T.alloc_buffer((1, n), "float32")
        for i, j, k in T.grid(1, n, m):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, n):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, "m"), "float32"),
        w0: R.Tensor(("n", "m"), "float32"),
        b0: R.Tensor(("n",), "float32"),
        w1: R.Tensor(("k", "n"), "float32"),
        b1: R.Tensor(("k",), "float32"),
    ):
        m, n, k = T.int64(), T.int64(), T.int64()
        with R.dataflow():
            lv0 = R.call_dps_packed("linear0", (x, w0, b0), R.Tensor((1, n), "float32"))
            lv1 = R.call_dps_packed("relu0", (lv0,), R.Tensor((1, n), "float32"))
            out = R.call_dps_packed("linear0", (lv1, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out


@tvm.script.ir_module
class MyModuleWithExternCall:
    @R.function
    def main(
        x: R.Tensor((1, "m"), "float32"),
        w0: R.Tensor(("n", "m"), "float32"),
        b0: R.Tensor(("n",), "float32"),
        w1: R.Tensor(("k", "n"), "float32"),
        b1: R.Tensor(("k",), "float32"),
    ):
        # block 0
        m, n, k = T.int64(), T.int64(), T.int64()
        with R.dataflow():
            lv0 = R.call_dps_packed("env.linear", (x, w0, b0), R.Tensor((1, n), "float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, n), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out


def numpy_mlp(data, w0, b0, w1, b1):
    linear0 = data @ w0.T + b0
    relu = np.maximum(linear0, 0)
    linear1 = relu @ w1.T + b1
    return linear1


@pytest.fixture
def mlp_params():
    rng = np.random.default_rng(0)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def with_torch(torch):
    @tvm.register_func("env.linear", override=True)
    def torch_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
        x_torch = torch.from_dlpack(x)
        w_torch = torch.from_dlpack(w)
        b_torch = torch.from_dlpack(b)
        out_torch = torch.from_dlpack(out)
        torch.mm(x_torch, w_torch.T, out=out_torch)
        torch.add(out_torch, b_torch, out=out_torch)

    @tvm.register_func("env.relu", override=True)
    def lnumpy_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        x_torch = torch.from_dlpack(x)
        out_torch = torch.from_dlpack(out)
        torch.maximum(x_torch, torch.Tensor([0.0]), out=out_torch)


def with_numpy():
    @tvm.register_func("env.linear", override=True)
    def numpy_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.copyto(np.from_dlpack(out), np.from_dlpack(x) @ np.from_dlpack(w).T + np.from_dlpack(b))

    @tvm.register_func("env.relu", override=True)
    def lnumpy_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(out))


def test_the_network_runs(mlp_params):
    the_network_runs(MyModule, mlp_params)


def test_the_network_runs_with_functions_of_numpy(mlp_params):
    with_numpy()
    the_network_runs(MyModuleWithExternCall, mlp_params)


def test_the_network_runs_with_functions_of_torch(mlp_params, torch):
    with_torch(torch)
    the_network_runs(MyModuleWithExternCall, mlp_params)


def the_network_runs(module, mlp_params):
    img = np.random.default_rng(1).standard_normal((28, 28), dtype=np.float32)
    data_nd = tvm.nd.array(img.reshape(1, 784))
    nd_params = {k: tvm.nd.array(v) for k, v in mlp_params.items()}

    ex = relax.build(module, target="llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    nd_res = vm["main"](data_nd, nd_params["w0"], nd_params["b0"], nd_params["w1"], nd_params["b1"])
    pred_kind = np.argmax(nd_res.numpy(), axis=1)

    expected = numpy_mlp(img.reshape(1, 784), **mlp_params)
    np.testing.assert_allclose(nd_res.numpy(), expected, rtol=1e-3, atol=1e-2)
    assert pred_kind == np.argmax(expected, axis=1)


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    assert A.shape[1] == B.shape[0]
    n = A.shape[0]
    m = B.shape[1]
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")


def test_tensor_expressions(capsys):
    A = te.placeholder((128, 128), name="A", dtype="float32")
    B = te.placeholder((128, 128), name="B", dtype="float32")
    assert isinstance(A, te.Tensor) and A.dtype == "float32" and list(A.shape) == [128, 128]
    C = te_matmul(A, B)
    D = te_relu(C)
    X1 = te.placeholder((1, 128), name="X1", dtype="float32")
    Y1 = te_relu(X1)
    te.create_prim_func([A, B, C]).show()
    te.create_prim_func([X1, Y1]).show()
    te.create_prim_func([A, B, D]).show()
    te.create_prim_func([A, B, C, D]).show()
    shown = capsys.readouterr().out
    assert shown.count("def main(") == 4 and shown.count("matmul = T.alloc_buffer((128, 128))") == 1

    a, b = (np.random.default_rng(s).standard_normal((128, 128), dtype=np.float32) for s in (0, 1))
    for outputs, expected in (([C], [a @ b]), ([D], [np.maximum(a @ b, 0)]), ([C, D], [a @ b, np.maximum(a @ b, 0)])):
        actual = [np.empty((128, 128), np.float32) for _ in outputs]
        tvm.build(te.create_prim_func([A, B, *outputs]), target="llvm")["main"](a, b, *actual)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_a_module_by_the_block_builder():
    A = relax.Var("A", relax.TensorStructInfo((128, 128), "float32"))
    B = relax.Var("B", relax.TensorStructInfo((128, 128), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main"):
        with bb.dataflow():
            C = bb.emit_te(te_matmul, A, B)
            D = bb.emit_te(te_relu, C)
            R = bb.emit_output(D)
        bb.emit_func_output(R, params=[A, B])
    MyModule = bb.get()
    assert isinstance(C, relax.Var) and "gv: R.Tensor((128, 128)" in MyModule.script()
    a, b = (np.random.default_rng(s).standard_normal((128, 128), dtype=np.float32) for s in (0, 1))
    vm = relax.VirtualMachine(relax.build(MyModule, target="llvm"), tvm.cpu())
    result = vm["main"](tvm.nd.array(a), tvm.nd.array(b)).numpy()
    np.testing.assert_allclose(result, np.maximum(a @ b, 0), rtol=1e-3, atol=1e-3)
