"""Sink reshapes below operators that can be computed before them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.elementwise import BINARY, UNARY
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .rules import producer

ELEMENTWISE = [f"relax.{name}" for name in (*UNARY, *BINARY)]


@dataclass(frozen=True)
class SinkReshape(Pass):
    """Sink a reshape of a tensor function's result that merges its last dimensions below element-wise operators.

    y = add(reshape(t, (n, 128)), b)  ->  y = reshape(add(t, reshape(b, (2, 64))), (n, 128))    for t of (n, 2, 64)

    The operators can then be fused into the function; the reshape itself is not a copy. It must have no other use.
    """

    name = "sink-reshape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, dict.fromkeys(ELEMENTWISE, _sunk))


def _sunk(op: Operator, emit: Emit) -> SSAValue | None:
    result = op.results[0].type
    if not isinstance(result, TensorType) or result.dims is None:
        return None
    split = next((dims for v in op.operands if (dims := _split_dims(v, result)) is not None), None)
    if split is None:
        return None
    operands = [_with_split(v, split, emit) for v in op.operands]
    if None in operands:
        return None
    moved = emit(op.name.removeprefix("relax."), *(v for v in operands if v), **{n: op.attr(n) for n in op.ATTR_SPECS})
    return emit("reshape", moved, relax.ShapeOp(result.dims).result)


def _split_dims(value: SSAValue, result: TensorType) -> tuple[SymExpr, ...] | None:
    """Return the last dimensions of a function's result that a reshape merges into the last one of `result`."""
    reshape = producer(value, "reshape")
    if reshape is None or not value.has_one_use() or result.dims is None:
        return None
    source, joined = reshape.operands[0].type, value.type
    if not isinstance(reshape.operands[0].owner, relax.CallTIROp | Operator):
        return None
    if not isinstance(source, TensorType) or not isinstance(joined, TensorType) or joined.dims != result.dims:
        return None
    kept = result.dims[:-1]
    return source.dims[-2:] if source.dims is not None and source.dims[:-2] == kept else None


def _with_split(value: SSAValue, split: tuple[SymExpr, ...], emit: Emit) -> SSAValue | None:
    """Return the operand with its last dimension split, or None if its shape is unknown."""
    t = value.type
    if not isinstance(t, TensorType) or t.dims is None:
        return None
    if not t.dims:
        return value
    reshape = producer(value, "reshape")
    last = (t.dims[-1], t.dims[-1]) if t.dims[-1].constant == 1 else split
    dims = (*t.dims[:-1], *last)
    source = None if reshape is None else reshape.operands[0]
    if source is not None and isinstance(source.type, TensorType) and source.type.dims == dims:
        return source
    return emit("reshape", value, relax.ShapeOp(dims).result)
