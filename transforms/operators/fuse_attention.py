"""Attention that is written out becomes the operator, whose scores are never in memory as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr, product
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import Array, Dims, fits_attention, producer

_NOTHING = -1e9
"""The power of what is no more than this is 0 beside that of any score."""
_HEADS_FIRST = (0, 2, 1, 3)
"""(batch, length, heads, size) <-> (batch, heads, length, size)"""


@dataclass(frozen=True)
class FuseAttention(Pass):
    """Products with a softmax between them become `nn.attention`.

    s = matmul(q, permute_dims(k)); w = softmax(s * scale + mask); y = matmul(w, v)
      ->  y = attention(q, k, v, mask, scale=scale)

    Scale and mask may be missing; the scale is a constant, which scores may be divided by. A constant mask that keeps
    the keys up to the query is `TopLeft`, also one that chooses between scores and a number that leaves nothing of
    them. Heads stand where attention has them, (batch, length, heads, size), if that moves no more data than leaving
    them in front of the length: then each one is a batch of its own. What is on the way is used by nothing else, and of
    known sizes. Rows that a mask leaves nothing of are zeros then, which the softmax makes NaN of.
    """

    name = "fuse-attention"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _of_product, "relax.permute_dims": _of_permuted})


def _of_product(op: Operator, emit: Emit) -> SSAValue | None:
    """Attention for the product of weights and values."""
    attention = None if _is_permuted(op) else _written_out(op)
    if attention is None:
        return None
    return (
        attention.with_heads(emit, False)
        if attention.heads_cost(False) < attention.apart_cost(False)
        else attention.apart(emit)
    )


def _of_permuted(op: Operator, emit: Emit) -> SSAValue | None:
    """Attention for such a product whose heads are moved behind the length."""
    product_op = producer(op.operands[0], "matmul")
    attention = None if product_op is None or not _is_permuted(product_op) else _written_out(product_op)
    if attention is None:
        return None
    if attention.heads_cost(True) <= attention.apart_cost(True):
        return attention.with_heads(emit, True)
    return emit("permute_dims", attention.apart(emit), axes=list(_HEADS_FIRST))


def _is_permuted(op: Operator) -> bool:
    """Whether all that is done with a result of four dimensions is to exchange the two in the middle."""
    users = [use.operation for use in op.results[0].uses]
    if len(users) != 1 or users[0].name != "relax.permute_dims" or not isinstance(users[0], Operator):
        return False
    return len(_dims(op.results[0])) == 4 and _axes(users[0], 4) == _HEADS_FIRST


def _axes(op: Operator, rank: int) -> tuple[int, ...]:
    axes = op.attr("axes")
    return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)


def dims_of(value: SSAValue) -> Dims | None:
    """The sizes of a floating-point tensor, None where they are not known."""
    t = value.type
    return t.dims if isinstance(t, TensorType) and t.element is not None and is_float(t.element) else None


def _dims(value: SSAValue) -> Dims:
    """The sizes of what is known to have some; none else."""
    return dims_of(value) or ()


def _used_once(value: SSAValue, name: str) -> Operator | None:
    """The operator called `name` that gives a value to one user."""
    return producer(value, name) if value.has_one_use() else None


@dataclass(frozen=True)
class _WrittenOut:
    """softmax(q · turned * scale + bias) · v; `lead` are the dimensions before the length."""

    q: SSAValue
    turned: SSAValue
    v: SSAValue
    bias: SSAValue | None
    scale: float
    causal_mask: str | None
    lead: Dims

    def _inputs(self) -> list[tuple[SSAValue, tuple[int, ...]]]:
        """The matrices, with the axes that bring them to (…, length, size)."""
        rank = len(self.lead) + 2
        kept = tuple(range(rank))
        return [(self.q, kept), (self.turned, (*kept[:-2], rank - 1, rank - 2)), (self.v, kept)]

    def heads_cost(self, is_permuted: bool) -> float:
        """How many tensors are moved in memory for attention of several heads; infinity where there are none."""
        if len(self.lead) != 2:
            return inf
        moved = [_source(value, _after(axes, _HEADS_FIRST)) for value, axes in self._inputs()]
        return sum(not _stays(axes) for _, axes in moved) + (not is_permuted)

    def apart_cost(self, is_permuted: bool) -> float:
        """How many are moved where each head is a batch; infinity where the bias is the same for some of them only."""
        if self.bias is not None and self._bias_apart() is None:
            return inf
        moved = [_source(value, axes) for value, axes in self._inputs()]
        return sum(not _stays(axes) for _, axes in moved) + is_permuted

    def with_heads(self, emit: Emit, is_permuted: bool) -> SSAValue:
        """The operator on (batch, length, heads, size); the result as the product gives it, or its permutation."""
        inputs = [_moved(value, _after(axes, _HEADS_FIRST), emit) for value, axes in self._inputs()]
        bias = self.bias
        if bias is not None:
            dims = _dims(bias)
            bias = _reshape(bias, (*[1] * (4 - len(dims)), *dims), emit)
        out = self._operator(inputs, bias, emit)
        return out if is_permuted else emit("permute_dims", out, axes=list(_HEADS_FIRST))

    def apart(self, emit: Emit) -> SSAValue:
        """The operator on (batch, length, 1, size), as the product gives its result."""
        inputs: list[SSAValue] = []
        for value, axes in self._inputs():
            matrix = _moved(value, axes, emit)
            length, size = _dims(matrix)[-2:]
            inputs.append(_reshape(matrix, (product(self.lead), length, 1, size), emit))
        dims = None if self.bias is None else self._bias_apart()
        bias = None if self.bias is None or dims is None else _reshape(self.bias, dims, emit)
        out = self._operator(inputs, bias, emit)
        length, size = _dims(out), _dims(inputs[2])
        return _reshape(out, (*self.lead, length[1], size[-1]), emit)

    def _operator(self, inputs: list[SSAValue], bias: SSAValue | None, emit: Emit) -> SSAValue:
        return emit(
            "nn.attention", *inputs, *([] if bias is None else [bias]), scale=self.scale, causal_mask=self.causal_mask
        )

    def _bias_apart(self) -> tuple[SymExpr | int, ...] | None:
        """The dimensions of the bias where each head is a batch, None where it is the same for some of them only."""
        dims = () if self.bias is None else _dims(self.bias)
        lead, last = dims[:-2], dims[-2:]
        ends = (*[1] * (2 - len(last)), *last)
        if all(dim.constant == 1 for dim in lead):
            return (1, 1, *ends)
        return (product(lead), 1, *ends) if lead == self.lead else None


def _after(axes: Sequence[int], then: Sequence[int]) -> tuple[int, ...]:
    """The axes of two permutations, one after the other."""
    return tuple(axes[a] for a in then)


def _stays(axes: Sequence[int]) -> bool:
    return list(axes) == list(range(len(axes)))


def _source(value: SSAValue, axes: tuple[int, ...]) -> tuple[SSAValue, tuple[int, ...]]:
    """What a value is a permutation of, and the axes that make the same of it as `axes` of the value."""
    permutation = producer(value, "permute_dims")
    while permutation is not None:
        axes = _after(_axes(permutation, len(axes)), axes)
        value = permutation.operands[0]
        permutation = producer(value, "permute_dims")
    return value, axes


def _moved(value: SSAValue, axes: tuple[int, ...], emit: Emit) -> SSAValue:
    source, whole = _source(value, axes)
    return source if _stays(whole) else emit("permute_dims", source, axes=list(whole))


def _reshape(value: SSAValue, dims: Sequence[SymExpr | int], emit: Emit) -> SSAValue:
    if list(_dims(value)) == list(dims):
        return value
    return emit("reshape", value, relax.ShapeOp(dims).result)


def _written_out(op: Operator) -> _WrittenOut | None:
    """The attention whose last product `op` is, None where it is another product."""
    weights, v = op.operands
    softmax = _used_once(weights, "nn.softmax")
    dims = dims_of(weights)
    if softmax is None or dims is None or softmax.attr("axis") not in (-1, len(dims) - 1):
        return None
    scores, bias, causal_mask = _without_mask(softmax.operands[0], dims[-2:])
    factor, scale = _without_scale(scores)
    product_op = _used_once(factor, "matmul")
    if product_op is None or scale is None:
        return None
    q, turned = product_op.operands
    if producer(turned, "permute_dims") is None:
        return None
    attention = _WrittenOut(q, turned, v, bias, scale, causal_mask, dims[:-2])
    return attention if _fits(attention, dims, op.results[0]) else None


def _fits(attention: _WrittenOut, scores: Dims, result: SSAValue) -> bool:
    """Whether nothing is broadcast but the bias, and everything is of one type."""
    values = [attention.q, attention.turned, attention.v, result, *([] if attention.bias is None else [attention.bias])]
    q, turned, v = (_dims(value) for value in values[:3])
    if not fits_attention(q, (*turned[:-2], *reversed(turned[-2:])), v) or q[:-2] != scores[:-2]:
        return False
    if len({value.type.element for value in values if isinstance(value.type, TensorType)}) != 1:
        return False
    return attention.heads_cost(True) < inf or attention.apart_cost(True) < inf


def _both_ways(op: Operator) -> list[tuple[SSAValue, SSAValue]]:
    """The operands, as they are and exchanged."""
    a, b = op.operands
    return [(a, b), (b, a)]


def _without_mask(value: SSAValue, matrix: Dims) -> tuple[SSAValue, SSAValue | None, str | None]:
    """(scores, bias, causal mask) of masked scores, which are matrices of these sizes."""
    chosen = _used_once(value, "where")
    if chosen is not None:
        condition, *sides = chosen.operands
        allowed, numbers = _array(condition), [_number(side) for side in sides]
        for at, scores in enumerate(sides):
            nothing = numbers[1 - at]
            if allowed is None or nothing is None or dims_of(scores) != dims_of(value):
                continue
            if _is_triangle(np.where(allowed == (at == 0), 0.0, nothing), matrix):
                return scores, None, "TopLeft"
    scores, bias = _without_bias(value)
    added = None if bias is None else _array(bias)
    is_causal = added is not None and _is_triangle(added, matrix)
    return (scores, None, "TopLeft") if is_causal else (scores, bias, None)


def _is_triangle(added: Array, matrix: Dims) -> bool:
    """Whether what is added to scores is 0 for keys up to the query, and leaves nothing of the others."""
    if added.ndim < 2 or list(added.shape[-2:]) != [dim.constant for dim in matrix]:
        return False
    kept = np.tril(np.ones(added.shape[-2:], bool))
    return bool(np.all(np.where(kept, added == 0, added <= _NOTHING)))


def _without_bias(value: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """(scores, bias) of their sum; (value, None) where it is no sum of that form."""
    added = _used_once(value, "add")
    for scores, bias in [] if added is None else _both_ways(added):
        factor, scale = _without_scale(scores)
        is_product = scale is not None and producer(factor, "matmul") is not None
        if is_product and dims_of(scores) == dims_of(value) and dims_of(bias) is not None:
            return scores, bias
    return value, None


def _without_scale(value: SSAValue) -> tuple[SSAValue, float | None]:
    """(scores, scale): what is multiplied with a constant, or divided by one; the scale is None for other constants."""
    for name in ("multiply", "divide"):
        op = _used_once(value, name)
        if op is None:
            continue
        for scores, factor in _both_ways(op)[: 2 if name == "multiply" else 1]:
            number = _number(factor)
            if number is not None and dims_of(scores) == dims_of(value):
                return scores, number if name == "multiply" else 1 / number if number else None
    return value, 1.0


def _array(value: SSAValue) -> Array | None:
    owner = value.owner
    return owner.value.numpy() if isinstance(owner, relax.ConstantOp) else None


def _number(value: SSAValue) -> float | None:
    """A constant of one element."""
    array = _array(value)
    return float(array.item()) if array is not None and array.size == 1 else None
