"""The course's program of mixed functions (seed 003), numpy in the place of torch and of the pickled weights."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, ShapeError
from tirax.tvm_api import relax
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@tvm.script.ir_module
class MyModuleMixture:
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
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, n), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out


@pytest.fixture(autouse=True)
def environment():
    @tvm.register_func("env.linear", override=True)
    def numpy_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.copyto(np.from_dlpack(out), np.from_dlpack(x) @ np.from_dlpack(w).T + np.from_dlpack(b))

    @tvm.register_func("env.relu", override=True)
    def lnumpy_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(out))


@pytest.fixture
def mlp_params():
    rng = np.random.default_rng(0)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    return {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}


def image():
    return np.random.default_rng(1).standard_normal((1, 784), dtype=np.float32)


def reference(x, p):
    return np.maximum(x @ p["w0"].T + p["b0"], 0) @ p["w1"].T + p["b1"]


def test_the_bound_module_is_printed_as_shown(golden, mlp_params):
    nd_params = {k: tvm.nd.array(v) for k, v in mlp_params.items()}
    MyModuleWithParams = relax.transform.BindParams("main", nd_params)(MyModuleMixture)
    golden("script/params_bound.txt", MyModuleWithParams.script())
    assert [p.name_hint for p in MyModuleMixture["main"].params] == ["x", "w0", "b0", "w1", "b1"]


def test_metadata_is_shown_and_read_back(mlp_params):
    bound = relax.transform.BindParams("main", mlp_params)(MyModuleMixture)
    again = tvm.script.from_source(bound.script(show_meta=True))
    tvm.ir.assert_structural_equal(again, bound)


def test_it_runs(mlp_params):
    vm = relax.VirtualMachine(relax.build(MyModuleMixture, target="llvm"), tvm.cpu())
    nd_params = {k: tvm.nd.array(v) for k, v in mlp_params.items()}
    result = vm["main"](tvm.nd.array(image()), nd_params["w0"], nd_params["b0"], nd_params["w1"], nd_params["b1"])
    tvm.testing.assert_allclose(result.numpy(), reference(image(), mlp_params), rtol=1e-4, atol=1e-3)


def test_it_runs_with_bound_parameters(mlp_params):
    ex = relax.build(relax.transform.BindParams("main", mlp_params)(MyModuleMixture), target="llvm")
    vm = relax.VirtualMachine(ex, tvm.cpu())
    result = vm["main"](tvm.nd.array(image()))
    tvm.testing.assert_allclose(result.numpy(), reference(image(), mlp_params), rtol=1e-4, atol=1e-3)
    assert vm.module.time_evaluator("main", tvm.cpu(), number=3)(tvm.nd.array(image())).mean > 0


def test_one_function_of_the_module_alone(mlp_params):
    mod_linear = tvm.IRModule.from_expr(MyModuleMixture["linear0"].with_attr("global_symbol", "main"))
    assert mod_linear.names == ["main"]
    out = tvm.nd.empty((1, 128), "float32")
    arguments = [tvm.nd.array(a) for a in (image(), mlp_params["w0"], mlp_params["b0"])]
    tvm.build(mod_linear, target="llvm")["main"](*arguments, out)
    expected = image() @ mlp_params["w0"].T + mlp_params["b0"]
    tvm.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_parameters_that_do_not_fit(mlp_params):
    with pytest.raises(NameLookupError, match="did you mean 'w0'"):
        relax.transform.BindParams("main", {"w_0": mlp_params["w0"]})(MyModuleMixture)
    with pytest.raises(ShapeError):
        relax.transform.BindParams("main", mlp_params | {"b0": mlp_params["b1"]})(MyModuleMixture)


def test_from_fx_as_the_course_writes_it():
    """The course's importer returns the inner variable of the dataflow block: it is the one that is output."""
    from tirax.tvm_api import te

    def te_matmul(A, B):
        k = te.reduce_axis((0, A.shape[1]), name="k")
        return te.compute((A.shape[0], B.shape[1]), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")

    weight = np.random.default_rng(0).standard_normal((4, 3), dtype=np.float32)
    bb = relax.BlockBuilder()
    input_var = relax.Var("x", relax.TensorStructInfo((1, 4), "float32"))
    with bb.function("main"):
        with bb.dataflow():
            output = bb.emit_te(te_matmul, input_var, relax.const(weight, relax.TensorStructInfo((4, 3), "float32")))
            bb.emit_output(output)
        bb.emit_func_output(output, [input_var])
    mod = bb.get()
    assert "metadata" in mod.script() and mod["te_matmul"].buffer_map
    x = np.ones((1, 4), np.float32)
    vm = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())
    tvm.testing.assert_allclose(vm["main"](tvm.nd.array(x)).numpy(), x @ weight, rtol=1e-5)
