"""Mutators visit what is called, and variables keep what they are declared as."""

from tirax import tvm_api as tvm
from tirax.tvm_api.ir import Op
from tirax.tvm_api.relax import BindingBlock, GlobalVar, SeqExpr, TensorStructInfo, Var, VarBinding, const
from tirax.tvm_api.relax.expr_functor import PyExprMutator, mutator
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Module:
    @R.function(private=True)
    def old(x: R.Tensor((2,), "float32")):
        return R.exp(x)

    @R.function(private=True)
    def new(x: R.Tensor((2,), "float32")):
        return R.log(x)

    @T.prim_func(private=True)
    def f(a: T.Buffer((2,)), b: T.Buffer((2,))):
        b[0] = a[1]

    @T.prim_func(private=True)
    def g(a: T.Buffer((2,)), b: T.Buffer((2,))):
        b[1] = a[0]

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        w = R.add(x, x)
        y = cls.old(w)
        z = R.call_tir(cls.f, (y,), R.Tensor((2,), "float32"))
        s = R.sin(z)
        return s


def test_operators_and_functions_that_are_called_are_visited():
    @mutator
    class Renamed(PyExprMutator):
        seen = []

        def visit_op_(self, op):
            self.seen.append(op.name)
            return Op.get("relax.cos") if op.name == "relax.sin" else op

        def visit_global_var_(self, var):
            return GlobalVar({"old": "new", "f": "g"}.get(var.name_hint, var.name_hint))

    rewritten = Renamed(Module)
    values = [b.value for b in rewritten.visit_expr(Module["main"]).body.blocks[0].bindings]
    assert rewritten.seen == ["relax.add", "relax.call_tir", "relax.sin"]
    assert values[1].op == GlobalVar("new")
    assert values[2].args[0] == GlobalVar("g")
    assert values[3].op == Op.get("relax.cos")
    assert isinstance(values[2].struct_info, TensorStructInfo)
    kept = [b.value for b in PyExprMutator(Module).visit_expr(Module["main"]).body.blocks[0].bindings]
    assert [v.op for v in kept] == [
        Op.get("relax.add"),
        GlobalVar("old"),
        Op.get("relax.call_tir"),
        Op.get("relax.sin"),
    ]


def test_a_variable_stays_what_it_is_declared_as():
    x = Var("x", TensorStructInfo((tvm.tir.Var("n", "int64"),), "float32"))
    body = SeqExpr([BindingBlock([VarBinding(x, const(1, "int32"))])], x)
    assert body.struct_info == TensorStructInfo((), "int32")
    assert x.struct_info.dtype == "float32" and x.struct_info.ndim == 1
