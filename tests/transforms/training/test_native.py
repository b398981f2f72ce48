"""Gradients run natively: they agree with the interpreter, with float32 and float64, at several sizes, 0 among them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strength import thinned

import tirax.runtime
from tirax.interpreter import interpret
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import Gradient

_MODULE = runpy.run_path(str(Path(__file__).with_name("cases.py")))
CASES = {name: (params, function) for name, params, function in _MODULE["CASES"]}
CHOSEN = (
    "multiply ('n', 4) (4,)",
    "mean [0, -1] True",
    "max [1] False",
    "matmul ('n', 4) (4, 3)",
    "take",
    "gather_nd batch",
    "strided_slice steps",
    "nn.pad reflect",
    "nn.layer_norm [1, 2]",
    "nn.batch_norm",
    "nn.nll_loss mean",
    "nn.nll_loss weights",
    "nn.conv2d",
    "nn.conv2d groups",
    "nn.max_pool2d padding",
    "nn.attention BottomRight",
    "nn.avg_pool3d padding",
)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@thinned("name", CHOSEN, 2)
def test_native_gradients_agree(name: str) -> None:
    params, function = CASES[name]
    module = Gradient("main")(_MODULE["program"](params, function))
    executable, rng = relax.build(module), np.random.default_rng(0)
    symbolic = any(isinstance(d, str) for p in params for d in p.shape)
    for sizes in ({"n": 3, "m": 2}, {"n": 1, "m": 4}, {"n": 0, "m": 1}) if symbolic else ({},):
        if not _has_meaning(name, sizes):
            continue
        args: list[Any] = [p.random(sizes, rng) for p in params]
        value, gradients = interpret(module.op, "main_adjoint", args)
        result, native_gradients = executable["main_adjoint"](*map(tirax.runtime.array, args))
        np.testing.assert_allclose(result.numpy(), value, rtol=1e-6, atol=1e-9)
        for a, b in zip(native_gradients, gradients, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-6, atol=1e-9)


def _has_meaning(name: str, sizes: dict[str, int]) -> bool:
    """Windows and batch statistics of nothing have none."""
    return sizes.get("n") != 0 or not name.startswith(("nn.batch", "nn.layer", "nn.adaptive", "nn.nll_loss", "nn.avg"))
