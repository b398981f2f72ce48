"""Blocks become what they do: buffers with strides lie in memory that is large enough for them."""

import numpy as np
import pytest

from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.transforms.tir.flatten_buffer import FlattenBuffer
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

STRIDED = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
  @T.prim_func
  def main(A: T.Buffer((4, 6), "float32"), D: T.Buffer((4, 6), "float32")):
    for i in range(4):
        with T.block("rows"):
            vi = T.axis.spatial(4, i)
            B = T.alloc_buffer((2, 6), strides=(STRIDES))
            for k, j in T.grid(2, 6):
                B[k, j] = A[vi, j] + T.float32(1)
            for j in range(6):
                D[vi, j] = B[0, j] + B[1, j]
"""


@pytest.mark.parametrize(("strides", "allocated"), [("8, 1", [2, 8]), ("6, 1", [2, 6]), ("13, 2", None)])
def test_strided_buffers_have_memory_of_their_own(strides, allocated):
    before = T.ConvertBlocksToOpaque()(from_source(STRIDED.replace("STRIDES", strides)))
    after = T.LowerOpaqueBlock()(before)
    memory = [[e.constant for e in op.extents] for op in after.op.walk() if isinstance(op, tir.AllocateOp)]
    assert memory == ([] if allocated is None else [allocated])
    assert_same_meaning(before.op, after.op)
    flat = FlattenBuffer()(after)
    assert not any(isinstance(op, tir.AllocateOp) for op in flat.op.walk())
    assert_same_meaning(before.op, flat.op)


def test_strided_buffers_run():
    program = from_source(STRIDED.replace("STRIDES", "8, 1"))
    a, d = np.random.default_rng(0).random((4, 6), "float32"), np.zeros((4, 6), "float32")
    build(program)["main"](a, d)
    np.testing.assert_allclose(d, 2 * a + 2, rtol=1e-6)
