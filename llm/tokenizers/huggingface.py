"""The tokenizer of a Hugging Face folder, read from `tokenizer.json` by the package `tokenizers`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...frontend.importing.extras import require
from ...untrusted import read_file
from ..checkpoints.settings import read_object
from .base import SpecialTokens, TextStream, Tokenizer, TokenizerError, stop_tokens

_MOST = 1 << 28
"""Size limit of a tokenizer file, in bytes."""


def huggingface_tokenizer(folder: str | os.PathLike[str]) -> Tokenizer:
    """Return the tokenizer of a folder. Raises `MissingPackage`, `OSError`, and `TokenizerError` if invalid."""
    package = require("tokenizers", "language")
    path = Path(folder, "tokenizer.json")
    text = read_file(path, _MOST, TokenizerError)
    with _as_tokenizer_error(f"'{path}' is no tokenizer"):
        tokenizer = package.Tokenizer.from_str(text.decode())
        tokenizer.no_padding()  # to any length that the file says
        tokenizer.no_truncation()
    settings, generation = (_settings(path.with_name(f"{name}_config.json")) for name in ("tokenizer", "generation"))
    return HuggingFaceTokenizer(tokenizer, settings, package.decoders.DecodeStream, _end_tokens(generation))


def _settings(path: Path) -> Mapping[str, Any]:
    return read_object(path) if path.exists() else {}


def _end_tokens(generation: Mapping[str, Any]) -> list[int]:
    """Return the one or several tokens that end an answer."""
    entry = generation.get("eos_token_id")
    return [token for token in (entry if isinstance(entry, list) else [entry]) if type(token) is int]


@contextmanager
def _as_tokenizer_error(problem: str) -> Iterator[None]:
    """Convert errors of the package, including panics of its Rust code, to `TokenizerError`.

    The package raises no narrower exception type.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise TokenizerError(f"{problem}: {str(error)[:200]}") from error


class HuggingFaceTokenizer(Tokenizer):
    """A tokenizer of the package; `settings` are those of `tokenizer_config.json`."""

    def __init__(self, tokenizer: Any, settings: Mapping[str, Any], decode_stream: Any, ends: Sequence[int] = ()):
        self._tokenizer = tokenizer
        self._decode_stream = decode_stream
        self.size = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._special = {t.content: i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
        bos, eos = (self._named(settings, name) for name in ("bos_token", "eos_token"))
        begins = bool(settings.get("add_bos_token", self._begins_with(bos)))
        stop = stop_tokens(self._special, (eos, *ends))
        self.special = SpecialTokens(bos, eos, stop, begins, settings.get("add_eos_token") is True)

    def _named(self, settings: Mapping[str, Any], name: str) -> int | None:
        """Return the token of a settings entry, which is its text or a mapping that contains it."""
        entry = settings.get(name)
        text = entry.get("content") if isinstance(entry, Mapping) else entry
        if not isinstance(text, str):
            return None
        with _as_tokenizer_error(f"'{name}' is not a text"):
            return self._tokenizer.token_to_id(text)

    def _begins_with(self, bos: int | None) -> bool:
        with _as_tokenizer_error("the tokenizer reads no text"):
            return bos is not None and self._tokenizer.encode("x").ids[:1] == [bos]

    @property
    def special_texts(self) -> Mapping[str, int]:
        return self._special

    def text_of(self, token: int) -> str:
        self._check_token(token)
        return self._tokenizer.id_to_token(token) or ""

    def stream(self, special: bool = False) -> TextStream:
        return _Stream(self, self._decode_stream(skip_special_tokens=not special))

    def decode(self, tokens: Any, special: bool = False) -> str:
        numbers = list(tokens)
        for token in numbers:
            self._check_token(token)
        with _as_tokenizer_error("the tokenizer cannot write tokens"):
            return self._tokenizer.decode(numbers, skip_special_tokens=not special)

    def _encode(self, text: str, special: bool, guard: str | None) -> list[int]:
        if not special or not guard or guard not in text:
            return self._plain(text.replace(guard, "") if guard else text, special)
        finder = re.compile("(" + "|".join(map(re.escape, sorted(self._special, key=len, reverse=True))) + ")")
        tokens: list[int] = []
        for i, part in enumerate(finder.split(text) if self._special else [text]):
            tokens += [self._special[part]] if i % 2 else self._plain(part.replace(guard, ""), False)
        return tokens

    def _plain(self, text: str, special: bool) -> list[int]:
        self._tokenizer.encode_special_tokens = not special
        with _as_tokenizer_error("the tokenizer cannot read a text"):
            return self._tokenizer.encode(text, add_special_tokens=False).ids


class _Stream(TextStream):
    """The package's stream; tokens that it holds back at the end are decoded together."""

    def __init__(self, tokenizer: HuggingFaceTokenizer, stream: Any):
        self._tokenizer = tokenizer
        self._stream = stream
        self._kept: list[int] = []

    def push(self, token: int) -> str:
        self._tokenizer._check_token(token)
        with _as_tokenizer_error("the tokenizer cannot write tokens"):
            text = self._stream.step(self._tokenizer._tokenizer, token)
        self._kept = [*self._kept, token] if text is None else []
        return text or ""

    def finish(self) -> str:
        return self._tokenizer.decode(self._kept) if self._kept else ""
