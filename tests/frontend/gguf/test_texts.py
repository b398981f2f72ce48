"""Texts in one are what a tuple of them would be."""

from __future__ import annotations

import tracemalloc

import pytest

from tirax.frontend.gguf import Texts


@pytest.mark.parametrize("texts", [(), ("",), ("a", "", "ß", "🙂", "a")])
def test_what_a_tuple_says(texts: tuple[str, ...]) -> None:
    mine = Texts(texts)
    assert mine == texts and texts == mine and mine == Texts(texts) and tuple(mine) == texts
    assert len(mine) == len(texts) and bool(mine) == bool(texts)
    assert [mine[i] for i in range(-len(texts), len(texts))] == [*texts, *texts]
    assert mine[1:] == texts[1:] and mine[::-2] == texts[::-2]
    assert all(text in mine and mine.index(text) == texts.index(text) for text in texts) and "none" not in mine
    assert mine != (*texts, "more") and mine != ("other", *texts[1:]) and mine != "".join(texts)
    for place in (len(texts), -len(texts) - 1):
        with pytest.raises(IndexError):
            mine[place]


def test_how_it_is_written() -> None:
    assert repr(Texts(["a", "ß"])) == "Texts(('a', 'ß'))"


def test_they_take_four_bytes_besides_their_own() -> None:
    tracemalloc.start()
    try:
        kept = Texts(f"{i:07}" for i in range(10_000))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 10_000 and taken < 10_000 * (7 + 4) * 1.2


def test_characters_beyond_latin_make_no_other_ones_larger() -> None:
    tracemalloc.start()
    try:
        kept = Texts(f"Ġ{i:010}" for i in range(10_000))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept[3] == "Ġ0000000003" and taken < 10_000 * (12 + 4) * 1.2
