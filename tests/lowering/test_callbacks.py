"""Python functions that a compiled program is given: what they get, and that they are called for their effect alone."""

from __future__ import annotations

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.runtime.errors import ArgumentError
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import relax as R

@R.function{pure}
def main(A: R.Tensor([16], "int32"), callback: R.Callable([R.Tensor([16], "int32")], {gives}{purity})):
    B = R.multiply(A, R.const(2))
    C = callback(B)
    return {returned}
"""


def built(gives: str, returned: str, pure: bool):
    words = {"pure": "" if pure else "(pure=False)", "purity": "" if pure else ", purity=False"}
    func = from_source(PROGRAM.format(gives=gives, returned=returned, **words)).with_attr("global_symbol", "main")
    executable = tvm.relax.build(tvm.IRModule.from_expr(func), target="llvm")
    return tvm.relax.VirtualMachine(executable, tvm.cpu())["main"]


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("result", [None, (), []])
def test_what_gives_nothing_is_called_for_its_effect(pure, result):
    seen = []
    main = built("R.Tuple([])", "R.tuple()", pure)
    main(np.arange(16, dtype="int32"), lambda a: (seen.append(a.numpy()), result)[1])
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], 2 * np.arange(16))


def test_a_result_that_is_used_is_not_none():
    main = built('R.Tuple([R.Tensor([16], "int32")])', "C", True)
    with pytest.raises(ArgumentError, match="not a tuple"):
        main(np.arange(16, dtype="int32"), lambda a: None)


def test_a_pure_callback_whose_result_nobody_wants_is_not_called():
    seen = []
    built('R.Tensor([16], "int32")', "R.tuple()", True)(np.arange(16, dtype="int32"), seen.append)
    assert not seen
