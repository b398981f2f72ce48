"""Indices that are data cannot reach outside of a buffer in native code, and are reported."""

import numpy as np
import pytest

from tirax.lowering.build import build
from tirax.runtime.errors import OutsideError

GATHER = """
tir.func @gather(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %x = tir.load %A[%k] : f32
    tir.store %x, %B[%i]
  }
}
tir.func @scatter(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %x = tir.load %B[%i] : f32
    tir.store %x, %A[%k]
  }
}
relax.func @take(%x: !relax.tensor<[n], f32>, %i: !relax.tensor<[m], i64>) -> !relax.tensor<[m], f32> {
  %y = relax.take %x, %i {axis = 0} : !relax.tensor<[m], f32>
  relax.return %y : !relax.tensor<[m], f32>
}
"""
FAR = [0, 2, 3, -1, 2**40, -(2**62), 2**63 - 1]


@pytest.fixture(scope="module")
def executable():
    from xdsl.parser import Parser

    from tirax.ir.passes.transform import new_context

    return build(Parser(new_context(), GATHER).parse_module())


def test_a_gather_stays_inside(executable):
    """What is outside is read at the edge, and the run fails at its end."""
    a, b = np.arange(3, dtype="float32"), np.zeros(len(FAR), "float32")
    with pytest.raises(OutsideError, match="gather: an index is outside of A: 0 <= index < n"):
        executable["gather"](a, np.array(FAR), b)
    np.testing.assert_array_equal(b, [0, 2, 2, 0, 2, 0, 2])


@pytest.mark.parametrize("outside", FAR[2:])
@pytest.mark.parametrize("count", [1, 40])
def test_take_fails(executable, outside, count):
    indices = np.zeros(count, np.int64)
    np.testing.assert_array_equal(executable["take"](np.arange(3, dtype="float32"), indices), np.zeros(count, "f4"))
    indices[-1] = outside
    with pytest.raises(IndexError):
        executable["take"](np.arange(3, dtype="float32"), indices)


def test_a_scatter_leaves_out_what_is_outside(executable):
    a, b = np.zeros(3, "float32"), np.arange(1, len(FAR) + 1, dtype="float32")
    with pytest.raises(OutsideError, match="scatter: an index is outside of A"):
        executable["scatter"](a, np.array(FAR), b)
    np.testing.assert_array_equal(a, [1, 0, 2])
