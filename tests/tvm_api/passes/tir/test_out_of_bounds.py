"""`tir.analysis.OOBChecker`: accesses that leave their buffers for certain, and those that may not."""

import pytest

from tirax.schedule import ScheduleError
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.analysis import OOBChecker

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"


def module(body, params='A: T.Buffer((2, 3), "int32"), n: T.int32'):
    return from_source(HEAD + f"    def main({params}):\n" + body)


@pytest.mark.parametrize(
    "body",
    [
        "        A[0, 3] = n\n",
        "        A[-1, 0] = n\n",
        "        A[0, 0] = A[2, 0]\n",
        "        for i in range(3):\n            A[i, 0] = n\n",
        "        for i, j in T.grid(2, 2):\n            A[0, i * 2 + j] = n\n",
    ],
    ids=["constant", "negative", "read", "loop", "loops"],
)
def test_out_of_bounds(body):
    with pytest.raises(ScheduleError, match="buffer A is out of bounds"):
        OOBChecker()(module(body))


@pytest.mark.parametrize(
    "body",
    [
        "        A[1, 2] = n\n",
        "        A[0, n] = n\n",
        "        for i in range(n):\n            A[i, 0] = n\n",
        "        for i in range(3):\n            if i < 2:\n                A[i, 0] = n\n",
        "        for i in range(3):\n            A[i // 2, i % 3] = n\n",
        "        for i in range(0):\n            A[9, 0] = n\n",
    ],
    ids=["inside", "unknown", "any length", "condition", "divided", "never"],
)
def test_not_known_to_be(body):
    mod = module(body)
    assert OOBChecker()(mod) is mod
