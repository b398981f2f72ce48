"""What builders emit is named by topi's functions, those that a table makes as well."""

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import relax, topi


@pytest.mark.parametrize(
    ("function", "arguments", "shape"),
    [
        ("nn.conv2d", (1, 0, 1), (2, 3, 4, 4)),
        ("nn.pool2d", ([2, 2], [1, 1], [1, 1], [0, 0, 0, 0], "max"), (1, 2, 4, 4)),
        ("nn.relu", (), (2,)),
        ("exp", (), (2,)),
        ("sum", (), (2,)),
    ],
)
def test_emitted(function, arguments, shape):
    te_func = topi
    for part in function.split("."):
        te_func = getattr(te_func, part)
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    tensors = [x, x] if "conv" in function else [x]
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(te_func, *tensors, *arguments))
    name = function.rpartition(".")[2]
    assert name in [g.name_hint for g in builder.get().get_global_vars()]
    assert isinstance(builder.get()[name], tvm.tir.PrimFunc)


def test_scalar_parameters_stand_where_they_are_used():
    """A variable that no shape determines is a parameter of the function, read as a script reads it."""
    m = tvm.tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo((10,), "float32"))
    shape = relax.Var("s", relax.ShapeStructInfo([m]))
    builder = relax.BlockBuilder()

    def moved(a, by):
        return tvm.te.compute(a.shape, lambda i: a[i + by], name="B")

    with builder.function("main", [x, shape]):
        builder.emit_func_output(builder.emit_te(moved, x, m))
    func = builder.get()["moved"]
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
