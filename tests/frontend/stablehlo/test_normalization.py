"""Normalizations of batches beside numpy and finite differences, and collectives among one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirax.diagnostics import UnsupportedError
from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

DRAW = np.random.default_rng(0)
X: Any = DRAW.normal(size=(3, 4, 5)).astype("float32")
SCALE, OFFSET, MEAN = (DRAW.normal(size=4).astype("float32") for _ in range(3))
VARIANCE: Any = DRAW.uniform(0.5, 2, 4).astype("float32")
T, V = "tensor<3x4x5xf32>", "tensor<4xf32>"
ATTRIBUTES = "{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}"


def run(name: str, operands: tuple[Any, ...], kinds: list[str], results: list[str]) -> list[Any]:
    params = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds))
    names = ", ".join(f"%{n}" for n in range(len(kinds)))
    out, several = ", ".join(results), len(results) > 1
    made = ", ".join(f"%r#{n}" for n in range(len(results))) if several else "%r"
    text = f"func.func @main({params}) -> ({out}) {{\n%r{f':{len(results)}' if several else ''} = "
    text += f'"stablehlo.{name}"({names}) {ATTRIBUTES} : ({", ".join(kinds)}) -> ({out})\nreturn {made} : {out}\n}}'
    got = build(from_stablehlo(text))["main"](*operands)
    return [np.asarray(v) for v in (got if several else [got])]


def spread(value: Any) -> Any:
    return np.asarray(value)[None, :, None]


def normalized(x: Any, mean: Any, variance: Any) -> Any:
    return (x - spread(mean)) / np.sqrt(spread(variance) + 1e-3) * spread(SCALE) + spread(OFFSET)


def test_inference() -> None:
    (got,) = run("batch_norm_inference", (X, SCALE, OFFSET, MEAN, VARIANCE), [T, V, V, V, V], [T])
    np.testing.assert_allclose(got, normalized(X, MEAN, VARIANCE), rtol=1e-5, atol=1e-5)


def test_training() -> None:
    got = run("batch_norm_training", (X, SCALE, OFFSET), [T, V, V], [T, V, V])
    mean, variance = X.mean((0, 2)), X.var((0, 2))
    for result, expected in zip(got, (normalized(X, mean, variance), mean, variance), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_gradient() -> None:
    """Of the operand by finite differences of the training's result, weighted by the gradient of the output."""
    out = DRAW.normal(size=X.shape).astype("float32")
    mean, variance = X.mean((0, 2)), X.var((0, 2))
    operands = (X, SCALE, mean, variance, out)
    got = run("batch_norm_grad", operands, [T, V, V, V, T], [T, V, V])

    def loss(x: Any) -> float:
        return float((normalized(x, x.mean((0, 2)), x.var((0, 2))) * out).sum())

    wide = X.astype("float64")
    expected = np.zeros_like(wide)
    for place in np.ndindex(*X.shape):
        step = np.zeros_like(wide)
        step[place] = 1e-5
        expected[place] = (loss(wide + step) - loss(wide - step)) / 2e-5
    np.testing.assert_allclose(got[0], expected, rtol=1e-3, atol=1e-4)
    unit = (X - spread(mean)) / np.sqrt(spread(variance) + 1e-3)
    np.testing.assert_allclose(got[1], (out * unit).sum((0, 2)), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(got[2], out.sum((0, 2)), rtol=1e-4, atol=1e-4)


GATHER = """
func.func @main(%0: tensor<3x4x5xf32>) -> tensor<3x4x5xf32> {{
%r = "stablehlo.all_gather"(%0) {{all_gather_dim = 0 : i64, replica_groups = dense<{groups}> : tensor<1x{n}xi64>}}
  : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
return %r : tensor<3x4x5xf32>
}}"""


def test_a_collective_of_one_process_keeps_its_operand() -> None:
    got = build(from_stablehlo(GATHER.format(groups="0", n=1)))["main"](X)
    np.testing.assert_array_equal(np.asarray(got), X)
    with pytest.raises(UnsupportedError, match="among several processes"):
        from_stablehlo(GATHER.format(groups="[[0, 1]]", n=2))
