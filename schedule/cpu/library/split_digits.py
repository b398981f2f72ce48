"""Iterators whose digits are read become two: rows of tiled tensors, channels of groups.

    for i in 3 * n: for j: Y[i, j] = X[i % n, j]     ->    for o in 3: for i in n: for j: Y[o * n + i, j] = X[i, j]
    for c in 4 * g: Y[c, p] += X[c // g, p]          ->    for o in 4: for c in g: Y[o * g + c, p] += X[o, p]

Then rows lie one after the other, and the channels of a group share what they read. The iterator along which elements
are stored keeps known digits, which `split_iter` and `interleave` use. An elementwise stage follows the one that it
reads, so that it can still be its epilogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.sym.expr import SymExpr, floormod
from ....ir.affine.values import sym_expr_of
from ....transforms.tir.walk import erase_with_tree
from ... import rewrite as rw
from ...accesses import substitute_iters
from ..analysis.stages import Iter, Stage, analyse, constant_slope

_QUOTIENTS = (tir.FloorDivOp, tir.DivOp)
_DIVISIONS = (*_QUOTIENTS, tir.FloorModOp, tir.TruncModOp)


@dataclass(frozen=True)
class _Dimension:
    """A dimension of a buffer that a stage stores by an iterator that is split."""

    buffer: SSAValue
    number: int


def split_digits(stages: list[Stage]) -> list[Stage]:
    """Split the iterators of stages, and return the stages."""
    bases: dict[_Dimension, SymExpr] = {}
    out: list[Stage] = []
    for stage in stages:
        while (split := _next(stage, bases)) is not None:
            it, base = split
            index = [sym_expr_of(i) for i in stage.store.indices]
            bases.update({_Dimension(stage.buffer, k): base for k, i in enumerate(index) if i == it.expr})
            stage = _split(stage, it, base)
        out.append(stage)
    return out


def _next(stage: Stage, bases: Mapping[_Dimension, SymExpr]) -> tuple[Iter, SymExpr] | None:
    """Return an iterator to split with the extent of its lower digit, or None."""
    for it in stage.spatial:
        if it.extent.constant == 1:
            continue
        base = _own_base(stage, it) or _base_of_inputs(stage, it, bases)
        if base is not None and (base.constant is None or constant_slope(stage.store, it) != 1):
            return it, base
    return None


def _own_base(stage: Stage, it: Iter) -> SymExpr | None:
    """Return the divisor of all divisions of an iterator; None if there is none, or more than one."""
    divisions = _divisions(stage.block, it)
    bases = {sym_expr_of(op.rhs) for op in divisions}
    base = bases.pop() if len(bases) == 1 else None
    if base is None or any(v.value is not None for v in base.free_vars()):
        return None
    whole = base == it.extent or base.constant in (0, 1) or floormod(it.extent, base).constant != 0
    groups = stage.reduce and not all(isinstance(op, _QUOTIENTS) for op in divisions)
    return None if whole or groups else base


def _divisions(block: tir.BlockOp, it: Iter) -> list[tir.BinaryExpr]:
    """Return the divisions of an iterator itself."""
    divisions = [op for op in block.walk() if isinstance(op, _DIVISIONS) and op.lhs.type == it.dtype]
    return [op for op in divisions if sym_expr_of(op.lhs) == it.expr]


def _base_of_inputs(stage: Stage, it: Iter, bases: Mapping[_Dimension, SymExpr]) -> SymExpr | None:
    """Return the base of the dimension of an input that an elementwise stage reads by an iterator without divisions."""
    if stage.reduce or _divisions(stage.block, it):
        return None
    candidates = {
        bases[at]
        for load in stage.loads
        for k, index in enumerate(load.indices)
        if (at := _Dimension(load.buffer, k)) in bases and sym_expr_of(index) == it.expr
    }
    return candidates.pop() if len(candidates) == 1 else None


def _split(stage: Stage, it: Iter, base: SymExpr) -> Stage:
    """Replace a stage by one whose iterator is two, the quotient and the remainder by `base`."""
    rows: list[rw.Axis] = []
    kinds: list[tir.IterKind] = []
    for one in stage.iters:
        name = name_of(one.var) or "v"
        parts = [(one.extent, "")] if one is not it else [(it.extent // base, "_o"), (base, "_i")]
        rows += [(f"{name.removeprefix('v_')}{end}", f"{name}{end}", extent, one.dtype) for extent, end in parts]
        kinds += [tir.IterKind.REDUCE if one.reduce else tir.IterKind.SPATIAL] * len(parts)
    block = rw.block_in_loops(stage.block.name_hint, rows, rw.before(stage.root), kinds)
    rw.move_operations(stage.block.body.block, block.body.block)
    if stage.block.annotations is not None:
        block.properties["annotations"] = stage.block.annotations
    at = stage.iters.index(it)
    high, low = block.iter_vars[at : at + 2]
    for op in _divisions(block, it):
        op.result.replace_all_uses_with(high if isinstance(op, _QUOTIENTS) else low)
    others = [v for v in block.iter_vars if v is not high and v is not low]
    kept = [one for one in stage.iters if one is not it]
    values = {one.var: sym_expr_of(v) for one, v in zip(kept, others, strict=True)}
    substitute_iters(block, {**values, it.var: sym_expr_of(high) * base + sym_expr_of(low)})
    erase_with_tree(stage.root)
    root: Operation = block
    while isinstance(root.parent_op(), tir.ForOp):
        root = cast(Operation, root.parent_op())
    new = analyse(root)
    if new is None:
        raise TiraxError(f"the stage '{block.name_hint}' is none after its iterator was split")
    return new
