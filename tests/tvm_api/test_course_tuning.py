"""The course's chapters on automatic program optimization (seed 003, 5.1 to 5.4): random weights, fewer trials."""

from functools import partial

import numpy as np
import pytest
from strength import only_full

import tirax.tvm_api as tvm
from tirax.tvm_api import meta_schedule as ms
from tirax.tvm_api import relax
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@tvm.script.ir_module
class MyModuleMixture:
    @T.prim_func
    def linear0(
        X: T.Buffer((1, 784), "float32"),
        W: T.Buffer((128, 784), "float32"),
        B: T.Buffer((128,), "float32"),
        Z: T.Buffer((1, 128), "float32"),
    ):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        Y = T.alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]
        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((128, 784), "float32"),
        b0: R.Tensor((128,), "float32"),
        w1: R.Tensor((10, 128), "float32"),
        b1: R.Tensor((10,), "float32"),
    ):
        with R.dataflow():
            lv0 = R.call_dps_packed("linear0", (x, w0, b0), R.Tensor((1, 128), dtype="float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0,), R.Tensor((1, 128), dtype="float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, 10), dtype="float32"))
            R.output(out)
        return out


def stochastic_schedule_mm(sch: tvm.tir.Schedule):
    block_C = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block=block_C)
    j_factors = sch.sample_perfect_tile(loop=j, n=2)
    j_0, j_1 = sch.split(loop=j, factors=j_factors)
    sch.reorder(i, j_0, k, j_1)
    sch.decompose_reduction(block_C, k)
    return sch


@pytest.fixture
def small_search(monkeypatch):
    """The course asks for no strategy, so it gets the evolutionary one: let its population be small."""
    make = partial(ms.search_strategy.EvolutionarySearch, population_size=8, init_min_unmeasured=4, genetic_num_iters=1)
    create = staticmethod(lambda kind: make() if kind == "evolutionary" else kind)
    monkeypatch.setattr(ms.SearchStrategy, "create", create)


@pytest.fixture
def matrices():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((128, 128), dtype=np.float32) for _ in range(2))
    return a, b, [tvm.nd.array(a), tvm.nd.array(b), tvm.nd.empty((128, 128), dtype="float32")]


def test_a_schedule_by_hand():
    sch = tvm.tir.Schedule(Module)
    block_c = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block_c)
    j0, j1 = sch.split(j, factors=[None, 4])
    assert "for i, j_0, j_1, k in T.grid(128, 32, 4, 128):" in sch.mod.script()


def test_a_random_search_by_hand(matrices):
    a, b, (a_nd, b_nd, c_nd) = matrices
    best_result, best_sch = None, None
    for _ in range(3):
        sch = stochastic_schedule_mm(tvm.tir.Schedule(Module))
        lib = tvm.build(sch.mod, target="llvm")
        f_time_after = lib.time_evaluator("main", tvm.cpu())
        result = f_time_after(a_nd, b_nd, c_nd).mean
        np.testing.assert_allclose(c_nd.numpy(), a @ b, rtol=1e-3, atol=1e-3)
        if best_result is None or result < best_result:
            best_result, best_sch = result, sch
    assert best_result > 0 and "sch.sample_perfect_tile(loop=l2, n=2, max_innermost_factor=16, decision=" in str(
        best_sch.trace
    )


def test_a_search_in_a_space_of_the_users(tmp_path, matrices, small_search):
    database = ms.tune_tir(
        mod=Module,
        target="llvm --num-cores=1",
        max_trials_global=4,
        num_trials_per_iter=4,
        space=ms.space_generator.ScheduleFn(stochastic_schedule_mm),
        work_dir=str(tmp_path / "tune_tmp"),
        task_name="main",
    )
    sch = ms.tir_integration.compile_tir(database, Module, "llvm --num-cores=1")
    assert "decompose_reduction" in str(sch.trace)
    check(sch, matrices)


@only_full
def test_a_search_in_the_space_of_the_rules(tmp_path, matrices, small_search):
    database = ms.tune_tir(
        mod=Module,
        target="llvm --num-cores=1",
        max_trials_global=2,
        num_trials_per_iter=2,
        work_dir=str(tmp_path / "tune_tmp"),
        task_name="main",
    )
    sch = ms.tir_integration.compile_tir(database, Module, "llvm --num-cores=1")
    assert "sample_perfect_tile" in str(sch.trace)
    check(sch, matrices)


def check(sch, matrices):
    a, b, (a_nd, b_nd, c_nd) = matrices
    lib = tvm.build(sch.mod, target="llvm --num-cores=1")
    assert lib.time_evaluator("main", tvm.cpu(), number=2, repeat=2)(a_nd, b_nd, c_nd).mean > 0
    np.testing.assert_allclose(c_nd.numpy(), a @ b, rtol=1e-3, atol=1e-3)


@pytest.fixture
def environment():
    @tvm.register_func("env.linear", override=True)
    def numpy_linear(x: tvm.nd.NDArray, w: tvm.nd.NDArray, b: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.copyto(np.from_dlpack(out), np.from_dlpack(x) @ np.from_dlpack(w).T + np.from_dlpack(b))

    @tvm.register_func("env.relu", override=True)
    def lnumpy_relu(x: tvm.nd.NDArray, out: tvm.nd.NDArray):
        np.maximum(np.from_dlpack(x), 0, out=np.from_dlpack(out))


def test_one_function_of_a_model_is_tuned_and_put_back(tmp_path, environment, small_search):
    rng = np.random.default_rng(0)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    params = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    nd_params = {k: tvm.nd.array(v) for k, v in params.items()}
    x = rng.standard_normal((1, 784), dtype=np.float32)
    data_nd = tvm.nd.array(x)
    expected = np.maximum(x @ params["w0"].T + params["b0"], 0) @ params["w1"].T + params["b1"]

    MyModuleWithParams = relax.transform.BindParams("main", nd_params)(MyModuleMixture)
    vm = relax.VirtualMachine(relax.build(MyModuleWithParams, target="llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](data_nd).numpy(), expected, rtol=1e-3, atol=1e-2)

    mod_linear = tvm.IRModule.from_expr(MyModuleMixture["linear0"].with_attr("global_symbol", "main"))
    database = ms.tune_tir(
        mod=mod_linear,
        target="llvm --num-cores=1",
        max_trials_global=2,
        num_trials_per_iter=2,
        work_dir=str(tmp_path / "tune_tmp"),
        task_name="main",
    )
    sch = ms.tir_integration.compile_tir(database, mod_linear, "llvm --num-cores=1")

    MyModuleWithParams2 = relax.transform.BindParams("main", nd_params)(MyModuleMixture)
    new_func = sch.mod["main"].with_attr("global_symbol", "linear0")
    gv = MyModuleWithParams2.get_global_var("linear0")
    MyModuleWithParams2.update_func(gv, new_func)
    vm = relax.VirtualMachine(relax.build(MyModuleWithParams2, target="llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](data_nd).numpy(), expected, rtol=1e-3, atol=1e-2)
    ftimer = vm.module.time_evaluator("main", tvm.cpu(), number=100)
    assert ftimer(data_nd).mean > 0
