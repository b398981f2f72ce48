"""Reductions as nodes: simplified, compared, and over no axes at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax import te
from tirax.interpreter import interpret
from tirax.tvm_api import arith, ir, tir

A = te.placeholder((10,), name="A")
K, J = te.reduce_axis((0, 10), name="k"), te.reduce_axis((-5, 3), name="j")


def test_sources_are_simplified_by_what_axes_run_over() -> None:
    analyzer = arith.Analyzer()
    total = te.sum(tir.Select(K + J < 12, K + J, 0), [K, J])
    assert ir.structural_equal(analyzer.canonical_simplify(total), te.sum(K + J, [K, J]))
    narrow = analyzer.canonical_simplify(te.sum(tir.Select(K + J < 11, K + J, 0), [K, J]))
    assert isinstance(narrow.sources[0], tir.Select)
    none = analyzer.canonical_simplify(te.sum(te.div(K, 10), K, init=K // 10 + 3))
    assert ir.structural_equal(none, te.sum(te.const(0, "int32"), K, init=3))


def test_reductions_are_compared_by_their_parts() -> None:
    again = te.comm_reducer(lambda x, y: x + y, lambda dtype: te.const(0, dtype))
    assert ir.structural_equal(te.sum(A[K], K), again(A[K], K))
    assert ir.structural_hash(te.sum(A[K], K)) == ir.structural_hash(again(A[K], K))
    product = te.comm_reducer(lambda x, y: x * y, lambda dtype: te.const(1, dtype))
    others = (product(A[K], K), te.sum(A[K], K, init=1.0), te.sum(A[9 - K], K), te.sum(A[K], [K, J]))
    for other in others:
        assert not ir.structural_equal(te.sum(A[K], K), other)


@pytest.mark.parametrize(("where", "init", "expected"), [
    (None, None, lambda a, i: a), (None, 2.0, lambda a, i: a + 2), (3, None, lambda a, i: np.where(i > 3, a, 0)),
    (3, 2.0, lambda a, i: np.where(i > 3, a + 2, 2)),
])  # fmt: skip
@pytest.mark.parametrize("size", [0, 1, 8])
def test_no_axes_are_one_point(where: int | None, init: float | None, expected: Any, size: int) -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.sum(a[i], [], where=None if where is None else i > where, init=init), name="B")
    array = np.arange(1, size + 1, dtype="float32")
    actual = np.full(size, np.nan, "float32")
    interpret(ModuleOp([te.create_prim_func([a, b])]), "main", [array, actual])
    np.testing.assert_array_equal(actual, expected(array, np.arange(size)).astype("float32"))
    known = arith.Analyzer().canonical_simplify(te.sum(A[3], [], where=te.const(False), init=1.0))
    assert ir.structural_equal(known, te.const(1.0))
