"""Reductions: their first step apart from the others."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerType, StringAttr

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.tir import IterKind
from ...ir.affine.values import Materializer, sym_expr_of
from ...transforms.tir.walk import erase_with_tree
from .. import checks
from .. import state as st
from ..registry import primitive
from ..rewrite import (
    Insert,
    before,
    conditions,
    copied_loops,
    copier,
    copy_statements,
    depends_on,
    empty_block,
    iters_of,
    joined,
    refresh_regions,
)
from ..state import State, fail


@primitive
def decompose_reduction(state: State, block: tir.BlockOp, loop: tir.ForOp) -> tir.BlockOp:
    """Move the init of a reduction into a block of its own, in front of `loop`.

    for i, k: block C (init: C[i] = 0; C[i] += A[i, k])
      ->  for i: { block C_init (C[i] = 0); for k: block C_update (C[i] += A[i, k]) }

    Gives the block `<name>_init`; the old one becomes `<name>_update`. Refused where the block has no init, where
    `loop` is not around it, where a loop outside of `loop`, or of the scope, drives a reduction (the init would run
    again), and where an
    iteration of the block may come several times in `loop` (it would count several times).
    """
    init = block.init
    if init is None:
        fail("the block has no init", block)
    above = st.loops_above(block)
    if loop not in above:
        fail("the loop is not around the block", loop, block)
    outside = above[: above.index(loop)]
    wrong = [lp for lp in outside if checks.kinds_driven(block, lp) - {IterKind.SPATIAL}]
    if wrong:
        fail("a loop outside of the given one drives a reduction", block, *wrong)
    checks.require_reduced_in_scope(block)
    _check_once(block, above[len(outside) :])
    made = _init_nest(block, init, above[len(outside) :], before(loop))
    block.properties["block_name"] = StringAttr(f"{st.name_of_block(block)}_update")
    erase_with_tree(init)
    refresh_regions(block)
    return made


def _check_once(block: tir.BlockOp, loops: list[tir.ForOp]) -> None:
    """Refuse where two iterations of `loops` may be one of the block."""
    why = checks.why_repeated(block, loops)
    if why is not None:
        fail(f"an iteration of the block may come several times in the loop: {why}", block, *loops[:1])


def _init_nest(block: tir.BlockOp, init: tir.InitOp, inside: list[tir.ForOp], insert: Insert) -> tir.BlockOp:
    """The init as a block, in copies of those loops that drive spatial iterators."""
    needed = [lp for lp in inside if IterKind.SPATIAL in checks.kinds_driven(block, lp)]
    place, mapping = copied_loops(needed, insert, "_init")
    build = Materializer(place)
    units = [lp for lp in inside if lp not in needed and st.constant_extent(lp) == 1]
    mapping |= {lp.loop_var: build(st.min_of(lp), cast(IntegerType, lp.loop_var.type)) for lp in units}
    copy = copier(place, mapping)
    every = list(zip(iters_of(block), block.iter_vars, strict=True))
    kept = [((kind, copy(binding), dom), var) for (kind, binding, dom), var in every if kind is IterKind.SPATIAL]
    reducing = [lp.loop_var for lp in inside if lp not in needed and lp not in units]
    moved = {st.loop_expr(lp): sym_expr_of(mapping[lp.loop_var]) for lp in (*needed, *units)}
    once = [lp.loop_var for lp in units]
    wanted = [c for c in conditions(block) if not depends_on(c, reducing)]
    parts = [build(sym_expr_of(c).substitute(moved)) if depends_on(c, once) else copy(c) for c in wanted]
    names = [name_of(var) for _, var in kept]
    out = empty_block(f"{st.name_of_block(block)}_init", [it for it, _ in kept], names, joined(parts, place))
    inner = {old: new for (_, old), new in zip(kept, out.iter_vars, strict=True)}
    copy_statements(init.body.block, out.body.block, inner)
    if block.annotations is not None:
        out.properties["annotations"] = block.annotations
    place(out)
    refresh_regions(out)
    return out
