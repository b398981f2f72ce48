"""`chlo.ragged_dot` beside numpy: groups of rows, of what is summed, and of batches."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

DRAW = np.random.default_rng(0)
SIZES = np.array([4, 0, 3], "int32")
GROUPS = np.repeat(np.arange(4), [4, 0, 3, 2])  # the last two of nine are in none


def run(types: str, numbers: str, *args: object) -> np.ndarray:
    parameters, _, result = types.rpartition(" -> ")
    head = ", ".join(f"%{name}: {t}" for name, t in zip("abc", parameters.strip("()").split(", "), strict=True))
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting", "lhs_ragged", "rhs_group")
    fields = ", ".join(f"{n}_dimensions = [{v}]" for n, v in zip(names, numbers.split("|"), strict=True))
    text = f"""func.func @main({head}) -> {result} {{
      %r = "chlo.ragged_dot"(%a, %b, %c) {{ragged_dot_dimension_numbers = #chlo.ragged_dot<{fields}>}} : {types}
      return %r : {result}
    }}"""
    return np.asarray(build(from_stablehlo(text))["main"](*args))


def test_groups_of_rows() -> None:
    a, b = DRAW.normal(size=(9, 5)).astype("float32"), DRAW.normal(size=(3, 5, 6)).astype("float32")
    b[1] = np.inf  # no row is in this group
    actual = run("(tensor<9x5xf32>, tensor<3x5x6xf32>, tensor<3xi32>) -> tensor<9x6xf32>", "||1|1|0|0", a, b, SIZES)
    rows = [row @ b[g] if g < 3 else np.zeros(6) for row, g in zip(a, GROUPS, strict=True)]
    np.testing.assert_allclose(actual, np.array(rows), rtol=1e-5, atol=1e-6)


def test_groups_of_rows_in_batches() -> None:
    a, b = DRAW.normal(size=(2, 9, 5)).astype("float32"), DRAW.normal(size=(3, 2, 5, 6)).astype("float32")
    sizes = np.stack([SIZES, SIZES[::-1]])
    types = "(tensor<2x9x5xf32>, tensor<3x2x5x6xf32>, tensor<2x3xi32>) -> tensor<2x9x6xf32>"
    actual = run(types, "0|1|2|2|1|0", a, b, sizes)
    for k, groups in enumerate((GROUPS, np.repeat(np.arange(4), [3, 0, 4, 2]))):
        rows = [row @ b[g, k] if g < 3 else np.zeros(6) for row, g in zip(a[k], groups, strict=True)]
        np.testing.assert_allclose(actual[k], np.array(rows), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_groups_of_sums(dtype: str) -> None:
    kind = {"float32": "f32", "float16": "f16", "int8": "i8"}[dtype]
    a, b = (DRAW.integers(-3, 4, size=shape).astype(dtype) for shape in ((4, 9), (9, 6)))
    types = f"(tensor<4x9x{kind}>, tensor<9x6x{kind}>, tensor<3xi32>) -> tensor<3x4x6x{kind}>"
    actual = run(types, "||1|0|1|", a, b, SIZES)
    parts = [(a[:, g == GROUPS], b[g == GROUPS]) for g in range(3)]
    expected = [x.astype("int32") @ y.astype("int32") for x, y in parts]
    np.testing.assert_array_equal(actual, np.array(expected).astype(dtype))


def test_groups_of_batches() -> None:
    a, b = DRAW.normal(size=(7, 2, 5)).astype("float32"), DRAW.normal(size=(7, 5, 3)).astype("float32")
    types = "(tensor<7x2x5xf32>, tensor<7x5x3xf32>, tensor<3xi32>) -> tensor<7x2x3xf32>"
    np.testing.assert_allclose(run(types, "0|0|2|1|0|", a, b, SIZES), a @ b, rtol=1e-5, atol=1e-6)
