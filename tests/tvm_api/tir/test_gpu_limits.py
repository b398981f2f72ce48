"""`tir.analysis.verify_gpu_code`: each limit, just kept and just exceeded."""

import pytest

from tirax.diagnostics import NameLookupError
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    b = T.launch_thread("blockIdx.x", 4)
    S = T.allocate([64], "float32", "shared")
    L = T.allocate([8], "float32", "local")
    x = T.launch_thread("threadIdx.x", 16)
    y = T.launch_thread("threadIdx.y", 4)
    C = T.Buffer((64,), data=S, scope="shared")
    D = T.Buffer((8,), data=L, scope="local")
    D[0] = A[b * 64 + y * 16 + x]
    C[T.ramp(0, 1, 4)] = T.broadcast(D[0], 4)
    B[b * 64 + y * 16 + x] = C[x]
"""
LIMITS = {
    "max_threads_per_block": 64,
    "max_thread_x": 16,
    "max_thread_y": 4,
    "max_shared_memory_per_block": 256,
    "max_local_memory_per_block": 32,
    "max_vector_bytes": 16,
    "max_kernels": 1,
}


@pytest.mark.parametrize("name, most", LIMITS.items(), ids=LIMITS)
def test_each_limit(name, most):
    func = from_source(PROGRAM)
    assert tir.analysis.verify_gpu_code(func, {name: most})
    assert not tir.analysis.verify_gpu_code(func, {name: most - 1})


def test_threads_of_one_tag_agree():
    again = PROGRAM + '    z = T.launch_thread("threadIdx.x", 8)\n    B[z] = A[z]\n'
    assert not tir.analysis.verify_gpu_code(from_source(again), {})


def test_an_unknown_limit():
    with pytest.raises(NameLookupError, match="max_registers"):
        tir.analysis.verify_gpu_code(from_source(PROGRAM), {"max_registers": 3})
