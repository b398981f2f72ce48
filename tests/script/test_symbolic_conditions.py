"""Conditions in the dimensions of Relax functions."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps

FUNCTION = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    y = R.zeros(R.shape([EXTENT]), "float32")
    return y
"""


@pytest.mark.parametrize(
    ("extent", "value"),
    [
        ("T.Select(n - 1 < 0, n + 3, n)", lambda n: n + 3 if n < 1 else n),
        ("T.Select(n == 2 or n > 4, 1, T.min(n, 3))", lambda n: 1 if n == 2 or n > 4 else min(n, 3)),
        ("T.Select(n >= 1 and n != 3, n, 7)", lambda n: n if n >= 1 and n != 3 else 7),
        ("T.Select(not (n <= 2 and n > 0), n, 5)", lambda n: 5 if 0 < n <= 2 else n),
        ("T.Select(T.And(n > 2, n <= 7), n, 2)", lambda n: n if 2 < n <= 7 else 2),
        ("T.Select(T.Or(n == 0, n == 1), 4, n)", lambda n: 4 if n < 2 else n),
        ("T.if_then_else(0 < n < 4, n * 2, n)", lambda n: n * 2 if 0 < n < 4 else n),
        ("T.Select(True, n, 5)", lambda n: n),
        ("T.Div(n + 5, 2)", lambda n: (n + 5) // 2),
    ],
)
def test_conditions(extent: str, value):
    module = parse_source(FUNCTION.replace("EXTENT", extent))
    text = print_script(module)
    assert print_script(parse_source(text)) == text
    run = build(module)["main"]
    for n in (0, 1, 2, 3, 5, 9):
        x = np.ones(n, np.float32)
        assert run(x).shape == interpret(module, "main", [x]).shape == (value(n),)


def test_in_an_annotation():
    module = parse_source("""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("T.Select(n < 3, n, 3)",), "float32")):
    return y
""")
    assert 'y: R.Tensor(("T.Select(n < 3, n, 3)",), dtype="float32")' in print_script(module)
    run = build(module)["main"]
    assert len(run(np.ones(5, np.float32), np.ones(3, np.float32))) == 3
    with pytest.raises(TiraxError, match="dimension 0"):
        run(np.ones(2, np.float32), np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("extent", "message"),
    [
        ("T.Select(n, n, 1)", "a condition and two integers are expected"),
        ("T.Select(n < 1, 1.5, 1)", "a condition and two integers are expected"),
        ("T.And(n < 1, x)", "two integers are expected"),
        ("n < 'a'", "operator '<' cannot be applied"),
    ],
)
def test_refused(extent: str, message: str):
    with pytest.raises(TiraxError, match=message):
        parse_source(FUNCTION.replace("EXTENT", extent))


def test_a_scalar_without_a_value():
    module = parse_source("""
@R.function
def main(x: R.Tensor(("n",), "float32"), i: R.Prim("int64")):
    y = R.take(x, i, axis=0)
    return y
""")
    text = str(LegalizeOps()(module))
    assert "@take(%x: !tir.buffer<[n], f32>, %i: i64, %T_take: !tir.buffer<[], f32>)" in text
    assert "relax.call_tir @take(%x, %i)" in text
