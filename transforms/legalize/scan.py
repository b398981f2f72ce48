"""Rules of scans, sorting, searching, sampling, and indexed writes."""

from __future__ import annotations

from typing import Any, cast

from ...diagnostics import UnsupportedError
from ...dialects.relax.operator import Operator
from ...dialects.relax.scan import TopK, index_dtype
from ...ir.locations import location_of
from ...te.tensor import Tensor
from ...topi import scan, scatter
from .legalize_rules import Emit, operand, result_tensor, rule
from .manipulation import flat


@rule("relax.cumsum")
@rule("relax.cumprod")
def scans(op: Operator) -> Emit:
    """relax.cumsum(data) -> cumsum(data)"""
    name = op.name.removeprefix("relax.")
    args = (operand(op, "data"), name, op.attr("axis"), result_tensor(op).element, op.attr("exclusive"))
    return Emit(scan.scan, args, name)


@rule("relax.argsort")
def argsort(op: Operator) -> Emit:
    """relax.argsort(data) -> argsort(data)"""
    args = (operand(op, "data"), op.attr("axis"), op.attr("descending"), index_dtype(op))
    return Emit(scan.argsort, args, "argsort")


@rule("relax.topk")
def topk(op: Operator) -> Emit:
    """relax.topk(data) -> topk(data), with two results for `both`"""
    attrs = (op.attr("axis"), op.attr("ret_type"), op.attr("largest"), index_dtype(op))
    function = scan.topk if op.attr("ret_type") == "both" else _only
    return Emit(function, (operand(op, "data"), cast(TopK, op).count(), *attrs), "topk")


def _only(*args: Any) -> Tensor:
    return scan.topk(*args)[0]


@rule("relax.scatter_nd")
def scatter_nd(op: Operator) -> Emit:
    """relax.scatter_nd(data, indices, updates) -> scatter_nd(data, indices, updates)"""
    dims = cast(Any, operand(op, "indices").type).dims
    if dims is not None and dims[-1].constant is None:
        raise UnsupportedError(
            "scatter_nd needs the last extent of indices when it is built",
            location=location_of(op),
            found=dims[-1],
            hint="give it by a match_cast before",
        )
    return Emit(scatter.scatter_nd, (*op.operands, op.attr("reduction")), "scatter_nd")


@rule("relax.index_put")
def index_put(op: Operator) -> Emit:
    """relax.index_put(data, indices, values) -> index_put(data, indices..., values)"""
    return Emit(_index_put, tuple(op.operands), "index_put", {"accumulate": op.attr("accumulate")})


def _index_put(data: Tensor, *rest: Tensor | list[Tensor], accumulate: bool) -> Tensor:
    *indices, values = flat(rest)
    return scatter.index_put(data, indices, values, accumulate)
