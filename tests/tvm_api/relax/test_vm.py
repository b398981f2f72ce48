"""The virtual machine with TVM's names."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return R.add(x, x)

    @R.function
    def shape(x: R.Tensor(("n",), "float32")) -> R.Shape(["n", "n * 2"]):
        n = T.int64()
        return R.shape([n, n * 2])
"""
X = np.ones(3, "float32")


@pytest.fixture(scope="module")
def executable():
    return relax.build(from_source(SCRIPT), "llvm")


def test_shapes_equal_lists(executable):
    assert relax.VirtualMachine(rt_mod=executable, device=tvm.cpu())["shape"](tvm.nd.array(X)) == [3, 6]


def test_functions_with_state(executable):
    vm = relax.VirtualMachine(executable, tvm.cpu())
    with pytest.raises(ValueError, match="no inputs were set"):
        vm.invoke_stateful("main")
    vm.set_input("main", tvm.nd.array(X))
    with pytest.raises(ValueError, match="was not invoked"):
        vm.get_outputs("main")
    vm.time_evaluator("invoke_stateful", tvm.cpu(), number=1)("main")
    np.testing.assert_array_equal(vm.get_outputs("main").numpy(), X + X)
    assert vm.invoke_closure(vm["main"], tvm.nd.array(X)).shape == (3,)
    with pytest.raises(UnsupportedError, match="instruments of a virtual machine"):
        vm.set_instrument(print)


@pytest.mark.parametrize(
    ("value", "words"),
    [(X.astype("int32"), "dtype"), (X.reshape(1, 3), "match_cast.*ndim"), (X.astype("float64"), "dtype")],
)
def test_refused_arguments_are_value_errors_with_tvms_words(executable, value, words):
    vm = relax.VirtualMachine(executable, tvm.cpu())
    with pytest.raises(ValueError, match=words):
        vm["main"](tvm.nd.array(value))
    with pytest.raises(TypeError):
        vm["main"]([])
