"""The cache of keys and values: pages are given, shared, copied where they are written to, and given back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.diagnostics import DTypeError
from tirax.llm.cache import CacheFullError, CacheLayout, PagedKVCache, SequenceError
from tirax.runtime.errors import ArgumentError

LAYOUT = CacheLayout(layers=1, kv_heads=1, head_size=1, page_size=4, dtype="float32")


def write(cache, sequence, values):
    """What a compiled step does: the values at the positions behind those that the sequence has."""
    with cache.forward([sequence], [len(values)]) as step:
        for i, value in enumerate(values, int(step.starts[0])):
            cache.keys[0, step.table[0, i // 4], 0, i % 4] = value


def contents(cache, sequence):
    length = cache.length(sequence)
    with cache.forward([sequence], [0]) as step:
        return [int(cache.keys[0, step.table[0, i // 4], 0, i % 4, 0]) for i in range(length)]


def test_sequences_share_pages_until_one_of_them_writes():
    cache = PagedKVCache.create(LAYOUT, 32)
    cache.add_sequence(7)
    write(cache, 7, range(6))
    cache.fork_sequence(7, 8)
    assert cache.available == 24
    write(cache, 8, [60])
    write(cache, 7, [70, 71])
    assert contents(cache, 7) == [0, 1, 2, 3, 4, 5, 70, 71]
    assert contents(cache, 8) == [0, 1, 2, 3, 4, 5, 60]
    cache.remove_sequence(7)
    assert contents(cache, 8) == [0, 1, 2, 3, 4, 5, 60]
    cache.clear()
    assert cache.available == 32 and cache.sequences == ()


def test_the_table_has_the_pages_of_the_longest():
    cache = PagedKVCache.create(LAYOUT, 32)
    for sequence, length in ((0, 9), (1, 2)):
        cache.add_sequence(sequence)
        write(cache, sequence, range(length))
    with cache.forward([1, 0], [1, 1]) as step:
        assert step.table.shape == (2, 3) and step.table.dtype == np.int32
        assert step.starts.tolist() == [2, 9]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "write", "write", "fork", "pop", "remove"]),
        st.integers(0, 3),
        st.integers(0, 3),
        st.integers(0, 9),
    ),
    max_size=30,
)


@drawn(60)
@given(STEPS)
def test_any_history_is_that_of_lists(steps):
    cache, lists, fresh = PagedKVCache.create(LAYOUT, 400), {}, iter(range(10**6))
    for kind, one, other, count in steps:
        if kind == "add" and one not in lists:
            cache.add_sequence(one)
            lists[one] = []
        elif one not in lists:
            continue
        elif kind == "write":
            values = [next(fresh) for _ in range(count)]
            write(cache, one, values)
            lists[one] += values
        elif kind == "fork" and other not in lists:
            cache.fork_sequence(one, other, min(count, len(lists[one])))
            lists[other] = lists[one][:count]
        elif kind == "pop":
            taken = min(count, len(lists[one]))
            cache.popn(one, taken)
            lists[one] = lists[one][: len(lists[one]) - taken]
        elif kind == "remove":
            cache.remove_sequence(one)
            del lists[one]
    assert {s: contents(cache, s) for s in cache.sequences} == lists
    cache.clear()
    assert cache.available == 400


def test_a_full_cache_says_so_and_stays_as_it_was():
    cache = PagedKVCache.create(LAYOUT, 8)
    cache.add_sequence(0)
    write(cache, 0, range(5))
    with pytest.raises(CacheFullError, match="expected: 2 free pages of 4 positions\n  found: 0 of 2"):
        cache.begin_forward([0], [9])
    assert contents(cache, 0) == list(range(5))


def test_a_step_that_fails_is_taken_back():
    cache = PagedKVCache.create(LAYOUT, 8)
    cache.add_sequence(0)
    with pytest.raises(ZeroDivisionError), cache.forward([0], [3]):
        raise ZeroDivisionError
    assert cache.length(0) == 0 and cache.available == 8
    write(cache, 0, [1])


REFUSED = {
    "unknown": (lambda c: c.length(9), SequenceError, "no sequence 9"),
    "known": (lambda c: c.add_sequence(0), SequenceError, "a sequence 0 already"),
    "fork of nothing": (lambda c: c.fork_sequence(9, 1), SequenceError, "no sequence 9"),
    "fork into another": (lambda c: c.fork_sequence(0, 0), SequenceError, "already"),
    "fork behind the end": (lambda c: c.fork_sequence(0, 1, 4), SequenceError, r"0 … 3, or -1"),
    "fork before the begin": (lambda c: c.fork_sequence(0, 1, -2), SequenceError, r"0 … 3, or -1"),
    "too much taken back": (lambda c: c.popn(0, 4), SequenceError, "0 … 3"),
    "less than nothing": (lambda c: c.popn(0, -1), SequenceError, "0 … 3"),
    "no sequences": (lambda c: c.begin_forward([], []), ArgumentError, "as many lengths"),
    "other lengths": (lambda c: c.begin_forward([0], [1, 2]), ArgumentError, "as many lengths"),
    "negative": (lambda c: c.begin_forward([0], [-1]), ArgumentError, "as many lengths"),
    "twice": (lambda c: c.begin_forward([0, 0], [1, 1]), SequenceError, "twice"),
    "no step": (lambda c: c.end_forward(), ArgumentError, "no step"),
    "a step in a step": (
        lambda c: [c.begin_forward([0], [1]) for _ in range(2)],
        ArgumentError,
        "another",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused(case):
    act, error, message = REFUSED[case]
    cache = PagedKVCache.create(LAYOUT, 8)
    cache.add_sequence(0)
    write(cache, 0, range(3))
    with pytest.raises(error, match=message):
        act(cache)


def test_layouts_that_cannot_be_are_refused():
    with pytest.raises(DTypeError, match="float32 or float16"):
        CacheLayout(1, 1, 1, dtype="int8")
    with pytest.raises(ArgumentError, match="positive"):
        CacheLayout(1, 0, 1)
    with pytest.raises(ArgumentError, match="a position at least"):
        PagedKVCache.create(LAYOUT, 0)
    assert CacheLayout(30, 3, 64).position_bytes == 2 * 30 * 3 * 64 * 2
