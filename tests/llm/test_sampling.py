"""Tokens are drawn as often as their probability says, the same ones for the same seed."""

import numpy as np
import pytest

from tirax.llm.sampling import Sampler, Sampling, SamplingError

LOGITS = np.log(np.array([0.5, 0.05, 0.25, 0.2], np.float32))


def draws(count=4000, **options):
    sampler = Sampler(Sampling(**options))
    return np.bincount([sampler(LOGITS) for _ in range(count)], minlength=4) / count


@pytest.mark.parametrize(
    "options, expected",
    [
        ({"temperature": 1.0}, [0.5, 0.05, 0.25, 0.2]),
        ({"temperature": 0.5}, np.array([0.5, 0.05, 0.25, 0.2]) ** 2 / 0.3550),
        ({"temperature": 1.0, "top_k": 2}, [2 / 3, 0, 1 / 3, 0]),
        ({"temperature": 1.0, "top_p": 0.7}, [2 / 3, 0, 1 / 3, 0]),
        ({"temperature": 1.0, "top_p": 0.4}, [1, 0, 0, 0]),
        ({"temperature": 1.0, "top_k": 1}, [1, 0, 0, 0]),
        ({"temperature": 0.0}, [1, 0, 0, 0]),
    ],
)
def test_tokens_come_as_often_as_their_probability_says(options, expected):
    np.testing.assert_allclose(draws(**options), expected, rtol=0, atol=0.03)


def test_the_seed_and_the_number_of_the_sequence_decide():
    drawn = {
        (seed, number): [Sampler(Sampling(1.0, seed=seed), number)(LOGITS) for _ in range(1)]
        + [s(LOGITS) for s in [Sampler(Sampling(1.0, seed=seed), number)] for _ in range(40)]
        for seed in (0, 1)
        for number in (0, 1)
    }
    again = Sampler(Sampling(1.0, seed=1), 1)
    assert drawn[1, 1][1:] == [again(LOGITS) for _ in range(40)]
    assert len({tuple(tokens) for tokens in drawn.values()}) == 4


def test_of_equal_logits_the_first_one_is_taken():
    assert Sampler(Sampling())(np.zeros(5, np.float32)) == 0
    assert Sampler(Sampling(1.0, top_k=1))(np.zeros(5, np.float32)) == 0


def test_options_that_cannot_be_are_reported_at_once():
    with pytest.raises(SamplingError) as error:
        Sampling(temperature=-1, top_k=-1, top_p=0, seed=-1)
    assert [note.split(" ")[0] for note in error.value.notes] == ["temperature", "top_k", "top_p", "seed"]
    with pytest.raises(SamplingError, match="temperature is nan"):
        Sampling(temperature=float("nan"))
    with pytest.raises(SamplingError) as error:
        Sampling("hot", 1.5, None, True)
    assert [note.split(",")[0] for note in error.value.notes] == [
        "temperature is 'hot'", "top_k is 1.5", "top_p is None", "seed is True",
    ]  # fmt: skip


def test_a_temperature_next_to_0_is_0():
    logits = np.array([3.0, 1e30, -1e30, 1.0], np.float32)
    assert {Sampler(Sampling(5e-324, seed=i))(logits) for i in range(20)} == {1}


def test_as_many_are_drawn_as_a_distribution_says():
    """Pearson's statistic of 20,000 draws among 50 tokens stays below the 99.9th percentile of its distribution."""
    logits = np.random.default_rng(1).normal(size=50).astype(np.float32)
    powers = np.exp(logits.astype(float) / 0.7)
    expected = 20000 * powers / powers.sum()
    sampler = Sampler(Sampling(0.7, seed=2))
    counts = np.bincount([sampler(logits) for _ in range(20000)], minlength=50)
    assert ((counts - expected) ** 2 / expected).sum() < 85.4  # 49 degrees of freedom


def test_logits_that_are_no_numbers_are_refused():
    with pytest.raises(SamplingError, match="no numbers"):
        Sampler(Sampling())(np.array([0, np.nan, 1], np.float32))
    with pytest.raises(SamplingError, match="no numbers"):
        Sampler(Sampling(1.0))(np.array([0, np.inf, 1], np.float32))
