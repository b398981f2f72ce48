"""Special functions beside PyTorch's: native code and the interpreter, in both precisions."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.tvm_api.script import from_source

torch = pytest.importorskip("torch", reason="the functions that are compared with are PyTorch's")

SMALL = 10.0 ** -np.arange(20.0)
POINTS = {
    "erfinv": np.concatenate([np.linspace(-1, 1, 999), SMALL[1:], 1 - SMALL[1:8], [2, -3, -0.0, np.nan]]),
    "lgamma": np.concatenate(
        [np.linspace(-9.99, 30, 999), SMALL, -SMALL, 1 + SMALL[1:7], 2 - SMALL[1:7], 1 / SMALL[:30]]
        + [[0, -0.0, -1, -2, 1, 2, 1e30, np.inf, -np.inf, np.nan]]
    ),
}
POINTS["digamma"] = POINTS["lgamma"]
TOLERANCE = {"float32": 1.3e-7, "float64": 2e-8}
"""Of float32 what it is rounded to; of float64 more, near zeros."""


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", POINTS)
def test_special_functions(name, dtype):
    mod = from_source(f"""
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "{dtype}")):
        gv = R.{name}(x)
        return gv
""")
    x = POINTS[name].astype(dtype)
    expected = getattr(torch, name)(torch.tensor(x.astype("float64"))).numpy()
    with np.errstate(over="ignore"):
        expected = expected.astype(dtype)
    for result in (build(mod)["main"](x), interpret(mod, "main", [x])):
        np.testing.assert_allclose(result, expected, rtol=TOLERANCE[dtype], atol=1e-300)
        assert result.dtype == dtype
