"""Elementwise stages that read along columns: squares in registers, and what is left of both sides."""

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor
from strength import thinned

from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op

RNG = np.random.default_rng(2)
PROGRAMS = {
    "copy": ("R.permute_dims(x)", lambda x, y: x.T),
    "computed": ("R.maximum(R.permute_dims(x), R.permute_dims(y))", lambda x, y: np.maximum(x.T, y.T)),
    "beside rows": ("R.add(R.permute_dims(x), R.reshape(y, s))", lambda x, y: x.T + y.reshape(x.T.shape)),
    "twice": ("R.multiply(R.permute_dims(x), R.permute_dims(x))", lambda x, y: x.T * x.T),
    "a column beside": ("R.add(R.permute_dims(x), R.max(y, axis=0))", lambda x, y: x.T + y.max(0)),
    "joined": ("R.concat([R.permute_dims(x), R.permute_dims(y)], axis=1)", lambda x, y: np.concatenate([x.T, y.T], 1)),
}
SIZES = [(0, 5), (1, 1), (15, 16), (16, 16), (17, 33), (70, 90)]


def program(text, n, m, dtype):
    shape = f"R.shape([{m}, {n}])".replace('"', "")
    params = [tensor(name, n, m, dtype=dtype) for name in "xy"]
    return dataflow_program(params, f"z = {text.replace(', s)', f', {shape})')}", "z", sizes="nm")


@thinned("dtype", ["float32", "float16", "int8", "float64"], 1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_symbolic_sizes(name, dtype):
    text, reference = PROGRAMS[name]
    rows = "column" in name or "beside rows" in name
    function = build(program(text, '"n"', '"m"', dtype))["main"]
    for n, m in SIZES:
        if rows and not (n and m):
            continue
        if name == "a column beside" and n != m:
            n = m
        x, y = (RNG.integers(-9, 9, (n, m)).astype(dtype) for _ in range(2))
        np.testing.assert_array_equal(np.asarray(function(x, y)), reference(x, y).astype(dtype), err_msg=f"{n} x {m}")


@thinned("name", PROGRAMS, 2)
def test_known_sizes(name):
    text, reference = PROGRAMS[name]
    for n, m in ((33, 33), (16, 16), (48, 48)):
        x, y = (RNG.normal(size=(n, m)).astype(np.float32) for _ in range(2))
        result = build(program(text, n, m, "float32"))["main"](x, y)
        np.testing.assert_array_equal(np.asarray(result), reference(x, y))


def scheduled(text):
    steps = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]]
    return str(module_op(Sequential(make_passes(steps))(program(text, '"n"', '"m"', "float32"))))


def test_rows_of_squares_are_computed_as_vectors():
    assert "tir.shuffle" in scheduled("R.exp(R.permute_dims(x))")


def test_a_column_that_is_broadcast_is_no_transposed_read():
    assert "tir.shuffle" not in scheduled("R.add(x, R.expand_dims(R.max(y, axis=1), 1))").partition("T_add")[2]
