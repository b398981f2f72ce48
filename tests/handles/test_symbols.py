"""What a function is called in its module, and what it is called outside: two names."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.handles.equality import structural_equal
from tirax.handles.module import IRModule
from tirax.schedule import Schedule
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@T.prim_func
def copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("copy"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]


def test_a_function_keeps_its_symbol_in_a_module():
    module = IRModule({"main": copy})
    assert module["main"].attrs["global_symbol"] == "copy"
    assert 'T.func_attr({"global_symbol": "copy"})' in module.script()
    assert structural_equal(module["main"], copy)
    assert not structural_equal(module, IRModule({"main": copy.with_attr("global_symbol", "main")}))
    assert not structural_equal(module["main"], copy.with_attr("global_symbol", "main"))
    assert IRModule({"copy": module["main"]})["copy"].op.func_attrs is None


def test_symbols_are_converted_both_ways():
    module = IRModule({"main": copy})
    renamed = module["main"].with_attr("global_symbol", "other")
    assert (renamed.name, renamed.attrs["global_symbol"]) == ("other", "other")
    private = module["main"].without_attr("global_symbol")
    assert private.private and "global_symbol" not in private.attrs
    assert structural_equal(private, copy.without_attr("global_symbol"))


def test_a_schedule_keeps_the_symbol():
    schedule = Schedule(copy)
    assert schedule.mod["main"].attrs["global_symbol"] == "copy"
    assert structural_equal(schedule.mod["main"], copy)


def test_a_name_of_an_output_is_no_binding():
    @R.function
    def plain(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = x
            R.output(y)
        return y

    @R.function
    def among_others(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            y = x
            z = R.exp(x)
            R.output(y, z)
        return y

    @R.function
    def swapped(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            z = R.exp(x)
            y = x
            R.output(y, z)
        return y

    assert structural_equal(among_others.without_attr("global_symbol"), swapped.without_attr("global_symbol"))
    assert not structural_equal(plain.without_attr("global_symbol"), swapped.without_attr("global_symbol"))


def test_private_functions_have_no_symbol():
    text = '@T.prim_func(private=True)\ndef main(n: T.int32):\n    T.func_attr({"global_symbol": "main"})\n'
    with pytest.raises(TiraxError, match="the private function 'main' has a global_symbol"):
        from_source(text + "    T.evaluate(n)\n")
