"""The packed functions that choose tokens, compared with numpy."""

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError

LOGITS = np.array([[0.5, -1.0, 2.0, 1.5, -0.25]], np.float32)


def call(name, *args):
    arrays = [tvm.nd.array(a) if isinstance(a, np.ndarray) else a for a in args]
    result = tvm.get_global_func(f"vm.builtin.{name}")(*arrays)
    return arrays[0].numpy() if result is None else result


def softmax(x, temperature=1.0):
    powers = np.exp((x - x.max()) / temperature)
    return powers / powers.sum()


@pytest.mark.parametrize("sample", [0.0, 0.3, 0.7, 0.95, 0.999999])
@pytest.mark.parametrize("top_p", [0.2, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_most_probable_tokens(temperature, top_p, sample):
    prob = softmax(LOGITS[0].astype(np.float64), temperature)
    order = np.argsort(-prob)
    kept = [n for n in range(5) if prob[order[:n]].sum() < top_p]
    sums = prob[order[kept]].cumsum()
    expected = order[int(np.searchsorted(sums / sums[-1], sample, side="right"))]
    assert call("sample_top_p_from_logits", LOGITS, temperature, top_p, sample) == expected
    assert call("sample_top_p_from_prob", prob.astype(np.float32)[None], top_p, sample) == expected


def test_a_cold_sample_is_the_greatest():
    assert call("sample_top_p_from_logits", LOGITS, 0.0, 0.9, 0.5) == 2


def test_rows_by_their_samples():
    prob = np.random.default_rng(0).dirichlet(np.ones(7), 4).astype(np.float32)
    sample = np.array([[0.0], [0.4], [0.8], [1.0]], np.float32)
    expected = [min(int(np.searchsorted(p.cumsum(), s, side="right")), 6) for p, s in zip(prob, sample[:, 0])]
    assert call("multinomial_from_uniform", prob, sample).numpy().tolist() == [[e] for e in expected]


def test_penalties_and_softmax_change_the_logits():
    ids, freqs = np.array([[2, 1]], np.int32), np.array([[3, 1]], np.int32)
    penalized = call("apply_repetition_penalty", LOGITS.copy(), ids, 2.0)
    assert penalized.tolist() == [[0.5, -2.0, 1.0, 1.5, -0.25]]
    both = call("apply_presence_and_frequency_penalty", LOGITS.copy(), ids, freqs, 0.5, 0.25)
    np.testing.assert_allclose(both, LOGITS - np.array([[0, 0.75, 1.25, 0, 0]], np.float32))
    np.testing.assert_allclose(
        call("apply_softmax_with_temperature", LOGITS.copy(), 0.7)[0], softmax(LOGITS[0], 0.7), 1e-6
    )


def test_one_row_of_float32():
    with pytest.raises(TiraxError, match="one row of numbers"):
        call("apply_softmax_with_temperature", np.ones((2, 3), np.float32), 1.0)
