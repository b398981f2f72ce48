"""Tensors whose shape is a variable with known extents: which operators keep the variable, which compute."""

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, ShapeError
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.handles.relax.names import ShapeStructInfo, TensorStructInfo

KNOWN = rx.Var("s", ShapeStructInfo((2, 3)))
ONES = rx.Var("o", ShapeStructInfo((1, 3)))


POOLED = rx.Var("p", ShapeStructInfo((1, 2, 8, 8)))


def ids():
    return rx.Var("ids", TensorStructInfo((2,), "int64"))


def x(shape=KNOWN, dtype="float32"):
    return rx.Var("x", TensorStructInfo(shape, dtype))


def inferred(name, *args, **attrs):
    return BlockBuilder().normalize(call_operator(f"relax.{name}", *args, **attrs)).struct_info.script()


NAMED, NAMED_INT = 'R.Tensor(s, dtype="float32")', 'R.Tensor(s, dtype="int32")'
RANK2 = 'R.Tensor(dtype="float32", ndim=2)'
ROWS = [
    ("exp", [x()], {}, NAMED),
    ("astype", [x()], {"dtype": "int32"}, NAMED_INT),
    ("zeros_like", [x()], {}, NAMED),
    ("argsort", [x()], {}, NAMED_INT),
    ("cumsum", [x()], {"axis": 0}, NAMED),
    ("permute_dims", [x()], {"axes": [0, 1]}, NAMED),
    ("permute_dims", [x()], {"axes": [1, 0]}, RANK2),
    ("concat", [[x()]], {}, NAMED),
    ("concat", [[x(), x()]], {}, RANK2),
    ("zeros", [KNOWN], {"dtype": "float32"}, NAMED),
    ("broadcast_to", [x(ONES), KNOWN], {}, NAMED),
    ("reshape", [x(), KNOWN], {}, 'R.Tensor((2, 3), dtype="float32")'),
    ("reshape", [x(), (3, -1)], {}, 'R.Tensor((3, 2), dtype="float32")'),
    ("squeeze", [x(ONES)], {"axis": [0]}, 'R.Tensor(dtype="float32", ndim=1)'),
    ("squeeze", [x()], {}, NAMED),
    ("add", [x(), x(ONES)], {}, 'R.Tensor((2, 3), dtype="float32")'),
    ("where", [x(dtype="bool"), x(), x(ONES)], {}, RANK2),
    ("strided_slice", [x(), [1], [0], [2]], {}, 'R.Tensor((2, 2), dtype="float32")'),
    ("strided_slice", [x(), [], [], []], {}, 'R.Tensor((2, 3), dtype="float32")'),
    ("collapse_sum_to", [x(), (1, 3)], {}, 'R.Tensor((1, 3), dtype="float32")'),
    ("nn.adaptive_avg_pool2d", [x(POOLED)], {}, 'R.Tensor(p, dtype="float32")'),
    ("nn.nll_loss", [x(), ids()], {"reduction": "none"}, 'R.Tensor(dtype="float32", ndim=1)'),
    ("sum", [x()], {"axis": [1]}, 'R.Tensor(dtype="float32", ndim=1)'),
]


@pytest.mark.parametrize("name, args, attrs, expected", ROWS)
def test_inference(name, args, attrs, expected):
    assert inferred(name, *args, **attrs) == expected


REFUSED = [
    ("reshape", [x(), (4, 2)], ShapeError, "another number of elements"),
    ("reshape", [x((2, 3)), (4, "n")], ShapeError, "another number of elements"),
    ("broadcast_to", [x(), (2, 4)], ShapeError, "does not broadcast"),
    ("collapse_sum_to", [x(), (2, 4)], ShapeError, "broadcast to data"),
    ("collapse_sum_to", [x(("n", 3)), ("m", 3)], ShapeError, "broadcast to data"),
    ("squeeze", [x(), [0]], ShapeError, "cannot be squeezed"),
    ("concat", [x()], DTypeError, "expects a tuple of tensors"),
    ("full", [4, rx.const(1.0)], ShapeError, "sequence of extents"),
    ("full", [(4,), rx.Var("v", TensorStructInfo(None, "float32"))], ShapeError, "must be a scalar"),
    ("strided_slice", [x(), [1], [], [2]], ShapeError, "equally many"),
    ("nn.pad", [rx.Var("v", TensorStructInfo(None, "float32")), [1, 1]], ShapeError, "for each dimension"),
    (
        "nn.layer_norm",
        [rx.Var("v", TensorStructInfo(None, "float32")), x((2, 3)), x((3,)), [0]],
        ShapeError,
        "each of axes",
    ),
    (
        "nn.batch_norm",
        [rx.Var("v", TensorStructInfo(None, "float32")), x((3,)), x((4,)), x((3,)), x((3,)), 1],
        ShapeError,
        "than the others",
    ),
    ("permute_dims", [rx.Var("v", TensorStructInfo(None, "float32")), [1, 0]], ShapeError, "known rank"),
]


@pytest.mark.parametrize("name, args, error, text", REFUSED)
def test_refusals(name, args, error, text):
    with pytest.raises(error, match=text):
        inferred(name, *args)


def test_a_named_shape_is_read_and_compared_by_its_variable_and_its_extents():
    shaped = TensorStructInfo(KNOWN, "float32")
    assert str(shaped) == '!relax.tensor<[2, 3] of "s", f32>' and shaped.shape is KNOWN and shaped.ndim == 2
    assert shaped != TensorStructInfo((2, 3), "float32")
    again = rx.Var("y", shaped).struct_info.shape
    assert again.name_hint == "s" and again.struct_info == ShapeStructInfo((2, 3))


def test_a_pooling_into_another_layout_has_a_type_and_is_not_computed():
    data = x((1, 4, 8, 8))
    call = call_operator("relax.nn.max_pool2d", data, [2, 2], [2, 2], layout="NCHW", out_layout="NHWC")
    assert call.struct_info.script() == 'R.Tensor((1, 4, 4, 4), dtype="float32")'
    with pytest.raises(ShapeError, match="does not change the layout"):
        call.ssa.owner.places()


def test_floats_of_python_are_single_values_with_a_known_value():
    value = rx.PrimValue(1.5)
    assert value.struct_info.script() == "R.Prim(value=T.float32(1.5))" and value.value.dtype == "float32"
    assert rx.PrimValue(np.float64(1.5)).value.dtype == "float64"
