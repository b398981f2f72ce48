"""Functions by polynomials: how close they are."""

import math

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import te, topi


def run(name, x):
    a = te.placeholder(x.shape, str(x.dtype), "a")
    built = tvm.build(te.create_prim_func([a, getattr(topi, name)(a)]), target="llvm")
    out = tvm.nd.array(np.empty_like(x))
    built["main"](tvm.nd.array(x), out)
    return out.numpy()


EXACT = {"fast_exp": np.exp, "fast_tanh": np.tanh, "fast_erf": np.vectorize(math.erf)}


def values(low, high):
    small = np.concatenate([np.logspace(-30, 0, 501), [0.0]])
    return np.concatenate([np.linspace(low, high, 200_001), small, -small]).astype("float32")


@pytest.mark.parametrize(("name", "low", "high"), [("fast_exp", -87, 88), ("fast_tanh", -12, 12), ("fast_erf", -6, 6)])
def test_errors(name, low, high):
    x = values(low, high)
    expected = EXACT[name](x.astype("float64"))
    error = np.abs(run(name, x) - expected)
    scale = expected if name == "fast_exp" else np.maximum(np.abs(expected), 1e-20)
    assert (error / scale).max() < (5e-7 if name == "fast_exp" else 1e-6)


def test_beyond():
    result = run("fast_exp", np.array([-1e30, -100, 100, 1e30, -np.inf, np.inf], "float32"))
    assert np.isfinite(result).all()
    assert (result[[0, 1, 4]] < 2e-38).all()
    assert (result[[2, 3, 5]] > 2e38).all()
    for name in ("fast_tanh", "fast_erf"):
        np.testing.assert_allclose(run(name, np.array([-1e30, -np.inf, np.inf], "float32")), [-1, -1, 1], atol=1e-6)
        assert np.abs(run(name, values(-9, 9))).max() <= 1


@pytest.mark.parametrize("name", EXACT)
def test_other_dtypes_are_exact(name):
    x = np.linspace(-3, 3, 101)
    np.testing.assert_allclose(run(name, x), EXACT[name](x), rtol=1e-14)
