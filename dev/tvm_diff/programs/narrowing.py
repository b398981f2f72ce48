"""Narrowing of int64 indices to int32: what fits, what does not, and what meets int64 data."""

import textwrap

from ..rows import Row

_HEAD = """@T.prim_func
def main(A: T.Buffer((64,), "int64"), B: T.Buffer((64,), "float32"), C: T.Buffer((8, 8), "float32")):
"""
_BODIES = {
    "indices of int64 data": "for i in range(T.int64(63)):\n    A[i + T.int64(1)] = A[i] + T.int64(1)\n",
    "a loop variable as data": "for i in range(T.int64(64)):\n    A[i] = i + T.int64(1)\n",
    "an index that is loaded": "for i in range(T.int64(64)):\n    B[A[i]] = T.float32(1)\n",
    "two loops": """
for i in range(T.int64(8)):
    for j in range(T.int64(8)):
        B[i * T.int64(8) + j] = C[i, j]
""",
    "a condition": """
for i in range(T.int64(64)):
    if i < T.int64(20):
        B[i] = T.float32(0)
""",
    "a conversion": 'for i in range(T.int64(64)):\n    B[i] = T.Cast("float32", i * T.int64(3))\n',
    "a quotient and a rest": """
for i in range(T.int64(64)):
    C[i // T.int64(8), i % T.int64(8)] = B[i]
""",
    "loops of both kinds": """
for i in range(T.int64(64)):
    B[i] = T.float32(1)
for i in range(T.int64(64)):
    A[i] = i
""",
    "loops of int32": "for i in range(64):\n    B[i] = T.float32(1)\n",
}
ROWS = [
    Row("tir.NarrowDataType(32)", name, _HEAD + textwrap.indent(body.strip("\n"), "    "))
    for name, body in _BODIES.items()
]
