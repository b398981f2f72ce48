"""Constants of scalar expressions: their values, what is folded, and what is refused."""

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.tvm_api import tir


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_floats_keep_their_number(dtype):
    """`value` is the number that was written; in arithmetic it is rounded to the dtype."""
    assert tir.const(3.14159, dtype).value == 3.14159
    assert tir.FloatImm(dtype, 0.1).value == 0.1
    if dtype != "bfloat16":
        assert (tir.const(0.1, dtype) + tir.const(0.2, dtype)).value == np.dtype(dtype).type(0.1) + np.dtype(
            dtype
        ).type(0.2)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32", "int64"])
@pytest.mark.parametrize("operation", ["floormod", "truncmod"])
def test_remainders_are_folded_for_indices_only(dtype, operation):
    result = getattr(tir, operation)(tir.const(7, dtype), tir.const(3, dtype))
    assert isinstance(result, tir.IntImm) == (dtype in ("int32", "int64"))
    whole = getattr(tir, operation)(tir.Var("x", dtype), tir.const(1, dtype))
    assert isinstance(whole, tir.IntImm) == (dtype in ("int32", "int64"))


@pytest.mark.parametrize(
    "build",
    [
        lambda: tir.floordiv(tir.const(1, "uint8"), tir.const(0, "uint8")),
        lambda: tir.truncdiv(tir.Var("x", "int8"), tir.const(0, "int8")),
    ],
)
def test_refused_arithmetic(build):
    with pytest.raises(TiraxError):
        build()


def test_floats_are_divided_by_0_and_unsigned_integers_wrap_around():
    """TVM refuses both; here they are what programs compute, which legalization may write as constants."""
    assert tir.const(1.0, "float32") / tir.const(0.0, "float32") is not None
    assert (tir.const(0, "uint8") - tir.const(10, "uint8")).value == 246


@pytest.mark.parametrize(("dtype", "bits", "signed"), [("int8", 8, True), ("uint8", 8, False), ("int32", 32, True)])
def test_overflow_wraps_around(dtype, bits, signed):
    most = 2 ** (bits - 1) - 1 if signed else 2**bits - 1
    total = tir.const(most, dtype) + tir.const(1, dtype)
    assert total.value == (-(2 ** (bits - 1)) if signed else 0)
