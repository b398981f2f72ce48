"""PyTorch tensors whose memory alone does not determine their elements.

A tensor can have a negative bit, by which its elements are the negated values in memory, have another layout, be on
another device, or have no memory at all. PyTorch is looked up among the loaded modules: nothing is imported here.
"""

from __future__ import annotations

import sys
from typing import Any

from .errors import ArgumentDeviceError, ArgumentError


def is_tensor(source: Any) -> bool:
    """Return whether `source` is a PyTorch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, getattr(torch, "Tensor", ()))


def require_plain(tensor: Any, name: str | None = None) -> None:
    """Raise `ArgumentError` for a tensor, called `name`, whose elements are not in plain CPU
    memory.
    """
    torch = sys.modules["torch"]
    place = "" if name is None else f" '{name}'"
    device, kind = tensor.device.type, type(tensor)
    if device != "cpu":
        hint = "give it values first" if device == "meta" else "copy it to the CPU: x.cpu()"
        raise ArgumentDeviceError(f"the tensor{place} lies on another device", expected="cpu", found=device, hint=hint)
    if kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__ or torch._is_functional_tensor(tensor):
        hint = "pass a plain tensor with its elements"
        raise ArgumentError(f"the tensor{place} has no memory of its own", found=kind.__name__, hint=hint)
    if tensor.is_nested or tensor.layout != torch.strided:
        found = "nested" if tensor.is_nested else tensor.layout
        raise ArgumentError(f"the tensor{place} is not dense", found=found, hint="make it dense: x.to_dense()")
    if tensor.requires_grad:
        raise ArgumentError(
            f"the tensor{place} requires a gradient, which compiled code does not compute",
            found="requires_grad=True",
            hint="x.detach(); to train: torch.compile(model, backend='tirax')",
        )
    if tensor.is_quantized:
        raise ArgumentError(
            f"the tensor{place} is quantized", found=tensor.dtype, hint="x.dequantize() or x.int_repr()"
        )


def resolved(tensor: Any, name: str | None = None) -> Any:
    """Return the tensor, copied if its negative bit is set. Raises like `require_plain`."""
    require_plain(tensor, name)
    return tensor.resolve_neg() if tensor.is_neg() else tensor
