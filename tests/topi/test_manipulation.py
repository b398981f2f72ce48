"""`split` at positions and into equal parts, of extents that are known and that are not, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from strength import crossed

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.tvm_api.script import from_source


def program(extent: str, where: int | list[int]) -> str:
    """Split of a matrix whose number of columns is `extent`."""
    return f"""
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor(("n",), "float32"), x: R.Tensor((2, {extent}), "float32")):
        with R.dataflow():
            y = R.split(x, {where}, axis=1)
            R.output(y)
        return y
"""


def parts(x: np.ndarray, where: int | list[int]) -> list[np.ndarray]:
    each = -(-x.shape[1] // where) if isinstance(where, int) else 0
    return np.split(x, [each * k for k in range(1, where)] if isinstance(where, int) else where, axis=1)


@crossed("where, extent", [2, 3, [2, 5], [3, 2]], ['"n"', '"n // 2"', '"2 * n + 1"'], ids=str)
def test_extents_that_are_not_known(where, extent):
    module = from_source(program(extent, where))
    native = build(module)
    for n in {'"n"': (6, 7), '"n // 2"': (12, 15), '"2 * n + 1"': (3, 4)}[extent]:
        count = {'"n"': n, '"n // 2"': n // 2, '"2 * n + 1"': 2 * n + 1}[extent]
        x = np.arange(2 * count, dtype="float32").reshape(2, count)
        for results in (
            native["main"](np.zeros(n, "float32"), x),
            interpret(module, "main", [np.zeros(n, "float32"), x]),
        ):
            for result, expected in zip(results, parts(x, where), strict=True):
                np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(("extent", "where"), [(5, 4), (1, 3), (0, 2), (0, [1]), (2, [3, 5]), (4, [3, 2])])
def test_sections_of_nothing(extent, where):
    """An extent that is known may be too short for the sections: the last ones are empty."""
    module = from_source(program(str(extent), where))
    x = np.arange(2 * extent, dtype="float32").reshape(2, extent)
    results = build(module)["main"](np.zeros(1, "float32"), x)
    for result, expected in zip(results, parts(x, where), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_an_extent_that_is_too_short_at_run_time_is_refused():
    native = build(from_source(program('"n"', 3)))
    with pytest.raises(TiraxError, match="negative"):
        native["main"](np.zeros(1, "float32"), np.zeros((2, 1), "float32"))


def test_positions_are_not_counted_from_the_end():
    with pytest.raises(TiraxError, match="must not be negative"):
        from_source(program("4", [-1]))
