"""Memory layout of tensors: tensors that are dense in another dimension order are passed without a copy."""

from __future__ import annotations

from typing import Any

Order = tuple[int, ...]


def memory_order(tensor: Any) -> Order | None:
    """Return the dimensions of a tensor from slowest to fastest, or None if it is row-major.

    `x.permute(memory_order(x))` is then dense and row-major. Tensors that are not dense in any order, or have
    unknown strides, also yield None: they are copied at the call.
    """
    shape, strides = tuple(tensor.shape), tensor.stride()
    if not all(isinstance(n, int) for n in (*shape, *strides)) or 0 in shape:
        return None
    order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], shape[d] == 1, d)))
    if order == tuple(range(len(shape))) or not _is_dense([shape[d] for d in order], [strides[d] for d in order]):
        return None
    return None if _is_dense(shape, strides) else order


def _is_dense(shape: Any, strides: Any) -> bool:
    size = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def inverse(order: Order) -> Order:
    """Return the inverse of a dimension order."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
