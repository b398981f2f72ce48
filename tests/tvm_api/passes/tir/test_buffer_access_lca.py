"""Where buffers are accessed: the innermost common scopes, out of loops that reduce and loops over `blockIdx`."""

import tirax.tvm_api as tvm
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import analysis

PROGRAM = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16,), "float32")):
    C = T.alloc_buffer((16, 16))
    D = T.alloc_buffer((16, 16), scope="shared")
    for i in T.thread_binding(16, "blockIdx.x"):
        for j in range(16):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]
                D[vi, vj] = A[vi, vj]
        for j in range(16):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + C[vi, vj] + D[vi, vj]
"""


def test_scopes_of_accesses():
    found = {b.name: scope for b, scope in analysis.detect_buffer_access_lca(from_source(PROGRAM)).items()}
    assert {name: scope.loop_var.name for name, scope in found.items()} == dict.fromkeys("ABCD", "i")


def test_reductions_are_around_their_loops():
    program = PROGRAM.replace('T.thread_binding(16, "blockIdx.x")', "range(16)").replace(
        "C[vi, vj] = A[vi, vj]", "pass"
    )
    func = from_source(program.replace(" + C[vi, vj]", "").replace("                pass\n", ""))
    found = {buffer.name: scope for buffer, scope in analysis.detect_buffer_access_lca(func).items()}
    assert found["B"].loop_var.name == "i" and type(found["A"]).__name__ == "Block"


def test_outside_of_all_scopes():
    func = from_source(PROGRAM.split("    C = ")[0] + "    A[0, 0] = B[0]\n")
    assert set(analysis.detect_buffer_access_lca(func).values()) == {None}


def test_where_memory_of_blocks_is_allocated():
    module = tvm.tir.transform.LowerInitBlock()(tvm.IRModule({"main": from_source(PROGRAM)}))
    text = tvm.tir.transform.PlanAndUpdateBufferAllocationLocation()(module).script()
    assert text.index("blockIdx") < text.index("C = T.alloc_buffer") < text.index("D = T.alloc_buffer")
