"""Helpers of `tvm.topi.utils`: products, places and indices, known numbers, targets."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import ShapeError
from tirax.tvm_api import te, tir, topi
from tirax.tvm_api.topi import utils


def test_products_and_divisions():
    n = tir.Var("n", "int32")
    assert utils.prod((2, 3, 4)) == 24
    assert int(utils.prod(())) == 1
    tvm.ir.assert_structural_equal(utils.prod((n, 3)), n * 3)
    assert int(utils.ceil_div(10, 4)) == 3
    tvm.ir.assert_structural_equal(utils.simplify(utils.ceil_div(n * 4, 4)), n)
    assert utils.simplify(3) == 3


def test_places_and_indices_are_inverse():
    shape = (3, 4, 5)
    for place in range(60):
        indices = [int(i) for i in utils.unravel_index(place, shape)]
        assert indices == [place // 20, place // 5 % 4, place % 5]
        assert utils.ravel_index(indices, shape) == place
    i = tir.Var("i", "int32")
    tvm.ir.assert_structural_equal(utils.unravel_index(i, (3, 4)), [i // 4, i % 4])
    assert utils.unravel_index(0, (3, 0))[1] == 0
    assert utils.ravel_index((), ()) is None


def test_known_numbers():
    assert utils.get_float_tuple((0.5, tir.FloatImm("float32", 2.0))) == (0.5, 2.0)
    for other in (tir.Var("x", "float32"), 3):
        with pytest.raises(ValueError, match="constant"):
            utils.get_const_float(other)
    assert utils.is_empty_shape((2, tir.IntImm("int32", 0)))
    assert not utils.is_empty_shape((2, tir.Var("n", "int32")))


@pytest.mark.parametrize(("n", "most", "factor"), [(48, None, 16), (48, 8, 8), (7, None, 1), (64, 5, 4), (6, 1, 1)])
def test_powers_of_two(n, most, factor):
    assert utils.get_max_power2_factor(n, most) == factor


def test_swapped_elements_and_targets():
    assert utils.swap([1, 2, 3, 4], 1) == [1, 4, 3, 2]
    with tvm.target.Target("llvm"):
        assert utils.is_target("cpu")
        assert not utils.is_target(["gpu", "cuda"])
    with pytest.raises(ValueError, match="target"):
        utils.is_target("cpu")


def test_layouts_of_different_dimensions():
    with pytest.raises(ShapeError, match="different dimensions"):
        topi.layout_transform(te.placeholder((1, 2, 3, 4)), "NCHW", "NHW")
