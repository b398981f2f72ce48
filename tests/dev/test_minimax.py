"""The tool that computes the coefficients of `lowering/vector_math`."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from tirax.dev import minimax
from tirax.dev.minimax import FORMATS, Fit, fit_coefficients, fits, remez, table

COEFFICIENTS = Path(minimax.__file__).parents[1] / "lowering" / "vector_math" / "coefficients.py"


@pytest.mark.parametrize(
    ("element", "name"), [("f32", "EXP"), ("f32", "LOG1P"), ("f32", "ERFC"), ("f64", "SIN"), ("f64", "LOG5")]
)
def test_the_file_is_what_the_tool_writes(element, name):
    assert table(element, name) in COEFFICIENTS.read_text()


def test_every_polynomial_is_in_the_file():
    text = COEFFICIENTS.read_text()
    for element in FORMATS:
        part = text.split(f"{element.upper()}: dict")[1].split("\n}\n")[0]
        assert [line.split('"')[1] for line in part.splitlines() if line.startswith('    "')] == list(fits(element))


def test_the_best_line_for_a_parabola():
    """x² on 0 to 1: x - 1/8, with an error of 1/8 that is reached three times."""
    square = Fit(lambda x: x * x, lambda x: Decimal(1), Decimal(0), Decimal(1), "")
    grid = minimax._grid(square, 400)
    (c0, c1), error = remez(grid, (), 1)
    assert abs(c0 + Decimal("0.125")) < Decimal("1e-4") and abs(c1 - 1) < Decimal("1e-4")
    assert abs(error - Decimal("0.125")) < Decimal("1e-4")


def test_a_fixed_coefficient_stays():
    square = Fit(lambda x: x * x, lambda x: Decimal(1), Decimal(0), Decimal(1), "")
    coefficients, error = remez(minimax._grid(square, 100), (Decimal(0),), 1)
    assert coefficients[0] == 0 and error > Decimal("0.125")


def test_coefficients_are_floats_of_the_format():
    coefficients, error = fit_coefficients(fits("f32")["EXP2"], 24)
    values = np.array([float(c) for c in coefficients])
    np.testing.assert_array_equal(values, values.astype(np.float32))
    assert error < Decimal(2) ** -24
