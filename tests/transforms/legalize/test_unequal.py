"""Extents of operands that broadcast, or do not, as the run says: writes and reads at positions, beside numpy."""

import numpy as np
import pytest

from tirax.lowering.build import build
from tirax.runtime.errors import ShapeError
from tirax.script import parse_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("s", "t"), "float32"), a: R.Tensor(("n",), "int64"), b: R.Tensor(("m",), "int64"),
             v: R.Tensor(("k",), "float32")):
        return {body}
"""
COUNTS = [(3, 3, 3), (3, 3, 1), (3, 2, 3), (1, 3, 3), (3, 1, 3), (3, 1, 1), (1, 0, 1), (0, 3, 1), (3, 3, 2), (3, 3, 5)]


def put(x, a, b, v):
    result = x.copy()
    result[a, b] = v
    return result


def accumulated(x, a, b, v):
    result = x.copy()
    np.add.at(result, (a, b), v)
    return result


OPERATORS = {
    "R.index_put(x, (a, b), v)": put,
    "R.index_put(x, (a, b), v, accumulate=True)": accumulated,
    "R.index_tensor(x, (a, b))": lambda x, a, b, v: x[a, b],
}


@pytest.mark.parametrize("body", OPERATORS)
def test_positions_broadcast_when_the_program_runs(body: str) -> None:
    run, x = build(parse_source(PROGRAM.format(body=body)))["main"], np.arange(20, dtype="float32").reshape(5, 4)
    refused = 0
    for n, m, k in COUNTS:
        arguments = x, np.arange(n) % 5, np.arange(m) % 4, np.arange(k, dtype="float32") + 100
        try:
            expected = OPERATORS[body](*arguments)
        except (IndexError, ValueError):
            with pytest.raises(ShapeError):
                run(*arguments)
            refused += 1
            continue
        np.testing.assert_array_equal(run(*arguments), expected, str((n, m, k)))
    assert 2 <= refused < len(COUNTS)
