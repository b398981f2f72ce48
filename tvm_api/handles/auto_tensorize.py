"""`tir.schedule.analysis.get_auto_tensorize_mapping_info`: how a block's iterators fuse to those of an intrinsic.

conv2d: n, h, w, c, rh, rw, rc   with a product of matrices: m, n, k   ->   (n, h, w), (c), (rh, rw, rc)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer as Facts
from ...dialects.sym.expr import SymExpr, Var
from ...handles.tir import prim_expr as tx
from ...handles.tir.buffers import Buffer
from ...handles.tir.index_map import IndexMap
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.stmt import stmt_of
from ...handles.tir.variables import Var as Variable
from ...ir.affine.values import sym_expr_of
from ...schedule import checks
from ...schedule import state as st
from ...schedule.schedule import Schedule
from ...schedule.trace import BlockRV
from .arith.analyzer import Analyzer


@dataclass(frozen=True)
class AutoTensorizeMappingInfo:
    """Maps of a block's iterators to those of an intrinsic, the corresponding buffers, and both lists of iterators."""

    mappings: list[IndexMap]
    lhs_buffer_map: dict[Buffer, Buffer]
    rhs_buffer_indices: dict[Buffer, list[PrimExpr]]
    lhs_iters: list[Any]
    rhs_iters: list[Any]


def get_auto_tensorize_mapping_info(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc
) -> AutoTensorizeMappingInfo | None:
    """Return how the iterators of a block fuse to those of an intrinsic, by the buffers that both index.

    Returns None if the block computes something else, or if the correspondence is not unique.
    """
    op = sch.operation(block)
    described = next((b for b in desc_func.op.walk() if isinstance(b, tir.BlockOp) and b.iter_vars), None)
    if not isinstance(op, tir.BlockOp) or described is None:
        return None
    matcher = _Matcher()
    if not matcher.blocks(op, described):
        return None
    mapping = _fused(op, described, matcher)
    if mapping is None:
        return None
    buffers = {Buffer(mine): Buffer(theirs) for mine, theirs in matcher.buffers.items()}
    indices = {Buffer(b): [tx.from_sym(i) for i in places] for b, places in matcher.described.items()}
    views: list[Any] = [stmt_of(each) for each in (op, described)]
    iterators = [list(getattr(view, "block", view).iter_vars) for view in views]
    return AutoTensorizeMappingInfo([mapping], buffers, indices, *iterators)


_KINDS = (tir.IterKind.SPATIAL, tir.IterKind.REDUCE)


@dataclass
class _Matcher:
    """Compares the body of a block with that of a description, without indices."""

    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    own: dict[SSAValue, list[SymExpr]] = field(default_factory=dict[SSAValue, list[SymExpr]])
    described: dict[SSAValue, list[SymExpr]] = field(default_factory=dict[SSAValue, list[SymExpr]])

    analyzer: Facts = field(default_factory=Facts)

    def blocks(self, op: tir.BlockOp, described: tir.BlockOp) -> bool:
        if any(kind not in _KINDS for kind in (*op.kinds, *described.kinds)):
            return False
        domains = zip(op.iter_vars, op.mins, op.extents, strict=True)
        checks.analyzer_with({checks.iter_expr(v): (low, n) for v, low, n in domains}, self.analyzer)
        mine, theirs = (
            [s for s in st.children(b.body.block) if not isinstance(s, tir.RegionOp | tir.InitOp)]
            for b in (op, described)
        )
        return len(mine) == len(theirs) and all(map(self._statement, mine, theirs))

    def _statement(self, a: Operation, b: Operation) -> bool:
        if not isinstance(a, tir.StoreOp) or not isinstance(b, tir.StoreOp):
            return False
        return self._access(a, b) and self._value(a.value, b.value)

    def _access(self, a: tir.StoreOp | tir.LoadOp, b: tir.StoreOp | tir.LoadOp) -> bool:
        mine, theirs = a.buffer, b.buffer
        places = [self.analyzer.simplify(sym_expr_of(i)) for i in a.indices], [sym_expr_of(i) for i in b.indices]
        if mine in self.buffers or theirs in self.buffers.values():
            known = self.buffers.get(mine) is theirs
            return known and (self.own[mine], self.described[theirs]) == places
        own, other = mine.type, theirs.type
        same = isinstance(own, tir.BufferType) and isinstance(other, tir.BufferType) and own.dtype == other.dtype
        if not same or not (all(isinstance(i, Var) for i in places[1]) or [i.constant for i in places[1]] == [0]):
            return False
        self.buffers[mine] = theirs
        self.own[mine], self.described[theirs] = places
        return True

    def _value(self, a: SSAValue, b: SSAValue) -> bool:
        x, y = a.owner, b.owner
        if not isinstance(x, Operation) or not isinstance(y, Operation) or type(x) is not type(y) or a.type != b.type:
            return False
        if isinstance(x, tir.LoadOp) and isinstance(y, tir.LoadOp):
            return self._access(x, y)
        if isinstance(x, ValueOp) or x.regions or x.properties != y.properties or len(x.operands) != len(y.operands):
            return False
        return all(map(self._value, x.operands, y.operands))


def _fused(op: tir.BlockOp, described: tir.BlockOp, matcher: _Matcher) -> IndexMap | None:
    """Return the map of iterators: those without a partner come first."""
    partners = _partners(op, described, matcher)
    sources = [Variable(name_of(v) or "v", tx.from_sym(checks.iter_expr(v)).dtype) for v in op.iter_vars]
    fused: dict[Var, PrimExpr] = {}
    results: list[PrimExpr] = []
    for source, extent, candidates in zip(sources, op.extents, partners, strict=True):
        if not candidates:
            results.append(source)
        elif len(candidates) > 1:
            return None
        else:
            before = fused.get(candidates[0])
            fused[candidates[0]] = source if before is None else before * tx.from_sym(extent) + source
    targets = [checks.iter_expr(v) for v in described.iter_vars]
    if any(target not in fused for target in targets):
        return None
    analyzer = Analyzer()
    return IndexMap(sources, [*results, *(analyzer.simplify(fused[target]) for target in targets)])


def _partners(op: tir.BlockOp, described: tir.BlockOp, matcher: _Matcher) -> list[list[Var]]:
    """Return, for each iterator, those of the description of the same kind that index the same buffers."""
    theirs = {checks.iter_expr(v): kind for v, kind in zip(described.iter_vars, described.kinds, strict=True)}
    order = list(matcher.buffers)

    def mask(variable: SymExpr, indices: dict[SSAValue, list[SymExpr]], buffers: list[SSAValue]) -> tuple[bool, ...]:
        return tuple(any(variable in i.free_vars() for i in indices[b]) for b in buffers)

    masks = {v: mask(v, matcher.described, [matcher.buffers[b] for b in order]) for v in theirs}
    found: list[list[Var]] = []
    for variable, kind in zip(op.iter_vars, op.kinds, strict=True):
        own = mask(checks.iter_expr(variable), matcher.own, order)
        found.append([v for v, k in theirs.items() if k is kind and masks[v] == own and any(own)])
    return found


__all__ = ["AutoTensorizeMappingInfo", "get_auto_tensorize_mapping_info"]
