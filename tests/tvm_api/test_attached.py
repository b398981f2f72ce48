"""Methods and properties that only programs of TVM call."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError
from tirax.ir.passes.options import OptionTypeError, UnknownOptionError
from tirax.tvm_api import tir
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R


@I.ir_module
class Module:
    @R.function(private=True)
    def main(x: R.Tensor(("n", 4), "float32")):
        y = Module.twice(x)
        return y

    @R.function(private=True)
    def twice(x: R.Tensor(("m", 4), "float32")):
        y = Module.add(x)
        return y

    @R.function(private=True)
    def add(x: R.Tensor(("k", 4), "float32")):
        y = R.add(x, x)
        return y


@R.function(private=True)
def inlined(x: R.Tensor(("n", 4), "float32")):
    y = R.add(x, x)
    return y


def test_functions_are_inlined():
    new = Module["main"].inline_functions(
        {"twice": Module["twice"], Module.get_global_var("add"): Module["add"]},
    )
    tvm.ir.assert_structural_equal(new, inlined)
    assert "Module.twice" in Module["main"].script() or "cls.twice" in Module.script()
    with pytest.raises(ValueError, match="named twice"):
        Module["main"].inline_functions({"add": Module["add"], Module.get_global_var("add"): Module["add"]})


def test_functions_are_renamed():
    new = Module.replace_global_vars({"twice": "double", Module.get_global_var("add"): tvm.ir.GlobalVar("sum")})
    assert {v.name_hint for v in new.get_global_vars()} == {"main", "double", "sum"}
    assert "cls.double(x)" in new.script() and "cls.sum(x)" in new.script() and "cls.twice" in Module.script()
    with pytest.raises(NameLookupError, match="no such function"):
        Module.replace_global_vars({"other": "double"})
    with pytest.raises(NameLookupError, match="one name"):
        Module.replace_global_vars({"twice": "add"})


def test_options_of_contexts():
    context = tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}})
    assert context.config["tir.UnrollLoop"].auto_max_step == 10
    assert context.config["tir.UnrollLoop"].explicit_unroll is True
    with pytest.raises(AttributeError):
        _ = context.config["tir.UnrollLoop"].depth
    with pytest.raises(UnknownOptionError, match="no option 'depth'"):
        tvm.transform.PassContext(config={"tir.UnrollLoop": {"depth": 10}})
    with pytest.raises(OptionTypeError):
        tvm.transform.PassContext(config={"tir.UnrollLoop": 1})
    assert tvm.transform.PassContext.list_configs()["tir.disable_vectorize"] == {"type": "bool"}


def test_devices():
    assert tvm.cpu().total_global_memory > 1 << 20 and tvm.cpu().max_threads_per_block is None
    assert tvm.cuda().total_global_memory is None and not tvm.device("cuda").exist


def test_modules_are_called():
    A = tvm.te.placeholder((4,), "float32", "A")
    B = tvm.te.compute((4,), lambda i: A[i] + 1.0, "B")
    built = tvm.build(tvm.te.create_prim_func([A, B]), target="llvm")
    a, b = tvm.nd.array(np.zeros(4, "float32")), tvm.nd.array(np.zeros(4, "float32"))
    built(a, b)
    built.entry_func(b, a)
    assert a.numpy().tolist() == [2.0] * 4 and built.implements_function("main") and built.imported_modules == []
    assert a.same_as(a) and not a.same_as(b)


def test_containers():
    array, mapping = tvm.runtime.convert([1, [2]]), tvm.runtime.convert({"a": 1})
    assert array == [1, [2]] and isinstance(array, tvm.ir.Array) and array[1].type_key == "Array"
    assert mapping == {"a": 1} and isinstance(mapping, tvm.ir.Map) and mapping.type_key == "Map"
    assert isinstance({}, tvm.ir.Map) and not isinstance([], tvm.ir.Map)


def test_keywords_of_scalar_operations():
    x, f = tir.Var("x", "int32"), tir.Var("f", "float32")
    assert str(tir.bitwise_and(x=x, y=3)) == str(x & 3) == str(tir.bitwise_and(x, 3, None))
    assert str(tir.if_then_else(cond=x > 1, t=x, f=2, span=None)) == str(tir.if_then_else(x > 1, x, 2))
    assert str(tir.power(x=f, y=2.0)) == str(tir.pow(f, 2.0)) and str(tir.abs(x=x)) == str(tir.abs(x))
    with pytest.raises(TypeError):
        tir.isnan(value=f)


R_X = tvm.relax.Var("x", tvm.relax.TensorStructInfo((4,), "float32"))


def test_implementation_modules():
    from tirax.tvm_api.meta_schedule.runner.runner import PyRunner
    from tirax.tvm_api.relax.op.binary import add
    from tirax.tvm_api.topi.sort import argsort

    assert argsort is tvm.topi.argsort and PyRunner is tvm.meta_schedule.runner.PyRunner
    assert str(add(R_X, R_X).op) == str(tvm.relax.op.add(R_X, R_X).op)
    assert callable(tvm.topi.sort)
    with pytest.raises(ImportError):
        from tirax.tvm_api.relax.op.binary import nothing  # noqa: F401


def test_functions_that_call_each_other_are_refused():
    @I.ir_module
    class Endless:
        @R.function(private=True)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y: R.Tensor((4,), "float32") = Endless.main(x)
            return y

    with pytest.raises(TiraxError, match="call each other"):
        Endless["main"].inline_functions({"main": Endless["main"]})
