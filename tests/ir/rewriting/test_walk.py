"""Going through operations, and letting go of what is erased."""

import gc
import weakref

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from tirax.dialects import relax
from tirax.dialects.quick import operations
from tirax.ir.passes.transform import module_op, no_gc
from tirax.ir.rewriting.edit import erase_unused
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Prim("bool")):
        if c:
            y = R.add(x, x)
        else:
            y = R.multiply(x, R.const(2.0, "float32"))
        return y
"""


def test_operations_are_those_of_walk():
    op = module_op(from_source(PROGRAM))
    assert operations(op) == list(op.walk())
    leaf = next(inner for inner in op.walk() if isinstance(inner, relax.ConstantOp))
    assert operations(leaf) == [leaf]


def test_an_erased_constant_gives_its_contents_back_at_once():
    constant = relax.ConstantOp.of(np.zeros(1000), f32)
    block = Block([constant])
    contents = weakref.ref(constant.value.data)
    gc.collect()
    with no_gc():
        erase_unused(block.ops)
        assert contents() is None
    assert not block.ops
