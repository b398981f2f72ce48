"""Boxes of indices against the indices themselves, counted one by one, under conditions of all kinds."""

from __future__ import annotations

import itertools
import random

import pytest

from tirax.dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod
from tirax.dialects.sym.operators import OPS, logical_and, minimum
from tirax.ir.affine.boxes import exact_box

I, J, N = Var("i"), Var("j"), Var("n")
SIZES = {I: 6, J: 4}
RANGES = {v: (Const(0), Const(size)) for v, size in SIZES.items()}
TRUE = OPS["le"](Const(0), Const(0))


def counted(first: SymExpr, extent: int, condition: SymExpr, inputs: dict[Var, int]) -> set[int]:
    out: set[int] = set()
    for values in itertools.product(*map(range, SIZES.values())):
        at = {v: Const(value) for v, value in zip(SIZES, values, strict=True)} | {
            v: Const(n) for v, n in inputs.items()
        }
        if condition.substitute(at).constant:
            start = first.substitute(at).constant
            assert start is not None
            out |= set(range(start, start + extent))
    return out


def random_index(draw: random.Random) -> SymExpr:
    a, b = draw.choice([(I, J), (J, I)])
    size = SIZES[b]
    return draw.choice(
        [
            *(
                a,
                a * 2,
                a * size + b,
                a + b,
                floordiv(a, 2),
                floormod(a * size + b, 3),
                a * -1,
                a * size + b + 3,
                a + N,
            ),
            *(floordiv(a + b, 2), floordiv(a - b * 2 - 1, 3), a - b, floordiv(a * 2, 3)),
        ]
    )


def random_condition(draw: random.Random) -> SymExpr:
    e = draw.choice([I, J, I * 4 + J, J * 6 + I, I + J, N, floormod(I, 2), I - J + N, I + N])
    bound = draw.choice([Const(draw.randint(-2, 25)), N, J])
    return OPS[draw.choice(["lt", "le", "gt", "ge", "eq", "ne"])](e, bound)


@pytest.mark.parametrize("seed", range(4))
def test_boxes_hold_what_is_counted_and_nothing_else(seed):
    draw, exact, limited = random.Random(seed), 0, 0
    for _ in range(250):
        first, extent = random_index(draw), draw.choice([1, 1, 2, 4])
        conditions = [random_condition(draw) for _ in range(draw.randint(0, 2))]
        condition = TRUE
        for c in conditions:
            condition = logical_and(condition, c)
        box = exact_box([(first, Const(extent))], RANGES, condition)
        if box is None:
            continue
        exact, limited = exact + 1, limited + (condition.constant is None)
        for n in (0, 1, 2, 5, 9):
            ends = [None if e is None else e.substitute({N: Const(n)}).constant for e in (box[0].low, box[0].high)]
            assert None not in ends
            members = set(range(ends[0], ends[1] + 1))  # pyright: ignore[reportArgumentType, reportOptionalOperand]
            assert members == counted(first, extent, condition, {N: n}), (str(first), extent, str(condition), n)
    assert exact > 30 and limited > 5


@pytest.mark.parametrize(
    "condition",
    [OPS["gt"](N, Const(3)), OPS["ne"](I, Const(3)), OPS["ge"](I * 2, Const(3)), OPS["lt"](J, I)],
    ids=str,
)
def test_no_box_under_a_condition_that_is_no_end_of_an_iterator(condition):
    assert exact_box([(I, Const(1))], RANGES, condition) is None
    assert exact_box([(I, Const(1))], RANGES, TRUE) is not None


def test_a_condition_on_an_index_limits_the_box():
    for condition, low, high in (
        (OPS["ge"](I, Const(1)), Const(1), Const(5)),
        (OPS["lt"](I, N), Const(0), minimum(N - 1, 5)),
        (logical_and(OPS["ge"](I, Const(1)), OPS["lt"](I, Const(4))), Const(1), Const(3)),
    ):
        assert exact_box([(I, Const(1))], RANGES, condition) == [(low, high)]
        assert exact_box([(I, Const(2))], RANGES, condition) in (None, [(low, high + 1)])
