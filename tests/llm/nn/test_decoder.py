"""Decoders of all families against numpy in float64, step by step and at once."""

from dataclasses import replace

import numpy as np
import pytest
from decoder_reader import Reader, tokens_of
from decoder_reference import logits_of
from strength import thinned
from tiny_language_models import SPEAKING
from tiny_models import LLAMA, TINY, as_file_has, random_weights

from tirax.diagnostics import ShapeError
from tirax.driver.build import build
from tirax.llm.cache import PAGE_SIZE
from tirax.llm.checkpoints import Rope
from tirax.llm.nn.decoder import Decoder, layout_of

MIXED = replace(
    LLAMA,
    attention_bias=True,
    attention_output_bias=True,
    mlp_bias=True,
    qk_norm=True,
    head_size=8,
    rope=Rope(10000.0, 4, "pairs", (1.0, 8.0)),
    rope_layers=(True, False),
)
"""What llama_pairs, smollm3, qwen3 and biased have: norms of queries and keys in the order of pairs, too."""

GEMMA = replace(TINY["gemma3"], attention_softcap=2.0, logit_softcap=3.0, attention_scale=0.3)
"""What gemma2 and gemma3 have: limits of scores and logits, norms of queries and keys, two angles and a window."""

CONFIGS = {**TINY, "gemma2 and gemma3": GEMMA, "mixed": MIXED}


def reader_of(config, **options):
    """A reader with random weights, which it knows."""
    weights = random_weights(config)
    reader = Reader(config, as_file_has(weights), **options)
    reader.weights = weights
    return reader


@thinned("family", CONFIGS, 2)
def test_each_family_is_what_numpy_says(family):
    reader = reader_of(CONFIGS[family])
    tokens = tokens_of(reader.config, 12)
    expected = logits_of(reader.config, reader.weights, tokens)
    for begin, end in ((0, 9), (9, 10), (10, 12)):
        np.testing.assert_allclose(reader.read(tokens[begin:end]), expected[end - 1], rtol=0, atol=2e-5)


def compiled(config, **options):
    """A reader of compiled code, whose cache is of no numbers: what is read before it is written shows."""
    reader = reader_of(config, **options)
    executable = build(reader.mod)
    reader.call = lambda name, *args: executable[name](*args)
    reader.cache.keys[:] = np.nan
    reader.cache.values[:] = np.nan
    return reader


COMPILED = {
    # As tests of `tirax chat` compile it, so that one of them does.
    "speaking/f16": (SPEAKING, {"dtype": "float16", "page": PAGE_SIZE}),
    "gemma2 and gemma3": (GEMMA, {}),
    "mixed": (MIXED, {}),
}
"""All that families differ in, in few decoders, as each takes a quarter of a minute; all are interpreted above."""

of_compiled = thinned("reader", COMPILED, 1, indirect=True)


@pytest.fixture(scope="module")
def reader(request):
    """A decoder, compiled, in f16 where the name says so."""
    config, options = COMPILED[request.param]
    return compiled(config, **options)


@of_compiled
def test_compiled_code_reads_at_once_and_token_by_token(reader):
    """Lengths up to beyond pages, and the tile of keys that attention takes at once."""
    tokens = tokens_of(reader.config, 80)
    expected = logits_of(reader.config, reader.weights, tokens)
    tolerance = 2e-5 if reader.cache.keys.dtype == np.float32 else 1e-2
    for parts in ([1] * 10, [9, 1, 70], [80]):
        ends = np.cumsum(parts)
        for begin, end in zip([0, *ends], ends):
            np.testing.assert_allclose(reader.read(tokens[begin:end]), expected[end - 1], rtol=0, atol=tolerance)
        reader.cache.popn(0, sum(parts))


@of_compiled
def test_what_was_forked_continues_separately(reader):
    """Two sequences that begin alike, one of which is taken back behind a page that they share."""
    cache = reader.cache
    tokens = tokens_of(reader.config, 24)
    reader.read(tokens[:10])
    cache.fork_sequence(0, 1)
    cache.fork_sequence(0, 2, 5)
    for sequence, begin in ((0, 10), (1, 10), (2, 5)):
        other = np.concatenate([tokens[:begin], tokens_of(reader.config, 7, seed=sequence)])
        expected = logits_of(reader.config, reader.weights, other)[-1]
        np.testing.assert_allclose(reader.read(other[begin:], sequence), expected, rtol=0, atol=1e-2)
    for sequence in (1, 2):
        cache.remove_sequence(sequence)
    cache.popn(0, cache.length(0))
    assert cache.available == cache.pages * cache.layout.page_size


def test_a_cache_of_another_model_is_refused():
    with pytest.raises(ShapeError, match="for another model"):
        Decoder(LLAMA, layout_of(TINY["qwen3"]))
