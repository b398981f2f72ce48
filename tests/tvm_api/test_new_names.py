"""Programs written with the names that TVM has from 0.22 on: `tirx` and `s_tir` for `tir`, `T.sblock` for `T.block`."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import relax, s_tir, te, tir, tirx
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def matmul(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        Y = T.sblock_alloc_buffer((16, 16), "float32")
        for i, j, k in T.grid(16, 16, 16):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(16, 16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({"mine": 1})
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))

    @R.function
    def main(x: R.Tensor((16, 16), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.matmul, (x, x), R.Tensor((16, 16), "float32"))
            z = R.tanh(y)
            R.output(z)
        return z


def test_a_program_runs_and_is_scheduled():
    x = np.random.default_rng(0).standard_normal((16, 16)).astype("float32")
    schedule = s_tir.Schedule(Module)
    schedule.work_on("matmul")
    block = schedule.get_sblock("Y")
    i, _, _ = schedule.get_loops(block)
    schedule.split(i, [None, 4])
    schedule.reverse_compute_at(schedule.get_sblock("C"), schedule.get_loops(block)[0])
    for module in (Module, schedule.mod):
        result = relax.VirtualMachine(relax.build(module), tvm.cpu())["main"](tvm.nd.array(x)).numpy()
        np.testing.assert_allclose(result, np.tanh(np.maximum(x @ x, 0)), rtol=1e-4, atol=1e-5)
    assert '"mine": 1' in schedule.mod.script()


def test_the_names_are_those_of_tir():
    assert tirx.Var is tir.Var and s_tir.Schedule is tir.Schedule and s_tir.SBlock is tir.Block
    assert tirx.transform.StmtSimplify is tir.transform.Simplify and s_tir.meta_schedule is tvm.meta_schedule
    assert tirx.stmt_functor.substitute is tir.stmt_functor.substitute
    a = te.placeholder((4,), name="a")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + tirx.const(1.0, "float32"), name="b")])
    assert tvm.ir.structural_equal(tirx.transform.StmtSimplify()(tvm.IRModule({"main": func}))["main"], func)
    with pytest.raises(AttributeError):
        assert tirx.nothing
