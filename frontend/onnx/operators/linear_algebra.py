"""Products of matrices."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import MICROSOFT, converter, rows, simple
from ..values import Output, Value, op

rows(simple("matmul"), "MatMul")


@converter("Gemm")
def gemm(node: Node, a: Value, b: Value, c: Value | None = None) -> Output:
    left = op("permute_dims", a) if node.attr("transA") else a
    right = op("permute_dims", b) if node.attr("transB") else b
    product = _scaled(op("matmul", left, right), node.attr("alpha"))
    return product if c is None else op("add", product, _scaled(c, node.attr("beta")))


def _scaled(x: Output, factor: float) -> Output:
    return x if factor == 1.0 else op("multiply", x, factor)


@converter("Einsum")
def einsum(node: Node, *xs: Value) -> Expr:
    return op("einsum", list(xs), subscripts=node.attr("equation").replace(" ", ""))


@converter("FusedMatMul", domain=MICROSOFT)
def fused_matmul(node: Node, a: Value, b: Value) -> Output:
    if node.attr("transBatchA", 0) or node.attr("transBatchB", 0):
        raise node.unsupported("the batch is among the rows")
    left = _swapped(a) if node.attr("transA", 0) else a
    right = _swapped(b) if node.attr("transB", 0) else b
    return _scaled(op("matmul", left, right), node.attr("alpha", 1.0))


def _swapped(x: Value) -> Expr:
    """The last two dimensions exchanged."""
    axes = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    return op("permute_dims", x, axes=axes)
