"""Models of PyTorch, exported, imported and run natively, beside what PyTorch computes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tirax.driver.build import build
from tirax.frontend.torch.exported_program import from_exported_program


def exported(model: Any, args: Sequence[Any], **options: Any) -> Any:
    """The program of a model, or of a function of tensors, for inference."""
    import torch

    class OfFunction(torch.nn.Module):
        def forward(self, *inputs: Any) -> Any:
            return model(*inputs)

    module = model if isinstance(model, torch.nn.Module) else OfFunction()
    return torch.export.export(module.eval(), tuple(args), **options)


def agree(program: Any, *inputs: Sequence[Any], tolerance: float = 1e-5) -> Any:
    """The imported module of a program, built once, whose results are PyTorch's for all of `inputs`."""
    mod = from_exported_program(program)
    main = build(mod).jit()["main"]
    for args in inputs:
        same_results(main, program.module()(*args), args, tolerance)
    return mod


def same_results(main: Any, results: Any, args: Sequence[Any], tolerance: float) -> None:
    """Assert that a compiled function gives these results, with the same dtypes."""
    from torch.utils import _pytree

    outputs = main(*(as_argument(a) for a in _pytree.tree_leaves(args)))
    for reference, output in zip(_pytree.tree_leaves(results), outputs, strict=True):
        expected, value = as_argument(reference), np.asarray(output)
        assert value.dtype == np.asarray(expected).dtype, (value.dtype, expected)
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)


def as_argument(value: Any) -> Any:
    """A tensor as an array over its memory, anything else as it is."""
    return value.detach().numpy() if hasattr(value, "detach") else value
