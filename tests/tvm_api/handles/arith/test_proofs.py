"""What the analyzer proves of floats and of `T.vscale()`."""

import pytest

from tirax.tvm_api import arith, target, tir
from tirax.tvm_api.script import tir as T

SVE, PLAIN = (f"llvm -mtriple=aarch64-linux-gnu{more}" for more in (" -mattr=+sve", ""))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint32", "bool"])
def test_a_variable_equals_itself(dtype):
    n, m = tir.Var("n", dtype), tir.Var("m", dtype)
    analyzer = arith.Analyzer()
    assert analyzer.can_prove(n == n) and analyzer.can_prove_equal(n, n)
    assert not analyzer.can_prove(n == m) and not analyzer.can_prove_equal(n, m)


def test_conditions_on_vscale_are_tried():
    more, less = T.vscale() * 32 < T.vscale() * 64, T.vscale() * 4 < 64
    with target.Target(SVE):
        assert arith.Analyzer().can_prove(more) and not arith.Analyzer().can_prove(less)


def test_without_sve_they_are_not(capfd):
    with target.Target(PLAIN):
        assert not arith.Analyzer().can_prove(T.vscale() * 32 < T.vscale() * 64)
    assert "contains scalable values" in capfd.readouterr().err
