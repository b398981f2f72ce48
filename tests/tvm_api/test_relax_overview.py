"""The overview of Relax (seed 001): the first program runs, the second is refused for its undefined names."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.script import ScriptError
from tirax.tvm_api import relax
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


def numpy_mlp(data, w0, b0, w1, b1):
    lv0 = data @ w0 + b0
    lv1 = np.maximum(lv0, 0)
    lv2 = lv1 @ w1 + b1
    return lv2


@R.function
def relax_mlp(
    data: R.Tensor(("n", 784), dtype="float32"),
    w0: R.Tensor((784, 128), dtype="float32"),
    b0: R.Tensor((128,), dtype="float32"),
    w1: R.Tensor((128, 10), dtype="float32"),
    b1: R.Tensor((10,), dtype="float32"),
) -> R.Tensor(("n", 10), dtype="float32"):
    with R.dataflow():
        lv0 = R.matmul(data, w0) + b0
        lv1 = R.nn.relu(lv0)
        lv2 = R.matmul(lv1, w1) + b1
        R.output(lv2)
    return lv2


LOW_LEVEL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        M, N, K = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (M, K), "float32")
        W = T.match_buffer(w, (K, N), "float32")
        B = T.match_buffer(b, (N,), "float32")
        Z = T.match_buffer(z, (M, N), "float32")
        Y = T.alloc_buffer((M, N), "float32")
        for i, j, k in T.grid(M, N, K):
            with T.block("Y"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[v_i, v_j] = T.float32(0.0)
                Y[v_i, v_j] = Y[v_i, v_j] + X[v_i, v_k] * W[v_k, v_j]
        for i, j in T.grid(M, N):
            with T.block("Z"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Z[v_i, v_j] = Y[v_i, v_j] + B[v_j]

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        M, N = T.int64(), T.int64()
        X = T.match_buffer(x, (M, N), "float32")
        Y = T.match_buffer(y, (M, N), "float32")
        for i, j in T.grid(M, N):
            with T.block("Y"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Y[v_i, v_j] = T.max(X[v_i, v_j], T.float32(0.0))

    @R.function
    def main(
        x: R.Tensor(("n", 784), dtype="float32"),
        w0: R.Tensor((784, 256), dtype="float32"),
        b0: R.Tensor((256,), dtype="float32"),
        w1: R.Tensor((256, 10), dtype="float32"),
        b1: R.Tensor((10,), dtype="float32")
    ) -> R.Tensor(("n", 10), dtype="float32"):
        cls = Module
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.linear, (x, w0, b0), out_sinfo=R.Tensor((n, 256), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv0,), out_sinfo=R.Tensor((n, 256), dtype="float32"))
            lv2 = R.call_tir(cls.linear, (lv1, w1, b1), out_sinfo=R.Tensor((b, 10), dtype="float32"))
            R.output(lv2)
        return lv2
"""


def arguments(n: int, hidden: int):
    rng = np.random.default_rng(n)
    shapes = [(n, 784), (784, hidden), (hidden,), (hidden, 10), (10,)]
    return [rng.standard_normal(s, dtype=np.float32) for s in shapes]


def run(mod, name, args):
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    return vm[name](*(tvm.nd.array(a) for a in args)).numpy()


@pytest.mark.parametrize("n", [5, 1, 0])
def test_the_high_level_program_computes_what_numpy_does(n):
    mod = tvm.IRModule.from_expr(relax_mlp)
    args = arguments(n, 128)
    tvm.testing.assert_allclose(run(mod, "relax_mlp", args), numpy_mlp(*args), rtol=1e-4, atol=1e-3)


def test_the_low_level_program_computes_what_numpy_does():
    mod = tvm.script.from_source(LOW_LEVEL.replace("lv0", "lv").replace("R.Tensor((b, 10)", "R.Tensor((n, 10)"))
    args = arguments(3, 256)
    tvm.testing.assert_allclose(run(mod, "main", args), numpy_mlp(*args), rtol=1e-4, atol=1e-3)


def test_undefined_names_are_refused():
    with pytest.raises(ScriptError) as caught:
        tvm.script.from_source(LOW_LEVEL)
    message = str(caught.value)
    assert "'lv0'" in message and "'b'" in message
    assert "cls.relu, (lv0,)" in message and "^^^" in message


def test_undefined_names_in_a_python_file_are_refused():
    with pytest.raises(ScriptError, match="lv0"):

        @I.ir_module
        class Module:
            @T.prim_func(private=True)
            def relu(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
                for i in range(4):
                    with T.block("Y"):
                        v_i = T.axis.spatial(4, i)
                        Y[v_i] = T.max(X[v_i], T.float32(0.0))

            @R.function
            def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
                cls = Module
                with R.dataflow():
                    lv = R.call_tir(cls.relu, (lv0,), out_sinfo=R.Tensor((4,), dtype="float32"))
                    R.output(lv)
                return lv
