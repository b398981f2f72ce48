"""Found by the fuzzers of texts."""

from __future__ import annotations

import pytest

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError
from tirax.script.mlir_text import parse_mlir


def test_a_number_that_is_no_float_is_reported() -> None:
    text = "relax.func @main() -> !relax.prim<f32> {\n  %0 = relax.prim_value float 7 : i64\n  relax.return %0 : f32\n}"
    with pytest.raises(TiraxError, match=r"expected a float such as 1\.0 : f32, found 7"):
        parse_mlir(text)


def test_the_least_number_comes_back() -> None:
    text = "tir.func @main(%a: !tir.buffer<[-n * 9223372036854775808 + m, n, m], f32>) {\n}"
    module = parse_mlir(text)
    assert checks.mlir_text(parse_mlir(checks.mlir_text(module, generic=False)), generic=True)
    for number in ("9223372036854775808", "n + 9223372036854775808", "-n * 9223372036854775809"):
        with pytest.raises(TiraxError, match="does not fit 64 bits"):
            parse_mlir(text.replace("-n * 9223372036854775808", number))
