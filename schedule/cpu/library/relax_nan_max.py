"""Maxima that may ignore NaN: those of a softmax, because NaN propagates to the row in another way.

    M[i] = max(X[i, :]); E[i, k] = exp(X[i, k] - M[i]); S[i] = sum(E[i, :]); Y[i, k] = E[i, k] / S[i]

A NaN in row i of X makes S[i], and thus all of Y[i, :], NaN regardless of M[i]. Then `tir.max nnan` suffices, which
is one instruction instead of three. This requires that all readers of M or E also read S, and compute by operations
that propagate NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import SymExpr, Var
from ....ir.affine.values import sym_expr_of
from ...accesses import is_intermediate, loads_of
from ...rewrite import same_tree
from ..analysis.stages import Iter, Stage, Update, tree, update_of
from .inline import written_elsewhere

_STRICT = (
    tir.AddOp, tir.SubOp, tir.MulOp, tir.DivOp, tir.ExtremumExpr, tir.CastOp,
    tir.LoadOp, tir.AllocBufferOp, tir.ConstOp, ValueOp,
)  # fmt: skip
_STRICT_CALLS = ("exp", "exp2", "log", "log2", "sigmoid", "tanh")
Row = list[SymExpr]
"""Indices, without constant ones."""


def relax_nan_max(stages: Sequence[Stage]) -> None:
    """Mark the maxima whose rows become NaN anyway if an element is NaN."""
    for stage in stages:
        update = update_of(stage) if len(stage.reduce) == 1 else None
        if update is None or not isinstance(update.combiner, tir.MaxOp) or not is_float(update.combiner.result.type):
            continue
        is_inner = is_intermediate(stage.buffer) and not written_elsewhere(stage)
        if is_inner and _Rows(stage, update).all_become_nan(stages):
            update.combiner.nnan = UnitAttr()


class _Rows:
    """The readers of a maximum, the buffers computed from its elements (`elements`: buffer -> dimension), and their
    sums.
    """

    def __init__(self, top: Stage, update: Update):
        self.top, self.update, self.along = top, update, top.reduce[0]
        self.elements: dict[SSAValue, int] = {}
        self.sums: set[SSAValue] = set()

    def all_become_nan(self, stages: Sequence[Stage]) -> bool:
        read: set[Operation] = set()
        for stage in stages:
            loads = [op for op in stage.loads if op.buffer is self.top.buffer or op.buffer in self.elements]
            if stage is self.top or not loads:
                continue
            read.update(loads)
            if not self._is_known(stage, loads):
                return False
        return read | {self.update.old} >= {op for b in (self.top.buffer, *self.elements) for op in loads_of(b)}

    def _is_known(self, stage: Stage, loads: list[tir.LoadOp]) -> bool:
        """Return whether a stage computes elements, sums them, or reads the sum of the row that it reads."""
        rows = [self._row(op, stage) for op in loads]
        update = update_of(stage)
        value = stage.store.value if update is None else update.term
        if any(row != rows[0] for row in rows) or not _is_strict(value):
            return False
        if any(op.buffer in self.sums and _indices(op.indices, stage) == rows[0] for op in stage.loads):
            return not stage.reduce
        along = next((it for it in stage.iters if any(self._is_element(op, it) for op in tree(value))), None)
        if along is None or not is_intermediate(stage.buffer) or written_elsewhere(stage):
            return False
        if update is not None and isinstance(update.combiner, tir.AddOp) and stage.reduce == [along]:
            self.sums.add(stage.buffer)
            return _indices(stage.store.indices, stage) == rows[0]
        places = [sym_expr_of(i) for i in stage.store.indices]
        if stage.reduce or places.count(along.expr) != 1:
            return False
        self.elements[stage.buffer] = places.index(along.expr)
        return self._row(stage.store, stage) == rows[0]

    def _row(self, access: tir.LoadOp | tir.StoreOp, stage: Stage) -> Row:
        """Return the row of an element, or of the maximum of a row."""
        at = self.elements.get(access.buffer)
        return _indices([index for n, index in enumerate(access.indices) if n != at], stage)

    def _is_element(self, op: Operation, along: Iter) -> bool:
        """Return whether an operation loads or stores a computed element at position `along` of the row."""
        if along.extent != self.along.extent:
            return False
        if isinstance(op, tir.LoadOp) and op.buffer in self.elements:
            return sym_expr_of(op.indices[self.elements[op.buffer]]) == along.expr
        top = op.rhs.owner if isinstance(op, tir.SubOp) else None
        if not isinstance(op, tir.SubOp) or not isinstance(top, tir.LoadOp) or top.buffer is not self.top.buffer:
            return False
        places: dict[Var, SymExpr] = {self.along.expr: along.expr}
        for own, index in zip(self.top.store.indices, top.indices, strict=True):
            places |= {v: sym_expr_of(index) for v in sym_expr_of(own).free_vars() if v.value is not None}
        return same_tree(self.update.term, op.lhs, places)


def _indices(indices: Sequence[SSAValue], stage: Stage) -> Row:
    ones = [it.expr for it in stage.iters if it.extent.constant == 1]
    exprs = [sym_expr_of(i) for i in indices]
    return [e for e in exprs if e.constant is None and e not in ones]


def _is_strict(value: SSAValue) -> bool:
    """Return whether a value is NaN if any of its operands is."""
    for op in tree(value):
        if isinstance(op, tir.CallIntrinOp) and op.func.data in _STRICT_CALLS:
            continue
        if not isinstance(op, _STRICT) or (isinstance(op, tir.ExtremumExpr) and op.nnan is not None):
            return False
        if isinstance(op, tir.CastOp) and is_float(op.value.type) is not is_float(op.result.type):
            return False
    return True
