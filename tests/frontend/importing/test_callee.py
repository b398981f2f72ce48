"""Calls between functions of a program: what importers can convert, and their errors."""

import pytest

from tirax.diagnostics import UnsupportedError
from tirax.frontend.importing.callee import callee_of
from tirax.script import parse_mlir

PROGRAM = """
func.func private @outside(tensor<2xf32>) -> tensor<2xf32>
func.func @inside(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = func.call @outside(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
"""


@pytest.fixture
def functions():
    return {f.sym_name.data: f for f in parse_mlir(PROGRAM).ops}


def test_the_function_of_a_name(functions):
    inside = functions["inside"]
    assert callee_of(functions, "inside", inside.body.block.first_op, ()) is inside


@pytest.mark.parametrize(
    ("name", "converting", "message"),
    [("outside", (), "no body"), ("missing", (), "no body"), ("inside", ("inside",), "calls itself")],
)
def test_what_is_refused(functions, name, converting, message):
    at = functions["inside"].body.block.first_op
    with pytest.raises(UnsupportedError, match=message):
        callee_of(functions, name, at, [functions[c] for c in converting])
