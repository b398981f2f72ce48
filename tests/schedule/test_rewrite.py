"""Bindings that are rewritten with the loops around them."""

from __future__ import annotations

from xdsl.dialects.builtin import i32

from tirax.dialects import tir
from tirax.ir.rewriting.edit import insert_before
from tirax.schedule import Schedule
from tirax.script import parse_source

COPY = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                Y[vi] = X[vi]
"""


def test_a_binding_of_few_operations_that_is_a_large_tree():
    """`x = i + i; x = x + x; …; x // 2**28`: each value has two uses."""
    module = parse_source(COPY)
    (block,) = (op for op in module.walk() if isinstance(op, tir.BlockOp) and op.bindings)
    value = block.bindings[0]

    def insert(op):
        insert_before(block, op)
        return op.results[0]

    for _ in range(28):
        value = insert(tir.AddOp(value, value))
    block.operands[0] = insert(tir.FloorDivOp(value, insert(tir.ConstOp(1 << 28, i32))))
    schedule = Schedule(module)
    schedule.split(schedule.get_loops("B")[0], [2, 2])
    assert "vi = T.axis.spatial(4, i_0 * 2 + i_1)" in schedule.mod.script()
