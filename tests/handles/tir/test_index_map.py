"""`tir.IndexMap`, `tir.layout` and `tir.bijective_layout` as users of TVM know them."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.diagnostics import ShapeError, TiraxError
from tirax.handles.tir.prim_expr import PrimExpr
from tirax.handles.tir.variables import Var
from tirax.tvm_api import arith, ir, te, tir
from tirax.tvm_api.tir import IndexMap


def ints(values: list[PrimExpr]) -> list[object]:
    return [v.constant for v in values]


def test_from_func() -> None:
    index_map = IndexMap.from_func(lambda n, c, h, w: (n, c // 4, h, w, c % 4))
    assert str(index_map) == "T.index_map(lambda n, c, h, w: (n, c // T.int64(4), h, w, c % T.int64(4)))"
    assert index_map.script() == str(index_map)
    assert ints(index_map.map_shape([1, 16, 5, 5])) == [1, 4, 5, 5, 4]
    assert ints(index_map.map_indices([0, 13, 2, 3])) == [0, 3, 2, 3, 1]
    assert [str(i) for i in index_map.initial_indices] == ["n", "c", "h", "w"]
    assert len(index_map.final_indices) == 5
    inverse = index_map.inverse([1, 16, 5, 5])
    assert inverse.is_equivalent_to(IndexMap.from_func(lambda n, o, h, w, i: (n, o * 4 + i, h, w)))
    assert not index_map.is_equivalent_to(inverse)


def test_padding_predicate() -> None:
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    inverse, predicate = index_map.non_surjective_inverse([14])
    assert inverse == IndexMap.from_func(lambda j, k: (4 * j + k,))
    assert str(predicate) == "axis0 == T.int64(3) and T.int64(2) <= axis1"
    assert index_map.non_surjective_inverse([16])[1].constant == 0


def test_index_dtype_and_one_result() -> None:
    index_map = IndexMap.from_func(lambda i: i + 1, index_dtype="int32")
    assert str(index_map) == "T.index_map(lambda i: (i + 1,))"
    assert index_map.initial_indices[0].dtype == "int32"


def test_variadic_and_keyword_parameters() -> None:
    index_map = IndexMap.from_func(lambda a, *rest, last: (last, *rest, a), ndim=4)
    assert ints(index_map.map_indices([1, 2, 3, 4])) == [4, 2, 3, 1]
    with pytest.raises(TiraxError, match="give ndim|not known"):
        IndexMap.from_func(lambda *i: i)
    with pytest.raises(TiraxError, match="kwargs"):
        IndexMap.from_func(lambda **i: ())


def test_axis_separators() -> None:
    index_map, separators = IndexMap.from_func_with_separators(
        lambda i, j, k: (k, IndexMap.AXIS_SEPARATOR, j, IndexMap.AXIS_SEPARATOR, i)
    )
    assert separators == [1, 2]
    assert index_map == IndexMap.from_func(lambda i, j, k: (k, j, i))
    with pytest.raises(TiraxError, match="no axis separators"):
        IndexMap.from_func(lambda i, j: (i, IndexMap.AXIS_SEPARATOR, j))


def test_results_must_be_integers() -> None:
    for wrong in (lambda i: ("i",), lambda i: (1.5,), lambda i: (True,), lambda i: None):
        with pytest.raises(TiraxError, match="integer expressions"):
            IndexMap.from_func(wrong)


def test_from_variables_and_an_explicit_inverse() -> None:
    i, j = Var("i", "int64"), Var("j", "int64")
    index_map = IndexMap([i, j], [j, i], lambda a, b: (b, a))
    assert index_map.inverse_index_map == IndexMap.from_func(lambda a, b: (b, a))
    assert index_map.inverse([3, 4]) == index_map.inverse_index_map
    assert "inverse_index_map=lambda a, b: (b, a)" in str(index_map)
    with pytest.raises(TiraxError, match="initial indices"):
        IndexMap([i + j], [i], None)


def test_symbolic_shape() -> None:
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4))
    size = Var("n", "int64")
    assert [str(d) for d in index_map.map_shape([size])] == ["(n - n % T.int64(-4)) // T.int64(4)", "T.int64(4)"]
    with pytest.raises(ShapeError, match="another rank"):
        index_map.map_shape([size, size])


def test_map_ndarray() -> None:
    x = np.arange(6, dtype="int32")
    moved = IndexMap.from_func(lambda i: (i // 4, i % 4)).map_ndarray(x)
    np.testing.assert_array_equal(moved, [[0, 1, 2, 3], [4, 5, 0, 0]])
    assert moved.dtype == x.dtype
    y = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(IndexMap.from_func(lambda i, j, k: (k, i, j)).map_ndarray(y), y.transpose(2, 0, 1))
    turned = IndexMap.from_func(lambda i: ((i + 3) % 6,)).map_ndarray(x)
    np.testing.assert_array_equal(turned, [3, 4, 5, 0, 1, 2])


def test_layout() -> None:
    layout = tir.layout("NCHW16c")
    assert (len(layout), layout.name, str(layout)) == (5, "NCHW16c", "Layout(NCHW16c)")
    assert [layout[i] for i in range(5)] == ["N", "C", "H", "W", "c"]
    assert (layout.index_of("C"), layout.index_of("c"), layout.index_of("Z")) == (1, 4, -1)
    assert (layout.factor_of("C"), layout.factor_of("c"), layout.factor_of("H")) == (16, 16, -1)
    assert "C" in layout and "Z" not in layout
    with pytest.raises(IndexError):
        layout[5]
    assert tir.layout(layout) is layout


@pytest.mark.parametrize(
    "source, target, shape, there, back",
    [
        ("NCHW", "NCHW16c", (1, 32, 7, 5), [1, 2, 7, 5, 16], [1, 32, 7, 5]),
        ("NCHW", "NCHW16c", (1, 3, 7, 5), [1, 1, 7, 5, 16], [1, 16, 7, 5]),
        ("NCHW", "NHWC", (1, 3, 7, 5), [1, 7, 5, 3], [1, 3, 7, 5]),
        ("NCHW16c", "NCHW4c", (1, 2, 7, 5, 16), [1, 8, 7, 5, 4], [1, 2, 7, 5, 16]),
        ("OIHW", "OIHW4i16o", (32, 8, 3, 3), [2, 2, 3, 3, 4, 16], [32, 8, 3, 3]),
    ],
)
def test_bijective_layout_shapes(source: str, target: str, shape: tuple[int, ...], there: list[int], back: list[int]):
    layout = tir.bijective_layout(source, target)
    assert ints(layout.forward_shape(shape)) == there
    assert ints(layout.backward_shape(there)) == back


def test_bijective_layout_indices() -> None:
    layout = tir.bijective_layout("NCHW16c", "NCHW4c")
    i, j, k, w, m = (Var(name, "int32") for name in "ijkwm")
    actual = [str(e) for e in layout.forward_index([i, j, k, w, m])]
    assert actual == ["i", "j * 4 + m // 4", "k", "w", "m % 4"]
    assert ints(layout.forward_index([3, 3, 3, 3, 7])) == [3, 13, 3, 3, 3]
    assert ints(layout.backward_index([3, 13, 3, 3, 3])) == [3, 3, 3, 3, 7]
    assert str(layout) == "BijectiveLayout(NCHW16c->NCHW4c)"


def test_bijective_layout_refuses() -> None:
    assert tir.bijective_layout("NCHW", "NHW") is None
    layout = tir.bijective_layout("NCHW", "NHWC")
    with pytest.raises(ShapeError, match="does not fit"):
        layout.forward_shape([1, 2])
    with pytest.raises(ShapeError, match="another rank"):
        layout.forward_index([1, 2])


def test_results_are_of_the_type_of_the_indices() -> None:
    index_map = IndexMap.from_func(lambda i: (i // 4, i % 4), index_dtype="int32")
    assert [e.dtype for e in index_map.map_indices([5])] == ["int32"] * 2
    assert [e.dtype for e in index_map.map_indices([tir.IntImm("int64", 5)])] == ["int64"] * 2
    assert ints(index_map.map_shape([tir.IntImm("int64", 14)])) == [4, 4]
    assert {e.dtype for e in index_map.map_shape([14])} == {"int32"}


def test_a_symbolic_size_is_the_same_variable() -> None:
    size = tir.Var("N", "int32")
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    inverse, padding = index_map.non_surjective_inverse([size])
    outer, inner = inverse.initial_indices
    expected = tir.all(size % -4 < 0, outer == size // 4, size % 4 <= inner)
    ir.assert_structural_equal(arith.Analyzer().simplify(padding), arith.Analyzer().simplify(expected))
    for n in range(10):
        for i in range(n):
            holes = arith.Analyzer()
            holes.bind(size, te.const(n, "int32"))
            for var, value in zip((outer, inner), index_map.map_indices([i]), strict=True):
                holes.bind(var, value)
            assert not bool(holes.simplify(padding))
