"""Nodes printed by themselves: a row for each kind, with the declarations of what it uses."""

from __future__ import annotations

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import tir

X, Y, N = (tir.Var(name, "int32") for name in "xyn")
A = tir.decl_buffer((8,), "float32", "A")
B = tir.decl_buffer((4,), "float32", "B")
STORE = tir.BufferStore(A, tir.const(1.0, "float32"), [X + Y])
STORED = "A[x + y] = T.float32(1.0)"
IN_SCOPE = f"    A = T.Buffer((8,))\n    {STORED}"
REGION = tir.BufferRegion(A, [tvm.ir.Range(0, X)])

STATEMENTS = {
    "store": (STORE, f"A = T.Buffer((8,))\nx = T.int32()\ny = T.int32()\n{STORED}"),
    "evaluate": (tir.Evaluate(X), "x = T.int32()\nT.evaluate(x)"),
    "let": (tir.LetStmt(X, Y + 1, STORE), f"y = T.int32()\nwith T.LetStmt(y + 1) as x:\n{IN_SCOPE}"),
    "assert": (
        tir.AssertStmt(X < Y, tir.StringImm("no"), STORE),
        f'x = T.int32()\ny = T.int32()\nwith T.Assert(x < y, "no"):\n{IN_SCOPE}',
    ),
    "attr": (
        tir.AttrStmt(X, "key", 1, tir.Evaluate(Y)),
        'x = T.int32()\nwith T.attr(x, "key", 1):\n    y = T.int32()\n    T.evaluate(y)',
    ),
    "decl_buffer": (
        tir.DeclBuffer(A, STORE),
        f"with T.decl_buffer((8,)) as A:\n    x = T.int32()\n    y = T.int32()\n    {STORED}",
    ),
    "last of a sequence": (
        tir.SeqStmt([tir.Evaluate(Y), tir.LetStmt(X, Y + 1, tir.Evaluate(X))]),
        "y = T.int32()\nT.evaluate(y)\nx: T.int32 = y + 1\nT.evaluate(x)",
    ),
    "loop": (tir.For(X, 0, N, 0, tir.Evaluate(X)), "for x in range(n):\n    n = T.int32()\n    T.evaluate(x)"),
    "grid": (
        tir.For(X, 0, N, 0, tir.For(Y, 0, N + 1, 0, tir.Evaluate(X))),
        "for x, y in T.grid(n, n + 1):\n    n = T.int32()\n    T.evaluate(x)",
    ),
    "extent used after": (
        tir.SeqStmt([tir.For(X, 0, N, 0, tir.Evaluate(X)), tir.Evaluate(N)]),
        "n = T.int32()\nfor x in range(n):\n    T.evaluate(x)\nT.evaluate(n)",
    ),
    "buffer": (A, "A = T.Buffer((8,))\nA"),
    "region": (REGION, "x = T.int32()\nA = T.Buffer((8,))\nA[0:x]"),
    "view": (
        tir.MatchBufferRegion(B, tir.BufferRegion(A, [tvm.ir.Range(0, 4)])),
        "A = T.Buffer((8,))\nB = T.match_buffer(A[0:4], (4,))",
    ),
    "range": (tvm.ir.Range(X, X + 8), "x = T.int32()\nT.Range(x, x + 8)"),
    "iterator": (
        tir.IterVar(tvm.ir.Range(0, 8), X, tir.IterVar.CommReduce),
        'x = T.int32()\nT.iter_var(x, T.Range(0, 8), "CommReduce", "")',
    ),
    "thread": (
        tir.IterVar(None, X, tir.IterVar.ThreadIndex, "threadIdx.x"),
        'x = T.int32()\nT.iter_var(x, None, "ThreadIndex", "threadIdx.x")',
    ),
    "expression": (X + 1, "x = T.int32()\nx + 1"),
}


@pytest.mark.parametrize(("node", "text"), STATEMENTS.values(), ids=STATEMENTS)
def test_a_node_by_itself(node: tir.Stmt, text: str) -> None:
    assert node.script(verbose_expr=True) == text


def test_expressions_declare_nothing_unless_asked() -> None:
    assert (X + 1).script() == "x + 1" and REGION.script() == "A[0:x]" and str(A) == "A"
