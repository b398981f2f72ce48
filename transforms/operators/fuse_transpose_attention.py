"""Fuse the transpositions of queries, keys and values into their attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ... import topi
from ...dialects.relax.operator import Operator
from ...ir.passes.transform import Pass
from ...te.tensor import Tensor
from .rules import producer
from .te_calls import call_tensor_functions

_SWAPPED = [0, 2, 1, 3]
"""(batch, heads, length, size), as most frameworks have it, to (batch, length, heads, size) and back."""


@dataclass(frozen=True)
class FuseTransposeAttention(Pass):
    """Replace attention over tensors whose length and heads are swapped by a tensor function that reads the sources.

    b = permute_dims(k, [0, 2, 1, 3]); y = nn.attention(q, b, v)  ->  y = call_tir(attention, (q, k, v))

    A transposed tensor is removed if it has no other use. With few queries, copying the keys and values takes longer
    than reading them.
    """

    name = "fuse-transpose-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        call_tensor_functions(op, {"relax.nn.attention": _attention}, checks=True)


def _attention(op: Operator) -> tuple[Callable[..., Any], list[SSAValue], str] | None:
    *tensors, bias = (cast("SSAValue | None", arg) for arg in op.args)
    sources = [None if tensor is None else _source(tensor) for tensor in tensors]
    swapped = tuple(source is not None for source in sources)
    if not any(swapped):
        return None
    operands = [value for pair in zip(sources, tensors, strict=True) if (value := pair[0] or pair[1]) is not None]
    attrs = {name: op.attr(name) for name in ("scale", "causal_mask", "window_size")}
    name = "attention_of_" + "".join(letter for letter, is_swapped in zip("qkv", swapped, strict=True) if is_swapped)
    function = partial(_of_heads, swapped=swapped, **attrs)
    return function, operands if bias is None else [*operands, bias], name


def _source(tensor: SSAValue) -> SSAValue | None:
    """Return the tensor that is transposed, or None if there is none."""
    transpose = producer(tensor, "permute_dims")
    axes = None if transpose is None else transpose.attr("axes")
    swaps = axes is not None and [axis % len(axes) for axis in axes] == _SWAPPED
    return transpose.operands[0] if transpose is not None and swaps else None


def _of_heads(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None, *, swapped: Sequence[bool], **attrs: Any
) -> Tensor:
    tensors = zip((query, key, value), swapped, strict=True)
    query, key, value = (topi.transpose(t, _SWAPPED) if is_swapped else t for t, is_swapped in tensors)
    return topi.nn.attention(query, key, value, bias, **attrs)
