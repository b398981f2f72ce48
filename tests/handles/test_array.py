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
    with pytest.raises(TypeError):
        array[0] = 1


def test_nodes_come_in_arrays_as_in_tvm():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    mapped = index_map.map_indices([6])
    assert isinstance(mapped, ir.Array) and str(mapped) == "[1, 2]"
    ir.assert_structural_equal(mapped, [1, 2])
    assert not ir.structural_equal(mapped, [1, 3]) and not ir.structural_equal(mapped, [1])


def test_arrays_are_shapes_and_regions():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    assert te.placeholder(index_map.map_shape([16])).shape == (4, 4)
