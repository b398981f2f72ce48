"""Short rows of known and unknown length: neighbouring iterators are one, whose accesses have no divisions."""

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor
from strength import thinned
from xdsl.dialects.builtin import i64

from tirax.dialects.sym.expr import Const, Var
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.schedule.loop_builder import unfused

RNG = np.random.default_rng(3)
OPERATORS = {
    "abs": ("R.abs(x)", np.abs),
    "sum of all": ("R.sum(x)", lambda x: np.sum(x, dtype=np.float64)),
    "sum of the first": ("R.sum(x, axis=0)", lambda x: np.sum(x, axis=0, dtype=np.float64)),
    "maximum of the last": ("R.max(x, axis=-1)", lambda x: np.max(x, axis=-1, initial=-np.inf)),
    "with a row": ("R.add(x, R.mean(x, axis=0, keepdims=True))", lambda x: x + x.mean(0, keepdims=True)),
}
SHAPES = {
    ("n", "m"): [(0, 3), (3, 0), (1, 1), (17, 3), (1000, 2), (2, 67)],
    ("n", "m", "k"): [(0, 3, 2), (3, 0, 2), (1, 1, 1), (5, 7, 3), (40, 2, 2), (2, 3, 33)],
    ("n", "m", "k", "l"): [(2, 3, 5, 2), (1, 0, 1, 1), (2, 1, 1, 19)],
    ("n", 7, 3): [(0, 7, 3), (1, 7, 3), (19, 7, 3)],
    (5, 3, 2): [(5, 3, 2)],
}


def program(text, shape):
    dims = [f'"{d}"' if isinstance(d, str) else d for d in shape]
    return dataflow_program(tensor("x", *dims), f"y = {text}", "y", sizes="nmkl"[: len(shape)])


@thinned("shape", SHAPES, 2)
@pytest.mark.parametrize("name", OPERATORS)
def test_results_at_all_sizes(name, shape):
    text, reference = OPERATORS[name]
    function = build(program(text, shape))["main"]
    for sizes in SHAPES[shape]:
        x = RNG.normal(size=sizes).astype(np.float32)
        if "row" in name and not sizes[0] or "maximum" in name and not sizes[-1]:
            continue  # the mean and the maximum of nothing
        np.testing.assert_allclose(np.asarray(function(x)), reference(x), rtol=2e-5, atol=1e-5, err_msg=str(sizes))


@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise_stages_are_one_loop(shape):
    steps = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]]
    text = str(module_op(Sequential(make_passes(steps))(program("R.abs(x)", shape))))
    assert text.count("tir.for") == text.count("tir.for vectorized") == 1


FUSED = [
    ("n", "m"),
    ("n", "m", "k"),
    (4, 7, 3),
    ("n", 7, 3),
    ("n", "m", 3),
    ("n", 4, "m"),
    (5, 64, 7, 3),
    ("a", 2, "b", 3),
]


@pytest.mark.parametrize("extents", FUSED, ids=str)
def test_the_flat_index_of_fused_iterators_is_their_value(extents):
    value = Var("t", i64)
    sizes = [Var(e, i64) if isinstance(e, str) else Const(e) for e in extents]
    flat = Const(0)
    for size, index in zip(sizes, unfused(value, sizes), strict=True):
        flat = flat * size + index
    assert flat == value


def test_remainders_that_are_not_digits_of_one_number_stay():
    t = Var("t", i64)
    assert str((t % 6 // 4) * 4 + t % 4) == "((t mod 6) floordiv 4) * 4 + t mod 4"
