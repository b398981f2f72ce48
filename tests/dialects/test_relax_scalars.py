"""Binary operators on a tensor and a scalar that is known when the program runs."""

import numpy as np
import pytest

from tirax.diagnostics import DTypeError
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.interpreter import interpret
from tirax.runtime import VirtualMachine
from tirax.script import parse_source
from tirax.tvm_api import relax

SCALAR, TENSOR = rx.Var("s", rx.PrimStructInfo("float32")), rx.Var("x", rx.TensorStructInfo((2, "n"), "float32"))


def test_struct_info():
    assert call_operator("relax.add", TENSOR, SCALAR).struct_info == TENSOR.struct_info
    assert call_operator("relax.less", SCALAR, TENSOR).struct_info == rx.TensorStructInfo((2, "n"), "bool")
    assert call_operator("relax.multiply", SCALAR, SCALAR).struct_info == rx.PrimStructInfo("float32")
    full = rx.Var("i", rx.PrimStructInfo("int32"))
    with pytest.raises(DTypeError, match="one dtype"):
        call_operator("relax.add", TENSOR, full).op_handle.inferred()
    with pytest.raises(DTypeError, match="x2 must be of"):
        call_operator("relax.bitwise_and", full, SCALAR).op_handle.inferred()


@pytest.mark.parametrize("n", [0, 1, 5])
def test_native_code_and_the_interpreter_agree_with_numpy(n):
    module = parse_source("""
@R.function
def main(x: R.Tensor(("n", 3), "float32"), s: R.Prim("float32")):
    a = R.add(x, s)
    b = R.divide(s, a)
    return R.maximum(b, s)
""")
    x = np.random.default_rng(n).random((n, 3), dtype="float32")
    expected = np.maximum(np.float32(2.5) / (x + np.float32(2.5)), np.float32(2.5))
    native = VirtualMachine(relax.build(module))["main"](x, 2.5).numpy()
    np.testing.assert_allclose(native, expected, rtol=1e-6)
    np.testing.assert_allclose(interpret(module, "main", (x, 2.5)), expected, rtol=1e-6)
