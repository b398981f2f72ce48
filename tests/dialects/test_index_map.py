"""Index maps: shapes, inverses and padding, checked element by element; their text."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from xdsl.parser import Parser

from tirax.diagnostics import ShapeError
from tirax.dialects.sym.data_layout import DataLayout
from tirax.dialects.sym.expr import Const, SymExpr, Var, as_expr, i32, i64
from tirax.dialects.sym.index_map import IndexMapAttr, IndexMapping
from tirax.ir.passes.transform import new_context

n, m = Var("n"), Var("m")


def mapping(function: Callable[..., Any], dtype: Any = i64) -> IndexMapping:
    params = tuple(Var(name, dtype) for name in inspect.signature(function).parameters)
    return IndexMapping(params, tuple(as_expr(r, dtype) for r in function(*params)))


def dims(*extents: Any) -> list[SymExpr]:
    return [as_expr(e) for e in extents]


MAPS: list[tuple[Callable[..., Any], tuple[int, ...]]] = [
    (lambda i: (i // 4, i % 4), (14,)),
    (lambda i: (i // 4, i % 4), (16,)),
    (lambda i: (i // 4, i % 4), (3,)),
    (lambda i: (i // 4, i % 4), (1,)),
    (lambda i: (i // 4, i % 4), (0,)),
    (lambda i: (i // 16, i // 4 % 4, i % 4), (62,)),
    (lambda i, j: (i * 8 + j,), (4, 8)),
    (lambda i, j: (j, i), (3, 5)),
    (lambda i, j: ((i * 8 + j) // 16, (i * 8 + j) % 16), (4, 8)),
    (lambda i, j: ((i * 8 + j) // 16, (i * 8 + j) % 16), (5, 8)),
    (lambda i, j: ((i * 8 + j) // 8, (i * 8 + j) % 8), (5, 8)),
    (lambda i: ((i + 2) // 4, (i + 2) % 4), (10,)),
    (lambda i: ((i + 2) // 4, (i + 2) % 4), (11,)),
    (lambda i: ((i + 5) // 32, (i + 5) // 4 % 8, (i + 5) % 4), (123,)),
    (lambda i: ((i + 5) // 4 % 8, (i + 5) // 32, (i + 5) % 4), (123,)),
    (lambda i: ((i + 5) // 4 % 8, (i + 5) // 32, (i + 5) % 4), (120,)),
    (lambda i, j: (j // 4, (i + 5) // 6, (i + 5) // 3 % 2, j % 4, (i + 5) % 3), (17, 6)),
    (lambda i, j: (i // 4, j // 4, j % 4, i % 4), (15, 13)),
    (lambda i: (i % 4,), (3,)),
    (lambda i: (7 - i,), (8,)),
    (lambda i: (i, 0), (8,)),
    (lambda i, j: (i,), (8, 1)),
    (lambda a, b, c: ((a * 6 + b * 2 + c) // 4, (a * 6 + b * 2 + c) % 4), (2, 3, 2)),
    (lambda n, c, h, w: (n, c // 4, h, w, c % 4), (2, 6, 3, 2)),
]


@pytest.mark.parametrize("function, extents", MAPS, ids=[str(i) for i in range(len(MAPS))])
def test_inverse_and_padding_agree_with_every_element(function: Callable[..., Any], extents: tuple[int, ...]) -> None:
    result = mapping(function)
    shape = [d.constant for d in result.shape(dims(*extents))]
    inverse = result.padded_inverse(dims(*extents))
    places: dict[tuple[int, ...], tuple[int, ...]] = {}
    for index in itertools.product(*map(range, extents)):
        place = tuple(e.constant for e in result.apply(dims(*index)))
        assert place not in places
        assert all(0 <= p < e for p, e in zip(place, shape, strict=True))
        places[place] = index
    for place in itertools.product(*map(range, shape)):
        values = dict(zip(inverse.map.params, dims(*place), strict=True))
        assert bool(inverse.padding.substitute(values).constant) == (place not in places), place
        if place in places:
            assert tuple(e.constant for e in inverse.map.apply(dims(*place))) == places[place]


@pytest.mark.parametrize(
    "function, extents, why",
    [
        (lambda i: (i * 2,), (4,), "left out"),
        (lambda i, j: (i * 8 + j,), (4, 7), "left out"),
        (lambda i, j: (i * 8 + j,), (4, 9), "left out"),
        (lambda i: (i // 4,), (8,), "lost"),
        (lambda i: (i % 4,), (8,), "lost"),
        (lambda i, j: (i,), (4, 2), "lost"),
        (lambda i: (i, i), (4,), "twice"),
        (lambda i, j: (i * j,), (4, 4), "no sum of parts"),
        (lambda i: ((i + 5) // 32, (i + 5) % 4), (123,), "lost"),
        (lambda i: ((i + 5) // 8, (i + 6) % 8), (123,), "lost"),
    ],
)
def test_what_is_not_one_to_one_has_no_inverse(
    function: Callable[..., Any], extents: tuple[int, ...], why: str
) -> None:
    with pytest.raises(ShapeError, match="has no inverse") as error:
        mapping(function).padded_inverse(dims(*extents))
    assert why in str(error.value.found)


def test_inverse_refuses_padding() -> None:
    with pytest.raises(ShapeError, match="it pads"):
        mapping(lambda i: (i // 4, i % 4)).inverse(dims(14))


def test_symbolic_extents() -> None:
    split = mapping(lambda i: (i // 4, i % 4))
    assert [str(d) for d in split.shape([n])] == ["(n - n mod -4) floordiv 4", "4"]
    inverse = split.padded_inverse([n])
    assert str(inverse.map) == "(axis0, axis1) -> (axis0 * 4 + axis1)"
    for extent in range(9):
        at = dict(zip(inverse.map.params, (Var("a"), Var("b")), strict=True))
        condition = inverse.padding.substitute(at)
        for place in range(12):
            result = condition.evaluate({"n": extent, "a": place // 4, "b": place % 4})
            assert bool(result) == (extent <= place < -(-extent // 4) * 4)
    assert [str(d) for d in split.shape([n * 4])] == ["n", "4"]
    assert split.padded_inverse([n * 4]).padding.constant == 0
    fused = mapping(lambda i, j: (i * m + j,))
    assert [str(d) for d in fused.shape([n, m])] == ["n * m"]
    assert str(fused.inverse([n, m])) == "(axis0) -> (axis0 floordiv m, axis0 mod m)"


def test_equality_is_up_to_names_and_equivalence_up_to_arithmetic() -> None:
    a, b = mapping(lambda i: (i // 4, i % 4)), mapping(lambda k: (k // 4, k % 4))
    assert a == b and hash(a) == hash(b) and a.equivalent(b)
    assert a != mapping(lambda i: (i // 4, i % 4), i32)
    assert mapping(lambda i: (i * 2 - i,)) == mapping(lambda i: (i,))
    assert not a.equivalent(mapping(lambda i: (i % 4, i // 4)))
    assert not a.equivalent(mapping(lambda i, j: (i, j)))


@pytest.mark.parametrize(
    "text",
    [
        "(i) -> (i floordiv 4, i mod 4)",
        "(n, c, h, w) -> (n, h, w, c)",
        "() -> ()",
        "(i : i32) -> (i : i32 floordiv 4 : i32)",
        "(i, j) -> (i * n + j) inverse (k) -> (k floordiv n, k mod n)",
    ],
)
def test_text(text: str) -> None:
    attr = Parser(new_context(), f"#sym.index_map<{text}>").parse_attribute()
    assert isinstance(attr, IndexMapAttr)
    assert Parser(new_context(), str(attr)).parse_attribute() == attr


@pytest.mark.parametrize("text", ["(i + 1) -> (i)", "(i, i) -> (i)", "(i) (i)", "(i) -> i"])
def test_text_that_is_no_map(text: str) -> None:
    with pytest.raises(Exception, match="variable|two parameters|expected|Expected"):
        Parser(new_context(), f"#sym.index_map<{text}>").parse_attribute()


def test_free_variables_are_replaced_and_parameters_are_not() -> None:
    index_map = IndexMapping((Var("i"), n), (Var("i") * m + n,))
    assert index_map.free_vars() == [m]
    assert str(index_map.substitute({m: Const(3), n: Const(5)})) == "(i, n) -> (i * 3 + n)"


LAYOUTS = ("NCHW", "NHWC", "NCHW4c", "NHWC2c", "CNHW4h2c")


@pytest.mark.parametrize("source, target", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_layouts_go_to_each_other_and_back(source: str, target: str) -> None:
    a, b = DataLayout.parse(source), DataLayout.parse(target)
    assert str(a) == source
    canonical = DataLayout.parse("NCHW")
    shape = canonical.map_to(a).shape(dims(2, 8, 4, 3))
    there, back = a.map_to(b), b.map_to(a)
    assert there.inverse(shape).equivalent(back) or _same(there, back, shape)


def _same(there: IndexMapping, back: IndexMapping, shape: list[SymExpr]) -> bool:
    extents = [range(d.constant or 0) for d in shape]
    return all(
        [e.constant for e in back.apply(there.apply(dims(*index)))] == list(index)
        for index in itertools.product(*extents)
    )


@pytest.mark.parametrize(
    "text, why",
    [
        ("NCHW16", "letters and numbers"),
        ("NCHWc", "no length"),
        ("NCHW0c", "no length"),
        ("NNHW", "stands twice"),
        ("NCHW4c4c", "stands twice"),
        ("N16c", "no dimension C"),
        ("4NCHW", "a number before it"),
        ("N-C", "letters and numbers"),
    ],
)
def test_text_that_is_no_layout(text: str, why: str) -> None:
    with pytest.raises(ShapeError, match=why):
        DataLayout.parse(text)
