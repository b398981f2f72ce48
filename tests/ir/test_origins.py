"""Variables that functions are made of: they are the same in the function, in its copies, and after a pass."""

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import te, tir


def function():
    """`x` and `y` are parameters, `i` a let, `k` a loop."""
    x, y, i, k = (te.var(name) for name in "xyik")
    buffer = tir.decl_buffer((50,), "int32")
    store = tir.BufferStore(buffer, x * (y + k), [i])
    body = tir.LetStmt(i, y + 1, tir.For(k, 0, 4, tir.ForKind.SERIAL, store))
    return (x, y, i, k), buffer, tir.PrimFunc([x, y, buffer], body)


def check(func, variables, buffer):
    x, y, i, k = variables
    let, loop = func.body, func.body.body
    assert func.params[0].same_as(x) and func.params[0] == x and not func.params[0].same_as(y)
    assert let.var.same_as(i) and loop.loop_var.same_as(k)
    assert {x: 1}[func.params[0]] == 1
    assert loop.body.buffer.same_as(buffer)
    tvm.ir.assert_structural_equal(let.value, y + 1)
    tvm.ir.assert_structural_equal(loop.body.value, x * (y + k))
    assert not tvm.ir.structural_equal(loop.body.value, y * (x + k))


def test_a_function_is_of_its_own_variables():
    variables, buffer, func = function()
    check(func, variables, buffer)


@pytest.mark.parametrize("transform", [tir.transform.Simplify(), tir.transform.CommonSubexprElimTIR()])
def test_a_pass_keeps_them(transform):
    variables, buffer, func = function()
    module = tvm.IRModule.from_expr(func)
    check(transform(module)["main"], variables, buffer)
    check(module["main"], variables, buffer)


def test_new_definitions_are_other_variables():
    (x, *_), _, func = function()
    renewed = tir.stmt_functor.renew_defs(func)
    assert not renewed.params[0].same_as(x)
    tvm.ir.assert_structural_equal(renewed, func)


def test_a_variable_that_two_functions_bind_is_the_same_in_both():
    x = te.var("x")
    first, second = (tir.PrimFunc([x], tir.Evaluate(x + k)) for k in (1, 2))
    assert first.params[0].same_as(second.params[0])
    tvm.ir.assert_structural_equal(second.body.value, x + 2)
