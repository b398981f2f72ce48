"""Activations of 16 bits are computed in float32 and rounded once: of every number, beside numpy in float64."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from arithmetic import FLOATS, float_values, numpy_dtype, ulps

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

Array = Any
HALVES = ("float16", "bfloat16")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Activation(NamedTuple):
    """`expr` of x, its reference in float64; results below `least` may be off by as much as it."""

    expr: str
    reference: Any
    least: float = 2.0**-64


def _gelu(x: Array) -> Array:
    return np.where(x == -np.inf, np.nan, x * 0.5 * np.vectorize(math.erfc, otypes=["f8"])(-x * math.sqrt(0.5)))


def _gelu_tanh(x: Array) -> Array:
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)))


def _selu(x: Array) -> Array:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))


def _softplus(x: Array) -> Array:
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 21))))


def _scaled_softplus(x: Array) -> Array:
    return np.where(0.1 * x > 3, x, np.log1p(np.exp(np.minimum(0.1 * x, 4))) / 0.1)


ACTIVATIONS = {
    "gelu": Activation("R.nn.gelu(x)", _gelu),
    "gelu_tanh": Activation("R.nn.gelu_tanh(x)", _gelu_tanh, 2.0**-10),
    "silu": Activation("R.nn.silu(x)", lambda x: x / (1 + np.exp(-x))),
    "selu": Activation("R.nn.selu(x)", _selu, 2.0**-10),
    "softplus": Activation("R.nn.softplus(x)", _softplus, 2.0**-10),
    "scaled_softplus": Activation("R.nn.softplus(x, beta=0.1, threshold=3.0)", _scaled_softplus, 2.0**-6),
    "leaky_relu": Activation("R.nn.leakyrelu(x, 0.01)", lambda x: np.where(x > 0, x, x * 0.01)),
}
"""`selu`, `softplus` and `gelu_tanh` take the difference of a number from 1 (docs/semantics.md)."""


@cache
def programs(dtype: str) -> tuple[Any, Any]:
    text = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    for name, row in ACTIVATIONS.items():
        text += f"    @R.function\n    def {name}(x: R.Tensor(('n',), {dtype!r})):\n        return {row.expr}\n"
    module = parse_source(text)
    return module, build(module, opt_level=1).jit()


@pytest.mark.parametrize("dtype", HALVES)
def test_every_number_of_16_bits(dtype: str) -> None:
    module, executable = programs(dtype)
    x = np.arange(1 << 16, dtype="u2").view(numpy_dtype(dtype))
    for name, row in ACTIVATIONS.items():
        exact = row.reference(x.astype(np.float64))
        for got in (executable[name](x).numpy(), np.asarray(interpret(module, name, [x]))):
            wrong = np.flatnonzero(ulps(got, exact, row.least) > 0.6)
            shown = [(str(x[k]), str(got[k]), str(exact[k])) for k in wrong[:5]]
            assert not len(wrong), f"{name} of {dtype}: {len(wrong)}, such as {shown}"


@pytest.mark.parametrize("dtype", [f for f in FLOATS if f not in HALVES])
def test_numbers_of_more_bits(dtype: str) -> None:
    """Within 16 units of the result, or of 1 where it is less than that."""
    module, executable = programs(dtype)
    x = float_values(dtype)
    for name, row in ACTIVATIONS.items():
        exact = row.reference(x.astype(np.float64))
        for got in (executable[name](x).numpy(), np.asarray(interpret(module, name, [x]))):
            wrong = np.flatnonzero(ulps(got, exact, 1) > 16)
            shown = [(str(x[k]), str(got[k]), str(exact[k])) for k in wrong[:5]]
            assert not len(wrong), f"{name} of {dtype}: {len(wrong)}, such as {shown}"
