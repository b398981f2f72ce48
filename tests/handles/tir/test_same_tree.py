"""Which values are one expression: trees of operations, over buffers and names that are themselves only."""

import pytest

from tirax.handles.tir.expr_trees import same_tree
from tirax.tvm_api import arith, te, tir
from tirax.tvm_api.script import tir as T


@T.prim_func
def two_buffers(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    x: T.float32 = A[0]
    A[0] = 1.0
    y: T.float32 = A[0]
    B[0] = x
    C[0] = y


def test_allocated_buffers_of_one_type_are_two() -> None:
    first, second = two_buffers.body.block.alloc_buffers
    assert first.data != second.data
    assert first.data == first.data
    assert same_tree(first.vload([0]).ssa, first.vload([0]).ssa)
    assert not same_tree(first.vload([0]).ssa, second.vload([0]).ssa)
    assert not same_tree(first.vload([0]).ssa, first.vload([1]).ssa)


def test_names_of_equal_values_are_two() -> None:
    """What is read in between may have changed."""
    stores = [s for s in two_buffers.op.walk() if s.name == "tir.store"][1:]
    assert not same_tree(stores[0].value, stores[1].value)


def test_a_minimum_of_two_buffers_stays() -> None:
    first, second = two_buffers.body.block.alloc_buffers
    minimum = tir.min(first.vload([0]), second.vload([0]))
    assert "T.min" in str(arith.Analyzer().simplify(minimum))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_variables_of_equal_names_are_two(dtype: str) -> None:
    x, y = te.var("x", dtype), te.var("x", dtype)
    assert same_tree((x + 1).ssa, (x + 1).ssa)
    assert not same_tree((x + 1).ssa, (y + 1).ssa)


def test_a_constant_of_a_vector_type_is_a_vector() -> None:
    two = tir.const(2, "int8x4")
    assert two.dtype == "int8x4" and isinstance(two, tir.Broadcast)
