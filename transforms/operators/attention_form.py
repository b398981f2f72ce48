"""Recognition of attention written as separate operators: `read_attention` matches it, `Attention` builds the operator.

softmax(q · kᵀ * scale + bias) · v, for the pass `fuse-attention` and for TVM's pattern (`attention_pattern.py`):

- matrices have any leading dimensions, (…, length, size), or (batch * heads) merged by a reshape;
- they are permutations of the inputs of attention, which may be keys and values repeated for groups of heads;
- the scale is a constant: a factor or divisor of scores, queries or keys, or of several of them;
- the bias is added; one that keeps the keys up to the query is a causal mask, also if it selects between scores and
  a number that makes their weights vanish;
- the softmax may be computed in another dtype, if `casts` allows it;
- weights that are NaN may be replaced by zeros, as PyTorch does for fully masked rows, where attention returns zeros
  (the only difference: NaN scores, which attention keeps).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr, product
from .rules import Array, Dims, both_ways, dims_of, fits_attention, number, producer, used_once, without_scale

Emit = Callable[..., SSAValue]
"""`emit("permute_dims", value, axes=[0, 2, 1, 3])`: the value of a new operator."""

HEADS_FIRST = (0, 2, 1, 3)
"""(batch, length, heads, size) <-> (batch, heads, length, size)"""

_NOTHING = -1e9
"""Scores at most this large have a weight of 0 beside any other score."""


@dataclass(frozen=True)
class Matrices:
    """The permutation `axes` of a value, (…, length, size), times `scale`."""

    value: SSAValue
    axes: tuple[int, ...]
    scale: float = 1.0

    @property
    def dims(self) -> Dims:
        dims = dims_of(self.value) or ()
        return tuple(dims[a] for a in self.axes) if len(dims) == len(self.axes) else ()

    def moved(self, emit: Emit, then: Sequence[int] | None = None) -> SSAValue:
        """Return the matrices without their scale, with their dimensions in the order `then`."""
        axes = _after(self.axes, then or range(len(self.axes)))
        return self.value if _stays(axes) else emit("permute_dims", self.value, axes=list(axes))


@dataclass(frozen=True)
class Attention:
    """softmax(q · kᵀ * scale + bias) · v; `merged` if the product has merged the first two dimensions."""

    q: Matrices
    k: Matrices
    v: Matrices
    bias: SSAValue | None
    scale: float
    causal_mask: str | None
    merged: bool

    @property
    def lead(self) -> Dims:
        """The dimensions before the length."""
        return self.q.dims[:-2]

    def fits(self, result: SSAValue) -> bool:
        """Return whether only the bias broadcasts, and all types are the same."""
        values = [self.q.value, self.k.value, self.v.value, result, *([] if self.bias is None else [self.bias])]
        elements = {value.type.element for value in values if isinstance(value.type, TensorType)}
        fits = fits_attention(self.q.dims, self.k.dims, self.v.dims) and len(elements) == 1
        return fits and min(self._heads_cost(True), self._batched_cost(True)) < inf

    def value(self, emit: Emit, heads_last: bool = False) -> SSAValue:
        """Return the value of the product, with `heads_last` as (batch, length, heads, size), by the cheaper way.

        The heads are moved to their position in the operator unless that moves more data than leaving them before the
        length: then each head is a batch of its own.
        """
        heads, batches = self._heads_cost(heads_last), self._batched_cost(heads_last)
        if heads < batches or heads_last and heads == batches:
            out = self._with_heads(emit)
            return out if heads_last else self._as_product(emit("permute_dims", out, axes=list(HEADS_FIRST)), emit)
        out = self._batched(emit)
        if heads_last:
            return emit("permute_dims", _reshape(out, self._result_dims, emit), axes=list(HEADS_FIRST))
        return self._as_product(out, emit)

    @property
    def _result_dims(self) -> Dims:
        return (*self.lead, self.q.dims[-2], self.v.dims[-1])

    def _as_product(self, out: SSAValue, emit: Emit) -> SSAValue:
        dims = self._result_dims
        return _reshape(out, (product(self.lead), *dims[2:]) if self.merged else dims, emit)

    def _heads_cost(self, heads_last: bool) -> float:
        """Return the number of tensors to transpose for attention with several heads; infinity without heads."""
        if len(self.lead) != 2 or self.bias is not None and self._bias_of_heads() is None:
            return inf
        return sum(not _stays(_after(m.axes, HEADS_FIRST)) for m in (self.q, self.k, self.v)) + (not heads_last)

    def _batched_cost(self, heads_last: bool) -> float:
        """Return the number to transpose if each head is a batch; infinity if some heads share a bias."""
        if self.bias is not None and self._bias_of_batches() is None:
            return inf
        return sum(not _stays(m.axes) for m in (self.q, self.k, self.v)) + heads_last

    def _with_heads(self, emit: Emit) -> SSAValue:
        """Return the operator on (batch, length, heads, size)."""
        return self._operator(
            [m.moved(emit, HEADS_FIRST) for m in (self.q, self.k, self.v)], self._bias_of_heads(), emit
        )

    def _batched(self, emit: Emit) -> SSAValue:
        """Return the operator on (batch, length, 1, size)."""
        inputs = [
            _reshape(m.moved(emit), (product(self.lead), m.dims[-2], 1, m.dims[-1]), emit)
            for m in (self.q, self.k, self.v)
        ]
        return self._operator(inputs, self._bias_of_batches(), emit)

    def _operator(self, inputs: list[SSAValue], bias: Sequence[SymExpr | int] | None, emit: Emit) -> SSAValue:
        biases = [] if self.bias is None or bias is None else [_reshape(self.bias, bias, emit)]
        return emit("nn.attention", *inputs, *biases, scale=self.scale, causal_mask=self.causal_mask)

    def _bias_of_heads(self) -> tuple[SymExpr | int, ...] | None:
        """Return the dimensions of the bias for (batch, heads, length, length), or None if it has no such form."""
        dims = self._bias_dims()
        if not self.merged or len(dims) < 3:
            return (*[1] * (4 - len(dims)), *dims)
        if dims[0] == product(self.lead):
            return (*self.lead, *dims[1:])
        return (1, 1, *dims[1:]) if dims[0].constant == 1 else None

    def _bias_of_batches(self) -> tuple[SymExpr | int, ...] | None:
        """Return the dimensions of the bias if each head is a batch, or None if some heads share it."""
        dims = self._bias_dims()
        lead, last = dims[:-2], dims[-2:]
        ends = (*[1] * (2 - len(last)), *last)
        if all(dim.constant == 1 for dim in lead):
            return (1, 1, *ends)
        differs = lead == ((product(self.lead),) if self.merged else self.lead)
        return (product(lead), 1, *ends) if differs else None

    def _bias_dims(self) -> Dims:
        return () if self.bias is None else dims_of(self.bias) or ()


def axes_of(op: Operator, rank: int) -> tuple[int, ...]:
    """Return the axes of a `permute_dims`."""
    axes = op.attr("axes")
    return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)


def _after(axes: Sequence[int], then: Sequence[int]) -> tuple[int, ...]:
    """Return the composition of two permutations."""
    return tuple(axes[a] for a in then)


def _stays(axes: Sequence[int]) -> bool:
    return list(axes) == list(range(len(axes)))


def _reshape(value: SSAValue, dims: Sequence[SymExpr | int], emit: Emit) -> SSAValue:
    if list(dims_of(value) or ()) == list(dims):
        return value
    return emit("reshape", value, relax.ShapeOp(dims).result)


def exchanged_heads(attention: Attention, op: Operator) -> Operator | None:
    """Return the operator that swaps heads and length of the product `op`, if that is its only use."""
    value = op.results[0]
    if attention.merged:
        split = _only_user(value, "reshape")
        if split is None or dims_of(split.results[0]) != (*attention.lead, *(dims_of(value) or ())[1:]):
            return None
        value = split.results[0]
    user = _only_user(value, "permute_dims")
    return user if user is not None and len(attention.lead) == 2 and axes_of(user, 4) == HEADS_FIRST else None


def _only_user(value: SSAValue, name: str) -> Operator | None:
    users = [use.operation for use in value.uses]
    only = users[0] if len(users) == 1 else None
    return only if isinstance(only, Operator) and only.name == f"relax.{name}" else None


def read_attention(op: Operator, casts: bool = False) -> Attention | None:
    """Return the attention whose last product is `op`, or None; intermediate values have one use.

    `casts`: the softmax may have another dtype than the products, which attention does not preserve.
    """
    weights, values = op.operands
    softmax = _softmax_of(_before_cast(weights, casts))
    dims = dims_of(weights)
    if softmax is None or dims is None or softmax.attr("axis") not in (-1, len(dims) - 1):
        return None
    scores, bias, causal_mask = _without_mask(_before_cast(softmax.operands[0], casts), dims[-2:])
    factor, scale = without_scale(scores)
    scores_op = used_once(factor, "matmul")
    if scores_op is None or scale is None or dims_of(factor) != dims:
        return None
    for merged in (True, False):
        q, k, v = (_matrices(value, i, merged) for i, value in enumerate((*scores_op.operands, values)))
        if len(q.axes) != len(dims) + merged or k.axes == _swap_last(len(k.axes)):
            continue  # also without a permutation: inserting one would cost more than it saves
        attention = Attention(q, k, v, bias, scale * q.scale * k.scale, causal_mask, merged)
        if attention.fits(op.results[0]) and _shows(attention, dims):
            return attention
    return None


def _softmax_of(weights: SSAValue) -> Operator | None:
    """Return the softmax that computes the weights, also if NaN is replaced by zeros."""
    chosen = used_once(weights, "where")
    if chosen is None:
        return used_once(weights, "nn.softmax")
    condition, zero, numbers = chosen.operands
    test = used_once(condition, "isnan")
    if test is None or test.operands[0] is not numbers or number(zero) != 0 or len(list(numbers.uses)) != 2:
        return None
    return producer(numbers, "nn.softmax")


def _shows(attention: Attention, scores: Dims) -> bool:
    """Return whether the scores have the shape of the matrices' product."""
    lead = (product(attention.lead),) if attention.merged else attention.lead
    return scores[:-2] == lead


def _before_cast(value: SSAValue, casts: bool) -> SSAValue:
    cast = used_once(value, "astype") if casts else None
    return value if cast is None else cast.operands[0]


_QUERIES, _KEYS, _VALUES = range(3)


def _matrices(value: SSAValue, which: int, merged: bool) -> Matrices:
    """Return an operand of a product as matrices; `merged` if a reshape merged (batch, heads, …)."""
    rank = len(dims_of(value) or ())
    axes = _swap_last(rank) if which == _KEYS else tuple(range(rank))
    scale = 1.0
    while True:
        permutation = producer(value, "permute_dims")
        if permutation is not None:
            value, axes = permutation.operands[0], _after(axes_of(permutation, len(axes)), axes)
            continue
        unmerged = _transposed_heads(value, axes) if not merged else _split(value, axes) if len(axes) == 3 else None
        if unmerged is not None:
            value, axes = unmerged
            continue
        inner, factor = without_scale(value, once=False) if which != _VALUES else (value, 1.0)
        if inner is value or factor is None:
            return Matrices(value, axes, scale)
        value, scale = inner, scale * factor


def _swap_last(rank: int) -> tuple[int, ...]:
    """Return the permutation that swaps the last two dimensions."""
    return (*range(rank - 2), rank - 1, rank - 2)


def _split(value: SSAValue, axes: tuple[int, ...]) -> tuple[SSAValue, tuple[int, ...]] | None:
    """Return (batch, heads, …) if a reshape merged it to (batch * heads, …)."""
    reshape = producer(value, "reshape")
    dims, full_dims = dims_of(value), None if reshape is None else dims_of(reshape.operands[0])
    if reshape is None or dims is None or full_dims is None or len(full_dims) != 4 or axes[0] != 0:
        return None
    if (product(full_dims[:2]), *full_dims[2:]) != dims:
        return None
    return reshape.operands[0], (0, 1, *[a + 1 for a in axes[1:]])


def _transposed_heads(value: SSAValue, axes: tuple[int, ...]) -> tuple[SSAValue, tuple[int, ...]] | None:
    """Return (batch, heads, length, size) whose last dimensions were swapped while the first two were merged."""
    parts = producer(value, "reshape")
    turned = None if parts is None else producer(parts.operands[0], "permute_dims")
    merge = None if turned is None else producer(turned.operands[0], "reshape")
    if merge is None or turned is None or axes_of(turned, 3) != (0, 2, 1):
        return None
    before, one, after = dims_of(merge.operands[0]) or (), dims_of(merge.results[0]) or (), dims_of(value) or ()
    if len(before) != 4 or one != (product(before[:2]), *before[2:]) or after != (*before[:2], before[3], before[2]):
        return None
    return merge.operands[0], _after(_swap_last(4), axes)


def _without_mask(value: SSAValue, matrix: Dims) -> tuple[SSAValue, SSAValue | None, str | None]:
    """Return (scores, bias, causal mask) of masked scores; `matrix` are their sizes."""
    chosen = used_once(value, "where")
    if chosen is not None:
        condition, *sides = chosen.operands
        allowed, numbers = _array(condition), [number(side) for side in sides]
        for at, scores in enumerate(sides):
            nothing = numbers[1 - at]
            if allowed is None or nothing is None or dims_of(scores) != dims_of(value):
                continue
            if _is_triangle(np.where(allowed == (at == 0), 0.0, nothing), matrix):
                return scores, None, "TopLeft"
    scores, bias = _without_bias(value)
    is_causal = bias is not None and is_causal_mask(bias, matrix)
    return (scores, None, "TopLeft") if is_causal else (scores, bias, None)


def is_causal_mask(bias: SSAValue, matrix: Dims) -> bool:
    """Return whether a constant added to scores, matrices of these sizes, is a causal mask."""
    added = _array(bias)
    return added is not None and _is_triangle(added, matrix)


def _is_triangle(added: Array, matrix: Dims) -> bool:
    """Return whether the constant is 0 for keys up to the query, and makes the weights of the others vanish."""
    if added.ndim < 2 or list(added.shape[-2:]) != [dim.constant for dim in matrix]:
        return False
    kept = np.tril(np.ones(added.shape[-2:], bool))
    return bool(np.all(np.where(kept, added == 0, added <= _NOTHING)))


def _without_bias(value: SSAValue) -> tuple[SSAValue, SSAValue | None]:
    """Return (scores, bias) of their sum, or (value, None) for other forms."""
    added = used_once(value, "add")
    for scores, bias in [] if added is None else both_ways(added):
        factor, scale = without_scale(scores)
        is_product = scale is not None and producer(factor, "matmul") is not None
        if is_product and dims_of(scores) == dims_of(value) and dims_of(bias) is not None:
            return scores, bias
    return value, None


def _array(value: SSAValue) -> Array | None:
    owner = value.owner
    return owner.value.numpy() if isinstance(owner, relax.ConstantOp) else None
