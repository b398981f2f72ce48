"""Constants of several results, of blocks behind other bindings, and what costs exactly as much as it may."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.dialects import relax
from tirax.interpreter import assert_same_meaning, interpret, run
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
AFTER_BLOCK = """
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


def test_constants_leave_blocks_after_other_bindings() -> None:
    text = folded(AFTER_BLOCK)
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


SHAPE = """
@R.function
def main(x: R.Tensor((6,), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
    s = R.tensor_to_shape(R.add(R.const([2, EXTENT], "int64"), R.const([0, 0], "int64")))
    y = R.reshape(x, s)
    return y
"""


def test_a_shape_of_constants_says_what_is_returned() -> None:
    text = SHAPE.replace("EXTENT", "3")
    assert "relax.tensor_to_shape" not in folded(text)
    (func,) = FoldConstant()(parse_source(text)).ops
    assert isinstance(func, relax.FuncOp) and str(func.ret_type) == "!relax.tensor<[2, 3], f32>"
    negative = FoldConstant()(parse_source(SHAPE.replace("EXTENT", "-3")))
    assert "relax.tensor_to_shape" in str(negative)


def test_operators_outside_of_dataflow_blocks_may_stay() -> None:
    after = FoldConstant(outside=False)(parse_source(SPLIT))
    assert "relax.split" in str(after)
    inside = str(FoldConstant(outside=False)(parse_source(AFTER_BLOCK)))
    assert "relax.dataflow" not in inside and inside.count("relax.constant") == 2


CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(a: T.handle, b: T.handle):
        n = T.int64()
        A, B = T.match_buffer(a, (n, 2)), T.match_buffer(b, (n, 2))
        for i, j in T.grid(n, 2):
            with T.block("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main() -> R.Tensor((2, 2), "float32"):
        cls = Module
        y = R.call_tir(cls.double, (R.const([[1, 2], [3, 4]], "float32"),), out_sinfo=R.Tensor((2, 2), "float32"))
        return y
"""


@pytest.mark.parametrize(("iterations", "stays"), [(11, False), (10, True)])
def test_sizes_of_arguments_say_how_long_a_tensor_function_takes(iterations: int, stays: bool) -> None:
    assert ("relax.call_tir" in folded(CALLS, iterations=iterations)) == stays


def test_no_interpreter_where_nothing_is_constant(monkeypatch: pytest.MonkeyPatch):
    created: list[object] = []
    real = run.make_interpreter
    monkeypatch.setattr(run, "make_interpreter", lambda module: created.append(module) or real(module))
    plain = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.exp(x)\n    return y\n"
    FoldConstant()(parse_source(plain))
    assert not created
    FoldConstant()(parse_source(AFTER_BLOCK))
    assert len(created) == 1
