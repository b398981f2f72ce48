"""Test programs in the forms that StableHLO's have: what they compute, of what, and what is right."""

from __future__ import annotations

import pytest

from tirax.dev.stablehlo.__main__ import run
from tirax.dev.stablehlo.programs import programs_of

HEAD = """
func.func @main() {
  %a = stablehlo.constant dense<[1.0, 2.5]> : tensor<2xf32>
  %e = stablehlo.constant dense<[2.0, 5.0]> : tensor<2xf32>
  %r = stablehlo.add %a, %a : tensor<2xf32>
"""
CHECKS = {
    "pretty": "check.expect_eq %r, %e : tensor<2xf32>",
    "a constant": "check.expect_eq_const %r, dense<[2.0, 5.0]> : tensor<2xf32>",
    "a limit in a dictionary": (
        "check.expect_almost_eq_const %r, dense<[2.0, 5.05]> : tensor<2xf32> {tolerance = 0.1 : f64}"
    ),
    "a limit": "check.expect_almost_eq %r, %e, tolerance = 0.1 : tensor<2xf32>",
    "units": "check.expect_close %r, %e, max_ulp_difference = 3, min_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>",
    "generic": '"check.expect_eq_const"(%r) <{value = dense<[2.0, 5.0]> : tensor<2xf32>}> : (tensor<2xf32>) -> ()',
    "custom call": (
        "stablehlo.custom_call @check.expect_eq(%r, %e) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()"
    ),
}


@pytest.mark.parametrize("form", CHECKS)
def test_forms(form: str) -> None:
    text = f"{HEAD} {CHECKS[form]}\n func.return\n}}"
    (program,) = programs_of(text, "f")
    assert len(program.inputs) == 1, "the constant that is computed with is a parameter"
    assert run(program).verdict == "right"
    (other,) = programs_of(text.replace("5.0", "6.0"), "f")
    assert run(other).verdict == "wrong"


def test_print_and_probe() -> None:
    """What prints has no result, and is not what is compiled."""
    text = f"{HEAD} interpreter.print %r : tensor<2xf32>\n check.expect_eq %r, %e : tensor<2xf32>\n func.return\n}}"
    (program,) = programs_of(text, "f")
    assert run(program).reason == "'interpreter.print'"
