"""Split vectorized loops into chunks for threads: `parallelize-loops` applies this to outermost loops.

for i in T.vectorized(n): Y[i] = f(X[i])
  -> for o in T.parallel(n // 4096): for i in T.vectorized(4096): Y[o * 4096 + i] = f(X[o * 4096 + i])
     for i in T.vectorized(n % 4096): Y[n // 4096 * 4096 + i] = …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var, add, floordiv, floormod, mul
from ...dialects.tir import BufferType, ForKind
from ...ir.affine.values import sym_expr_of
from ...ir.buffers.regions import Ends, accessed
from ...ir.rewriting.copy import copied

CHUNK = 4096
"""Iterations of a chunk: two chunks fit an L1 cache, and each has many vectors."""


def cut_into_chunks(loop: tir.ForOp) -> None:
    """Replace a vectorized loop from 0 by a parallel one over full chunks, and one over the tail."""
    extent = cast(SymExpr, loop.extent)
    chunks, rest = floordiv(extent, CHUNK), floormod(extent, CHUNK)
    block = cast(Block, loop.parent)
    dtype = cast(IntegerType, loop.loop_var.type)
    if chunks.constant != 0:
        outer = Block(arg_types=[dtype])
        set_name(outer.args[0], f"{name_of(loop.loop_var) or 'i'}_chunk")
        size = tir.ConstOp(CHUNK, dtype)
        start = tir.MulOp(outer.args[0], size.result)
        inner = _vectorized(loop, Const(CHUNK, extent.dtype), [size, start], start.result)
        outer.add_op(inner)
        block.insert_op_before(
            _at_location_of(tir.ForOp(Const(0, extent.dtype), chunks, Region(outer), ForKind.PARALLEL), loop), loop
        )
    if rest.constant != 0:
        start = ValueOp(mul(chunks, CHUNK))
        block.insert_op_before(_vectorized(loop, rest, [start], start.result), loop)
    block.erase_op(loop)


def _vectorized(loop: tir.ForOp, extent: SymExpr, before: Sequence[Operation], start: SSAValue) -> tir.ForOp:
    """Return the iterations of a loop from `start` on, which the operations `before` compute."""
    body = Block(arg_types=[loop.loop_var.type])
    set_name(body.args[0], name_of(loop.loop_var))
    index = tir.AddOp(start, body.args[0])
    body.add_ops([*before, index])
    copied(loop.body.block.ops, body, {loop.loop_var: index.result})
    return _at_location_of(tir.ForOp(Const(0, extent.dtype), extent, Region(body), ForKind.VECTORIZED), loop)


def _at_location_of(new: tir.ForOp, loop: tir.ForOp) -> tir.ForOp:
    new.location = loop.location
    return new


def can_be_cut(loop: tir.ForOp) -> bool:
    """Return whether each iteration writes its own elements, and reads no others of the written buffers."""
    var = sym_expr_of(loop.loop_var)
    extent = loop.extent
    if not isinstance(var, Var) or not isinstance(extent, SymExpr) or loop.min != Const(0, extent.dtype):
        return False
    reads, writes = accessed(loop.body.block)
    analyzer = Analyzer()
    for buffer, dims in writes.items():
        places = [_place(analyzer, buffer, ends) for ends in (dims, *([reads[buffer]] if buffer in reads else []))]
        if places[0] is None or any(place != places[0] for place in places):
            return False
        step = (places[0].substitute({var: add(var, 1)}) - places[0]).constant
        if step is None or step == 0:
            return False
    return bool(writes)


def _place(analyzer: Analyzer, buffer: SSAValue, ends: Sequence[Ends | None]) -> SymExpr | None:
    """Return the linear index of the accessed element; None if there are several, or it is unknown."""
    total: SymExpr = Const(0)
    for extent, interval in zip(cast(BufferType, buffer.type).dims, ends, strict=True):
        if interval is None or interval[0] != interval[1]:
            return None
        total = add(mul(total, extent), interval[0])
    return analyzer.simplify(total)
