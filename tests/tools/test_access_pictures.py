"""The pictures of access patterns: what a square is at each time."""

import xml.etree.ElementTree as ET

import pytest

from tirax.diagnostics import TiraxError
from tirax.tools import access_pictures
from tirax.tools.access_patterns import Access, AccessPattern, Cache, Memory
from tirax.tools.access_pictures import COLOURS, NOT_YET, READ, THERE, WRITTEN, draw

SVG = "{http://www.w3.org/2000/svg}"


def pattern(*elements, shape=(2, 4), scope="global"):
    """X is read at these elements, a step each, and Y written at the first one."""
    accesses = [Access(step, "X", element, False) for step, element in enumerate(elements)]
    return AccessPattern({"X": Memory(shape, scope), "Y": Memory((1,), "local")}, [Access(0, "Y", 0, True), *accesses])


def colours(text):
    """(x, y) of each square -> [(time, what it is), …]."""
    squares = {}
    for rect in ET.fromstring(text).iter(SVG + "rect"):
        animation = rect.find(SVG + "animate")
        if "x" in rect.attrib and rect.attrib["width"] == "9":
            times = [(0.0, rect.attrib["fill"])]
            if animation is not None:
                times = list(
                    zip(map(float, animation.attrib["keyTimes"].split(";")), animation.attrib["values"].split(";"))
                )
            squares[int(rect.attrib["x"]), int(rect.attrib["y"])] = [(t, COLOURS.index(c)) for t, c in times]
    return squares


def test_squares_are_read_written_and_left():
    squares = list(colours(draw(pattern(0, 5, 5, 0))).values())
    assert len(squares) == 2 * 4 + 1
    assert squares[0] == [(0.0, READ), (0.25, THERE), (0.75, READ)]
    assert squares[1] == [(0.0, NOT_YET)]
    assert squares[5] == [(0.0, NOT_YET), (0.25, READ), (0.75, THERE)]
    assert squares[8] == [(0.0, WRITTEN), (0.25, THERE)]


def test_rows_go_down_and_several_steps_share_a_frame():
    squares = colours(draw(pattern(0, 4, 1, 5), frames=2))
    xs, ys = sorted({x for x, _ in squares}), sorted({y for _, y in squares})
    assert squares[xs[0], ys[0]] == squares[xs[0], ys[1]] == [(0.0, READ), (0.5, THERE)]
    assert squares[xs[1], ys[1]] == [(0.0, NOT_YET), (0.5, READ)]


def test_a_cache_is_shaded_by_lines():
    squares = list(colours(draw(pattern(0, 4, 0, 4), cache=Cache(lines=1, line=4))).values())
    assert squares[0] == [(0.0, READ), (0.25, NOT_YET), (0.5, READ), (0.75, NOT_YET)]
    assert squares[1] == [(0.0, THERE), (0.25, NOT_YET), (0.5, THERE), (0.75, NOT_YET)]
    assert squares[5] == [(0.0, NOT_YET), (0.25, THERE), (0.5, NOT_YET), (0.75, THERE)]


def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(access_pictures, "MOST_ELEMENTS", 8)
    with pytest.raises(TiraxError, match="too much to draw"):
        draw(pattern(0))
    assert len(colours(draw(pattern(0), buffers=["X"]))) == 8


def test_text_is_escaped_and_nothing_else_is_needed():
    text = draw(pattern(0), "a < b & c")
    assert "a &lt; b &amp; c" in text
    assert "script" not in text and text.count("http") == 1
    assert "X 2 × 4" in text and "Y 1 (local)" in text
