"""Attributes of relax operators with the types that MLIR prints after numbers."""

from __future__ import annotations

import pytest

from tirax.diagnostics import TiraxError
from tirax.script.mlir_text import parse_mlir

TEXT = """
relax.func @main(%x: !relax.tensor<[2, 4], f32>) -> !relax.tensor<{shape}, f32> {{
  %0 = {op} : !relax.tensor<{shape}, f32>
  relax.return %0 : !relax.tensor<{shape}, f32>
}}
"""


def module(op, shape):
    return parse_mlir(TEXT.format(op=op, shape=shape))


@pytest.mark.parametrize(
    ("typed", "plain", "shape"),
    [
        ("relax.sum %x {axis = -1 : i64}", "relax.sum %x {axis = -1}", "[2]"),
        ("relax.sum %x {axis = [0 : i32, 1 : index]}", "relax.sum %x {axis = [0, 1]}", "[]"),
        ("relax.nn.leakyrelu %x {alpha = 0.5 : f64}", "relax.nn.leakyrelu %x {alpha = 0.5}", "[2, 4]"),
        ("relax.sum %x {axis = 1 : i64, keepdims = true}", "relax.sum %x {axis = 1, keepdims = true}", "[2, 1]"),
    ],
)
def test_types_of_numbers_are_read(typed, plain, shape):
    assert str(module(typed, shape)) == str(module(plain, shape))


@pytest.mark.parametrize("value", ["1 : f32", "0.5 : i64", "1 : !relax.object", "1 :"])
def test_types_that_are_not_those_of_the_number_are_refused(value):
    with pytest.raises(TiraxError):
        module(f"relax.sum %x {{axis = {value}}}", "[2]")
