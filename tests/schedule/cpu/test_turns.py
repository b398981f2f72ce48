"""Tiles ask for all lines of what comes next, evenly: seen by counting who asks for which."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.dialects.builtin import i32, i64

from tirax.dialects.sym.expr import Const, Var, floordiv, floormod, maximum
from tirax.schedule.cpu.turns import Turn


def _asked(count: int, lines: int, steps: int) -> Counter[tuple[int, int]]:
    """How often each line of each step is asked for, by all tiles."""
    turns = [Turn(Const(number, i64), Const(count, i64)) for number in range(count)]
    asked = [turn.line(lines, Const(k, i64), Const(steps, i64)) for turn in turns for k in range(steps)]
    return Counter((line.constant or 0, step.constant or 0) for line, step in asked)


@pytest.mark.parametrize(("count", "lines", "steps"), [(7, 2, 9), (14, 4, 5), (4, 4, 6), (33, 4, 8), (8, 1, 3)])
def test_tiles_together_ask_for_all_lines(count: int, lines: int, steps: int) -> None:
    asked = _asked(count, lines, steps)
    assert set(asked) == {(line, step) for line in range(lines) for step in range(steps)}
    often = {times for (_, step), times in asked.items() if step < steps - 1}
    assert often == {count // lines}, "each as often as any other; the last step is there for the rest"


def test_few_tiles_ask_for_the_first_lines() -> None:
    assert sorted(_asked(2, 4, 6)) == sorted((line, step) for line in range(4) for step in range(3))


def test_numbers_of_another_type_take_turns_by_line() -> None:
    line, step = Turn(Const(5, i32), Const(9, i32)).line(4, Const(3, i64), Const(8, i64))
    assert (line.constant, step.constant) == (1, 3)


def test_the_count_may_be_symbolic() -> None:
    count = Var("n", i64)
    line, _ = Turn(Const(1, i64), count).line(2, Const(0, i64), Const(10, i64))
    assert line == floormod(floordiv(Const(10, i64), maximum(floordiv(count, 2), 1)), 2)
