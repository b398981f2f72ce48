"""Tensors of PyTorch as arrays of numpy over the same memory."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...diagnostics import UnsupportedError
from ...handles.relax.expr import Constant
from ..importing.weights import constant_over
from .arguments import dtype_name


def array_of(tensor: Any) -> np.ndarray[Any, Any]:
    """The contents of a tensor; a copy only of one that is not contiguous or not on the CPU."""
    import torch

    name = dtype_name(tensor.dtype)
    if tensor.is_complex() or tensor.is_quantized or tensor.layout != torch.strided:
        raise UnsupportedError("the contents of a tensor of this kind are not read", found=f"{tensor.layout} {name}")
    if tensor.is_meta or type(tensor) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        kind = "on the device meta" if tensor.is_meta else f"a {type(tensor).__name__}"
        raise UnsupportedError("a tensor has no contents that are read", found=kind, hint="weights are plain tensors")
    plain = tensor.detach().cpu().contiguous()
    if not hasattr(np, name) and hasattr(ml_dtypes, name):
        bits = torch.uint16 if plain.itemsize == 2 else torch.uint8
        return plain.view(bits).numpy().view(getattr(ml_dtypes, name))
    return plain.numpy()


def constant(tensor: Any, name: str | None = None) -> Constant:
    """A tensor, by the name that the model has for it, as a constant over its memory."""
    return constant_over(array_of(tensor), name)
