"""Arithmetic and comparisons with TVM's parameters, reducers by their variables, types as patterns."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError
from tirax.tvm_api import relax, te, tir
from tirax.tvm_api.relax.dpl import TypePattern, wildcard

x, y = tir.Var("x", "int32"), tir.Var("y", "int32")


def test_arithmetic():
    generic = tvm.tir.generic
    assert str(generic.cast(src=x, dtype="float32")) == 'T.Cast("float32", x)'
    assert str(generic.floordiv(lhs=x, rhs=y)) == "x // y"
    assert str(generic.divide(lhs=tir.const(3.0), rhs=tir.const(2.0))) == "T.float32(1.5)"


def test_comparisons_are_of_forms():
    equal, different = tir.expr.EqualOp(x, x), tir.expr.NotEqualOp(x, y)
    assert equal and different and not tir.expr.EqualOp(x, y) and not tir.expr.NotEqualOp(x, x)
    assert str(different.asobject()) == "x != y" and equal.same_as(equal) and not equal.same_as(different)


def test_a_reducer_by_its_variables():
    a, b = tir.Var("a", "float32"), tir.Var("b", "float32")
    product = tir.CommReducer([a], [b], [a * b], [tir.const(1, "float32")])
    assert [str(each) for each in product.result] == ["a * b"] and product.identity_element[0].value == 1
    data, k = te.placeholder((4, 3), name="data"), te.reduce_axis((0, 3), "k")
    out = te.compute((4,), lambda i: product(data[i, k], axis=k))
    f = tvm.build(te.create_prim_func([data, out]), target="llvm")
    numbers, result = np.arange(12, dtype="float32").reshape(4, 3), tvm.nd.array(np.zeros(4, "float32"))
    f(tvm.nd.array(numbers), result)
    np.testing.assert_array_equal(result.numpy(), numbers.prod(axis=1))


@pytest.mark.parametrize(
    "ttype, matches",
    [
        (relax.TensorType(2, "float32"), True),
        (relax.TensorType(3, "float32"), False),
        (relax.ObjectType(), True),
        (relax.ShapeType(2), False),
        (relax.TupleType([relax.ObjectType()]), False),
    ],
)
def test_types_as_patterns(ttype, matches):
    pattern = wildcard().has_type(ttype)
    assert isinstance(pattern, TypePattern)
    assert pattern.match(relax.Var("v", relax.TensorStructInfo((2, 3), "float32"))) is matches


def test_functions_are_no_patterns_of_types():
    with pytest.raises(DTypeError, match="cannot be matched by this type"):
        TypePattern(wildcard(), relax.FuncType([], relax.ObjectType()))
