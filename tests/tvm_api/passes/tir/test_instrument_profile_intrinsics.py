"""`InstrumentProfileIntrinsics`: marks are in pairs, and their numbers continue."""

from __future__ import annotations

import re

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(8):
            for k in range(8):
                A[i, k] = T.float32(0)
        {scope}
        for j in range(8):
            for k in range(8):
                A[i, k] = T.float32(1)
"""


def numbers(scope: str = "A[i, 0] = T.float32(2)", **config: object) -> tuple[list[int], list[int]]:
    module = tvm.IRModule({"f": from_source(PROGRAM.format(scope=scope))})
    with tvm.transform.PassContext(config={f"tir.{name}": value for name, value in config.items()}):
        text = tvm.tir.transform.InstrumentProfileIntrinsics()(module).script()
    assert from_source(text).script() == text
    starts, ends = (
        [int(n) for n in re.findall(rf"{word}_profile_intrinsic\((\d+)\)", text)] for word in ("start", "end")
    )
    return starts, ends


def test_numbers_continue() -> None:
    starts, ends = numbers(reset_start_id=True)
    assert starts == [0, 2, 4]
    assert sorted(ends) == starts
    assert numbers()[0] == [6, 8, 10]
    assert numbers(reset_start_id=True)[0] == [0, 2, 4]


@pytest.mark.parametrize("scope", ["x: T.float32 = A[i, 0]", 'D = T.allocate([8], "float32", "local")'])
def test_loops_in_the_scope_of_a_statement_are_not_beside(scope: str) -> None:
    """TVM's body of a let, and of an allocation, is one statement."""
    assert numbers(scope, reset_start_id=True)[0] == [0]
