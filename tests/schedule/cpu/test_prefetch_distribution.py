"""Tiles ask for all lines of what comes next, evenly: seen by counting who asks for which."""

from __future__ import annotations

from collections import Counter

import pytest
from xdsl.dialects.builtin import i32, i64

from tirax.dialects.sym.expr import Const, Var
from tirax.schedule.cpu.library.prefetch_distribution import PrefetchShare


def _prefetched(count: int, lines: int, steps: int, size: int) -> Counter[tuple[int, int]]:
    """How often each line of each step is asked for, by all tiles in blocks of so many steps."""
    shares = [PrefetchShare(Const(number, i64), Const(count, i64)) for number in range(count)]
    blocks = [Const(block, i64) for block in range(steps // size)]
    requests = [place for share in shares for b in blocks for place in share.lines(lines, Const(steps, i64), b, size)]
    return Counter((line.constant or 0, step.constant or 0) for line, step in requests)


CASES = [(7, 2, 9, 1), (14, 4, 5, 1), (2, 4, 6, 1), (22, 1, 768, 8), (33, 4, 16, 8), (1, 2, 24, 8), (5, 4, 32, 8)]


@pytest.mark.parametrize(("count", "lines", "steps", "size"), CASES)
def test_tiles_together_ask_for_all_lines(count: int, lines: int, steps: int, size: int) -> None:
    requests = _prefetched(count, lines, steps, size)
    assert set(requests) == {(line, step) for line in range(lines) for step in range(steps)}
    assert max(requests.values()) <= -(-count // (size * lines)) + 1, "none much more often than others"


@pytest.mark.parametrize(("count", "requests"), [(1, 16), (2, 8), (16, 1), (100, 1)])
def test_a_block_asks_for_its_part(count: int, requests: int) -> None:
    share = PrefetchShare(Const(0, i64), Const(count, i64))
    assert len(share.lines(2, Const(64, i64), Const(3, i64), 8)) == requests


def test_steps_that_fill_no_block_ask_for_nothing_beyond_the_end() -> None:
    assert max(step for _, step in _prefetched(3, 2, 21, 8)) <= 20


def test_numbers_of_another_type_alternate_by_line() -> None:
    requests = PrefetchShare(Const(5, i32), Const(9, i32)).lines(4, Const(16, i64), Const(1, i64), 8)
    assert [(line.constant, step.constant) for line, step in requests] == [(1, step) for step in range(8, 16)]


@pytest.mark.parametrize("tiles", [0, 1, 4, 50])
def test_the_count_may_be_symbolic(tiles: int) -> None:
    """From four tiles on all lines are asked for; of none the number is no divisor."""
    count = Var("n", i64)
    requests = set()
    for number in range(max(tiles, 1)):
        for block in range(4):
            for line, step in PrefetchShare(Const(number, i64), count).lines(2, Const(32, i64), Const(block, i64), 8):
                values = line.substitute({count: Const(tiles, i64)}), step.substitute({count: Const(tiles, i64)})
                requests.add(tuple(value.constant for value in values))
    assert all(line in (0, 1) and step in range(32) for line, step in requests)
    assert len(requests) == 64 or tiles < 4
