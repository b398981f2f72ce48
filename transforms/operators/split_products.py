"""Compute the parts of a split product as products with parts of the weights, which avoids copying them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.manipulation import sections
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import Array, Dims, both_ways, dims_of, producer, used_once


@dataclass(frozen=True)
class SplitProducts(Pass):
    """Split a product with constant weights whose columns are split.

    q, k, v = split(matmul(x, w) + b, axis=-1)  ->  q, k, v = matmul(x, w0) + b0, matmul(x, w1) + b1, matmul(x, w2) + b2

    Transformers compute queries, keys and values this way. The weights may be transposed, the sum is optional, and rows
    may be reshaped before the split. Applies to products with at least `min_rows` rows: with fewer rows there is little
    to copy, and one product is faster than three.
    """

    name = "split-products"
    min_rows: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        def rule(item: relax.TupleGetItemOp, emit: Emit) -> SSAValue | None:
            product = _product_of(item)
            return None if product is None or product.rows < self.min_rows else product.part(item.index.data, emit)

        apply_rules(op, {"relax.tuple_get_item": rule})


@dataclass(frozen=True)
class _Product:
    """A product that is split: `x` times `weights` (`transposed` before), plus `bias`, and the positions of the split.

    `lead` are the leading dimensions of the parts, if the rows are reshaped before the split.
    """

    x: SSAValue
    weights: relax.ConstantOp
    transposed: bool
    bias: relax.ConstantOp | None
    rows: int
    edges: list[tuple[int, int]]
    lead: Dims | None

    def part(self, index: int, emit: Emit) -> SSAValue:
        """Return the product with a part of the weights."""
        first, count = self.edges[index]
        columns = slice(first, first + count)
        axis = 0 if self.transposed else 1
        weights = _constant(emit, self.weights, self.weights.value.numpy()[(slice(None),) * axis + (columns,)])
        weights = emit("permute_dims", weights, axes=[1, 0]) if self.transposed else weights
        product = emit("matmul", self.x, weights)
        if self.bias is not None:
            product = emit("add", product, self._bias(emit, self.bias, columns))
        return product if self.lead is None else emit("reshape", product, relax.ShapeOp((*self.lead, count)).result)

    def _bias(self, emit: Emit, bias: relax.ConstantOp, columns: slice) -> SSAValue:
        return _constant(emit, bias, bias.value.numpy()[..., columns])


def _constant(emit: Emit, source: relax.ConstantOp, part: Array) -> SSAValue:
    constant = relax.ConstantOp.of(part, source.value.data.dtype).named_after(source.result)
    return emit.put(constant)


def _product_of(item: relax.TupleGetItemOp) -> _Product | None:
    """Return the product whose split the field is taken from, or None."""
    split = producer(item.tuple_, "split")
    if split is None or not all(isinstance(use.operation, relax.TupleGetItemOp) for use in item.tuple_.uses):
        return None
    value = split.operands[0]
    dims = dims_of(value)
    if dims is None or not value.has_one_use() or split.attr("axis") not in (-1, len(dims) - 1):
        return None
    edges = [(a.constant, n.constant) for a, n in sections(dims[-1], split.attr("indices_or_sections"))]
    known = [(a, n) for a, n in edges if a is not None and n]
    rows = [d.constant for d in dims[:-1] if d.constant is not None]
    if len(known) < len(edges) or len(rows) < len(dims) - 1:
        return None
    reshape = _of_rows(value)
    lead = None if reshape is None else dims[:-1]
    source = value if reshape is None else reshape.operands[0]
    return next((_Product(*parts, prod(rows), known, lead) for parts in _products(source, dims[-1].constant)), None)


def _of_rows(value: SSAValue) -> Operator | None:
    """Return the reshape that computes a value, if it keeps the columns and is the only user of its operand."""
    reshape = producer(value, "reshape")
    before, after = None if reshape is None else dims_of(reshape.operands[0]), dims_of(value)
    if reshape is None or not before or not after or before[-1] != after[-1] or not reshape.operands[0].has_one_use():
        return None
    return reshape


def _products(
    value: SSAValue, columns: int | None
) -> Iterator[tuple[SSAValue, relax.ConstantOp, bool, relax.ConstantOp | None]]:
    """Yield (x, weights, whether they are transposed, bias) of a product with constants, or of its sum with one."""
    add = producer(value, "add")
    for product, other in [(value, None)] if add is None else both_ways(add):
        matmul = producer(value, "matmul") if other is None else used_once(product, "matmul")
        bias = None if other is None else other.owner
        if matmul is None or product.type != value.type or not _is_row(bias, columns):
            continue
        weights = _weights_of(matmul)
        if weights is not None:
            yield matmul.operands[0], *weights, bias if isinstance(bias, relax.ConstantOp) else None


def _is_row(bias: object, columns: int | None) -> bool:
    """Return whether a bias is absent, or a constant with a number for each column."""
    return bias is None or (isinstance(bias, relax.ConstantOp) and bias.value.numpy().shape[-1:] == (columns,))


def _weights_of(matmul: Operator) -> tuple[relax.ConstantOp, bool] | None:
    """Return the constant matrix of a product, and whether it is transposed before; None if it is not constant."""
    operand = matmul.operands[1]
    transpose = producer(operand, "permute_dims")
    owner = (operand if transpose is None else transpose.operands[0]).owner
    t, out = operand.type, matmul.results[0].type
    same = isinstance(t, TensorType) and isinstance(out, TensorType) and t.element == out.element and t.rank == 2
    is_transpose = transpose is None or transpose.attr("axes") in (None, [1, 0], (1, 0))
    return (owner, transpose is not None) if isinstance(owner, relax.ConstantOp) and same and is_transpose else None
