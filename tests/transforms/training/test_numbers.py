"""Every rule of differentiation against central differences, in float64 on the interpreter."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strength import thinned

from tirax.interpreter import interpret
from tirax.transforms.training.gradient_rules import GRADIENTS
from tirax.tvm_api.relax.transform import Gradient

_MODULE = runpy.run_path(str(Path(__file__).with_name("cases.py")))
CASES, program = _MODULE["CASES"], _MODULE["program"]
IDS = [name for name, _, _ in CASES]
SIZES = ({"n": 3, "m": 2}, {"n": 1, "m": 1})
STEP = 1e-5
MOST = 4
"""How many elements of an argument are tried."""


def differences(module: Any, args: list[Any], rng: np.random.Generator) -> list[dict[Any, float] | None]:
    """Derivatives of `main` by some elements of each argument, by central differences; None for what is no float."""
    out: list[dict[Any, float] | None] = []
    for i, x in enumerate(args):
        if x.dtype.kind != "f":
            out.append(None)
            continue
        places = list(np.ndindex(x.shape))
        chosen = rng.permutation(len(places))[:MOST]
        out.append({places[n]: _difference(module, args, i, places[n]) for n in chosen})
    return out


def _difference(module: Any, args: list[Any], i: int, at: Any) -> float:
    ends: list[float] = []
    for by in (STEP, -STEP):
        moved = [a.copy() for a in args]
        moved[i][at] += by
        ends.append(float(interpret(module, "main", moved)))
    return (ends[0] - ends[1]) / (2 * STEP)


@thinned(("name", "params", "function"), CASES, lambda case: case[0].split()[0], label=lambda case: case[0])
def test_the_gradient_is_what_differences_say(
    name: str, params: list[Any], function: Callable[..., Any], rng: np.random.Generator
) -> None:
    module = program(params, function)
    with_gradient = Gradient("main")(module)
    symbolic = any(isinstance(d, str) for p in params for d in p.shape)
    for sizes in SIZES if symbolic else SIZES[:1]:
        args = [p.random(sizes, rng) for p in params]
        value, gradients = interpret(with_gradient.op, "main_adjoint", args)
        assert np.isclose(value, interpret(module.op, "main", args))
        for x, actual, expected in zip(args, gradients, differences(module.op, args, rng), strict=True):
            assert actual.shape == x.shape and actual.dtype == x.dtype
            if expected is None:
                assert not actual.any()
            else:
                for at, derivative in expected.items():
                    np.testing.assert_allclose(actual[at], derivative, rtol=1e-5, atol=1e-7, err_msg=f"at {at}")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_every_rule_has_a_case() -> None:
    covered = {name.split(" ")[0] for name in IDS}
    assert covered == set(GRADIENTS), covered ^ set(GRADIENTS)
