"""Attention to the cache as TVM's models call it, beside numpy: sequences of differing lengths, forks, what was rolled
back; whatever happened before, it is what all of a sequence gives when it is read at once."""

from functools import partial

import numpy as np
import pytest
from strength import is_full, thinned

from tirax.driver.build import build
from tirax.frontend import nn
from tirax.interpreter import interpret
from tirax.llm.cache import CacheLayout
from tirax.llm.cache import PagedKVCache as Cache
from tirax.llm.nn.kv_cache import PagedKVCache, cache_specs

pytestmark = pytest.mark.thinned
HEADS, SIZE, LAYER, SCALE = 4, 8, 1, 0.3
LAYOUT = CacheLayout(layers=2, kv_heads=2, head_size=SIZE, page_size=4, dtype="float32")
ALL_HEADS = HEADS + 2 * LAYOUT.kv_heads


class Attending(nn.Module):
    """Attention alone."""

    def attend(self, qkv, keys, values, table, starts):
        cache = PagedKVCache(LAYOUT, keys, values, table, starts)
        return cache.attention_with_fused_qkv(LAYER, qkv, HEADS, SCALE), cache.keys, cache.values


@pytest.fixture(scope="module")
def attend():
    """Compiled, or interpreted in `make test`."""
    qkv = nn.spec.Tensor(("sequences", "length", ALL_HEADS, SIZE), "float32")
    mod, _ = Attending().export_tvm({"attend": {"qkv": qkv, **cache_specs(LAYOUT, "sequences")}})
    return build(mod)["attend"] if is_full() else partial(interpret, mod, "attend")


@pytest.fixture
def cache():
    cache = Cache.create(LAYOUT, 128)
    if is_full():  # compiled code reads nothing before it is written; the interpreter multiplies it by 0
        cache.keys[:] = np.nan
        cache.values[:] = np.nan
    return cache


def rows(length, seed):
    return np.random.default_rng(seed).normal(size=(length, ALL_HEADS, SIZE)).astype(np.float32)


def read(attend, cache, news):
    """Append rows to sequences, as many to each: what the new positions give, by sequence."""
    qkv = np.stack([*news.values()])
    with cache.forward([*news], [qkv.shape[1]] * len(news)) as step:
        args = qkv, cache.keys, cache.values, step.table, step.starts
        out, keys, values = attend(*args) if is_full() else attend(args)
        np.copyto(cache.keys, keys)  # compiled code writes in place
        np.copyto(cache.values, values)
        return dict(zip(news, np.array(out), strict=True))


def expected(qkv):
    """The same of a whole sequence, in float64 and without a cache."""
    query, key, value = np.split(qkv.astype(np.float64), [HEADS, HEADS + LAYOUT.kv_heads], axis=1)
    key, value = (np.repeat(x, HEADS // LAYOUT.kv_heads, axis=1) for x in (key, value))
    scores = np.einsum("ihd,jhd->hij", query, key) * SCALE
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", powers / powers.sum(-1, keepdims=True), value)


def assert_last(out, history):
    np.testing.assert_allclose(out, expected(history)[-len(out) :], rtol=0, atol=2e-6)


def test_sequences_of_differing_lengths_are_read_at_once(attend, cache):
    history = {s: rows(length, s) for s, length in ((0, 5), (1, 1), (2, 11))}
    for sequence, qkv in history.items():
        cache.add_sequence(sequence)
        assert_last(read(attend, cache, {sequence: qkv})[sequence], qkv)
    for step, length in enumerate((1, 3, 1)):
        news = {s: rows(length, 10 * step + s + 50) for s in (2, 0, 1)}
        for sequence, out in read(attend, cache, news).items():
            history[sequence] = np.concatenate([history[sequence], news[sequence]])
            assert_last(out, history[sequence])


@thinned("position", [-1, 8, 6, 0], 2)
def test_what_was_forked_continues_separately(attend, cache, position):
    """Forked at the end, at a page's end, inside of a page, and before all."""
    cache.add_sequence(0)
    history = {0: rows(10, 1)}
    read(attend, cache, history)
    cache.fork_sequence(0, 1, position)
    history[1] = history[0][: 10 if position == -1 else position]
    for step in range(3):
        news = {s: rows(2, 10 * step + s) for s in (0, 1)}
        for sequence, out in read(attend, cache, news).items():
            history[sequence] = np.concatenate([history[sequence], news[sequence]])
            assert_last(out, history[sequence])


def test_what_was_rolled_back_is_gone(attend, cache):
    """Behind a fork, too: the other one keeps what was taken back of the first."""
    cache.add_sequence(0)
    full = rows(9, 1)
    read(attend, cache, {0: full})
    cache.fork_sequence(0, 1)
    cache.popn(0, 6)
    other = rows(5, 2)
    assert_last(read(attend, cache, {0: other})[0], np.concatenate([full[:3], other]))
    more = rows(1, 3)
    assert_last(read(attend, cache, {1: more})[1], np.concatenate([full, more]))
