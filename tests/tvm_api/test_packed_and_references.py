"""`tvm.testing`'s packed functions, `tvm.topi.testing`'s references, and what struct info refuses."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.tvm_api import relax, tir
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.testing.packed import PACKED
from tirax.tvm_api.topi import testing

rng = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("echo", (np.int64(2**62),), 2**62),
        ("AcceptsBool", (1,), True),
        ("AcceptsInt", (True,), 1),
        ("AcceptsObjectRef", (3.5,), 3.5),
        ("AcceptsObjectRefArray", ([True, 17],), True),
        ("AcceptsMapReturnsValue", ({"a": 1}, "a"), 1),
        ("AcceptsMapReturnsMap", ({"a": False},), {"a": False}),
    ],
)
def test_packed_functions_give_back_what_they_take(name, args, expected):
    function = tvm.get_global_func(f"testing.{name}")
    assert function is PACKED[f"testing.{name}"]
    result = function(*args)
    assert result == expected and type(result) is type(expected)


def test_numbers_become_constants():
    values = tvm.get_global_func("testing.AcceptsArrayOfPrimExpr")([1, False, 2.5, tir.Var("n", "int64")])
    assert [v.dtype for v in values] == ["int32", "bool", "float32", "int64"]
    assert isinstance(values[0], tir.IntImm) and isinstance(values[2], tir.FloatImm)
    (value,) = tvm.get_global_func("testing.AcceptsMapOfPrimExpr")({"a": 7}).values()
    assert int(value) == 7
    assert tvm.get_global_func("testing.AcceptsPrimExpr")(True).dtype == "bool"


def test_a_device_is_what_it_says():
    dev = tvm.cpu(2)
    assert tvm.testing.device_test(dev, dev.device_type, 2) == dev
    with pytest.raises(AssertionError, match="is not device 1"):
        tvm.testing.device_test(dev, dev.device_type, 1)


SLICES = [
    ([0, 2, 4], [5, 5, 7], [1, 1, 2], (slice(0, 5), slice(2, 5), slice(4, 7, 2))),
    ([0, 2, 4], [5, 5, 99], None, (slice(0, 5), slice(2, 5), slice(4, 99))),
    ([0, 2, 14], [0, 5, 1], [1, 1, -2], (slice(0, 0), slice(2, 5), slice(14, 1, -2))),
    ([-3, 8, 9], [99, -99, -99], [1, -1, -3], (slice(-3, None), slice(8, None, -1), slice(9, None, -3))),
]


@pytest.mark.parametrize(("begin", "end", "strides", "expected"), SLICES)
def test_slices(begin, end, strides, expected):
    x = rng.normal(size=(8, 9, 10))
    np.testing.assert_array_equal(testing.strided_slice_python(x, begin, end, strides), x[expected])
    some = testing.strided_slice_python(x, begin[1:], end[1:], strides and strides[1:], axes=[1, -1])
    np.testing.assert_array_equal(some, x[(slice(None), *expected[1:])])


def test_slices_by_size():
    x = rng.normal(size=(8, 9))
    np.testing.assert_array_equal(testing.strided_slice_python(x, [1, 2], [3, -1], slice_mode="size"), x[1:4, 2:])


def test_references_by_their_definitions():
    x, y = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 6, 5))
    np.testing.assert_allclose(testing.batch_matmul(x, y), np.einsum("bik,bjk->bij", x, y))
    swapped = testing.batch_matmul(x.swapaxes(1, 2), y.swapaxes(1, 2), "float32", True, False)
    np.testing.assert_allclose(swapped, np.einsum("bik,bjk->bij", x, y), rtol=1e-5)
    assert swapped.dtype == np.float32
    soft = testing.softmax_python(x, 1)
    np.testing.assert_allclose(soft.sum(axis=1), np.ones((3, 5)))
    np.testing.assert_allclose(np.exp(testing.log_softmax_python(x, 1)), soft)
    indices = rng.integers(0, 4, size=(3, 2, 5))
    assert testing.gather_python(x, 1, indices)[2, 1, 3] == x[2, indices[2, 1, 3], 3]
    normal = testing.layer_norm_python(x, np.full(5, 2.0), np.ones(5), -1, epsilon=0.0)
    np.testing.assert_allclose(normal.mean(axis=-1), np.ones((3, 4)))
    np.testing.assert_allclose(normal.std(axis=-1), np.full((3, 4), 2.0))
    both = testing.layer_norm_python(x, np.ones((4, 5)), None, [1, 2], epsilon=0.0)
    np.testing.assert_allclose(both.reshape(3, -1).std(axis=1), np.ones(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relax.PrimStructInfo([1]), "a dtype is a name"),
        (lambda: relax.ShapeStructInfo(1), "a shape is a sequence of extents"),
        (lambda: relax.ShapeStructInfo([1, 2], ndim=2), "either the extents of a shape are given, or their number"),
        (lambda: relax.TupleStructInfo(1), "the fields of a tuple are a sequence"),
    ],
)
def test_struct_info_refuses(make, message):
    with pytest.raises(TiraxError, match=message):
        make()
    assert issubclass(ShapeError, ValueError)


def test_captured_lists_mean_what_is_in_them():
    shape = [tir.Var("n", "int64"), 4]

    @R.function
    def captured(x: R.Tensor(shape, ndim=-1, dtype="float32")):
        return x

    @R.function
    def written(x: R.Tensor(("n", 4), "float32")):
        return x

    tvm.ir.assert_structural_equal(captured.with_attr("global_symbol", "f"), written.with_attr("global_symbol", "f"))


def test_functions_are_known_by_their_names():
    tvm.register_func("tests.env_func.next", lambda x: x + 1, override=True)
    function, again = (tvm.ir.EnvFunc.get("tests.env_func.next") for _ in range(2))
    tvm.ir.assert_structural_equal(function, again)
    assert function(2) == 3 and tvm.ir.structural_hash(function) == tvm.ir.structural_hash(again)
    assert not tvm.ir.structural_equal(function, tvm.ir.EnvFunc.get("testing.echo"))
    with pytest.raises(TiraxError, match="tests.env_func.none"):
        tvm.ir.EnvFunc.get("tests.env_func.none")


def test_values_of_several_types():
    half, kind = (tvm.get_global_func(f"testing.{name}") for name in ("ReturnsVariant", "AcceptsVariant"))
    assert half(42) == 21 and half(42).dtype == "int64" and half(17) == "argument was odd"
    assert [kind(value) for value in ("a text", 17)] == ["runtime.String", "IntImm"]
    with pytest.raises(DTypeError, match="neither a text nor an integer"):
        kind(0.5)
