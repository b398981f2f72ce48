"""How addresses grow with loops, as the rules of the default schedule ask."""

import pytest

from tirax.dialects import tir
from tirax.schedule.cpu.analysis.stages import analyse, constant_slope
from tirax.tvm_api.script import from_source


@pytest.mark.parametrize(
    ("shape", "indices", "slopes"),
    [
        ((24, 200), "vi, vj", (200, 1)),
        ((24, 25, 8), "vi, vj // 8, vj % 8", (200, 1)),  # quotient and rest grow as one number
        ((24, 8, 25), "vi, vj % 8, vj // 8", (200, None)),
        ((200, 24), "vj, vi", (1, 24)),
    ],
)
def test_slopes(shape, indices, slopes):
    func = from_source(f"""
from tvm.script import tir as T

@T.prim_func
def f(A: T.Buffer((24, 200), "float32"), B: T.Buffer({shape}, "float32")):
    for i, j in T.grid(24, 200):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[{indices}] = A[vi, vj]
""")
    stage = analyse(next(op for op in func.op.walk() if isinstance(op, tir.ForOp)))
    store = next(op for op in func.op.walk() if isinstance(op, tir.StoreOp))
    assert tuple(constant_slope(store, it) for it in stage.iters) == slopes
