"""Numbers of floating point among attributes come back from their text."""

import pytest

from tirax.script import parse_source
from tirax.script.mlir_text import parse_mlir

PROGRAM = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), g: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.nn.layer_norm(x, g, g, axes=[-1], epsilon={})
        return y
"""


@pytest.mark.parametrize("value", [1e-12, 2.5e-7, -1e39, 1e22, 1e300, 5e-324, 0.5, 3.0])
def test_round_trip(value):
    module = parse_source(PROGRAM.format(value))
    again = parse_mlir(str(module))
    (norm,) = (op for op in again.walk() if op.name == "relax.nn.layer_norm")
    assert norm.attr("epsilon") == value
