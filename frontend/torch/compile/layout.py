"""How tensors lie in memory: those that are dense in another order of their dimensions are taken as they lie."""

from __future__ import annotations

from typing import Any

Order = tuple[int, ...]


def memory_order(tensor: Any) -> Order | None:
    """The dimensions of a tensor from the slowest to the fastest, None where it is row major.

    So `x.permute(memory_order(x))` is dense and row major. What is not dense in any order counts as row major, and so
    does what has strides that are not known: it is copied at the call.
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
    """The order that undoes `order`."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
