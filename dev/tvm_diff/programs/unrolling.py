"""Unrolling of loops: kinds of loops by all options of `tir.UnrollLoop`."""

import textwrap
from typing import Any

from ..rows import Row

_HEAD = """@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), R: T.Buffer((4,), "float32", scope="local")):
"""
_LOOPS = {
    "a short loop": "for i in range(4):\n    B[i] = A[i] + T.float32(1)\n",
    "an unrolled loop": "for i in T.unroll(3):\n    B[i] = A[i] + T.float32(1)\n",
    "a loop of one iteration": "for i in range(1):\n    B[i * 2] = A[i]\n",
    "one iteration around a loop": """
for i in range(1):
    B[i] = A[i]
    for j in range(10):
        B[j] = A[i + j]
""",
    "two loops in each other": "for i in range(4):\n    for j in range(2):\n        B[i * 2 + j] = A[i * 2 + j]\n",
    "a long loop in a short one": """
for i in range(2):
    for j in range(32):
        B[i * 32 + j] = A[i * 32 + j]
""",
    "a loop that starts late": "for i in T.serial(2, 5):\n    B[i] = A[i]\n",
    "a parallel loop": "for i in T.parallel(2):\n    B[i] = A[i]\n",
    "local memory": """
for i in range(4):
    R[i] = A[i]
for i in range(4):
    B[i] = R[i]
for i in range(4):
    B[i + 4] = A[i]
""",
    "two statements": "for i in range(3):\n    B[i] = A[i]\n    B[i + 8] = A[i + 8]\n",
    "a branch": """
for i in range(3):
    if A[i] > T.float32(0):
        B[i] = A[i]
    else:
        B[i] = T.float32(0)
""",
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "no options": {},
    "up to 8 steps": {"auto_max_step": 8},
    "up to 2 iterations": {"auto_max_extent": 2},
    "loops of one iteration": {"auto_max_extent": 1},
    "loops of one iteration, not explicitly": {"auto_max_extent": 1, "explicit_unroll": False},
    "up to 16 steps, marked": {"auto_max_step": 16, "explicit_unroll": False},
    "up to 64 steps in one level": {"auto_max_step": 64, "auto_max_depth": 0},
    "local accesses": {"unroll_local_access": True},
    "local accesses, marked": {"unroll_local_access": True, "explicit_unroll": False},
}
ROWS = [
    Row(
        "tir.UnrollLoop(); tir.Simplify()",
        f"{name}, {option}",
        _HEAD + textwrap.indent(body.strip("\n"), "    "),
        {"tir.UnrollLoop": values} if values else {},
    )
    for name, body in _LOOPS.items()
    for option, values in _OPTIONS.items()
]
