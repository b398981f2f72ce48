"""Structural equality of nodes that are no modules."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.handles.equality import assert_structural_equal, structural_equal, structural_hash
from tirax.ir.equality import StructuralInequalityError
from tirax.tvm_api import relax, te, tir
from tirax.tvm_api.script import relax as R

M, N = tir.Var("m", "int64"), tir.Var("n", "int64")
X, Y = tir.Var("x", "int32"), tir.Var("y", "int32")
V, W = (relax.Var(name, R.Tensor((4,), "float32")) for name in "vw")


def tensor(*shape):
    return relax.TensorStructInfo(shape, "float32")


# left, right -> equal as they are, and with free variables mapped
PAIRS = [
    (X + 1, X + 1, True, True),
    (X + 1, Y + 1, False, True),
    (X + 1, X + 2, False, False),
    (X + Y, Y + X, False, True),
    (X + X, X + Y, False, False),
    (tensor(N, 4), tensor(N, 4), True, True),
    (tensor(N, 4), tensor(M, 4), False, True),
    (tensor(N, N), tensor(N, M), False, False),
    (tensor(4), relax.TensorStructInfo((4,), "float16"), False, False),
    (relax.op.add(relax.op.exp(V), W), relax.op.add(relax.op.exp(V), W), True, True),
    (relax.op.add(V, W), relax.op.add(W, V), False, True),
    (relax.op.add(V, V), relax.op.add(V, W), False, False),
    (relax.op.sum(V, axis=0), relax.op.sum(V, axis=0, keepdims=True), False, False),
    (relax.const([1.0, 2.0]), relax.const([1.0, 2.0]), True, True),
    (relax.const([1.0, 2.0]), relax.const([1.0, 3.0]), False, False),
    (relax.Tuple([V, W]), relax.Tuple([V, W]), True, True),
    (tir.decl_buffer((N, 4)), tir.decl_buffer((N, 4)), True, True),
    (tir.decl_buffer((N, 4)), tir.decl_buffer((M, 4)), False, True),
    (tir.decl_buffer((N, 4)), tir.decl_buffer((N, 8)), False, False),
    ([X, {"a": V}], [X, {"a": V}], True, True),
    ([1, 2.0, "s", None], [1, 2.0, "s", None], True, True),
    ([1], [1.0], False, False),
    ({"a": 1}, {"b": 1}, False, False),
]


@pytest.mark.parametrize(("left", "right", "equal", "mapped"), PAIRS, ids=str)
def test_nodes(left, right, equal, mapped):
    assert structural_equal(left, right) is equal
    assert structural_equal(left, right, map_free_vars=True) is mapped
    assert not equal or structural_hash(left) == structural_hash(right)
    assert not mapped or structural_hash(left, True) == structural_hash(right, True)
    if equal:
        assert_structural_equal(left, right)
    else:
        with pytest.raises(StructuralInequalityError, match="not structurally equal.*\n  expected: "):
            assert_structural_equal(left, right)


def test_bodies_are_equal_by_where_variables_are_bound():
    def body(name, second):
        text = f"""
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        {name} = R.exp(x)
        gv = R.add({name}, {second or name})
        R.output(gv)
    return gv
"""
        return tvm.script.from_source(text).body

    assert structural_equal(body("a", None), body("b", None), map_free_vars=True)
    assert structural_equal(body("a", None).blocks[0], body("b", None).blocks[0], map_free_vars=True)
    assert not structural_equal(body("a", None), body("b", "x"), map_free_vars=True)
    assert not structural_equal(body("a", None), body("a", None))  # their parameters are two variables


def test_statements():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    stores = [tir.Evaluate(tir.call_extern("int32", "f", v, n)) for v, n in ((x, 1), (x, 1), (y, 1), (x, 2))]
    assert structural_equal(stores[0], stores[1]) and structural_hash(stores[0]) == structural_hash(stores[1])
    assert not structural_equal(stores[0], stores[2]) and structural_equal(stores[0], stores[2], map_free_vars=True)
    assert not structural_equal(stores[0], stores[3], map_free_vars=True)
    loops = [tir.For(v, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(tir.call_extern("int32", "f", v))) for v in (x, y)]
    assert structural_equal(*loops)


def test_bound_names_numbers_and_arrays():
    x, y, z = (te.var(n) for n in "xyz")
    assert structural_equal(tir.Let(x, 1, x - 1), tir.Let(y, 1, y - 1))
    assert structural_equal(tir.Let(x, 1, x // z), tir.Let(y, 1, y // z))
    assert not structural_equal(tir.Let(x, 1, x - 1), tir.Let(y, 2, y - 1))
    assert not structural_equal(tir.Let(x, 1, x - z), tir.Let(y, 1, z - y))
    assert structural_equal(tir.const(float("nan")), tir.const(float("nan")))
    others = [tir.const(np.array(bits, "uint32").view("float32")[()]) for bits in (0x7FC00000, 0x7F800001)]
    assert structural_equal(*others) and structural_hash(others[0]) == structural_hash(others[1])
    arrays = [np.arange(10), np.arange(10), np.arange(10).reshape(2, 5), np.arange(10, dtype="int32")]
    assert [structural_equal(arrays[0], a) for a in arrays] == [True, True, False, False]
    assert structural_hash(arrays[0]) == structural_hash(arrays[1]) != structural_hash(arrays[2])


def test_variables_that_a_function_does_not_bind_are_free():
    variables = [tir.Var(name, "int32") for name in "mk"]
    m, k, again = (tir.PrimFunc([tir.Var("x", "int32")], tir.Evaluate(variables[n] + 1)) for n in (0, 1, 0))
    assert structural_equal(m, again) and not structural_equal(m, k)
    assert structural_equal(m, k, map_free_vars=True)
    assert_structural_equal(m, again)
    assert_structural_equal(m, k, map_free_vars=True)
    with pytest.raises(ValueError, match=r"(?s)different free variables.*m.*k"):
        assert_structural_equal(m, k)
    bound = [tir.PrimFunc([v], tir.Evaluate(v + 1)) for v in (tir.Var("m", "int32"), tir.Var("k", "int32"))]
    assert_structural_equal(*bound)
    assert structural_equal(*bound)


def test_free_buffers_are_equal_where_they_stand_in_the_same_places():
    a, b = tir.decl_buffer((4,), name="a"), tir.decl_buffer((4,), name="b")

    def stores(*buffers):
        return tir.SeqStmt([tir.BufferStore(each, 1.0, [k]) for k, each in enumerate(buffers)])

    assert structural_equal(stores(a, a), stores(b, b))
    assert structural_equal(stores(a, b), stores(b, a))
    assert not structural_equal(stores(a, b), stores(a, a))
    assert structural_hash(stores(a, a)) == structural_hash(stores(b, b)) != structural_hash(stores(a, b))


def test_a_copy_of_a_statement_uses_the_same_buffer_all_through():
    a = tir.decl_buffer((4,), name="a")
    store = tir.BufferStore(a, tir.BufferLoad(a, [0]) + 1.0, [1])
    func = tir.PrimFunc([a], tir.SeqStmt([store, store]))
    assert structural_equal(func.body[0], func.body[1])
    assert structural_equal(func.body[0], store)
