"""The search keeps what it is asked for, and no more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tirax.script import parse_mlir
from tirax.tools.reduce import numbers
from tirax.tools.reduce.search import ReductionRule, gist, shrunk

DROP: ReductionRule[str] = ReductionRule(len, lambda text, start, size: text[:start] + text[start + size :])


@pytest.mark.parametrize("ahead", [1, 3])
def test_what_is_needed_is_left_whatever_the_batch_size(ahead):
    requests: list[int] = []

    def holds(texts: Sequence[str]) -> list[bool]:
        requests.append(len(texts))
        return ["x" in text and text.count("b") >= 2 for text in texts]

    assert shrunk("abcabc" * 10 + "x" + "abc" * 20, [DROP], holds, 60, ahead) == "xbb"
    assert max(requests) == ahead and len(requests) < 200 // ahead, "runs go at once"


def test_without_time_nothing_is_tried():
    assert shrunk("abc", [DROP], lambda texts: [True for _ in texts], 0) == "abc"


def test_numbers_are_the_same_everywhere():
    program = "relax.func @f(%x: T) -> T { relax.return %x : T }".replace("T", "!relax.tensor<[64, 8], f32>")
    small = shrunk(parse_mlir(program), numbers.RULES, lambda requests: ["[64," in str(m) for m in requests], 60)
    assert "[64, 1], f32" in str(small) and "8" not in str(small)
    small = shrunk(parse_mlir(program), numbers.RULES, lambda requests: ["1]" not in str(m) for m in requests], 60)
    assert "[1, 2], f32" in str(small)


def test_messages_of_one_cause_are_alike():
    assert gist("no x12 in @f_3\nmore") == gist("no y7 in @g_0") != gist("no x12 at @f_3")
