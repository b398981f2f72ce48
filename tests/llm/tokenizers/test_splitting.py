"""How texts are cut into words, beside the expressions that Hugging Face's tokenizers have for it."""

from __future__ import annotations

import random

import pytest

from tirax.llm.tokenizers.splitting import SPLITTINGS, split

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WRITTEN = {
    "gpt-2": [GPT2],
    "smollm": [r"\p{N}", GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [LLAMA3.replace("{1,3}", "")],
}


@pytest.mark.parametrize(
    "name, text, pieces",
    [
        ("smollm", "I'm 12  x\n\n y", ["I", "'m", " ", "1", "2", " ", " x", "\n\n", " y"]),
        ("gpt-2", "I'm 12  x", ["I", "'m", " 12", " ", " x"]),
        ("llama-bpe", "I'M 1234!\n\nx", ["I", "'M", " ", "123", "4", "!\n\n", "x"]),
        ("qwen2", "_a 12", ["_a", " ", "1", "2"]),
        ("default", "a$+= 12345", ["a", "$+=", " ", "123", "45"]),
        ("llama3", "é\u00a0²½", ["é", "\u00a0", "²½"]),
        ("qwen2", "", []),
    ],
)
def test_pieces(name: str, text: str, pieces: list[str]) -> None:
    assert list(split(text, SPLITTINGS[name])) == pieces


@pytest.mark.parametrize("name", WRITTEN)
def test_as_the_expressions_are_written(name: str, tokenizers: Any) -> None:
    """The package's expressions know Unicode's classes: random texts are cut in the same places."""
    steps = [tokenizers.pre_tokenizers.Split(tokenizers.Regex(each), "isolated") for each in WRITTEN[name]]
    reference = tokenizers.pre_tokenizers.Sequence(steps)
    rng = random.Random(name)
    pool = [*"abXY 019 \n\t\r.,!?'<|_-é日ñ😀²½\u00a0\u2003\u0301ßΩж٣Ⅷ\u200b\x1c\x85", "'s", "'RE", "  ", "\r\n"]
    for _ in range(400):
        text = "".join(rng.choice(pool) for _ in range(rng.randint(1, 30)))
        assert list(split(text, SPLITTINGS[name])) == [piece for piece, _ in reference.pre_tokenize_str(text)], text


def test_all_of_a_text_is_in_its_pieces() -> None:
    rng = random.Random(0)
    for expressions in SPLITTINGS.values():
        text = "".join(chr(rng.randrange(1, rng.choice((0x80, 0x3000, 0x20000)))) for _ in range(200))
        text = text.encode("utf-8", "ignore").decode()
        assert "".join(split(text, expressions)) == text
