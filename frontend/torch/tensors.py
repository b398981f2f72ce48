"""PyTorch tensors as numpy arrays that share their memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...diagnostics import UnsupportedError
from ...handles.relax.expr import Constant
from ...runtime.errors import ArgumentError
from ...runtime.torch_tensors import resolved
from ..importing.weights import constant_over
from .arguments import dtype_name


def array_of(tensor: Any, called: str | None = None) -> np.ndarray[Any, Any]:
    """Return the contents of a tensor, called `called` in the model; only non-contiguous ones are copied.

    A tensor on another device is copied to the CPU. Raises `UnsupportedError` for tensors without contents in
    memory, or of an unsupported kind.
    """
    import torch

    place, name = "a tensor" if called is None else f"the tensor '{called}'", dtype_name(tensor.dtype)
    if tensor.is_complex():
        raise UnsupportedError(f"the contents of {place} of this kind are not read", found=f"{tensor.layout} {name}")
    if tensor.is_meta:
        raise UnsupportedError(
            f"{place} has no contents that are read", found="on the device meta", hint="load weights"
        )
    try:
        plain = resolved(tensor.detach() if tensor.device.type == "cpu" else tensor.detach().cpu(), called)
    except ArgumentError as error:
        raise UnsupportedError(error.message, found=error.found, hint=error.hint) from error
    except (NotImplementedError, TypeError) as error:
        raise UnsupportedError(f"the contents of {place} are not read: {error}", found=type(tensor).__name__) from error
    plain = plain.contiguous()
    if not hasattr(np, name) and hasattr(ml_dtypes, name):
        bits = torch.uint16 if plain.itemsize == 2 else torch.uint8
        return plain.view(bits).numpy().view(getattr(ml_dtypes, name))
    return plain.numpy()


def constant(tensor: Any, name: str | None = None) -> Constant:
    """Return a tensor, called `name` in the model, as a constant that shares its memory."""
    return constant_over(array_of(tensor, name), name)
