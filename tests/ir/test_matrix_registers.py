"""Which instructions use registers for matrices, and where they are configured."""

from __future__ import annotations

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.ir.matrix_registers import configure_registers, is_tile_instruction
from tirax.ir.passes.transform import module_op

SOURCE = """
# from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(X: T.Buffer((8,), "int64")):
        T.call_llvm_intrin("void", "llvm.x86.ldtilecfg", X.data)
        for i in range(4):
            T.call_llvm_intrin("void", "llvm.x86.tilezero", T.int8(0))
        for j in range(4):
            T.call_llvm_intrin("void", "llvm.x86.ldtilecfg", X.data)
            T.call_llvm_intrin("void", "llvm.x86.tdpbusd", T.int8(0), T.int8(1), T.int8(2))
            T.call_llvm_intrin("void", "llvm.x86.tilerelease")
        for k in range(4):
            T.call_llvm_intrin("void", "llvm.prefetch", X.data, 0, 2, 1)
"""


def test_they_are_configured_before_they_are_used() -> None:
    op = module_op(tvm.script.from_source(SOURCE))
    names = [inner.func.data.split(".")[-1] for inner in op.walk() if is_tile_instruction(inner)]
    assert names == ["ldtilecfg", "tilezero", "ldtilecfg", "tdpbusd", "tilerelease"]
    loops = [loop for loop in op.walk() if isinstance(loop, tir.ForOp)]
    assert [configure_registers(loop.body.walk()) for loop in loops] == [False, True, True]
