"""NNSmith models, through PyTorch: a case is the generator's seed and the number of operators.

NNSmith (Liu et al., ASPLOS 2023) draws operators with matching types and shapes, solved by z3. It writes
ONNX through PyTorch's exporter; here its PyTorch modules are exported and imported like any others.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np

from ...diagnostics import TiraxError
from ...driver.build import build
from .checks import demand

TOLERANCE = 1e-3
_MILLISECONDS = 10_000
"""Time limit of z3's search for shapes."""
_MOST_ELEMENTS = 1 << 22
"""Limit on the elements of all values in a model: z3's solutions occasionally have gigabytes."""


def draw_model(rng: random.Random) -> str:
    """Return a seed and a number of operators, as text."""
    return f"{rng.randrange(1 << 30)} {rng.randint(1, 6)}"


def check_model(text: str) -> int:
    """Check that native code agrees with PyTorch; return 0 if there is no such model, or it is rejected."""
    seed, count = (int(word) for word in text.split())
    model = _model(seed, count)
    if model is None:
        return 0
    module, inputs = model
    import torch

    from ...frontend.torch.exported_program import from_exported_program

    try:
        expected = module(*inputs)
        program = torch.export.export(module, inputs)
    except RuntimeError:  # what PyTorch does not run, or does not export
        return 0
    try:
        run = build(from_exported_program(program))["main"]
    except TiraxError:
        return 0
    results = run(*(tensor.numpy() for tensor in inputs))
    pairs = zip(_several(results), _several(expected), strict=True)
    for result, reference in pairs:
        array = reference.detach().numpy()
        same = np.allclose(np.asarray(result), array, TOLERANCE, TOLERANCE, equal_nan=True)
        demand(same, f"expected {array}\nfound {np.asarray(result)}")
    return 1


def _several(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _model(seed: int, count: int) -> tuple[Any, tuple[Any, ...]] | None:
    """Return a module and its inputs; None if z3 has no solution, or it does not fit into memory."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from nnsmith.error import ConstraintError, InternalError
        from nnsmith.graph_gen import model_gen
        from nnsmith.materialize import Model

        operators = Model.init("onnx", "cpu").operators()
        try:
            generator = model_gen(operators, "symbolic", count, seed, _MILLISECONDS)
            drawn = generator.make_concrete()
            if sum(value.nelement() for value in drawn.vars.values()) > _MOST_ELEMENTS:
                return None
            graph = Model.init("torch", "cpu").from_gir(drawn)
        except (ConstraintError, InternalError):
            return None
        except RuntimeError as error:  # PyTorch's, for weights that no memory holds
            if "allocate memory" not in str(error):
                raise
            return None
    module = graph.torch_model.eval()
    module.debug_numeric = lambda *_: None  # asks for infinities, which cannot be exported
    torch.manual_seed(seed)
    return module, tuple(_input(torch, spec) for spec in graph.input_like.values())


def _input(torch: Any, spec: Any) -> Any:
    dtype = spec.dtype.torch()
    if dtype.is_floating_point:
        return torch.rand(spec.shape, dtype=dtype) * 2 - 1
    return torch.randint(0, 2 if dtype is torch.bool else 3, spec.shape).to(dtype)
