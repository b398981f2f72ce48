"""The memory that the tensors of a function need while its calls run."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import host, relax
from ...dialects.relax.memory import tensor_bytes
from ...dialects.sym.expr import Const, SymExpr

_ALIASES = (host.ViewOp, relax.TupleOp, relax.TupleGetItemOp, relax.MatchCastOp, relax.IfOp, relax.YieldOp)
"""Ops whose results may lie in the memory of their operands."""


def live_bytes(function: relax.FuncOp) -> dict[Operation, SymExpr]:
    """Return, for each op of a function in destination passing form, the bytes of its tensors that are live at the op.

    Parameters, constants, and tensors created by callees are not counted.
    """
    live: dict[Operation, SymExpr] = {}
    _block(function.body.block, Const(0), live)
    return live


def _block(block: Block, outside: SymExpr, live: dict[Operation, SymExpr]) -> None:
    ops = list(block.ops)
    ends: dict[int, SymExpr] = {}
    needed = outside
    last = _last_uses(ops)
    for i, op in enumerate(ops):
        size = _bytes(op)
        if size is not None:
            needed = needed + size
            end = last.get(op.results[0], i)
            ends[end] = ends.get(end, Const(0)) + size
        live[op] = needed
        for region in op.regions:
            for inner in region.blocks:
                _block(inner, needed, live)
        needed = needed - ends.pop(i, Const(0))


def _last_uses(ops: list[Operation]) -> dict[SSAValue, int]:
    """Return the index of the op after which a value, and everything that may share its memory, is dead."""
    last: dict[SSAValue, int] = {}
    for i in range(len(ops) - 1, -1, -1):
        end = i
        if isinstance(ops[i], _ALIASES):
            end = max((last.get(result, i) for result in ops[i].results), default=i)
        for inner in ops[i].walk():
            for value in inner.operands:
                last[value] = max(last.get(value, end), end)
    return last


def _bytes(op: Operation) -> SymExpr | None:
    """Return the bytes of the tensor that an op creates, or None if it creates none."""
    if isinstance(op, host.TensorOp):
        return tensor_bytes(op.tensor_type)
    t = op.results[0].type if isinstance(op, _CALLS) and op.results else None
    if not isinstance(t, relax.TensorType) or t.dims is None or t.element is None:
        return None
    return tensor_bytes(t)


_CALLS = (relax.CallPackedOp, relax.CallBuiltinWithCtxOp, relax.CallPurePackedOp, relax.CallOp)
