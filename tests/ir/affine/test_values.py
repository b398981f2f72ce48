"""Index arithmetic as expressions and back."""

import json

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Block

from tirax.dialects import tir
from tirax.dialects.sym.expr import Const, Var, sum_of
from tirax.dialects.sym.operators import OPS, minimum, select
from tirax.handles.tir.place import place
from tirax.handles.tir.prim_expr import from_sym
from tirax.ir.affine.values import Materializer, sym_expr_of
from tirax.lowering.host.info import dim_info
from tirax.runtime.metadata import dim_from_json, dim_value, dim_vars

BLOCK = Block(arg_types=[i64, i64])
I, J = BLOCK.args
i, j = Var(I), Var(J)


def test_round_trips():
    for expr in (
        i * 4 + j,
        (i * 4 + j) // 8,
        (i + 1) % 3 * Var("n") - 2,
        minimum(i, j + 5),
        select(OPS["lt"](i, 4), i, j),
        OPS["and"](OPS["lt"](i, 4), OPS["not"](OPS["eq"](j, 0))),
        -i + j,
        -i - 3,
        i * j * 2,
        Const(7),
    ):
        block = Block()
        value = Materializer(block.add_op)(expr)
        assert sym_expr_of(value) == expr
        assert value.type == expr.dtype


def test_equal_expressions_become_one_value():
    block = Block()
    materialize = Materializer(block.add_op)
    assert materialize(i * 4 + j) is materialize(j + i * 4)


def test_what_is_no_arithmetic_is_a_variable():
    buffer = Block(arg_types=[tir.BufferType.of([4], i64)]).args[0]
    load = tir.LoadOp(buffer, [I])
    total = tir.AddOp(load.result, I)
    assert sym_expr_of(total.result) == Var(load.result) + i


def test_casts_to_wider_integers():
    narrow = Block(arg_types=[i32]).args[0]
    wide = tir.CastOp(narrow, i64)
    total = tir.AddOp(tir.MulOp(wide.result, wide.result).result, wide.result).result
    v = Var(narrow, i32)
    assert sym_expr_of(total, through_casts=True) == v * v + v
    assert sym_expr_of(wide.result) == Var(wide.result)
    assert sym_expr_of(tir.CastOp(wide.result, i32).result, through_casts=True).free_vars()[0].value is not narrow


def test_long_sums_are_shallow():
    """In both signs; what they are as values, as extents of signatures and placed in a block is read back."""
    for count in (1, 32, 33, 65, 1100):
        sizes = [Var(f"n{k}") for k in range(count)]
        added, removed = (sum_of([(n, sign) for n in sizes], 3, i64) for sign in (1, -1))
        for expr in (added, removed + i):
            block = Block()
            assert sym_expr_of(Materializer(block.add_op)(expr)) == expr
            assert sym_expr_of(place(from_sym(expr), Block(), {})) == expr
        env = {f"n{k}": k for k in range(count)}
        dim = dim_from_json(json.loads(json.dumps(dim_info(added))))
        assert dim_value(dim, env) == sum(range(count)) + 3
        assert dim_vars(dim) == set(env)


def test_what_is_placed_may_be_deeper_than_the_stack():
    value, n = from_sym(Var("n")), from_sym(Var("m"))
    for _ in range(3000):
        value = value + n * n
    block = Block()
    assert sym_expr_of(place(value, block, {})) == Var("n") + Var("m") * Var("m") * 3000
