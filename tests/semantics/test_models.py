"""Hand-made models: every way of writing them, every pass and the executable agree with the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
from models import MODELS, source
from strength import only_full, thinned
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.fuzz import checks
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def model(name: str) -> ModuleOp:
    return parse_source(source(name))


@thinned("name", MODELS, 15)
def test_bindings(name: str) -> None:
    checks.binding_passes(model(name))


@pytest.mark.parametrize("name", MODELS)
def test_texts(name: str) -> None:
    checks.texts(model(name))


@only_full
@thinned("name", ["mlp", "concat_self", "embedding", "nested_if"], 2)
def test_texts_after_each_pass(name: str) -> None:
    checks.all_texts(model(name))


@thinned("name", MODELS, 3)
def test_optimize(name: str) -> None:
    checks.optimize(model(name))


@thinned("name", MODELS, 3)
def test_native(name: str) -> None:
    checks.native(model(name))


def test_native_of_nothing() -> None:
    """A reduction over no elements gives its neutral element, whatever lay in the memory of the result."""
    run = build(model("empty_product"))["main"]
    for n in (5, 0, 3, 0):
        np.testing.assert_array_equal(run(np.full((3, n), 7, np.float32)), np.full(3, 7.0**n, np.float32))


def test_models_against_numpy() -> None:
    """The interpreter itself, where numpy is short."""
    rng = np.random.default_rng(0)
    x, w1, b1, w2, b2 = (rng.standard_normal(s).astype("float32") for s in ((2, 6), (6, 5), (5,), (3, 5), (3,)))
    e = np.exp(np.maximum(x @ w1 + b1, 0) @ w2.T + b2)
    result = interpret(model("mlp"), "main", [x, w1, b1, w2, b2])
    np.testing.assert_allclose(result, e / e.sum(-1, keepdims=True), rtol=1e-5)
    table, ids = rng.standard_normal((4, 3)).astype("float32"), np.array([[0, 3], [2, 2]])
    np.testing.assert_allclose(interpret(model("embedding"), "main", [table, ids]), table[ids].mean(1), rtol=1e-5)
