"""Results that no annotation declares forget the variables that hold their shapes; known ones stay."""

from tirax.handles.relax import analysis
from tirax.handles.relax.expr import Var
from tirax.handles.struct_info import ShapeStructInfo, TensorStructInfo
from tirax.tvm_api.script import from_source

SOURCE = """
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16,), "float32"), s: R.Shape(ndim=2)):
        y = R.reshape(x, s)
        return y
"""


def test_deduced_results():
    deduced = from_source(SOURCE).script()
    assert '-> R.Tensor(dtype="float32", ndim=2):' in deduced and "y: R.Tensor(s, " in deduced


def test_known_variables_stay():
    shape = Var("shape", ShapeStructInfo(ndim=2))
    info = TensorStructInfo(shape, "int32")
    assert analysis.erase_to_well_defined(info) == TensorStructInfo(None, "int32", ndim=2)
    assert analysis.erase_to_well_defined(info, None, {shape: shape}) == info
