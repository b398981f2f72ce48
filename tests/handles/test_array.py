"""`Array` against Python's tuples."""

import pytest

from tirax.handles.array import Array
from tirax.tvm_api import ir, te, tir

ITEMS = (3, "x", (1, 2))


def test_it_is_a_sequence_that_cannot_be_changed():
    array = Array(ITEMS)
    assert len(array) == 3 and array[1] == "x" and list(array) == list(ITEMS) and array[1:] == ITEMS[1:]
    assert array == list(ITEMS) and array == ITEMS and array != Array() and hash(array) == hash(ITEMS)
    assert array + [4] == (*ITEMS, 4) and str(array) == "[3, x, (1, 2)]"
    assert [4] + array == (4, *ITEMS)
    with pytest.raises(TypeError):
        array[0] = 1


def test_nodes_come_in_arrays_as_in_tvm():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    mapped = index_map.map_indices([6])
    assert isinstance(mapped, ir.Array) and str(mapped) == "[1, 2]"
    ir.assert_structural_equal(mapped, [1, 2])
    assert not ir.structural_equal(mapped, [1, 3]) and not ir.structural_equal(mapped, [1])
    buffer = tir.decl_buffer((4, 8, 16), strides=[n := tir.SizeVar("n", "int32"), 16, 1], axis_separators=[1])
    assert isinstance(buffer.shape, ir.Array) and str(buffer.shape) == "[4, 8, 16]" and buffer.shape == (4, 8, 16)
    assert str(buffer.strides) == "[n, 16, 1]" and str(buffer.axis_separators) == "[1]"
    assert str(buffer.vload([1, n, 2]).indices) == "[1, n, 2]"
    assert str(buffer.offset_of([1, n, 2])) == "[n * 17 + 2]"


def test_offsets_name_what_steps_furthest_first():
    i, n = tir.Var("i", "int32"), tir.SizeVar("n", "int32")
    buffer = tir.decl_buffer((n, 14, 8))
    (offset,) = buffer.offset_of([(i * 49 + n) // 14, (i * 7 + n) % 14, i % 3])
    assert str(offset) == "i * 392 + n * 8 + i % 3"
    for a in range(-5, 60):
        for b in (0, 1, 5):
            first, second, third = (a * 49 + b) // 14, (a * 7 + b) % 14, a % 3
            assert a * 392 + b * 8 + a % 3 == first * 112 + second * 8 + third


def test_arrays_are_shapes_and_regions():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    assert te.placeholder(index_map.map_shape([16])).shape == (4, 4)
