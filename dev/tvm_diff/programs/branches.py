"""Passes on branches over padding, and on copies of weights into other layouts."""

from __future__ import annotations

from ..rows import Row

_ASSUME = "tir.UseAssumeToReduceBranches()"
_PADDED = """
@T.prim_func
def main(A: T.Buffer((4, 8), "{dtype}"), C: T.Buffer((4, 8), "{dtype}")):
    T.func_attr({{"op_pattern": {pattern}}})
    for i, j in T.grid(4, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes()
            T.assume({unless} or A[vi, vj] == T.{dtype}({value}))
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = {stored}
"""


def _padded(
    stored: str, unless: str = "not (vi == 3 and 4 <= vj)", value: int = 0, pattern: int = 0, dtype: str = "int32"
) -> str:
    return _PADDED.format(stored=stored.format(dtype=dtype), unless=unless, value=value, pattern=pattern, dtype=dtype)


_CHOICE = "T.if_then_else(vi == 3 and 4 <= vj, T.{dtype}(0), A[vi, vj] * T.{dtype}(2))"
_CHOICES = {
    "the value of the padding": _padded(_CHOICE),
    "a broadcast": _padded(_CHOICE, pattern=1),
    "another pattern": _padded(_CHOICE, pattern=2),
    "another value": _padded(_CHOICE, value=1),
    "another condition": _padded(_CHOICE.replace("4 <=", "3 <=")),
    "no choice": _padded("A[vi, vj] * T.{dtype}(2)"),
}

_WEIGHTS = "tir.RemoveWeightLayoutRewriteBlock()"
_COPIED = """
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), W: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    V = T.alloc_buffer((8, 16))
    for i, j in T.grid(16, 8):
        with T.block("rewrite"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.block_attr({{"meta_schedule.layout_rewrite_preproc": {mark}}})
            V[vj, vi] = {copied}
    for i, j in T.grid(16, 8):
        with T.block("add"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + V[vj, vi]
"""
_COPIES = {
    "a copy": _COPIED.format(mark="True", copied="W[vi, vj]"),
    "a copy without the mark": _COPIED.format(mark="False", copied="W[vi, vj]"),
    "no copy": _COPIED.format(mark="True", copied="W[vi, vj] * T.float32(2)"),
}

_FLOATS = "a float that equals 0 may be -0: the choice is between two values"
ROWS = [
    *(Row(_ASSUME, branch, program) for branch, program in _CHOICES.items()),
    Row(_ASSUME, "a float", _padded(_CHOICE, dtype="float32"), reason=_FLOATS),
    *(Row(_WEIGHTS, branch, program) for branch, program in _COPIES.items()),
]
