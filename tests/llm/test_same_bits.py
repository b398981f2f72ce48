"""The logits after a prompt have the same bits, in whatever chunks it is read, alone or beside other sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from strength import thinned
from tiny_language_models import gguf_metadata, gguf_name, random_weights, sentence_piece_metadata, tiny

from tirax.dialects.block_formats import BLOCK_FORMATS
from tirax.llm import LanguageModel
from tirax.llm.checkpoints import Rope
from tirax.llm.gguf import GgufTensor, write_gguf
from tirax.runtime import num_threads, set_num_threads

CONFIG = tiny(
    vocabulary_size=512, context_length=1024, hidden_size=256, intermediate_size=512, layers=2, heads=8, kv_heads=4,
    head_size=32, rope=Rope(10_000.0, 32, "pairs"),
)  # fmt: skip
TOKENS = np.random.default_rng(1).integers(3, 500, 620).tolist()
CHUNKS = ([33], [1] * 33, [30, 3], [3, 30], [7, 1, 25], [16, 17], [620], [512, 108], [619, 1], [600, *[1] * 20])
DEVIATION = {"q4_0": 4.6, "q8_0": 74.0}
"""The standard deviation of numbers from random bytes with a scale of 1."""


def model(path: Path, format: str, tied: bool = False) -> LanguageModel:
    """A model of random weights whose matrices are stored in a format."""
    config = tiny(**(vars(CONFIG) | {"tied_embeddings": tied}))
    rng = np.random.default_rng(0)
    tensors: dict[str, Any] = {}
    for name, numbers in random_weights(config, 0).items():
        weight: Any = numbers
        if numbers.ndim == 2 and format in DEVIATION:
            row = BLOCK_FORMATS[format]
            blocks = rng.integers(0, 256, (numbers.size // row.size, row.block_bytes), np.uint8)
            blocks[:, :2] = np.array([numbers.std() / DEVIATION[format]], "<f2").view(np.uint8)
            weight = GgufTensor(gguf_name(name), numbers.shape, format, blocks.reshape(len(numbers), -1))
        elif numbers.ndim == 2:
            weight = numbers.astype(format)
        tensors[gguf_name(name)] = weight
    write_gguf(path, gguf_metadata(config) | sentence_piece_metadata(), tensors)
    return LanguageModel.load(path)


@thinned("format,tied", [("q8_0", False), ("float16", True), ("float32", False), ("q4_0", True), ("float16", False)], 2)
def test_chunks_of_a_prompt(tmp_path: Path, format: str, tied: bool) -> None:
    loaded, before = model(tmp_path / "model.gguf", format, tied), num_threads()
    expected: dict[int, np.ndarray[Any, Any]] = {}
    try:
        for threads in (1, 2):
            set_num_threads(threads)
            for chunks in CHUNKS:
                session = loaded.session(context=1024)
                sequence, first = session.begin(), 0
                for size in chunks:
                    logits = session.read(sequence, TOKENS[first : first + size])
                    first += size
                known = expected.setdefault(first, logits.copy())
                assert np.isfinite(known).all() and known.std() > 0
                np.testing.assert_array_equal(logits.view(np.int32), known.view(np.int32), f"{chunks}, {threads}")
    finally:
        set_num_threads(before)


def test_beside_other_sequences(tmp_path: Path) -> None:
    """A token of each of several sequences is read by another function than a token of one."""
    loaded = model(tmp_path / "model.gguf", "float16")
    prompts, steps = (TOKENS[:40], TOKENS[50:53], TOKENS[100:291]), TOKENS[300:306]

    def beside(*numbers: int) -> dict[int, np.ndarray[Any, Any]]:
        session = loaded.session(context=256, sequences=len(numbers))
        sequences = {number: session.begin() for number in numbers}
        for number, sequence in sequences.items():
            session.read(sequence, prompts[number])
        each = [sequences[number] for number in numbers]
        logits = [
            loaded.decoder.step(session.cache, each, np.full((len(each), 1), token, np.int32)).copy() for token in steps
        ]
        return {number: np.stack([step[i] for step in logits]) for i, number in enumerate(numbers)}

    together = beside(0, 1, 2)
    for numbers in ((0,), (1,), (2,), (2, 0)):
        for number, logits in beside(*numbers).items():
            assert logits.shape == (len(steps), 512) and logits.std() > 0
            np.testing.assert_array_equal(logits.view(np.int32), together[number].view(np.int32))
