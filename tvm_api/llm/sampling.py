"""The packed functions that choose the next token from logits or probabilities, and change logits, in place, before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.errors import ArgumentError
from ...runtime.ndarray import array


def _row(values: Any) -> np.ndarray:
    """Return the single row of an array of float32. Raises `ArgumentError` for several rows or another dtype."""
    rows = np.asarray(values)
    if rows.dtype != np.float32 or rows.size != rows.shape[-1]:
        raise ArgumentError("one row of numbers is expected", expected="float32", found=f"{rows.dtype} {rows.shape}")
    return rows.reshape(-1)


def multinomial_from_uniform(prob: Any, uniform: Any) -> Any:
    """Return for each row the first index where the sum of the probabilities exceeds the row's sample: (rows, 1)."""
    sums = np.cumsum(np.asarray(prob), axis=-1, dtype=np.float32)
    above = sums > np.asarray(uniform).reshape(-1, 1)
    last = sums.shape[-1] - 1
    return array(np.where(above.any(-1), above.argmax(-1), last).astype(np.int64).reshape(-1, 1))


def sample_top_p_from_logits(logits: Any, temperature: float, top_p: float, sample: float) -> int:
    """Return an index sampled from the most probable ones, whose sum first reaches `top_p`; the greatest if cold."""
    row = _row(logits)
    if temperature < 1e-6:
        return int(row.argmax())
    scaled = np.exp((row - row.max()) / np.float32(temperature))
    return sample_top_p_from_prob(scaled / scaled.sum(), top_p, sample)


def sample_top_p_from_prob(prob: Any, top_p: float, sample: float) -> int:
    """Return an index sampled from the most probable ones, whose sum first reaches `top_p`."""
    row = _row(prob)
    order = np.argsort(-row, kind="stable")
    sums = np.cumsum(row[order], dtype=np.float32)
    kept = int(np.count_nonzero(np.concatenate(([0], sums[:-1])) < top_p))
    above = np.flatnonzero(sample < sums[:kept] / sums[kept - 1])
    return int(order[above[0] if above.size else kept - 1])


def apply_repetition_penalty(logits: Any, token_ids: Any, penalty: float) -> None:
    """Divide the positive logits of tokens by the penalty and multiply the others by it."""
    row = _row(logits)
    for token in np.asarray(token_ids).reshape(-1):
        row[token] = row[token] * penalty if row[token] <= 0 else row[token] / penalty


def apply_presence_and_frequency_penalty(
    logits: Any, token_ids: Any, token_freqs: Any, presence_penalty: float, frequency_penalty: float
) -> None:
    """Subtract from the logits of tokens the penalties, the second times the tokens' frequencies."""
    row, freqs = _row(logits), np.asarray(token_freqs).reshape(-1)
    for token, freq in zip(np.asarray(token_ids).reshape(-1), freqs, strict=True):
        row[token] -= freq * frequency_penalty + presence_penalty


def apply_softmax_with_temperature(logits: Any, temperature: float) -> None:
    """Replace logits by the softmax of the logits divided by the temperature."""
    row = _row(logits)
    powers = np.exp(row / np.float32(temperature) - (row / np.float32(temperature)).max())
    row[:] = powers / powers.sum()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"vm.builtin.{function.__name__}": function
    for function in (
        multinomial_from_uniform,
        sample_top_p_from_logits,
        sample_top_p_from_prob,
        apply_repetition_penalty,
        apply_presence_and_frequency_penalty,
        apply_softmax_with_temperature,
    )
}
