"""Blockize: the computation of some loops becomes one block."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.tir import IterKind
from ...ir.affine.iter_map import NotAffineError
from ...ir.affine.subspace import Division, divide
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import infer_regions
from ...transforms.tir.walk import erase_with_tree, remove_dead
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..loop_builder import Cloner
from ..registry import primitive
from ..state import State, fail


@primitive()
def blockize(state: State, target: tir.ForOp | Sequence[tir.BlockOp], preserve_unit_iters: bool = True) -> tir.BlockOp:
    """Turn the computation of a loop, or consecutive blocks, into one block.

    for i_0, i_1: block B(vi = i_0 * 4 + i_1)
      ->  for i_0: block B_o(vi_o = i_0) { for i_1: block B(vi_i = i_1): vi = vi_o * 4 + vi_i }

    An init is moved to the new block, over the loops that it needs. Iterators with a single value inside keep only
    their outer part; if that has a single value, too, it keeps its loop with `preserve_unit_iters`, and is replaced
    by its value otherwise. Several blocks become parts of one block under the loops that they share. Returns the
    new block. Raises `ScheduleError` if there is not exactly one block below the loop, if the bindings cannot be
    divided at the loops, or, for several blocks, if there are other statements between them or a loop around all of
    them drives a reduction.
    """
    if isinstance(target, tir.ForOp):
        return _of_loop(state, target, preserve_unit_iters)
    return _of_blocks(state, list(target), preserve_unit_iters)


class _Part:
    """A block that becomes part of another one; its bindings are divided at the new block."""

    def __init__(self, block: tir.BlockOp, inside: Sequence[tir.ForOp], preserve_unit_iters: bool):
        self.block = block
        self.inside = list(inside)
        self.preserve = preserve_unit_iters
        self.names = [name_of(v) for v in block.iter_vars]
        self.bindings = checks.bindings_of(block)
        self.divisions = self._divisions()
        self._check_init()
        inner = [lp.loop_var for lp in self.inside]
        parts = rw.conditions(block)
        self.inner_conditions = [c for c in parts if rw.depends_on(c, inner)]
        self.outer_conditions = [c for c in parts if c not in self.inner_conditions]
        outer = [lp.loop_var for lp in st.loops_above(block) if lp not in self.inside]
        for condition in self.inner_conditions:
            if rw.depends_on(condition, outer):
                predicates.refuse(block, condition, "that is of outer and inner loops")
        predicates.require_unguarded(block, "the branch cannot be divided")

    def _divisions(self) -> list[Division]:
        inner = {st.loop_expr(lp) for lp in self.inside}
        ranges = checks.loop_ranges(st.loops_above(self.block))
        own = predicates.own_conditions(self.block)
        implied = [sym_expr_of(c) for c in rw.conditions(self.block) if c not in own]
        try:
            return divide(self.bindings, ranges, inner, implied)
        except NotAffineError as error:
            fail(f"the bindings cannot be divided at the loops: {error.message}", self.block)

    def _check_init(self) -> None:
        """Check that the init runs at the beginning of the reductions' domains."""
        for kind, division, least in zip(self.block.kinds, self.divisions, self.block.mins, strict=True):
            begins = (division.base - least).constant == 0
            if self.block.init is not None and kind is IterKind.REDUCE and not begins:
                fail(
                    "a reduction does not begin where its domain does", self.block, expected=least, found=division.base
                )

    def outer_rows(self) -> list[tuple[IterKind, SymExpr, SymExpr]]:
        """Return kind, binding and extent of the iterators of the enclosing block."""
        units = checks.units(lp for lp in st.loops_above(self.block) if lp not in self.inside)
        rows: list[tuple[IterKind, SymExpr, SymExpr]] = []
        for kind, division, binding in zip(self.block.kinds, self.divisions, self.bindings, strict=True):
            outer = division.outer.binding
            if self.preserve and division.outer.is_unit:
                inner = division.inner.extent
                outer = next((u for u, k in units.items() if k.constant == 0 and _drives(u, binding, inner)), outer)
            rows.append((kind, outer, division.outer.extent))
        return rows

    def enter(self, state: State, outer: Sequence[SSAValue | None]) -> tir.BlockOp:
        """Reduce the block's iterators to their inner parts; `outer` are the outer parts, or None for 0."""
        rows: list[tuple[rw.BlockIter, str]] = []
        build = Materializer(rw.before(self.block))
        for var, kind, division, name in zip(
            self.block.iter_vars, self.block.kinds, self.divisions, self.names, strict=True
        ):
            if not division.inner.is_unit:
                dtype = cast(IntegerType, var.type)
                binding = build(division.inner.binding, dtype)
                rows.append(((kind, binding, _domain(division.inner.extent, dtype)), f"{name or 'v'}_i"))
        inner_block = rw.empty_block(st.name_of_block(self.block), [it for it, _ in rows], [name for _, name in rows])
        for old, new in self.values(outer, inner_block.iter_vars, inner_block.body.block.add_op).items():
            old.replace_all_uses_with(new)
        rw.take_body(self.block, inner_block, state)
        rw.set_predicate(inner_block, rw.conjunction(self.inner_conditions, rw.before(self.block)))
        rw.before(self.block)(inner_block)
        erase_with_tree(self.block)
        return inner_block

    def values(
        self, outer: Sequence[SSAValue | None], inner: Sequence[SSAValue | None], insert: rw.Insert
    ) -> dict[SSAValue, SSAValue]:
        """Return the original iterators in terms of outer and inner ones.

        An inner part that runs once is not in `inner`.
        """
        totals: dict[SSAValue, SSAValue] = {}
        left, build = list(inner), Materializer(insert)
        for var, high, division in zip(self.block.iter_vars, outer, self.divisions, strict=True):
            dtype = cast(IntegerType, var.type)
            total: SymExpr = Const(0, dtype)
            if high is not None and self._counts(division):
                total = sym_expr_of(high) * division.inner.extent
            low = None if division.inner.is_unit else left.pop(0)
            if low is not None:
                total = total + sym_expr_of(low)
            totals[var] = build(total + division.base, dtype)
        return totals

    def _counts(self, division: Division) -> bool:
        """Return whether the outer part occurs in the sum."""
        return not division.outer.is_unit or (self.preserve and division.inner.is_unit and not self._base(division))

    @staticmethod
    def _base(division: Division) -> bool:
        return division.base.constant != 0

    def rows_of_init(
        self, copies: dict[SSAValue, SSAValue], insert: rw.Insert
    ) -> list[tuple[SSAValue, rw.BlockIter, str]]:
        """Return the spatial inner iterators for the init: those of the block, their rows, and their names."""
        build = Materializer(insert)
        variables: dict[Var, SymExpr] = {cast(Var, sym_expr_of(a)): sym_expr_of(b) for a, b in copies.items()}
        rows: list[tuple[SSAValue, rw.BlockIter, str]] = []
        for var, kind, division, name in zip(
            self.block.iter_vars, self.block.kinds, self.divisions, self.names, strict=True
        ):
            if kind is IterKind.SPATIAL and not division.inner.is_unit:
                dtype = cast(IntegerType, var.type)
                binding = build(division.inner.binding.substitute(variables), dtype)
                rows.append((var, (kind, binding, _domain(division.inner.extent, dtype)), f"{name or 'v'}_i_init"))
        return rows


def _drives(var: Var, binding: SymExpr, step: SymExpr) -> bool:
    """Return whether a variable, multiplied by `step`, is a term of a binding."""
    return var in binding.free_vars() and step.constant is not None and checks.step_of(binding, var) == step.constant


def _domain(extent: SymExpr, dtype: IntegerType) -> tuple[SymExpr, SymExpr]:
    size = extent if extent.constant is None else Const(extent.constant, dtype)
    return Const(0, dtype), size


def _of_loop(state: State, loop: tir.ForOp, preserve_unit_iters: bool) -> tir.BlockOp:
    below = st.blocks_below(loop)
    if len(below) != 1:
        fail("the loop is around other than one block", loop, *below, expected=1, found=len(below))
    (block,) = below
    inside = checks.loops_from(loop, block)
    _check_chain(loop, block)
    part = _Part(block, inside, preserve_unit_iters)
    rows = part.outer_rows()
    _check_outer_conditions([part])
    outer = _outer_block(f"{st.name_of_block(block)}_o", rows, [f"{n or 'v'}_o" for n in part.names], block, loop)
    _set_outer_predicate(outer, part.outer_conditions, loop)
    highs: list[SSAValue | None] = list(outer.iter_vars)
    func = st.function_around(block)
    inits = [] if block.init is None else [_move_init(part, block.init, outer, highs)]
    inner_block = part.enter(state, highs)
    rw.before(loop)(outer)
    loop.detach()
    outer.body.block.add_op(loop)
    if inits:
        erase_with_tree(cast(Operation, inner_block.init))
    for inner in (inner_block, *inits):
        _simplify_indices(inner, outer)
    if inits:
        rw.refresh_regions(inner_block)
    _infer(outer, [inner_block, *inits])
    remove_dead(func)
    return outer


def _check_chain(loop: tir.ForOp, block: tir.BlockOp) -> None:
    """Check that there are only loops between the loop and the block."""
    op: Operation = loop
    while op is not block:
        below = st.children(cast(tir.ForOp, op).body.block)
        if len(below) != 1 or not isinstance(below[0], tir.ForOp | tir.BlockOp):
            fail("below the loop there is more than loops and one block", op, *below)
        op = below[0]


def _outer_block(
    name: str,
    rows: Sequence[tuple[IterKind, SymExpr, SymExpr]],
    names: Sequence[str],
    like: tir.BlockOp,
    anchor: Operation,
) -> tir.BlockOp:
    """Return a block without statements; its bindings are computed before `anchor`."""
    build = Materializer(rw.before(anchor))
    dtypes = [cast(IntegerType, v.type) for v in like.iter_vars]
    iters = [
        (kind, build(binding, dtype), _domain(extent, dtype))
        for (kind, binding, extent), dtype in zip(rows, dtypes, strict=True)
    ]
    return rw.empty_block(name, iters, names)


def _set_outer_predicate(outer: tir.BlockOp, parts: Sequence[SSAValue], anchor: Operation) -> None:
    """Move the parts of the predicate that depend only on outer loops to the outer block, computed before `anchor`."""
    insert = rw.before(anchor)
    copy = Cloner(insert)
    rw.set_predicate(outer, rw.conjunction([copy(c) for c in parts], insert))


def _move_init(part: _Part, init: tir.InitOp, outer: tir.BlockOp, highs: Sequence[SSAValue | None]) -> tir.BlockOp:
    """Move the init of a block to the enclosing block, in copies of the loops of its spatial iterators."""
    block = part.block
    spatial = [
        division.inner.binding
        for kind, division in zip(block.kinds, part.divisions, strict=True)
        if kind is IterKind.SPATIAL
    ]
    used = {v.value for e in spatial for v in e.free_vars()}
    needed = [lp for lp in part.inside if lp.loop_var in used]
    outer.body.block.add_op(moved := tir.InitOp(tir.body_region()))
    insert, mapping = rw.copied_loops(needed, moved.body.block.add_op)
    rows = part.rows_of_init(mapping, insert)
    kept = _init_condition(part, needed, mapping, insert)
    init_block = rw.empty_block(
        f"{st.name_of_block(block)}_init", [it for _, it, _ in rows], [n for _, _, n in rows], kept
    )
    own = dict(zip([var for var, _, _ in rows], init_block.iter_vars, strict=True))
    inner = [own.get(v) for v, d in zip(block.iter_vars, part.divisions, strict=True) if not d.inner.is_unit]
    inside = init_block.body.block
    rw.copy_statements(init.body.block, inside, part.values(highs, inner, inside.add_op))
    remove_dead(init_block)
    insert(init_block)
    rw.refresh_regions(init_block)
    return init_block


def _init_condition(
    part: _Part, needed: Sequence[tir.ForOp], mapping: Mapping[SSAValue, SSAValue], insert: rw.Insert
) -> SSAValue | None:
    """Return the predicate for the first step in the loops of the init, or None if it always holds there."""
    build = Materializer(insert)
    once = checks.units(lp for lp in part.inside if lp not in needed)
    others = [lp for lp in part.inside if lp not in needed and st.loop_expr(lp) not in once]
    first = {**once, **{st.loop_expr(lp): st.min_of(lp) for lp in others}}
    values = {var.value: build(e, cast(IntegerType, var.dtype)) for var, e in first.items() if var.value is not None}
    copy = Cloner(insert, {**mapping, **values})
    moved = {**first, **{cast(Var, sym_expr_of(a)): sym_expr_of(b) for a, b in mapping.items()}}
    inside, own = checks.analyzer_of(needed), predicates.own_conditions(part.block)
    kept: list[SSAValue] = []
    for condition in part.inner_conditions:
        e = sym_expr_of(condition)
        of_steps = rw.depends_on(condition, [lp.loop_var for lp in others])
        if not of_steps or (condition in own and not inside.can_prove(e.substitute(first))):
            value = build(e.substitute(moved)) if set(e.free_vars()) & set(first) else copy(condition)
            kept += predicates.if_any_steps(part.block, [value], insert) if of_steps else [value]
    return rw.conjunction(kept, insert)


def _simplify_indices(inner: tir.BlockOp, outer: tir.BlockOp) -> None:
    """Simplify quotients and remainders that are now simple: `(vi_o * 4 + vi_i) // 4` is `vi_o`."""
    analyzer = checks.analyzer_with({**checks.iter_ranges(inner), **checks.iter_ranges(outer)})
    for op in inner.walk():
        first = _FIRST_INDEX.get(type(op), len(op.operands))
        for k, operand in list(enumerate(op.operands))[first:]:
            if isinstance(operand.type, IntegerType) and _divides(operand):
                op.operands[k] = Materializer(rw.before(op))(analyzer.simplify(sym_expr_of(operand)), operand.type)


def _divides(value: SSAValue) -> bool:
    """Return whether an expression contains a quotient or a remainder."""
    op = value.owner
    if not isinstance(op, tir.FloorDivOp | tir.FloorModOp):
        return isinstance(op, tir.AddOp | tir.SubOp | tir.MulOp) and any(_divides(o) for o in op.operands)
    return True


_FIRST_INDEX: dict[type[Operation], int] = {tir.LoadOp: 1, tir.StoreOp: 2, tir.ReadsOp: 1, tir.WritesOp: 1}
"""The position of an access's first index among its operands."""


def _infer(outer: tir.BlockOp, inside: Sequence[tir.BlockOp]) -> None:
    """Infer the regions of the block, assuming that iterators of inner blocks are in their domains."""
    infer_regions(
        outer,
        bounds={
            var: (least, least + extent - 1)
            for block in inside
            for var, (least, extent) in st.domains_of(block).items()
        },
    )


def _of_blocks(state: State, blocks: list[tir.BlockOp], preserve_unit_iters: bool) -> tir.BlockOp:
    """Return one block around consecutive blocks."""
    if not blocks:
        fail("there is at least one block")
    statements = _shared(blocks)
    inside = [[lp for lp in st.loops_above(b) if any(s.is_ancestor(lp) for s in statements)] for b in blocks]
    parts = [_Part(b, loops, preserve_unit_iters) for b, loops in zip(blocks, inside, strict=True)]
    _check_outer(parts)
    _check_outer_conditions(parts)
    rows: Rows = {}
    for part in parts:
        for k, (kind, key) in enumerate(_keys(part)):
            if kind is IterKind.SPATIAL:
                rows.setdefault(key, (k, part))
    anchor = statements[0]
    outer = _joint_block(rows, [st.name_of_block(b) for b in blocks], anchor)
    _set_outer_predicate(outer, _common_conditions(parts), anchor)
    at = dict(zip(rows, outer.iter_vars, strict=True))
    func = st.function_around(blocks[0])
    highs = [[at.get(key) for _, key in _keys(part)] for part in parts]
    inner_blocks = [part.enter(state, high) for part, high in zip(parts, highs, strict=True)]
    for inner in inner_blocks:
        _simplify_indices(inner, outer)
    present = [state.replaced.get(s, s) for s in statements]
    rw.before(present[0])(outer)
    _take_between(present, outer)
    _infer(outer, inner_blocks)
    remove_dead(func)
    return outer


def _shared(blocks: Sequence[tir.BlockOp]) -> list[Operation]:
    """Return the statements that contain the blocks, in the innermost common body.

    Raises `ScheduleError` if they are not consecutive.
    """
    if len({st.scope_of(b) for b in blocks}) > 1:
        fail("the blocks are not in one scope", *blocks)
    chains = [_path(b) for b in blocks]
    depth = 0
    while all(len(c) > depth + 1 for c in chains) and len({c[depth] for c in chains}) == 1:
        depth += 1
    tops = list(dict.fromkeys(c[depth] for c in chains))
    place = tops[0].parent
    assert place is not None
    every = st.children(place)
    positions = sorted(every.index(t) for t in tops)
    if positions != list(range(positions[0], positions[0] + len(tops))):
        fail("something else stands between the blocks", *blocks)
    statements = every[positions[0] : positions[-1] + 1]
    others = [b for top in statements for b in ([top] if isinstance(top, tir.BlockOp) else st.blocks_below(top))]
    if set(others) != set(blocks):
        fail("other blocks stand between the blocks", *blocks, *(b for b in others if b not in blocks))
    return statements


def _path(block: tir.BlockOp) -> list[Operation]:
    """Return the statements from the scope of a block down to the block."""
    scope = st.scope_of(block)
    return [block, *takewhile(lambda around: around is not scope, st.ancestors(block))][::-1]


def _check_outer(parts: Sequence[_Part]) -> None:
    for part in parts:
        for kind, _, extent in part.outer_rows():
            if kind is not IterKind.SPATIAL and extent.constant != 1:
                fail("a loop around the blocks drives a reduction", part.block)


def _check_outer_conditions(parts: Sequence[_Part]) -> None:
    """Reject conditions on outer loops that read buffers written by the blocks: they would be evaluated before all
    blocks.
    """
    written = {buffer for part in parts for buffer in st.buffers_written(part.block)}
    for part in parts:
        for condition in part.outer_conditions:
            if not written.isdisjoint(predicates.buffers_of([condition])):
                predicates.refuse(part.block, condition, "that is written in the loops")


Key = tuple[SymExpr, SymExpr, int]
"""The binding and extent of an iterator, and its ordinal among the block's iterators with the same ones."""
Rows = dict[Key, tuple[int, _Part]]
"""The first iterator with a key, and its block."""


def _keys(part: _Part) -> list[tuple[IterKind, Key]]:
    counts: Counter[tuple[SymExpr, SymExpr]] = Counter()
    keys: list[tuple[IterKind, Key]] = []
    for kind, binding, extent in part.outer_rows():
        keys.append((kind, (binding, extent, counts[binding, extent])))
        counts[binding, extent] += 1
    return keys


def _joint_block(rows: Rows, names: Sequence[str], anchor: Operation) -> tir.BlockOp:
    build = Materializer(rw.before(anchor))
    iters: list[rw.BlockIter] = []
    for (binding, extent, _), (k, part) in rows.items():
        dtype = cast(IntegerType, part.block.iter_vars[k].type)
        iters.append((IterKind.SPATIAL, build(binding, dtype), _domain(extent, dtype)))
    hints = [f"{part.names[k] or 'v'}_o" for k, part in rows.values()]
    return rw.empty_block(f"outer_{'_'.join(names)}_", iters, hints)


def _common_conditions(parts: Sequence[_Part]) -> list[SSAValue]:
    """Return the parts of the predicates that depend on outer loops.

    Raises `ScheduleError` if they differ between blocks.
    """
    sets = [{sym_expr_of(c): c for c in part.outer_conditions} for part in parts]
    for here, there in itertools.permutations(range(len(parts)), 2):
        for condition in (c for e, c in sets[here].items() if e not in sets[there]):
            why = "the blocks have different predicates"
            predicates.refuse(parts[here].block, condition, why, parts[there].block)
    return parts[0].outer_conditions


def _take_between(statements: Sequence[Operation], outer: tir.BlockOp) -> None:
    """Move the statements into the block, with the expressions between them."""
    place = statements[0].parent
    assert place is not None
    ops = list(place.ops)
    first, last = ops.index(statements[0]), ops.index(statements[-1])
    for op in ops[first : last + 1]:
        op.detach()
        outer.body.block.add_op(op)
