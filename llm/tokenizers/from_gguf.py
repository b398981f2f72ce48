"""The tokenizer of a GGUF file, from the metadata entries `tokenizer.ggml.*`."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...diagnostics import UnsupportedError, unknown_name
from ..checkpoints.fields import Fields
from ..gguf import Texts
from .base import CONTROL_TEXTS, SpecialTokens, Tokenizer, TokenizerError, stop_tokens
from .byte_pairs import BytePairTokenizer
from .sentence_pieces import SentencePieceTokenizer
from .splitting import SPLITTINGS
from .vocabulary import BYTE, CONTROL, NORMAL, Vocabulary

_PREFIX = "tokenizer.ggml."
_MODELS = ("gpt2", "llama")
_IGNORE_MERGES = ("llama-bpe", "llama3", "llama-v3")
"""Llama 3's pre-tokenizers: words that are tokens are not built by merges, and a text begins with `bos`."""
_BYTE_TEXT = re.compile("<0x[0-9A-F]{2}>")


def gguf_tokenizer(path: str, metadata: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer that a file's metadata describes; `path` is named in errors.

    Raises `TokenizerError` with all inconsistencies, `UnsupportedError` for an unsupported kind of tokenizer,
    and `NameLookupError` for an unknown pre-tokenizer.
    """
    fields = Fields({k.removeprefix(_PREFIX): v for k, v in metadata.items() if k.startswith(_PREFIX)}, _PREFIX)
    model = fields.entries.get("model")
    if model not in _MODELS:
        raise UnsupportedError(
            f"'{path}' has a tokenizer that is not read", expected=" or ".join(_MODELS), found=repr(model)[:80]
        )
    vocabulary = _vocabulary(path, fields)
    special = _special(fields, vocabulary, model)
    tokenizer = (_byte_pairs if model == "gpt2" else _sentence_pieces)(fields, vocabulary, special)
    if fields.problems:
        raise TokenizerError(f"the tokenizer of '{path}' contradicts itself", notes=fields.problems[:20])
    return tokenizer


def _vocabulary(path: str, fields: Fields) -> Vocabulary:
    texts = fields.entries.get("tokens")
    if not isinstance(texts, tuple | Texts) or not texts:
        raise TokenizerError(f"'{path}' lists no tokens", expected=f"texts in '{_PREFIX}tokens'")
    kinds = _numbers(fields, "token_type", len(texts), "i", NORMAL)
    if any(not NORMAL <= kind <= BYTE for kind in kinds):
        fields.problems.append(f"'{_PREFIX}token_type' has kinds other than {NORMAL} … {BYTE}")
        kinds = [NORMAL] * len(texts)
    kinds = bytes(CONTROL if text in CONTROL_TEXTS else kind for text, kind in zip(texts, kinds))
    wrong = [texts[i] for i, kind in enumerate(kinds) if kind == BYTE and not _BYTE_TEXT.fullmatch(texts[i])]
    if wrong:
        fields.problems.append(f"'{_PREFIX}tokens' has bytes that are none: {wrong[0]!r}"[:200])
    return Vocabulary(texts, kinds, _token(fields, "unknown_token_id", len(texts)))


def _numbers(fields: Fields, key: str, count: int, kind: str, default: float) -> list[Any]:
    """Return one number per token, of a kind of numpy's dtypes."""
    numbers = fields.entries.get(key)
    if numbers is None:
        return [default] * count
    if (
        not isinstance(numbers, np.ndarray)
        or numbers.dtype.kind != kind
        or len(numbers) != count
        or not np.isfinite(numbers).all()
    ):
        fields.problems.append(f"'{_PREFIX}{key}' is not one number for each of {count} tokens")
        return [default] * count
    return numbers.tolist()


def _token(fields: Fields, key: str, count: int) -> int | None:
    return fields.integer(key, None, low=0, high=count - 1)


def _special(fields: Fields, vocabulary: Vocabulary, model: str) -> SpecialTokens:
    count = len(vocabulary.texts)
    bos, eos, eot, eom = (_token(fields, f"{name}_token_id", count) for name in ("bos", "eos", "eot", "eom"))
    begins = model == "llama" or fields.entries.get("pre") in _IGNORE_MERGES
    stop = stop_tokens(vocabulary.of_kinds(CONTROL), (eos, eot, eom))
    return SpecialTokens(bos, eos, stop, fields.flag("add_bos_token", begins), fields.flag("add_eos_token", False))


def _byte_pairs(fields: Fields, vocabulary: Vocabulary, special: SpecialTokens) -> Tokenizer:
    merges = fields.entries.get("merges")
    if not isinstance(merges, tuple | Texts):
        fields.problems.append(f"'{_PREFIX}merges' is no list of texts")
        merges = ()
    if any(" " not in merge for merge in merges):
        fields.problems.append(f"'{_PREFIX}merges' has what is no pair")
    name = fields.entries.get("pre", "default")
    if not isinstance(name, str) or name not in SPLITTINGS:
        raise unknown_name("pre-tokenizer", str(name)[:80], SPLITTINGS)
    return BytePairTokenizer(vocabulary, special, merges, SPLITTINGS[name], name in _IGNORE_MERGES)


def _sentence_pieces(fields: Fields, vocabulary: Vocabulary, special: SpecialTokens) -> Tokenizer:
    scores = _numbers(fields, "scores", len(vocabulary.texts), "f", 0.0)
    return SentencePieceTokenizer(vocabulary, special, array("d", scores), fields.flag("add_space_prefix", True))
