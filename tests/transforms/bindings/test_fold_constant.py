"""Constants of several results, of blocks behind other bindings, and what costs exactly as much as it may."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.dialects import relax
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import PassContext
from tirax.script import parse_source
from tirax.transforms.bindings.fold_constant import FoldConstant

MATMUL = """
@R.function
def main():
    y = R.matmul(R.const([[1.0, 2.0, 3.0]], "float32"), R.const([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], "float32"))
    return y
"""
SPLIT = """
@R.function
def main():
    t = R.split(R.const([1.0, 2.0, 3.0, 4.0], "float32"), 2)
    y = t[1]
    return y
"""
BEHIND = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    m = R.exp(x)
    with R.dataflow():
        c = R.add(R.const([1.0], "float32"), R.const([2.0], "float32"))
        R.output(c)
    n = R.sin(m)
    with R.dataflow():
        d = R.multiply(R.const([3.0], "float32"), R.const([2.0], "float32"))
        R.output(d)
    y = R.multiply(R.add(n, c), d)
    return y
"""


def folded(text: str, **limits: int) -> str:
    """The text after folding; the meaning stays."""
    module = parse_source(text)
    with PassContext(config={f"tirax.limit.fold.{name}": value for name, value in limits.items()}):
        after = FoldConstant()(module)
    assert_same_meaning(module, after)
    return str(after)


@pytest.mark.parametrize(("operations", "stays"), [(6, False), (5, True)])
def test_a_product_that_costs_what_it_may(operations: int, stays: bool) -> None:
    assert ("relax.matmul" in folded(MATMUL, operations=operations)) == stays


@pytest.mark.parametrize(("size", "stays"), [(16, False), (15, False)])
def test_what_is_no_larger_than_its_operands_has_no_limit(size: int, stays: bool) -> None:
    assert ("relax.split" in folded(SPLIT, bytes=size)) == stays


def test_several_results_are_a_tuple_of_constants() -> None:
    after = FoldConstant()(parse_source(SPLIT))
    assert not any(isinstance(op, relax.Operator) for op in after.walk())
    np.testing.assert_array_equal(interpret(after, "main", []), np.array([3, 4], "f4"))
    larger = SPLIT.replace("R.split(R.const([1.0, 2.0, 3.0, 4.0]", "R.split(R.tile(R.const([1.0, 2.0]").replace(
        '"float32"), 2)', '"float32"), (100,)), 2)'
    )
    assert "relax.tile" in folded(larger, bytes=799) and "relax.tile" not in folded(larger, bytes=800)


def test_constants_leave_blocks_behind_other_bindings() -> None:
    text = folded(BEHIND)
    assert "relax.dataflow" not in text and text.count("relax.constant") == 2


SLICE = """
@R.function
def main(x: R.Tensor((2, "n"), "float32")):
    n = T.int64()
    c = R.strided_slice(R.const([1.0, 2.0, 3.0, 4.0], "float32"), [0], [1], [3])
    d = R.full((2,), R.const(2.0, "float32"))
    y = R.add(x, R.expand_dims(R.add(c, d), [1]))
    z = R.strided_slice(y, [1], [0], [n])
    return z
"""


def test_places_that_are_known() -> None:
    text = folded(SLICE)
    assert text.count("relax.strided_slice") == 1 and "dense" not in text and text.count("relax.add") == 1
