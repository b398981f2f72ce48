"""Local functions that call themselves: read, printed, compared, made of handles, rewritten, run."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.dialects import relax as rx
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.functions.lookup import ops_of_type
from tirax.tvm_api import relax
from tirax.tvm_api.relax import transform
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n"
LOOP = """
        @R.function
        def f(i: R.Tensor((), "int32"), s: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            more = R.less(i, limit)
            if more:
                j = R.add(i, R.const(1, "int32"))
                t = R.{op}(s, x)
                r = f(j, t)
            else:
                r = s
            return r
"""
MAIN = """
    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Tensor((), "bool")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        limit = R.add(R.astype(k, "int32"), R.const(2, "int32"))
{loop}
        y = {result}
        return y
"""


def program(op="add", result='f(R.const(0, "int32"), x)'):
    return from_source(HEAD + MAIN.format(loop=LOOP.format(op=op), result=result))


def test_text_and_equality():
    mod = program()
    assert relax.analysis.well_formed(mod)
    again = from_source("from tvm.script import ir as I, relax as R, tir as T\n" + mod.script())
    tvm.ir.assert_structural_equal(again, mod)
    assert tvm.ir.structural_hash(again) == tvm.ir.structural_hash(mod)
    assert not tvm.ir.structural_equal(mod, program("multiply"))
    tvm.ir.assert_structural_equal(mod.clone(), mod)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_it_runs(n):
    mod = program()
    x = np.arange(n, dtype=np.float32)
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    for k in (False, True):
        expected = x * (4.0 if k else 3.0)
        np.testing.assert_array_equal(interpret(mod.op, "main", [x, np.asarray(k)]), expected)
        np.testing.assert_array_equal(vm["main"](tvm.nd.array(x), tvm.nd.array(np.asarray(k))).numpy(), expected)


PASSES = [
    "CanonicalizeBindings", "ConvertToDataflow", "DeadCodeElimination", "EliminateCommonSubexpr", "FoldConstant",
    "InlinePrivateFunctions", "LambdaLift", "LegalizeOps", "Normalize", "RemoveUnusedParameters", "ToNonDataflow",
    "TopologicalSort",
]  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_passes_keep_its_meaning(name):
    before = program()
    after = getattr(transform, name)()(before)
    assert relax.analysis.well_formed(after)
    assert_same_meaning(before.op, after.op)


def test_one_that_only_it_uses_goes():
    mod = transform.DeadCodeElimination()(program(result="R.add(x, x)"))
    assert not list(ops_of_type(mod.op, rx.ClosureOp))


def test_as_a_value_of_itself():
    """What is passed on refers to the function, inside of it as well."""
    mod = from_source(
        HEAD
        + """
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def f(a: R.Tensor(("m",), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("m",), "float32"):
            m = T.int64()
            if c:
                pair = (f, a)
                g = pair[0]
                r = g(a, R.const(False, "bool"))
            else:
                r = R.add(a, a)
            return r
        y = f(x, R.const(True, "bool"))
        return y
"""
    )
    after = transform.LambdaLift()(mod)
    assert not list(ops_of_type(after.op, rx.ClosureOp))
    assert_same_meaning(mod.op, after.op)


def test_from_handles():
    """The variable of the binding stands for the function in its own body."""
    scalar = relax.TensorStructInfo((), "int32")
    f, a, b, y = (relax.Var(n, t) for n, t in zip("faby", (relax.FuncStructInfo([scalar], scalar), *[scalar] * 3)))
    inner = relax.Function(
        [a], relax.SeqExpr([relax.BindingBlock([relax.VarBinding(b, relax.Call(f, [a]))])], b), scalar
    )
    x = relax.Var("x", scalar)
    block = relax.BindingBlock([relax.VarBinding(f, inner), relax.VarBinding(y, relax.Call(f, [x]))])
    mod = tvm.IRModule.from_expr(relax.Function([x], relax.SeqExpr([block], y), scalar))
    assert relax.analysis.well_formed(mod)
    assert "def f(a" in mod.script()
    assert "= f(a)" in mod.script()


def test_without_a_declared_result_its_name_is_not_known_inside():
    text = HEAD + MAIN.format(loop=LOOP.format(op="add"), result="x")
    text = text.replace('s: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32")', 's: R.Tensor((n,), "float32"))')
    with pytest.raises(Exception, match="'f'"):
        from_source(text)
