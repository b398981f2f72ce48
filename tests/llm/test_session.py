"""Sessions: several sequences at once are what each is alone, contexts end, tokens are checked."""

import numpy as np
import pytest
from tiny_models import LLAMA

from tirax.diagnostics import TiraxError
from tirax.llm import ContextOverflowError, Sampling, Session
from tirax.llm.cache import CacheFullError, PagedKVCache
from tirax.llm.compiled import CompiledDecoder
from tirax.llm.nn.decoder import Decoder, layout_of


class Counting(CompiledDecoder):
    """A decoder whose next token is the sum of all so far, which it keeps where others keep keys."""

    def step(self, cache, sequences, tokens):
        with cache.forward(sequences, [tokens.shape[1]] * len(sequences)) as step:
            sums = []
            for table, start, row in zip(step.table, step.starts, tokens, strict=True):
                for i, token in enumerate(row, int(start)):
                    before = cache.keys[0, table[(i - 1) // 4], 0, (i - 1) % 4, 0] if i else 0
                    cache.keys[0, table[i // 4], 0, i % 4, 0] = before + token
                sums.append(before + token)
        return np.eye(67, dtype=np.float32)[np.array(sums, int) % 67]


def session(context=32, capacity=None):
    decoder = Decoder(LLAMA, layout_of(LLAMA, 4, "float32"))
    return Session(Counting(decoder, {}), PagedKVCache.create(decoder.layout, capacity or 4 * context), context)


def fibonacci_like(tokens, count):
    tokens = list(tokens)
    for _ in range(count):
        tokens.append(sum(tokens) % 67)
    return tokens[-count:]


def continued(s, prompts, **options):
    logits = {s.begin(): prompt for prompt in prompts}
    logits = {sequence: s.read(sequence, prompt) for sequence, prompt in logits.items()}
    tokens = {sequence: [] for sequence in logits}
    for sequence, token in s.generate(logits, Sampling(), **options):
        tokens[sequence].append(token)
    return list(tokens.values())


def test_sequences_of_differing_lengths_go_on_at_once():
    prompts = [[1, 2, 3], [5], [7] * 9]
    expected = [fibonacci_like(p, 6) for p in prompts]
    assert continued(session(), prompts, max_tokens=6) == expected
    assert [continued(session(), [p], max_tokens=6)[0] for p in prompts] == expected


def test_a_sequence_ends_after_a_token_that_stops_and_the_others_go_on():
    prompts = [[1, 2, 3], [5]]
    first, second = (fibonacci_like(p, 5) for p in prompts)
    stop = first[2]
    assert stop not in second
    assert continued(session(), prompts, max_tokens=5, stop=frozenset([stop])) == [first[:2], second]


def test_a_sequence_ends_where_who_listens_says_so_and_the_others_go_on():
    s, ended, tokens = session(), set(), {}
    logits = {sequence: s.read(sequence, prompt) for prompt in ([1, 2, 3], [5]) for sequence in [s.begin()]}
    for sequence, token in s.generate(logits, Sampling(), max_tokens=5, ended=ended):
        tokens.setdefault(sequence, []).append(token)
        if len(tokens[sequence]) == 2 and sequence == 1:
            ended.add(sequence)
    assert tokens == {1: fibonacci_like([1, 2, 3], 2), 2: fibonacci_like([5], 5)}


def test_a_sequence_ends_where_its_context_does():
    (tokens,) = continued(session(context=8), [[1, 2, 3]])
    assert tokens == fibonacci_like([1, 2, 3], 6)  # the last one is not read
    assert continued(session(), [[1]], max_tokens=0) == [[]]


def test_a_fork_and_what_is_taken_back_go_on_from_where_they_are():
    s = session()
    one = s.begin()
    s.read(one, [1, 2, 3])
    two = s.fork(one, 2)
    assert s.read(two, [4]).argmax() == 7
    s.rollback(one, 2)
    assert s.read(one, [10]).argmax() == 11
    s.end(two)
    assert s.cache.sequences == (one,)


def test_texts_that_are_too_long_are_refused():
    s = session(context=8)
    sequence = s.begin()
    s.read(sequence, [1, 2, 3])
    with pytest.raises(ContextOverflowError, match="expected: at most 8\n  found: 6 behind 3"):
        s.read(sequence, [1] * 6)
    assert s.cache.length(sequence) == 3


def test_a_cache_that_is_full_says_so():
    with pytest.raises(CacheFullError):
        continued(session(context=32, capacity=8), [[1, 2, 3]])


@pytest.mark.parametrize("tokens, message", [([], "nothing to read"), ([67], "0 … 66"), ([-1], "0 … 66")])
def test_tokens_that_there_are_none_of_are_refused(tokens, message):
    s = session()
    with pytest.raises(TiraxError, match=message):
        s.read(s.begin(), tokens)
