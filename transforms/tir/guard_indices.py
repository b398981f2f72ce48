"""`guard-indices`: an index that was read from memory stays inside of its buffer.

What a program computes from loop variables is right or wrong once and for all; what it reads as data (the indices of a
gather or scatter) is right or wrong at each call. Such an access could touch any memory of the process, so:

    %x = tir.load %A[%i]         ->  %x = tir.load %A[max(min(%i, extent - 1), 0)]
    tir.store %x, %A[%i]         ->  tir.if 0 <= %i and %i < extent {tir.store %x, %A[%i]}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Block, OpResult, Region, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import Const, SymExpr
from ...ir.affine.values import Materializer
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter
from ...ir.rewriting.walk import operations
from .walk import functions


@dataclass(frozen=True)
class GuardIndices(Pass):
    """Clamp loaded indices of loads, and leave out stores at loaded indices that are out of range."""

    name = "guard-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            known: dict[SSAValue, bool] = {}
            for inner in operations(func):
                if isinstance(inner, tir.LoadOp):
                    _clamp(inner, known)
                elif isinstance(inner, tir.StoreOp):
                    _skip_outside(inner, known)


_DATA = (
    tir.LoadOp,
    tir.IfThenElseOp,
    tir.LetInOp,
    tir.ReduceOp,
    tir.CallExternOp,
    tir.CallPureExternOp,
    tir.CallOp,
    tir.CallPackedOp,
)


def _is_data(value: SSAValue, known: dict[SSAValue, bool]) -> bool:
    """Whether an integer depends on what memory holds."""
    if value not in known:
        if not isinstance(value, OpResult):
            known[value] = False
        elif isinstance(value.op, _DATA):
            known[value] = True
        else:
            known[value] = any(_is_data(o, known) for o in value.op.operands)
    return known[value]


def _guarded(indices: list[SSAValue], buffer: SSAValue, known: dict[SSAValue, bool]) -> dict[int, SymExpr]:
    """The dimensions whose index is data, each with its extent."""
    dims = cast(tir.BufferType, buffer.type).dims
    scalars = [(i, v) for i, v in enumerate(indices) if isinstance(v.type, IntegerType)]
    return {i: dims[i] for i, v in scalars if _is_data(v, known)}


def _clamp(op: tir.LoadOp, known: dict[SSAValue, bool]) -> None:
    insert = inserter(op)
    build = Materializer(insert)
    for i, extent in _guarded(list(op.indices), op.buffer, known).items():
        index = op.indices[i]
        dtype = cast(IntegerType, index.type)
        below = tir.MinOp(index, build(extent - 1, dtype))
        insert(below)
        inside = tir.MaxOp(below.result, build(Const(0, dtype)))
        insert(inside)
        op.operands[i + 1] = inside.result


def _skip_outside(op: tir.StoreOp, known: dict[SSAValue, bool]) -> None:
    guarded = _guarded(list(op.indices), op.buffer, known)
    if not guarded:
        return
    insert = inserter(op)
    build = Materializer(insert)
    condition: SSAValue | None = None
    for i, extent in guarded.items():
        index = op.indices[i]
        dtype = cast(IntegerType, index.type)
        for test in (
            tir.GeOp(index, build(Const(0, dtype))),
            tir.LtOp(index, build(extent, dtype)),
        ):
            insert(test)
            if condition is None:
                condition = test.result
            else:
                both = tir.AndOp(condition, test.result)
                insert(both)
                condition = both.result
    assert condition is not None
    block = Block()
    insert(tir.IfOp(condition, Region(block)))
    op.detach()
    block.add_op(op)
