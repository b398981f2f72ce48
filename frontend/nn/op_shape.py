"""Operators of `nn.op`: shapes, creation, parts of tensors, order of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...handles.relax.expr import DataTypeImm, StringImm, Var, const
from .op_math import emit
from .tensor import Tensor, unwrap


def unsqueeze(x: Tensor, dim: int, name: str = "unsqueeze") -> Tensor:
    """A new dimension of extent 1."""
    return emit("expand_dims", x, dim, name=name)


def squeeze(x: Tensor, axis: int = -1, name: str = "squeeze") -> Tensor:
    """Without the dimension `axis`, which has extent 1."""
    return emit("squeeze", x, axis=axis, name=name)


def concat(x: Sequence[Tensor], dim: int, name: str = "concat") -> Tensor:
    """Tensors joined along a dimension."""
    return emit("concat", x, axis=dim, name=name)


def split(
    ary: Tensor, indices_or_sections: int | Sequence[int], axis: int = 0, name: str = "split"
) -> tuple[Tensor, ...]:
    """A tensor cut along `axis` into equal sections, or before indices."""
    return emit("split", ary, indices_or_sections=indices_or_sections, axis=axis, name=name)


def chunk(x: Tensor, chunks: int, dim: int = 0, name: str = "chunk") -> tuple[Tensor, ...]:
    """A tensor cut along `dim` into equal parts."""
    return split(x, chunks, dim, name)


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """The dimensions of x in another order, reversed where `axes` is None."""
    if name is None:
        hint = x.expr_handle.name_hint if isinstance(x.expr_handle, Var) else ""
        name = hint.replace("linear", "matmul") if "linear" in hint else "permute_dims"
    return emit("permute_dims", x, axes, name=name)


def permute(x: Tensor, axes: Sequence[int] | None, name: str = "permute") -> Tensor:
    """As `permute_dims`."""
    return emit("permute_dims", x, axes, name=name)


def reshape(x: Tensor, shape: Sequence[Any], name: str = "reshape") -> Tensor:
    """The elements of x in another shape; one extent may be -1."""
    return emit("reshape", x, tuple(shape), name=name)


def broadcast_to(x: Tensor, shape: Sequence[Any], name: str = "broadcast_to") -> Tensor:
    """x repeated to fill `shape`."""
    return emit("broadcast_to", x, tuple(shape), name=name)


def repeat(x: Tensor, repeats: int, axis: int | None = None, name: str = "repeat") -> Tensor:
    """Each element `repeats` times along an axis, of the flat tensor where that is None."""
    return emit("repeat", x, repeats=repeats, axis=axis, name=name)


def pad(x: Tensor, pad: Sequence[int], mode: str = "constant", value: float = 0.0, name: str = "pad") -> Tensor:
    """x with `pad[2 * i]` elements before and `pad[2 * i + 1]` behind those of dimension i."""
    return emit("nn.pad", x, pad_width=list(pad), pad_value=value, pad_mode=mode, name=name)


def take(x: Tensor, indices: Tensor, axis: int | None = None, name: str = "take") -> Tensor:
    """Elements by index along an axis, of the flat tensor where that is None."""
    return emit("take", x, indices, axis=axis, name=name)


def triu(x: Tensor, diagonal: int = 0, name: str = "triu") -> Tensor:
    """The upper triangle of matrices, the rest 0."""
    return emit("triu", x, diagonal, name=name)


def full(shape: Sequence[Any], fill_value: Any, dtype: str = "float32", name: str = "full") -> Tensor:
    """A tensor of one value: a number, or a tensor of rank 0."""
    value = const(fill_value, dtype) if isinstance(fill_value, int | float) else unwrap(fill_value)
    return emit("full", tuple(shape), value, dtype=dtype, name=name)


def zeros(shape: Sequence[Any], dtype: str = "float32", name: str = "zeros") -> Tensor:
    """A tensor of zeros."""
    return emit("zeros", tuple(shape), dtype=dtype, name=name)


def ones(shape: Sequence[Any], dtype: str = "float32", name: str = "ones") -> Tensor:
    """A tensor of ones."""
    return emit("ones", tuple(shape), dtype=dtype, name=name)


def empty(shape: Sequence[Any], dtype: str = "float32", name: str = "empty") -> Tensor:
    """A tensor of any contents."""
    return emit("builtin.alloc_tensor", tuple(shape), DataTypeImm(dtype), 0, StringImm("global"), name=name)


def arange(
    start: int, end: int | None = None, step: int = 1, dtype: str | None = "float32", name: str = "arange"
) -> Tensor:
    """start, start + step, … before `end`; from 0 to `start` where `end` is None."""
    first, last = (0, start) if end is None else (start, end)
    return emit("arange", first, last, step, dtype=dtype, name=name)


def sort(x: Tensor, axis: int = -1, descending: bool = False, name: str = "sort") -> Tensor:
    """The elements in order along `axis`."""
    return emit("sort", x, axis=axis, descending=descending, name=name)


def argsort(
    data: Tensor, axis: int = -1, descending: bool = False, dtype: str = "int32", name: str = "argsort"
) -> Tensor:
    """The positions of the elements in order along `axis`."""
    return emit("argsort", data, axis=axis, descending=descending, dtype=dtype, name=name)


def topk(
    data: Tensor,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str = "int32",
    name: str = "topk",
) -> Any:
    """The k greatest (or least) elements along `axis`: "values", "indices" or "both"."""
    return emit("topk", data, k=k, axis=axis, ret_type=ret_type, largest=largest, dtype=dtype, name=name)
