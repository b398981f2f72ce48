"""Texts in one are what a tuple of them would be."""

from __future__ import annotations

import tracemalloc

import pytest

from tirax.llm.gguf import Texts


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


@pytest.mark.parametrize(("text", "size"), [("{:07}", 7), ("Ġ{:010}", 12)], ids=["latin", "beyond latin"])
def test_they_take_four_bytes_besides_their_own(text: str, size: int) -> None:
    """One whose characters are beyond Latin makes no other ones larger."""
    tracemalloc.start()
    try:
        kept = Texts(text.format(i) for i in range(10_000))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 10_000 and kept[3] == text.format(3) and taken < 10_000 * (size + 4) * 1.2
