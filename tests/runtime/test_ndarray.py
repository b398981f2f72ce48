"""Arrays, dtypes and devices."""

import copy

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.runtime import NDArray, array, cpu, cuda, device, dtype_name, empty, from_dlpack, to_dtype
from tirax.runtime.dtypes import DTYPES
from tirax.runtime.errors import ArgumentError, DeviceError, DTypeError, NameLookupError, ShapeError
from tirax.runtime.ndarray import ALIGNMENT, empty_together


def test_array_copies_and_keeps_the_dtype():
    source = np.arange(6, dtype=np.int16).reshape(2, 3)
    result = array(source)
    source[0, 0] = 100
    assert type(result) is NDArray
    assert result.dtype == "int16" and result.shape == (2, 3)
    assert result[0, 0] == 0


@pytest.mark.parametrize(
    ("source", "dtype"),
    [([1.5, 2.0], "float64"), (3.0, "float64"), ([1, 2], "int64"), (np.float64([1]), "float64"), ([True], "bool")],
)
def test_array_of_python_values_has_tvm_dtypes(source: object, dtype: str):
    assert array(source).dtype == dtype


def test_what_is_no_array():
    with pytest.raises(ArgumentError, match="inhomogeneous"):
        array([[1, 2], [3]])
    with pytest.raises(DTypeError):
        array("text")


def test_array_converts():
    np.testing.assert_array_equal(array(np.array([1, 2], ">f4")), [1, 2])
    assert array(np.array([1, 2], ">f4")).dtype == "float32"
    assert array([1, 2], dtype="bfloat16").dtype == to_dtype("bfloat16")
    np.testing.assert_array_equal(array([np.float32(1), np.float32(2)]), [1, 2])


def test_empty_is_aligned_and_contiguous():
    for shape in [(), (0, 3), (5,), (3, 4, 5), 7]:
        result = empty(shape, "float64")
        assert result.ctypes.data % 64 == 0 and result.flags.c_contiguous and result.flags.writeable
        assert result.shape == (shape if isinstance(shape, tuple) else (shape,))


def test_empty_refuses_negative_extents_and_unknown_dtypes():
    with pytest.raises(ShapeError, match="negative"):
        empty((2, -1))
    with pytest.raises(NameLookupError, match="did you mean 'float32'"):
        empty((2,), "floot32")
    with pytest.raises(DTypeError):
        empty((2,), np.dtype("datetime64[s]"))


def test_numpy_gives_a_plain_copy():
    a = array([1.0, 2.0])
    plain = a.numpy()
    plain[0] = 9
    assert type(plain) is np.ndarray and a[0] == 1
    assert type(a.asnumpy()) is np.ndarray


def test_numpy_functions_take_it_as_it_is():
    a = array([[1.0, 4.0], [9.0, 16.0]])
    np.testing.assert_array_equal(np.sqrt(a), [[1, 2], [3, 4]])
    assert float(a[1, 0]) == 9 and a.sum() == 30
    assert type(copy.deepcopy(a)) is NDArray


def test_copyto_and_copyfrom():
    a, b = array([1.0, 2.0], dtype="float32"), empty((2,))
    assert a.copyto(b) is b
    np.testing.assert_array_equal(b, [1, 2])
    c = a.copyto(cpu())
    c[0] = 5
    assert a[0] == 1
    np.testing.assert_array_equal(b.copyfrom([7, 8]), [7, 8])
    with pytest.raises(ShapeError):
        a.copyto(empty((3,)))
    with pytest.raises(DTypeError):
        a.copyto(empty((2,), "int32"))
    b.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        a.copyto(b)


def test_from_dlpack_shares_memory_with_numpy():
    source = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (source, source[:, ::2], source.T):
        shared = from_dlpack(view)
        assert type(shared) is NDArray and np.shares_memory(shared, source)
        assert shared.strides == view.strides
        np.testing.assert_array_equal(shared, view)
    source[0, 0] = 42
    assert from_dlpack(source)[0, 0] == 42


def test_from_dlpack_keeps_read_only():
    source = np.zeros(3, np.float32)
    source.flags.writeable = False
    assert not from_dlpack(source).flags.writeable


def test_from_dlpack_refuses_what_it_cannot_share():
    with pytest.raises(DTypeError, match="byte-swapped"):
        from_dlpack(np.zeros(2, ">f4"))
    with pytest.raises(DTypeError):
        from_dlpack(np.array(["text"]))
    with pytest.raises(ArgumentError, match="__dlpack__"):
        from_dlpack([1, 2])


class Elsewhere:
    """A tensor on a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 1)

    def __dlpack__(self, **options: object) -> object:
        raise AssertionError("must not be asked for")


def test_from_dlpack_refuses_other_devices():
    with pytest.raises(DeviceError, match=r"cuda\(1\)"):
        from_dlpack(Elsewhere())


def test_dlpack_round_trip_of_every_dtype_numpy_exports():
    for name in ["bool", "int8", "int64", "uint16", "float16", "float32", "float64"]:
        a = array(np.ones((2, 3), name))
        b = np.from_dlpack(a)
        assert np.shares_memory(a, b) and b.dtype == name


def test_dlpack_of_bfloat16():
    a = array([1.0, -2.5, 3.0], dtype="bfloat16")

    class Foreign:
        """Another library's bfloat16 tensor: only the protocol is known of it."""

        dtype = "foreign.bfloat16"

        def __dlpack__(self, **options: object) -> object:
            return a.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return a.__dlpack_device__()

    b = from_dlpack(Foreign())
    assert b.dtype == "bfloat16" and np.shares_memory(a, b)
    np.testing.assert_array_equal(b.astype("float32"), [1, -2.5, 3])


def test_torch_both_ways(torch):
    for dtype in (torch.float32, torch.int64, torch.bool, torch.float16, torch.bfloat16):
        tensor = torch.ones((2, 3)).to(dtype)
        shared = from_dlpack(tensor)
        shared[0, 1] = 0
        assert tensor[0, 1] == 0, dtype
        back = torch.from_dlpack(shared)
        back[1, 1] = 0
        assert tensor[1, 1] == 0 and back.dtype == dtype
    copied = array(tensor)
    copied[0, 0] = 7
    assert tensor[0, 0] == 1
    with pytest.raises(ArgumentError, match="grad"):
        from_dlpack(torch.ones(3, requires_grad=True))


def test_dlpack_memory_outlives_the_owner():
    a = array(np.arange(1000.0))
    b = np.from_dlpack(a)
    c = from_dlpack(b)
    del a, b
    junk = [np.ones(1000) for _ in range(20)]
    np.testing.assert_array_equal(c, np.arange(1000.0))
    assert len(junk) == 20


def test_dtype_names():
    for name, dtype in DTYPES.items():
        assert to_dtype(name) is dtype and dtype_name(dtype) == name and to_dtype(dtype) is dtype
    assert dtype_name(np.dtype(">f4")) is None
    assert dtype_name(np.dtype("U3")) is None
    assert to_dtype(np.longlong) is to_dtype("int64")
    assert to_dtype("e4m3_float8") == to_dtype("float8_e4m3fn")


def test_devices():
    assert str(cpu()) == "cpu(0)" == repr(cpu(0))
    assert cpu(0) == device("cpu", 0) == device("cpu:0") == device("llvm")
    assert len({cpu(), cpu(0), cuda(0), cuda(1)}) == 3
    assert cpu().exist and not cuda().exist and cuda().device_type == 2
    assert array([1]).device == cpu()
    with pytest.raises(DeviceError, match="not available"):
        array([1], cuda())
    with pytest.raises(DeviceError):
        empty((2,), device="cpu")  # pyright: ignore[reportArgumentType]
    with pytest.raises(NameLookupError, match="did you mean 'cuda'"):
        device("cudaa")
    with pytest.raises(TiraxError, match="malformed"):
        device("cpu:x")


def test_views_share_memory_and_lie_within_the_array():
    inputs = array(np.arange(16, dtype="int32"))
    half = inputs._create_view([2, 4], relative_byte_offset=32)
    assert type(half) is NDArray and half.numpy().tolist() == [[8, 9, 10, 11], [12, 13, 14, 15]]
    half[0, 0] = 80
    assert inputs[8] == 80 and inputs._create_view([32], dtype="int16").dtype == "int16"
    assert half._create_view([4], relative_byte_offset=16).numpy().tolist() == [12, 13, 14, 15]
    for shape, offset in (([17], 0), ([4], 52), ([1], -4)):
        with pytest.raises(ValueError, match="64 bytes"):
            inputs._create_view(shape, relative_byte_offset=offset)
    with pytest.raises(ValueError, match="contiguous"):
        array(np.ones((4, 4)))[:, ::2]._create_view([2])


def test_arrays_of_one_piece_are_disjoint_and_aligned():
    arrays = empty_together([((2, 3), "float32"), ((), "int8"), ((0, 4), "float16"), ((65,), "uint8")])
    assert [(a.shape, a.dtype) for a in arrays] == [
        ((2, 3), "float32"),
        ((), "int8"),
        ((0, 4), "float16"),
        ((65,), "uint8"),
    ]
    assert all(a.ctypes.data % ALIGNMENT == 0 and a.flags.c_contiguous and a.flags.writeable for a in arrays)
    for number, a in enumerate(arrays):
        a[...] = number
    assert [np.unique(a).tolist() for a in arrays] == [[0], [1], [], [3]]
    assert empty_together([]) == []


def test_a_piece_lives_as_long_as_one_of_its_arrays():
    kept = empty_together([((4,), "float32"), ((1 << 20,), "float32")])[0]
    kept[...] = 7
    np.testing.assert_array_equal(kept, 7)
