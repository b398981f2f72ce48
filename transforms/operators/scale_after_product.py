"""Scale a product instead of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16
from xdsl.ir import SSAValue

from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import bytes_of, constant_array, dims_of, producer


@dataclass(frozen=True)
class ScaleAfterProduct(Pass):
    """Scale matrix products with constant, converted bytes instead of scaling the columns of the bytes.

    y = matmul(x, astype(q) * s)  ->  y = matmul(x, astype(q)) * s

    The weights can then stay bytes, a quarter of the memory (`pack-weights`). s is a constant that is the same for all
    rows of the matrix q. Each element is rounded once instead of each weight. Products before scaling are up to 255
    times as large: float16 would overflow, and keeps its weights.
    """

    name = "scale-after-product"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.matmul": _matmul})


def _matmul(op: Operator, emit: Emit) -> SSAValue | None:
    x, weights = op.operands
    scaled, rank = producer(weights, "multiply"), len(dims_of(x) or ())
    if scaled is None or rank < 2:
        return None
    converted, scale = scaled.operands
    dims = dims_of(scale)
    if f16 in {cast(TensorType, v.type).element for v in (weights, op.results[0])} or dims is None:
        return None
    if bytes_of(converted) is None or converted.type != weights.type or constant_array(scale) is None:
        return None
    if len(dims) == 2 and dims[0].constant != 1:
        return None
    return emit("multiply", emit("matmul", x, converted, out_dtype=op.attr("out_dtype")), scale)
