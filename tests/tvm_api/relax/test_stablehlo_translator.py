"""`relax.frontend.stablehlo.from_stablehlo` takes text and modules of MLIR, and refuses unknown operations."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.script.mlir_text import MLIRSyntaxError
from tirax.tvm_api import relax
from tirax.tvm_api.relax.frontend.stablehlo import from_stablehlo

PROGRAM = """
module @jit_f {
  func.func public @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
"""


class _Operation:
    """What is taken from an operation of jaxlib's MLIR: its text."""

    def get_asm(self) -> str:
        return PROGRAM


class _Module:
    operation = _Operation()


@pytest.mark.parametrize("program", [PROGRAM, _Module()])
def test_programs_become_modules_that_run(program):
    mod = from_stablehlo(program, [((2, 3), "float32")] * 2)
    assert isinstance(mod, tvm.IRModule)
    assert [param.name_hint for param in mod["main"].params] == ["arg0", "arg1"]
    run = relax.VirtualMachine(relax.build(mod, "llvm"), tvm.cpu())["main"]
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(run(tvm.nd.array(x), tvm.nd.array(x)).numpy(), x + x)


def test_names_that_no_dialect_has_are_refused():
    with pytest.raises(MLIRSyntaxError, match="stablehlo.nothing"):
        from_stablehlo(PROGRAM.replace("stablehlo.add", "stablehlo.nothing"))
