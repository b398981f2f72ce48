"""Neighbouring iterators are fused into one, so that short rows fill vectors and nests become shallower:

    for h in 14: for w in 14: C[o, h, w] += A[o, k] * X[k, h, w]
        ->
    for t in 196: C[o, t // 14, t % 14] += A[o, k] * X[k, t // 14, t % 14]

This requires that in each access one step of the outer iterator equals all steps of the inner one; the addresses
are then the flat index `t` plus terms that do not depend on it. One group of spatial and one of reduction iterators
is fused: two, and more while the rows are short or of unknown length:

    for i in n: for j in m: C[i, j, c] += A[i, j, k] * B[k, c]     ->     for t in n * m: …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.sym.expr import SymExpr, mul
from ..analysis.stages import Iter, slope
from ..policy.limits import SHORT_ROW
from .epilogue import Epilogue
from .segments import COMPARISONS, choices_of

_ACCESSES = (tir.LoadOp, tir.ReadsOp, tir.WritesOp)
_INDEX_ARITHMETIC = (tir.AddOp, tir.SubOp, tir.MulOp)


def fuse_iters(epilogue: Epilogue) -> Epilogue:
    """Return the same reduction or elementwise stage, and its epilogue, over fewer iterators."""
    iters = _with_group(epilogue, [it for it in epilogue.stage.iters if not it.reduce])
    sums = _with_group(epilogue, [it for it in epilogue.stage.iters if it.reduce])
    order = {it.var: at for at, it in enumerate(epilogue.stage.iters)}
    both = sorted([*iters, *sums], key=lambda it: order[it.var])
    return replace(epilogue, stage=replace(epilogue.stage, iters=both))


def _with_group(epilogue: Epilogue, iters: list[Iter]) -> list[Iter]:
    """Return `iters` with the innermost group of fusable neighbours fused."""
    several = [it for it in iters if it.extent.constant != 1]
    for outer, inner in reversed(list(zip(several, several[1:], strict=False))):
        if _fused(epilogue, outer, inner):
            group = _pair(outer, inner)
            for above in reversed(several[: several.index(outer)]):
                if (group.extent.constant or 0) >= SHORT_ROW or not _fused(epilogue, above, group):
                    break
                group = _pair(above, group)
            return [group if it is inner else it for it in iters if it is inner or it not in group.parts]
    return iters


def _pair(outer: Iter, inner: Iter) -> Iter:
    return replace(inner, extent=mul(outer.extent, inner.extent), parts=(outer, *(inner.parts or (inner,))))


def _fused(epilogue: Epilogue, outer: Iter, inner: Iter) -> bool:
    if outer.dtype != inner.dtype:
        return False
    count = mul(outer.extent, inner.extent).constant
    if inner.dtype.width.data < 64 and (count is None or count >= 1 << (inner.dtype.width.data - 1)):
        return False
    parts = inner.parts or (inner,)
    if not all(_is_index(it.var) for it in parts) or not moves_alike(epilogue.stage.accesses, outer, inner):
        return False
    if not _is_index(outer.var) and not _chooses(epilogue, outer, inner):
        return False
    ends = epilogue.iter_of(outer), epilogue.iter_of(inner)
    return epilogue.consumer is None or (
        all(_is_index(it.var) for it in ends) and moves_alike(epilogue.consumer.accesses, *ends)
    )


def moves_alike(accesses: Sequence[tir.LoadOp | tir.StoreOp], outer: Iter, inner: Iter) -> bool:
    """Return whether a step of `outer` equals `inner.extent` steps of `inner` in every access."""
    slopes = [(slope(op, outer), slope(op, inner)) for op in accesses]
    return all(_is_steady(a) and _is_steady(b) and a == mul(b, inner.extent) for a, b in slopes)


def _is_steady(step: SymExpr) -> bool:
    """Return whether a slope is invariant, because it depends on sizes but not on iterators."""
    return all(v.value is None for v in step.free_vars())


def _chooses(epilogue: Epilogue, outer: Iter, inner: Iter) -> bool:
    """Return whether the outer iterator chooses between parts of what would be one long row, instead of short ones.

    for i in n: for j in 3: C[i, j] = A[i, j] if i < m else B[i - m, j]    ->    for t in n * 3, until m * 3 from A
    """
    stage = epilogue.stage
    if stage.reduce or stage.init is not None or outer.parts or (inner.extent.constant or 0) >= SHORT_ROW:
        return False
    return _is_index(outer.var, may_choose=True) and bool(choices_of(stage, _pair(outer, inner)))


def _is_index(value: SSAValue, may_choose: bool = False) -> bool:
    """Return whether a value is only used to compute addresses, or conditions of choices."""
    return all(_indexes(use.operation, value, may_choose) for use in value.uses)


def _indexes(op: Operation, value: SSAValue, may_choose: bool) -> bool:
    if isinstance(op, tir.StoreOp):
        return op.value is not value
    if isinstance(op, _INDEX_ARITHMETIC):
        return _is_index(op.result, may_choose)
    if isinstance(op, COMPARISONS) and may_choose:
        return _is_condition(op.result)
    return isinstance(op, _ACCESSES)


def _is_condition(value: SSAValue) -> bool:
    """Return whether a value is only used in conditions of choices."""
    users = [use.operation for use in value.uses]
    parts = [op for op in users if isinstance(op, tir.AndOp)]
    return all(isinstance(op, tir.AndOp | tir.IfThenElseOp) for op in users) and all(
        _is_condition(op.result) for op in parts
    )
