"""The search keeps what it is asked for, and no more."""

from __future__ import annotations

from tirax.script import parse_mlir
from tirax.tools.reduce import numbers
from tirax.tools.reduce.search import Rule, gist, shrunk

DROP: Rule[str] = Rule(len, lambda text, start, size: text[:start] + text[start + size :])


def test_what_is_needed_is_left():
    asked: list[str] = []

    def holds(text: str) -> bool:
        asked.append(text)
        return "x" in text and text.count("b") >= 2

    assert shrunk("abcabc" * 10 + "x" + "abc" * 20, [DROP], holds, 60) in ("bbx", "xbb", "bxb")
    assert len(asked) < 200, "runs go at once"


def test_without_time_nothing_is_tried():
    assert shrunk("abc", [DROP], lambda text: True, 0) == "abc"


def test_numbers_are_the_same_everywhere():
    program = "relax.func @f(%x: T) -> T { relax.return %x : T }".replace("T", "!relax.tensor<[64, 8], f32>")
    small = shrunk(parse_mlir(program), numbers.RULES, lambda module: "[64," in str(module), 60)
    assert "[64, 1], f32" in str(small) and "8" not in str(small)
    small = shrunk(parse_mlir(program), numbers.RULES, lambda module: "1]" not in str(module), 60)
    assert "[1, 2], f32" in str(small)


def test_messages_of_one_cause_are_alike():
    assert gist("no x12 in @f_3\nmore") == gist("no y7 in @g_0") != gist("no x12 at @f_3")
