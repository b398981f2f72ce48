"""Normalising and explaining arguments."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.runtime import FunctionInfo, NDArray, ObjectInfo, Parameter, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from tirax.runtime.arguments import bind_keywords, normalize_arguments, normalize_value
from tirax.runtime.dtypes import DTYPES
from tirax.runtime.errors import ArgumentError, DeviceError, DTypeError, ShapeError, TiraxError
from tirax.runtime.metadata import Info, MetadataError, dim_from_json, dim_text, dim_value, info_from_json

N, M = ("var", "n"), ("var", "m")


def function(*infos: Info, access: str = "read") -> FunctionInfo:
    return FunctionInfo("f", tuple(Parameter("xyzw"[i], info, access) for i, info in enumerate(infos)))


def tensor(*dims: Any, dtype: str = "float32") -> TensorInfo:
    return TensorInfo(dims, dtype)


def f32(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_good_arguments_are_passed_on_as_they_are():
    x = f32(3, 4)
    (result,) = normalize_arguments(function(tensor(N, 4)), x)
    assert result is x or (np.shares_memory(result, x) and type(result) is np.ndarray)


@pytest.mark.parametrize(
    "value",
    [
        f32(4, 3).T,
        f32(6, 4)[::2],
        f32(3, 8)[:, ::2],
        f32(3, 4)[::-1],
        f32(3, 4).astype(">f4"),
        np.broadcast_to(f32(4), (3, 4)),
        np.frombuffer(b"\0" + f32(3, 4).tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4),
    ],
    ids=["transposed", "rows", "columns", "reversed", "swapped", "broadcast", "unaligned"],
)
def test_inputs_of_other_layouts_are_copied(value: np.ndarray):
    (result,) = normalize_arguments(function(tensor(N, 4)), value)
    np.testing.assert_array_equal(result, value)
    assert result.flags.c_contiguous and result.flags.aligned and result.dtype is np.dtype("float32")


def test_copies_keep_zero_dimensions_and_empty_shapes():
    (result,) = normalize_arguments(function(tensor()), np.array(2.0, ">f4"))
    assert result.shape == () and result == 2
    (result,) = normalize_arguments(function(tensor(N, 4)), f32(0, 4).astype(">f4"))
    assert result.shape == (0, 4)


def test_equal_but_not_identical_dtypes_become_the_canonical_one():
    info = tensor(N, dtype="int64")
    (result,) = normalize_arguments(function(info), np.arange(3, dtype=np.longlong))
    assert result.dtype is np.dtype("int64")
    annotated = np.dtype("int64", metadata={"a": 1})
    (result,) = normalize_arguments(function(info), np.arange(3).astype(annotated))
    assert result.dtype is np.dtype("int64")


def test_subclasses_of_ndarray_become_arrays():
    class Mine(np.ndarray):
        pass

    (result,) = normalize_arguments(function(tensor(N)), f32(3).view(Mine))
    assert type(result) in (np.ndarray, NDArray)


def test_masked_arrays_are_refused():
    assert "masked" in error(ArgumentError, function(tensor(N)), np.ma.array(f32(3), mask=[True, False, False]))


def test_numpy_scalars_are_tensors_without_dimensions():
    (result,) = normalize_arguments(function(tensor()), np.float32(1.5))
    assert result == 1.5 and result.shape == ()


def test_torch_tensors(torch):
    value = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    (result,) = normalize_arguments(function(tensor(N, 4)), value)
    assert result.ctypes.data == value.data_ptr()
    (result,) = normalize_arguments(function(tensor(4, N)), value.T)
    np.testing.assert_array_equal(result, value.T.numpy())
    (result,) = normalize_arguments(function(tensor(N, dtype="bfloat16")), torch.ones(3, dtype=torch.bfloat16))
    assert result.dtype == "bfloat16"
    with pytest.raises(ArgumentError, match="'x'.*grad"):
        normalize_arguments(function(tensor(N)), torch.ones(3, requires_grad=True))
    with pytest.raises(ArgumentError, match="int64"):
        normalize_arguments(function(PrimInfo("int64")), torch.tensor(1.5))


def error(kind: type[Exception], info: FunctionInfo, *args: Any) -> str:
    with pytest.raises(kind) as caught:
        normalize_arguments(info, *args)
    return str(caught.value)


def test_wrong_count():
    text = error(ArgumentError, function(tensor(N), tensor(N)), f32(3))
    assert "'f' takes 2 arguments" in text and "found: 1 argument" in text and "missing: 'y'" in text
    assert "found: 2 arguments" in error(ArgumentError, function(tensor(N)), f32(3), f32(3))
    assert "found: 1 argument" in error(ArgumentError, function(), f32(3))


@pytest.mark.parametrize("value", [None, "text", [1.0], 3, 2.5, object()])
def test_wrong_kind(value: object):
    text = error(ArgumentError, function(tensor(N)), value)
    assert "argument 0 'x' of 'f': not an array" in text and type(value).__name__ in text


def test_wrong_dtype():
    text = error(DTypeError, function(tensor(N)), np.zeros(3))
    assert "argument 0 'x' of 'f'" in text and "expected: float32" in text and "found: float64" in text
    assert "astype('float32')" in text
    error(DTypeError, function(TensorInfo(None, None)), np.array([object()]))


def test_unknown_dtype_and_rank_take_anything():
    for value in (f32(2, 3), np.zeros((), bool), np.zeros((1, 1, 1), np.int8)):
        (result,) = normalize_arguments(function(TensorInfo()), value)
        np.testing.assert_array_equal(result, value)
    assert "number of dimensions" in error(ShapeError, function(TensorInfo(None, None, 2)), f32(3))


def test_wrong_rank():
    text = error(ShapeError, function(tensor(N, 4)), f32(4))
    assert "wrong number of dimensions" in text and "expected: 2" in text and "shape (4,)" in text


def test_wrong_static_extent():
    text = error(ShapeError, function(tensor(N, 784)), f32(1, 783))
    assert "argument 0 'x', dimension 1 of 'f'" in text and "expected: 784" in text and "found: 783" in text


def test_symbolic_extents_that_disagree():
    text = error(ShapeError, function(tensor(N, 2), tensor(4, N)), f32(3, 2), f32(4, 4))
    assert "expected: n = 3 (by argument 0 'x', dimension 0)" in text
    assert "argument 1 'y', dimension 1" in text and "found: 4" in text


def test_expressions():
    info = function(tensor(("*", N, 4)), tensor(N))
    assert len(normalize_arguments(info, f32(12), f32(3))) == 2
    text = error(ShapeError, info, f32(13), f32(3))
    assert "expected: n * 4 = 12 (n = 3 by argument 1 'y', dimension 0)" in text and "found: 13" in text
    normalize_arguments(function(tensor(("+", M, 1))), f32(5))  # nothing determines m
    text = error(ShapeError, function(tensor(N), tensor(("//", 4, N))), f32(0), f32(4))
    assert "cannot be computed" in text
    huge = ("*", ("*", N, 2**62), 4)
    assert "64 bits" in error(ShapeError, function(tensor(N), tensor(huge)), f32(3), f32(4))


def test_all_problems_at_once():
    info = function(tensor(N, 4), tensor(4, dtype="int32"), PrimInfo("int64"))
    text = error(DTypeError, info, np.zeros((3, 5)), f32(4), "one")
    assert text.count("wrong dtype") == 2 and "wrong extent: expected 4, found 5" in text
    assert "argument 2 'z' of 'f': not a number of type int64" in text
    assert "the function is f(x: Tensor((n, 4), float32), y: Tensor((4), int32), z: Prim(int64))" in text


def test_written_arguments_are_never_copied():
    info = function(tensor(N), access="write")
    assert normalize_arguments(info, f32(3))[0].flags.writeable
    frozen = f32(3)
    frozen.flags.writeable = False
    assert "read-only" in error(ArgumentError, info, frozen)
    assert "not contiguous" in error(ArgumentError, info, f32(6)[::2])
    assert "byte order" in error(ArgumentError, info, f32(3).astype(">f4"))
    normalize_arguments(function(tensor(N)), frozen)


def test_overlaps_with_written_arguments():
    params = [Parameter("x", tensor(N)), Parameter("y", tensor(N), "write"), Parameter("z", tensor(N), "readwrite")]
    info = FunctionInfo("f", tuple(params))
    memory = f32(12)
    a, b, c = memory[:4], memory[4:8], memory[8:]
    for expected, actual in zip((a, b, c), normalize_arguments(info, a, b, c), strict=True):
        assert np.shares_memory(expected, actual)
    x, y, _ = normalize_arguments(info, memory[1:5], b, c)
    assert np.shares_memory(y, b) and not np.shares_memory(x, memory)
    np.testing.assert_array_equal(x, memory[1:5])
    text = error(ArgumentError, info, a, b, memory[5:9])
    assert "argument 2 'z' of 'f': overlaps" in text and "found: memory of argument 1 'y'" in text


class Elsewhere:
    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **options: object) -> object:
        raise BufferError("not here")


def test_other_devices():
    text = error(DeviceError, function(tensor(N)), Elsewhere())
    assert "argument 0 'x'" in text and "cuda(0)" in text


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("int64", 3, 3),
        ("int64", np.int8(3), 3),
        ("int64", np.array(3), 3),
        ("int64", -(2**63), -(2**63)),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("float32", 1, 1.0),
        ("float32", np.float16(0.5), 0.5),
        ("bfloat16", 2.0, 2.0),
        ("bool", True, True),
        ("bool", np.bool_(False), False),
    ],
)
def test_numbers(dtype: str, value: object, expected: object):
    (result,) = normalize_arguments(function(PrimInfo(dtype)), value)
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", 2**63),
        ("int32", 2**31),
        ("uint8", -1),
        ("int64", 1.0),
        ("int64", True),
        ("int64", np.zeros(2, int)),
        ("int64", "3"),
        ("float32", "3"),
        ("float32", 10**400),
        ("float32", True),
        ("bool", 1),
    ],
)
def test_numbers_that_do_not_fit(dtype: str, value: object):
    assert f"not a number of type {dtype}" in error(ArgumentError, function(PrimInfo(dtype)), value)


def test_shapes():
    info = function(ShapeInfo((N, 4)), tensor(N))
    assert normalize_arguments(info, [np.int32(3), 4], f32(3))[0] == (3, 4)
    assert "value 1 of 'f': wrong extent" in error(ShapeError, info, (3, 5), f32(3))
    assert "number of values" in error(ShapeError, info, (3,), f32(3))
    assert "out of range" in error(ShapeError, info, (-3, 4), f32(3))
    assert "out of range" in error(ShapeError, info, (2**63, 4), f32(3))
    for wrong in (3, (1.5, 4), "ab", (True, 4), None):
        assert "not a shape" in error(ArgumentError, info, wrong, f32(3))
    assert normalize_arguments(function(ShapeInfo()), (1, 2, 3)) == ((1, 2, 3),)


def test_prims_bind_and_are_compared():
    info = function(PrimInfo("int64", N), tensor(N))
    normalize_arguments(info, 3, f32(3))
    assert "expected: n = 4 (by argument 0 'x')" in error(ShapeError, info, 4, f32(3))


def test_tuples():
    info = function(TupleInfo((tensor(N), TupleInfo((tensor(N), PrimInfo("int64"))))))
    ((first, (second, third)),) = normalize_arguments(info, [f32(3), (f32(6)[::2], 1)])
    assert first.shape == second.shape == (3,) and third == 1
    assert "field 1, field 0" in error(DTypeError, info, (f32(3), (np.zeros(3), 1)))
    assert "number of fields" in error(ArgumentError, info, (f32(3),))
    assert "not a tuple" in error(ArgumentError, info, f32(3))


def test_objects_and_callables():
    thing = object()
    assert normalize_arguments(function(ObjectInfo(), ObjectInfo("callable")), thing, print) == (thing, print)
    assert "not callable" in error(ArgumentError, function(ObjectInfo("callable")), 3)


def test_casts_use_what_is_bound_already():
    assert normalize_value("x", tensor(N, M), {"n": 3}, f32(3, 5)).shape == (3, 5)
    with pytest.raises(ShapeError, match="'x', dimension 0: wrong extent"):
        normalize_value("x", tensor(N, M), {"n": 4}, f32(3, 5))


def test_none_is_the_empty_tuple_where_a_python_function_gave_it_and_no_argument():
    assert normalize_value("x", TupleInfo(()), {}, None) == ()
    assert "not a tuple" in error(ArgumentError, function(TupleInfo(())), None)
    with pytest.raises(ArgumentError, match="not a tuple"):
        normalize_value("x", TupleInfo((PrimInfo("int64"),)), {}, None)


def test_keywords():
    info = function(tensor(N), PrimInfo("int64"))
    assert bind_keywords(info, (1,), {"y": 2}) == (1, 2)
    with pytest.raises(ArgumentError, match="not expected: 'q'"):
        bind_keywords(info, (1, 2), {"q": 3})
    with pytest.raises(ArgumentError, match="missing: 'y'"):
        bind_keywords(info, (1,), {})


def test_dimensions():
    dim = dim_from_json(["min", ["+", ["*", ["var", "n"], 4], -1], ["//", ["-", 7, ["var", "m"]], 2]])
    assert dim_text(dim) == "min(n * 4 + -1, (7 - m) // 2)"
    assert dim_value(dim, {"n": 3, "m": 10}) == -2
    assert dim_value(dim, {"n": 3}) is None
    assert dim_value(dim_from_json(["%", -3, 5]), {}) == 2
    assert dim_text(("-", 1, ("-", 2, 3))) == "1 - (2 - 3)"
    for wrong in (1.5, True, None, "n", ["var", 3], ["^", 1, 2], ["+", 1], 2**63):
        with pytest.raises(MetadataError):
            dim_from_json(wrong)


def test_metadata_round_trip():
    info = function(
        tensor(N, ("+", N, 1)), ShapeInfo((N,)), PrimInfo("int32", N), TupleInfo((ObjectInfo(), TensorInfo()))
    )
    assert FunctionInfo.from_json(info.to_json()) == info
    for wrong in ({}, {"kind": "nothing"}, {"kind": "tensor", "dtype": "float31"}, {"kind": "tuple"}, 3, None):
        with pytest.raises(MetadataError):
            info_from_json(wrong)
    for wrong in ({}, [], {"name": "f", "params": [{"name": "x", "info": {"kind": "object"}, "access": "steal"}]}):
        with pytest.raises(MetadataError):
            FunctionInfo.from_json(wrong)


DIMS = st.one_of(st.sampled_from([N, M]), st.integers(0, 3), st.tuples(st.sampled_from("+-*"), st.just(N), st.just(2)))
DIM_LISTS = st.lists(DIMS, max_size=3).map(tuple)
INFOS = st.recursive(
    st.one_of(
        st.builds(TensorInfo, st.none() | DIM_LISTS, st.sampled_from([None, "float32", "int64", "bfloat16"])),
        st.builds(ShapeInfo, st.none() | DIM_LISTS),
        st.builds(PrimInfo, st.sampled_from(["int64", "uint8", "float32", "bool"]), st.none() | DIMS),
        st.just(ObjectInfo()),
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda fields: TupleInfo(tuple(fields))),
    max_leaves=4,
)
ARRAYS = st.builds(
    lambda shape, dtype, step: np.zeros(shape, dtype)[..., ::step] if shape else np.zeros((), dtype),
    st.lists(st.integers(0, 3), max_size=3),
    st.sampled_from(["f4", ">f4", "i8", "f8", "O", "U1", "bool", "M8[s]", "c8", [("a", "f4")]]),
    st.sampled_from([1, -1, 2]),
)
VALUES = st.recursive(
    st.one_of(ARRAYS, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=3)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)


@drawn(400, quick=40)
@given(st.lists(st.tuples(INFOS, VALUES), max_size=4))
def test_anything_is_normalised_or_refused(pairs: list[tuple[Info, Any]]):
    try:
        results = normalize_arguments(function(*(info for info, _ in pairs)), *(value for _, value in pairs))
    except TiraxError as error:
        assert str(error).startswith("error: ")
        return
    for (info, value), result in zip(pairs, results, strict=True):
        check_normal(info, value, result)


def check_normal(info: Info, value: Any, result: Any) -> None:
    """What native code relies on."""
    match info:
        case TensorInfo():
            assert type(result) in (np.ndarray, NDArray) and result.flags.c_contiguous and result.flags.aligned
            assert result.dtype is DTYPES[info.dtype or result.dtype.name] and info.ndim in (-1, result.ndim)
            np.testing.assert_array_equal(result, value)
        case ShapeInfo():
            assert type(result) is tuple and all(type(extent) is int for extent in result)
        case PrimInfo():
            assert type(result) in (int, float, bool)
        case TupleInfo():
            assert type(result) is tuple and len(result) == len(info.fields)
            for each in zip(info.fields, value, result, strict=True):
                check_normal(*each)
        case ObjectInfo():
            assert result is value
