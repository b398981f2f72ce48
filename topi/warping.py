"""Dynamic time warping: the cheapest path through a matrix of costs."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i32, i64

from ..dialects.sym.expr import Const
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr, from_sym
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor

_DIAGONAL, _DOWN, _RIGHT = 0, 1, 2
"""The step that led to a place."""


def cheapest_path(costs: Tensor) -> list[Tensor]:
    """Return the cheapest path of steps down, right or both, from the first place to the last, and its length.

    The path is the end of a tensor (2, rows + columns) in int32, places as columns; the length is (1,) in int64. A
    diagonal step must be cheaper than both others, a step down too, otherwise it goes right.
    """
    rows, columns = costs.dims
    m, n = (from_sym(d).astype(i64) for d in costs.dims)

    def body(b: Statements, path: Tensor, length: Tensor, totals: Tensor, steps: Tensor) -> None:
        with b.loops("i", totals.dims) as place:
            inside = tx.equal(place[0] + place[1], 0)
            b.store(totals, place, tx.select(inside, tx.const(0.0, costs.type), tx.const(math.inf, costs.type)))
        with b.loop("r", rows) as r, b.loop("c", columns) as c:
            before = [b.let(f"before{k}", totals(*at)) for k, at in enumerate([(r, c), (r, c + 1), (r + 1, c)])]
            step = tx.select(
                _least(before, 0), tx.const(_DIAGONAL, i32),
                tx.select(_least(before, 1), tx.const(_DOWN, i32), tx.const(_RIGHT, i32)),
            )  # fmt: skip
            b.store(steps, (r, c), step)
            chosen = tx.select(_least(before, 0), before[0], tx.select(_least(before, 1), before[1], before[2]))
            b.store(totals, (r + 1, c + 1), chosen + costs(r, c))
        _backwards(b, (m, n), path, length, steps)

    specs = [
        ("path", [Const(2), rows + columns], i32), ("length", [Const(1)], i64),
        ("totals", [rows + 1, columns + 1], costs.type), ("steps", [rows, columns], i32),
    ]  # fmt: skip
    return list(filled(specs, [costs], body, "cheapest_path")[:2])


def _least(values: list[PrimExpr], i: int) -> PrimExpr:
    """Whether one of three values is less than both others."""
    others = [v for k, v in enumerate(values) if k != i]
    return tx.logical_and(tx.less(values[i], others[0]), tx.less(values[i], others[1]))


def _backwards(b: Statements, extents: tuple[PrimExpr, PrimExpr], path: Tensor, length: Tensor, steps: Tensor) -> None:
    """Write the path from its last place on."""
    r, c = (b.cell(name, i64, extent - 1) for name, extent in zip("rc", extents, strict=True))
    count = b.cell("count", i64, 0)
    with b.repeat_while(tx.logical_and(tx.less(-1, r.value), tx.less(-1, c.value))):
        at = extents[0] + extents[1] - 1 - count.value
        b.store(path, (tx.const(0, i64), at), r.value)
        b.store(path, (tx.const(1, i64), at), c.value)
        count.set(count.value + 1)
        step = b.cell("step", i32, steps(r.value, c.value))
        r.set(r.value - tx.select(tx.equal(step.value, _RIGHT), tx.const(0, i64), tx.const(1, i64)))
        c.set(c.value - tx.select(tx.equal(step.value, _DOWN), tx.const(0, i64), tx.const(1, i64)))
    b.store(length, [tx.const(0, i64)], count.value)
