"""Texts are where a dict would have them, equal ones and equal hashes among them."""

import pytest

from tirax.llm.tokenizers.text_index import TextIndex


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_places(count, last):
    texts = tuple(f"{i % 100} {'ü' * (i % 3)}" for i in range(count))
    places = dict(zip(texts, range(count))) if last else dict(zip(reversed(texts), range(count - 1, -1, -1)))
    index = TextIndex(texts, last=last)
    assert {text: index[text] for text in texts} == places
    assert all(text in index for text in texts) and "none" not in index and index.get("none") is None
    with pytest.raises(KeyError, match="none"):
        index["none"]


class Alike(str):
    """Texts that have one hash."""

    def __hash__(self):
        return 7


def test_equal_hashes():
    texts = [Alike(text) for text in "abcab"]
    assert [TextIndex(texts).get(Alike(text)) for text in "abcd"] == [0, 1, 2, None]
    assert [TextIndex(texts, last=True).get(Alike(text)) for text in "abcd"] == [3, 4, 2, None]


class Shortened(str):
    """Texts whose hashes differ above 32 bits only, of both signs."""

    def __hash__(self):
        return 7 + ((ord(self) - ord("b")) << 32)


def test_hashes_of_which_the_end_is_kept():
    texts = [Shortened(text) for text in "cabca"]
    assert [TextIndex(texts).get(Shortened(text)) for text in "abcd"] == [1, 2, 0, None]
    assert [TextIndex(texts, last=True).get(Shortened(text)) for text in "abcd"] == [4, 2, 3, None]
