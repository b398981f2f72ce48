"""Models of NNSmith, through PyTorch: a case is the number that one is generated from, and how many operators it has.

NNSmith (Liu et al., ASPLOS 2023) draws operators whose types and shapes fit, solved for by z3. What it writes as ONNX
comes from PyTorch's exporter; here its PyTorch modules are exported, and imported as others are.
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
"""How long z3 may look for shapes."""
_MOST_ELEMENTS = 1 << 22
"""What the values of a model may have in all: z3 now and then solves for tensors of gigabytes."""


def draw_model(rng: random.Random) -> str:
    """A number and a count, as text."""
    return f"{rng.randrange(1 << 30)} {rng.randint(1, 6)}"


def check_model(text: str) -> int:
    """Whether native code computes what PyTorch does; 0 where there is no such model, or it is refused."""
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
    """A module and its inputs; None where z3 knows none of such sizes, or these do not fit into memory."""
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
