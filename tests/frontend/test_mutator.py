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


@R.function
def two_blocks(x: R.Tensor((4,), "float32")):
    y = R.add(x, x)
    with R.dataflow():
        z = R.exp(y)
        R.output(z)
    return z


def test_bodies_and_the_variables_of_bindings_are_visited():
    log = []

    @mutator
    class Logging(PyExprMutator):
        def visit_seq_expr_(self, seq):
            log.append("SeqExpr")
            return super().visit_seq_expr_(seq)

        def visit_var_def_(self, var):
            log.append(var.name_hint)
            return Var("w", var.struct_info) if var.name_hint == "y" else var

    new = Logging().visit_expr(two_blocks)
    assert log == ["x", "SeqExpr", "y", "z"]
    assert new.script() == two_blocks.script().replace("y =", "w =").replace("(y)", "(w)").replace("y:", "w:")


def test_a_body_may_be_put_in_the_place_of_another():
    @mutator
    class Other(PyExprMutator):
        def visit_seq_expr_(self, seq):
            return SeqExpr([], const(1.0)) if len(seq.blocks) == 2 else super().visit_seq_expr_(seq)

    assert 'return R.const(1.0, "float32")' in Other().visit_expr(two_blocks).script()


def test_blocks_of_no_function_are_rebuilt():
    x, y = (Var(name, TensorStructInfo((4,), "float32")) for name in "xy")
    body = SeqExpr([BindingBlock([VarBinding(y, tvm.relax.op.exp(x))])], y)
    new = PyExprMutator().visit_expr(body)
    assert isinstance(new, SeqExpr) and new is not body
    tvm.ir.assert_structural_equal(new, body, map_free_vars=True)
