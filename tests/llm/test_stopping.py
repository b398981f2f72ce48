"""Answers end before texts to stop at, however these are cut into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.diagnostics import TiraxError
from tirax.llm.stopping import StopTexts

TEXTS = st.text("abc", min_size=1, max_size=4)


@drawn(80)
@given(st.lists(st.text("abc", max_size=4), max_size=8), st.lists(TEXTS, max_size=3))
def test_what_is_written_is_what_comes_before_the_first_of_them(parts, stop):
    full = "".join(parts)
    first = min((place for text in stop if (place := full.find(text)) >= 0), default=None)
    stops = StopTexts(stop)
    written = [stops.push(part) for part in parts]
    assert stops.reached is (first is not None)
    assert "".join(written) + stops.finish() == full[:first]


def test_no_more_is_held_back_than_may_be_the_beginning_of_one():
    stops = StopTexts(["\nUser:"])
    assert [stops.push(text) for text in ("one", "\nU", "no", "\n", "User:more")] == ["one", "", "\nUno", "", ""]
    assert stops.reached and stops.push("later") == "" and stops.finish() == ""


@pytest.mark.parametrize("texts", [[""], ["a", ""], "one text", [3]])
def test_texts_that_cannot_be_stopped_at_are_refused(texts):
    with pytest.raises(TiraxError, match="a character at least"):
        StopTexts(texts)
