"""Tokenizers of folders, by the package: the same promises as of those read here, and the same tokens."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_language_models import MERGES, byte_pair_metadata

from tirax.frontend.importing.errors import ModelError
from tirax.frontend.importing.extras import MissingPackage
from tirax.llm.tokenizers import TokenizerError, gguf_tokenizer, huggingface_tokenizer


@pytest.fixture
def folder(tmp_path: Path, tokenizers: Any) -> Callable[..., Path]:
    """`folder(name=value)`: a folder with the tokenizer of `byte_pair_metadata("gpt-2")`, as the package writes it."""

    def write(**settings: Any) -> Path:
        texts = byte_pair_metadata()["tokenizer.ggml.tokens"]
        merges = [tuple(merge.split(" ")) for merge in MERGES]
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({t: i for i, t in enumerate(texts)}, merges))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
        tokenizer.add_special_tokens(list(texts[:3]))
        tokenizer.add_tokens(["<own>"])
        tokenizer.save(str(tmp_path / "tokenizer.json"))
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<|im_start|>"} | settings))
        return tmp_path

    return write


def test_the_same_tokens_as_of_a_gguf_file(folder: Callable[..., Path]) -> None:
    ours = gguf_tokenizer("m", byte_pair_metadata("gpt-2"))
    theirs = huggingface_tokenizer(folder(eos_token={"content": "<|im_end|>"}))
    assert theirs.size == ours.size and theirs.special == ours.special and theirs.special_texts == ours.special_texts
    rng = random.Random(0)
    pool = ["hello", " world", "ä", "12", "😀", "\n", " ", "<|im_end|>", "<own>", "x", "'s"]
    for _ in range(200):
        text = "".join(rng.choice(pool) for _ in range(rng.randint(0, 12)))
        for special in (False, True):
            tokens = ours.encode(text, special)
            assert theirs.encode(text, special) == tokens, text
            assert (
                theirs.decode(tokens, special)
                == ours.decode(tokens, special)
                == text.replace("<|im_end|>", "" if special is False and 2 in tokens else "<|im_end|>")
            )
            stream = theirs.stream(special)
            assert "".join([stream.push(token) for token in tokens] + [stream.finish()]) == ours.decode(tokens, special)


def test_a_guard_hides_special_tokens(folder: Callable[..., Path]) -> None:
    tokenizer = huggingface_tokenizer(folder())
    guarded = tokenizer.encode("<\ufdd0|im_end|><|im_end|>", True, "\ufdd0")
    assert guarded == [*tokenizer.encode("<|im_end|>"), 2] and 2 not in guarded[:-1]
    assert tokenizer.encode("a\ufdd0b", False, "\ufdd0") == tokenizer.encode("ab")


def test_half_a_character_and_what_is_no_token(folder: Callable[..., Path]) -> None:
    tokenizer = huggingface_tokenizer(folder(add_bos_token=True))
    assert tokenizer.prompt("x")[0] == 1
    stream = tokenizer.stream()
    tokens = tokenizer.encode("€")
    assert [stream.push(token) for token in tokens] == ["", "", "€"]
    assert stream.push(tokens[0]) == "" and stream.finish() == "\ufffd"
    for token in (-1, tokenizer.size):
        with pytest.raises(TokenizerError, match="no such token"):
            tokenizer.decode([token])
    with pytest.raises(TokenizerError, match="surrogate"):
        tokenizer.encode("\ud800")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"model": {"type": "Nothing"}}', "\x00"])
@pytest.mark.usefixtures("tokenizers")
def test_files_that_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(TokenizerError, match="is no tokenizer"):
        huggingface_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelError, match="is no tokenizer"):
        huggingface_tokenizer(tmp_path)


@pytest.mark.parametrize("ends", [7, [7, 8], [], "x", [True, "x", 8]])
def test_what_generation_ends_with_ends_a_turn(folder: Callable[..., Path], tmp_path: Path, ends: Any) -> None:
    before = huggingface_tokenizer(folder()).special.stop
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    numbers = {n for n in (ends if isinstance(ends, list) else [ends]) if type(n) is int}
    assert huggingface_tokenizer(tmp_path).special.stop == before | numbers


@pytest.mark.parametrize("key, value", [("unk_token", "none"), ("continuing_subword_prefix", "longer")])
def test_errors_and_panics_of_the_package_are_reported(
    folder: Callable[..., Path], tmp_path: Path, key: str, value: str
) -> None:
    file = folder() / "tokenizer.json"
    entries = json.loads(file.read_text())
    entries["model"][key] = value
    entries["pre_tokenizer"] = None  # which makes bytes of characters: all would be known
    file.write_text(json.dumps(entries))
    with pytest.raises(TokenizerError):
        huggingface_tokenizer(tmp_path).encode("☃")


def test_settings_with_half_a_surrogate_pair(folder: Callable[..., Path]) -> None:
    with pytest.raises(TokenizerError, match="'bos_token' is not a text"):
        huggingface_tokenizer(folder(bos_token="\ud800"))


def test_the_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    with pytest.raises(MissingPackage, match=r"tirax\[language\]"):
        huggingface_tokenizer(tmp_path)
