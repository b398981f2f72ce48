"""The dialect agrees with numpy, interpreted and compiled, and rejects invalid operands."""

import numpy as np
import pytest
from xdsl.utils.exceptions import VerifyException

from tirax.extend import PIPELINES, build, interpret, parse_mlir

TEXT = """
relax.func @main(%x: TYPE, %y: TYPE) -> TYPE {
  %r = acme.reverse %x : TYPE -> TYPE
  %b = acme.blend %r, %y {amount = 0.25} : TYPE, TYPE -> TYPE
  relax.return %b : TYPE
}"""
MODULE = parse_mlir(TEXT.replace("TYPE", "!relax.tensor<[n, 3], f32>"))


@pytest.fixture(scope="module")
def compiled():
    return build(MODULE, pipeline=["lower-acme", *PIPELINES["default-cpu"]])["main"]


@pytest.mark.parametrize("rows", [0, 1, 6])
def test_it_computes_what_numpy_computes(compiled, rows):
    x, y = np.random.default_rng(rows).standard_normal((2, rows, 3), np.float32)
    blended = 0.75 * x[::-1] + 0.25 * y
    np.testing.assert_allclose(interpret(MODULE, "main", [x, y]), blended, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(compiled(x, y), blended, rtol=1e-5, atol=1e-6)


def test_a_scalar_has_no_rows():
    module = parse_mlir(TEXT.replace("TYPE", "!relax.tensor<[], f32>"))
    with pytest.raises(VerifyException, match="acme.reverse takes a tensor with rows"):
        module.verify()
