"""`tvm.script.ir_builder.relax`: graph functions by calls that read like TVMScript."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api import relax
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.script.ir_builder import IRBuilder
from tirax.tvm_api.script.ir_builder import relax as builder


def test_a_function_is_what_the_script_is():
    with IRBuilder() as ib, builder.function(is_pure=False):
        R.func_name("first")
        R.func_attr({"Primitive": 1})
        R.func_ret_struct_info(R.Tensor(ndim=1, dtype="float32"))
        x = R.arg("x", R.Tensor(("n",), "float32"))
        with R.dataflow() as frame:
            y = R.emit(R.add(x, x), R.Tensor(dtype="float32"))
            R.output(R.emit(R.exp(y)), y)
        z = R.arg("z", R.Tensor(dtype="float32"))
        cast = R.emit_match_cast(z, R.Tensor(("m",), "float32"))
        var = relax.Var("named", R.Tensor(("n",), "float32"))
        R.emit_var_binding(relax.VarBinding(var, R.add(*frame.output_vars)))
        R.emit(R.negative(cast))
        R.func_ret_value(var)

    @R.function(pure=False)
    def first(x: R.Tensor(("n",), "float32"), z: R.Tensor(dtype="float32")):
        R.func_attr({"Primitive": 1})
        with R.dataflow():
            y = R.add(x, x)
            e = R.exp(y)
            R.output(e, y)
        m = T.int64()
        cast = R.match_cast(z, R.Tensor((m,), "float32"))
        named = R.add(e, y)
        negative = R.negative(cast)
        return named

    tvm.ir.assert_structural_equal(ib.get(), first)
    assert ib.get().name == "first" and "R.output(lv, lv1)" in ib.get().script()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda x: None, "has no result"),
        (lambda x: R.output(x), "is allowed in a dataflow block only"),
        (lambda x: R.emit(x, R.Tensor((9,), "float32")), "not what is declared"),
        (lambda x: (R.emit(x), R.func_name("late")), "before the bindings"),
        (lambda x: (R.func_ret_struct_info(R.Shape(ndim=2)), R.func_ret_value(x)), "result is not what is declared"),
    ],
)
def test_what_does_not_fit_is_refused(use, message):
    with pytest.raises(TiraxError, match=message), IRBuilder(), builder.function():
        use(R.arg("x", R.Tensor((4,), "float32")))
    assert not IRBuilder.is_in_scope()


def test_outside_of_a_function():
    with IRBuilder(), pytest.raises(TiraxError, match="no function is being built"):
        R.emit(R.const(1))
