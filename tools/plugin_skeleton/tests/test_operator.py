"""The operator agrees with numpy, interpreted, legalized and compiled."""

import numpy as np
import pytest

from tirax.extend import LegalizeOps, assert_same_meaning, build, parse_source

MODULE = parse_source("""@R.function
def main(x: R.Tensor(("n", 5), "float32")):
    return R.acme.shrink(x, threshold=0.25)""")


def test_reference_and_compute_agree():
    assert_same_meaning(MODULE, LegalizeOps()(MODULE))


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_native_code_computes_what_numpy_computes(rows):
    x = np.random.default_rng(rows).standard_normal((rows, 5), np.float32)
    shrunk = np.sign(x) * np.maximum(np.abs(x) - np.float32(0.25), 0)
    np.testing.assert_allclose(build(MODULE)["main"](x), shrunk, rtol=1e-6, atol=1e-7)
