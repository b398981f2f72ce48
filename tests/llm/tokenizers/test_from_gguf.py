"""Tokenizers of GGUF files: what texts become, special tokens, whole characters, and lists of tokens that lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_language_models import byte_pair_metadata, sentence_piece_metadata

from tirax.diagnostics import NameLookupError, UnsupportedError
from tirax.llm.tokenizers import Tokenizer, TokenizerError, gguf_tokenizer

TEXTS = ["", "hello world", "  hello\n world ", "äöü €", "1234", "a\x00\x1d", "😀👩‍👩‍👧", "<|im_end|>", "<own>x", "▁"]


def byte_pairs(**entries: Any) -> Tokenizer:
    return gguf_tokenizer("m.gguf", byte_pair_metadata(**entries))


def sentence_pieces(**entries: Any) -> Tokenizer:
    return gguf_tokenizer("m.gguf", sentence_piece_metadata(**entries))


def texts_of(tokenizer: Tokenizer, text: str, special: bool = False) -> list[str]:
    return [tokenizer.text_of(token) for token in tokenizer.encode(text, special)]


def test_words_are_joined_by_rank() -> None:
    assert texts_of(byte_pairs(), "hello world") == ["hello", "Ġworld"]
    assert texts_of(byte_pairs(), "hell or") == ["hell", "Ġ", "or"]
    assert texts_of(byte_pairs(), "ä12") == ["Ã¤", "1", "2"]
    assert texts_of(byte_pairs(pre="gpt-2"), "ä12") == ["Ã¤", "12"]


def test_pieces_are_joined_by_score() -> None:
    assert texts_of(sentence_pieces(), "hello world") == ["▁hello", "▁w", "or", "l", "d"]
    assert texts_of(sentence_pieces(add_space_prefix=False), "hello\nä€") == [
        "hello", "<0x0A>", "ä", "<0xE2>", "<0x82>", "<0xAC>",
    ]  # fmt: skip
    assert texts_of(sentence_pieces(), "hello</s>hello", True) == ["▁hello", "</s>", "▁hello"]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("make", [byte_pairs, sentence_pieces])
def test_texts_come_back(make: Any, text: str) -> None:
    tokenizer = make()
    if make is byte_pairs or text != "▁":  # SentencePiece's own sign for a space
        assert tokenizer.decode(tokenizer.encode(text)) == text
    stream = tokenizer.stream()
    parts = [stream.push(token) for token in tokenizer.encode(text)] + [stream.finish()]
    assert "".join(parts) == tokenizer.decode(tokenizer.encode(text)) and not any("\ufffd" in part for part in parts)


def test_special_tokens_are_cut_out_on_request() -> None:
    tokenizer = byte_pairs()
    assert tokenizer.encode("<|im_end|><own>", special=True) == [2, 3]
    assert tokenizer.encode("<|im_end|>")[0] != 2 and len(tokenizer.encode("<|im_end|>")) == 10
    assert tokenizer.encode("<own>") == [3], "what users define is text"
    assert tokenizer.decode([1, 3, 2]) == "<own>" and tokenizer.decode([1, 2], special=True) == "<|im_start|><|im_end|>"
    assert tokenizer.special_texts == {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}


@pytest.mark.parametrize("make, end", [(byte_pairs, "<|im_end|>"), (sentence_pieces, "</s>")])
def test_a_guard_hides_special_tokens(make: Any, end: str) -> None:
    tokenizer = make(add_space_prefix=False) if make is sentence_pieces else make()
    guarded = f"hello{end[0]}\ufdd0{end[1:]}{end}"
    plain = tokenizer.encode(f"hello{end}")
    assert tokenizer.encode(guarded, True, "\ufdd0") == [*plain, tokenizer.special.eos]


def test_what_surrounds_a_text() -> None:
    assert byte_pairs().prompt("hello") == byte_pairs().encode("hello")
    assert byte_pairs(pre="llama-bpe").prompt("hello")[0] == 1
    assert byte_pairs(add_bos_token=True, add_eos_token=True).prompt("") == [1, 2]
    assert byte_pairs(add_bos_token=True).prompt("<|im_start|>", special=True) == [1], "not twice"
    assert byte_pairs(add_bos_token=True, bos_token_id=None).prompt("") == []
    assert sentence_pieces().prompt("hello")[0] == 1
    assert byte_pairs().special.stop == {0, 2} and sentence_pieces().special.stop == {2, 275}


def test_a_word_that_is_a_token_is_it() -> None:
    metadata = byte_pair_metadata("llama-bpe")
    metadata["tokenizer.ggml.tokens"] += ("world",)
    metadata["tokenizer.ggml.token_type"] = np.append(metadata["tokenizer.ggml.token_type"], np.int32(1))
    assert texts_of(gguf_tokenizer("m", metadata), "world") == ["world"]
    metadata["tokenizer.ggml.pre"] = "qwen2"
    assert texts_of(gguf_tokenizer("m", metadata), "world") == ["w", "or", "ld"]


def test_bytes_without_a_token_are_dropped_and_characters_are_unknown() -> None:
    metadata = byte_pair_metadata()
    texts = metadata["tokenizer.ggml.tokens"]
    metadata["tokenizer.ggml.tokens"] = tuple("-gone-" if text == "x" else text for text in texts)
    assert texts_of(gguf_tokenizer("m", metadata), "axa") == ["a", "a"]
    few = {"tokens": ("<unk>", "a"), "token_type": np.array([2, 1], "int32"), "scores": None}
    bare = sentence_pieces(**few, bos_token_id=None, eos_token_id=None, add_space_prefix=False)
    assert bare.encode("axa") == [1, 0, 1]
    with pytest.raises(TokenizerError, match="no token expresses"):
        sentence_pieces(
            **few, bos_token_id=None, eos_token_id=None, unknown_token_id=None, add_space_prefix=False
        ).encode("x")


def test_half_a_surrogate_pair_and_numbers_of_no_token() -> None:
    with pytest.raises(TokenizerError, match="half of a surrogate pair"):
        byte_pairs().encode("a\ud83d")
    for token in (-1, 1 << 40):
        with pytest.raises(TokenizerError, match="no such token"):
            byte_pairs().decode([token])
        with pytest.raises(TokenizerError, match="no such token"):
            byte_pairs().text_of(token)


def test_half_a_character_is_kept_until_the_end() -> None:
    tokenizer = byte_pairs()
    tokens = tokenizer.encode("€")
    assert len(tokens) == 3
    stream = tokenizer.stream()
    assert [stream.push(token) for token in tokens] == ["", "", "€"]
    assert stream.push(tokens[0]) == "" and stream.finish() == "\ufffd"


def test_long_words_take_no_square_of_their_length() -> None:
    assert len(byte_pairs().encode("lo" * 50_000)) == 100_000
    assert len(sentence_pieces().encode("lo" * 50_000)) > 50_000


KINDS = np.ones(267 + 4, "int32")


@pytest.mark.parametrize(
    "entries, message",
    [
        ({"token_type": KINDS[:5]}, "'tokenizer.ggml.token_type' is not one number for each of 271 tokens"),
        ({"token_type": KINDS.astype("float32")}, "'tokenizer.ggml.token_type' is not one number"),
        ({"token_type": KINDS * 9}, "has kinds other than 1 … 6"),
        ({"token_type": KINDS * 6}, "has bytes that are none"),
        ({"tokens": None}, "lists no tokens"),
        ({"tokens": "x"}, "lists no tokens"),
        ({"tokens": ()}, "lists no tokens"),
        ({"merges": None}, "'tokenizer.ggml.merges' is no list of texts"),
        ({"merges": ("ab",)}, "has what is no pair"),
        ({"bos_token_id": 271}, "'tokenizer.ggml.bos_token_id' is no whole number from 0 to 270"),
        ({"eos_token_id": -1}, "'tokenizer.ggml.eos_token_id' is no whole number"),
        ({"unknown_token_id": "x"}, "'tokenizer.ggml.unknown_token_id' is no whole number"),
        ({"add_bos_token": 3}, "'tokenizer.ggml.add_bos_token' is neither true nor false"),
    ],
)
def test_lists_of_tokens_that_lie(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(TokenizerError) as error:
        byte_pairs(**entries)
    assert message in str(error.value)


def test_scores_that_are_none() -> None:
    with pytest.raises(TokenizerError, match=r"'tokenizer.ggml.scores' is not one number"):
        sentence_pieces(scores=np.full(277, np.nan, "float32"))


@pytest.mark.parametrize("model", [None, "bert", 3, np.array([1.0])])
def test_other_kinds_are_refused(model: Any) -> None:
    with pytest.raises(UnsupportedError, match="a tokenizer that is not read"):
        byte_pairs(model=model)


def test_a_pre_tokenizer_that_is_unknown() -> None:
    with pytest.raises(NameLookupError, match="did you mean 'smollm'"):
        byte_pairs(pre="smolm")
    with pytest.raises(NameLookupError, match="unknown pre-tokenizer '3'"):
        byte_pairs(pre=3)
