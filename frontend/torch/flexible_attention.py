"""Attention whose scores and masks are functions of the user: `flex_attention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from ...handles.relax.expr import Expr, PrimValue, ShapeExpr, const
from ..block_builder import BlockBuilder
from ..importing.relax_operators import R
from .emitter import Extent, cast_to, dtype_of, plain, shape_of


class Reader(Protocol):
    """What this file needs of a `GraphReader`."""

    block_builder: BlockBuilder

    def elementwise(self, module: Any, arguments: Sequence[Any]) -> Expr:
        """Convert a graph of scalars for tensors, whose elements it is computed for."""
        ...


def flex_attention(
    reader: Reader,
    query: Expr,
    key: Expr,
    value: Expr,
    score: Any,
    block_mask: Sequence[Any],
    scale: float,
    _options: Any = None,
    of_score: Sequence[Any] = (),
    of_mask: Sequence[Any] = (),
) -> list[Expr]:
    """Return softmax(score(scale * q · kᵀ)) · v where the mask holds, the logarithm (of base 2) of the sums, and the
    greatest scores. Rows without elements are 0.
    """
    emit = reader.block_builder.emit
    shape = [*shape_of(query)[:3], shape_of(key)[2]]
    q, k, v = (emit(cast_to(x, "float32")) for x in (query, *(_repeated(reader, x, shape[1]) for x in (key, value))))
    product = emit(R.matmul(q, R.permute_dims(k, axes=[0, 1, 3, 2]), out_dtype="float32"))
    places = [_places(reader, shape, axis) for axis in range(4)]
    scores = reader.elementwise(score, [emit(R.multiply(product, const(scale, "float32"))), *places, *of_score])
    kept = reader.elementwise(block_mask[-1], [*places, *of_mask])
    scores = emit(R.where(kept, cast_to(scores, "float32"), const(-math.inf, "float32")))
    greatest = emit(R.max(scores, axis=[3], keepdims=True))
    some = emit(R.greater(greatest, const(-math.inf, "float32")))
    weights = emit(R.exp(R.subtract(scores, R.where(some, greatest, const(0, "float32")))))
    sums = emit(R.sum(weights, axis=[3], keepdims=True))
    shares = emit(R.divide(weights, R.where(some, sums, const(1, "float32"))))
    result = cast_to(emit(R.matmul(shares, v, out_dtype="float32")), dtype_of(query))
    logarithm = emit(R.add(R.log(sums), greatest))
    per_bit = const(1 / math.log(2), "float32")
    more = [emit(R.multiply(R.squeeze(x, axis=[3]), per_bit)) for x in (logarithm, greatest)]
    return [emit(result), *more]


def _repeated(reader: Reader, x: Expr, heads: Extent) -> Expr:
    """Return keys or values with as many heads as the queries."""
    own = shape_of(x)[1]
    return x if own == heads else reader.block_builder.emit(R.repeat(x, plain(heads // own), axis=1))


def _places(reader: Reader, shape: Sequence[Extent], axis: int) -> Expr:
    count = R.arange(PrimValue(0), PrimValue(shape[axis]), PrimValue(1), dtype="int32")
    along = ShapeExpr([extent if i == axis else 1 for i, extent in enumerate(shape)])
    return reader.block_builder.emit(R.reshape(reader.block_builder.emit(count), along))
