"""`RemoveNoOp` without data flow: what goes, what stays, and that the meaning is the same."""

from __future__ import annotations

import textwrap

import pytest

from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.transform import RemoveNoOp

GOES = {
    "an empty else": (
        "for i in range(n):\n    if i < 8:\n        C[i] = 42\n    else:\n        T.evaluate(0)",
        "for i in range(n):\n    if i < 8:\n        C[i] = 42",
    ),
    "an else that becomes empty": (
        "for i in range(n):\n    if i < 8:\n        C[i] = 42\n    else:\n        C[i] = C[i]",
        "for i in range(n):\n    if i < 8:\n        C[i] = 42",
    ),
    "the same place by a name": (
        "for i, j in T.grid(4, 4):\n    k: T.int32 = i * 4 + j\n    A[k] = A[4 * i + j]\nA[0] = 1",
        "A[0] = 1",
    ),
    "a name that only the same place has": (
        "for i, j in T.grid(4, 4):\n    k: T.int32 = i * 4 + j\n    A[4 * i + j] = A[k]\nA[0] = 1",
        "A[0] = 1",
    ),
    "the same place by a condition": (
        "for i in range(n):\n    if i != 0:\n        C[i] = C[i - 1] + 1\n    else:\n        C[i] = C[0]",
        "for i in range(n):\n    if i != 0:\n        C[i] = C[i - 1] + 1",
    ),
}
STAYS = {
    "another place": "for i in range(n):\n    if i > 0:\n        C[i] = C[i - 1]",
    "a place that is not known": "for i in range(n):\n    if C[i] == 0:\n        C[C[i]] = C[0]",
    "names of what changes": "x: T.int32 = A[0] % 16\nA[0] = 5\ny: T.int32 = A[0] % 16\nA[x] = A[y]",
}


def program(body: str):
    head = "from tvm.script import ir as I, tir as T\n\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
    params = '    def main(A: T.Buffer((16,), "int32"), c: T.handle):\n'
    sizes = '        n = T.int32()\n        C = T.match_buffer(c, (n,), "int32")\n'
    return from_source(head + params + sizes + textwrap.indent(body, " " * 8) + "\n")


@pytest.mark.parametrize("name", GOES)
def test_what_goes(name):
    before, after = map(program, GOES[name])
    changed = RemoveNoOp()(before)
    assert changed.script() == after.script()
    assert_same_meaning(before.op, changed.op)


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name):
    module = program(STAYS[name])
    changed = RemoveNoOp()(module)
    assert changed.script() == module.script()
    assert_same_meaning(module.op, changed.op)
