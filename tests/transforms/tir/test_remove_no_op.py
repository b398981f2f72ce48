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
