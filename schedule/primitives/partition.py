"""Merging of neighbouring loops, and partitioning of one loop into consecutive loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import dims_attr
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.sym.operators import OPS
from ...ir.buffers.regions import Accessed, Ends, accessed, accessed_by, infer_regions
from ...transforms.tir.walk import erase_with_tree
from .. import checks
from .. import rewrite as rw
from .. import state as st
from ..registry import primitive
from ..state import State, fail


@primitive()
def merge(state: State, loops: list[tir.ForOp]) -> tir.ForOp:
    """Merge neighbouring loops into one; the loops around them, up to those that they share, are merged, too.

    for i: B[i] = …;  for i: C[i] = …  ->  for i_m: { B[i_m] = …; C[i_m] = … }

    The bodies follow the order of `loops`, at the position of the last nest. Returns the innermost new loop. Raises
    `ScheduleError` if a loop has annotations, does not start at 0 or is bound to threads, if the nests differ in
    depth or extents, if a nest is not perfect, if an iteration would use results of a later one, or if statements
    between the nests would run before their producers.
    """
    if len(loops) < 2:
        fail("merge takes at least two loops", *loops, expected="two or more", found=len(loops))
    if len(set(loops)) < len(loops):
        fail("a loop is given twice", *loops)
    st.require_same_scope(loops)
    chains = _chains(loops)
    for chain in chains:
        _check_chain(chain, chains[0])
    _check_order(chains)
    place = max(chains, key=lambda c: _position(c[0]))[0]
    merged = [rw.loop_like(lp, f"{name_of(lp.loop_var) or 'i'}_m") for lp in chains[0]]
    for new in merged:
        new.properties.pop("kind_attr", None)
    rw.insert_nest(merged, rw.before(place))
    for chain in chains:
        rw.merge_nest(chain, merged)
    return merged[-1]


Chain = list[tir.ForOp]
"""Nested loops, outermost first."""


def _chains(loops: Sequence[tir.ForOp]) -> list[Chain]:
    """Return for each loop the chain from below the shared loops to it."""
    paths = [[*st.loops_above(lp), lp] for lp in loops]
    shared = 0
    while all(len(p) > shared + 1 for p in paths) and len({p[shared] for p in paths}) == 1:
        shared += 1
    chains = [p[shared:] for p in paths]
    if len({len(c) for c in chains}) > 1 or any(c[0].parent is not chains[0][0].parent for c in chains):
        fail("the loops are not of the same depth below what they share", *loops)
    return chains


def _check_chain(chain: Chain, first: Chain) -> None:
    for lp, other in zip(chain, first, strict=True):
        checks.require_plain(lp, "merged")
        if not Analyzer().can_prove_equal(st.extent_of(lp), st.extent_of(other)):
            fail("the loops have different extents", lp, other, expected=st.extent_of(other), found=st.extent_of(lp))
    checks.require_nested(chain, "a loop has more than one statement")


def _position(op: Operation) -> int:
    assert op.parent is not None
    return st.children(op.parent).index(op)


def _check_order(chains: Sequence[Chain]) -> None:
    """Reject an order in which a statement would run before its producers."""
    place = chains[0][0].parent
    assert place is not None
    every = st.children(place)
    tops = [c[0] for c in chains]
    last = max(_position(t) for t in tops)
    for top in tops:
        for other in every[_position(top) + 1 : last]:
            if other not in tops and _conflicts(top, other):
                fail("what stands between the loops uses the same buffers", top, other)
    for k, chain in enumerate(chains):
        for later in chains[k + 1 :]:
            in_order = _position(chain[0]) < _position(later[0])
            if not in_order and _conflicts(chain[0], later[0]):
                fail("the loops would run in another order, and use the same buffers", chain[0], later[0])
            if in_order and not _aligned(chain, later):
                fail("an iteration would use what another iteration computes", chain[-1], later[-1])


def _conflicts(a: Operation, b: Operation) -> bool:
    """Return whether one statement writes a buffer that the other one uses."""
    (reads_a, writes_a), (reads_b, writes_b) = accessed_by([a]), accessed_by([b])
    used_a, used_b = {*reads_a, *writes_a}, {*reads_b, *writes_b}
    return bool(used_a & set(writes_b) or used_b & set(writes_a))


def _aligned(first: Chain, second: Chain) -> bool:
    """Return whether each iteration uses only those elements of the other nest's buffers that its same iteration
    uses.
    """
    (reads_a, writes_a), (reads_b, writes_b) = (accessed(c[-1].body.block) for c in (first, second))
    return all(
        checks.are_disjoint(_points(x[buffer]), _points(y[buffer]), (first, second))
        for x, y in ((writes_a, reads_b), (reads_a, writes_b), (writes_a, writes_b))
        for buffer in _shared(x, y)
    )


def _shared(x: Accessed, y: Accessed) -> list[SSAValue]:
    return [buffer for buffer in x if buffer in y]


def _points(region: Sequence[Ends | None]) -> list[SymExpr | None]:
    """Return the index in each dimension of a region, or None for a dimension with several."""
    return [None if ends is None or (ends[1] - ends[0]).constant != 0 else ends[0] for ends in region]


@primitive()
def loop_partition(
    state: State, loop: tir.ForOp, factors: Sequence[int | None], preserve_unit_iters: bool = True
) -> list[tir.ForOp]:
    """Partition a loop into consecutive loops with the extents `factors`; one may be None to be inferred.

    for i in range(n): block B
      ->  block B_i_common { block B_i0_partition { for i0 in range(4): block B_i0 }
                             block B_i1_partition { for i1 in range(4, n): block B_i1 } }

    Without None the remainder becomes a loop at the end. The loops are serial; those that run once are kept,
    regardless of `preserve_unit_iters`. A spatial iterator bound to the loop is restricted to the part. Raises
    `ScheduleError` if the loop has annotations or is bound to threads, if it drives a reduction with an init, if a
    factor is not positive, if more than one is None, or if their sum is not less than the extent.
    """
    checks.require_plain(loop, "partitioned", from_zero=False)
    below = st.blocks_below(loop)
    if not below:
        fail("there is no block below the loop", loop)
    for block in below:
        if block.init is not None and tir.IterKind.REDUCE in checks.kinds_driven(block, loop):
            fail("the loop drives a reduction with an init", loop, block, hint="decompose the reduction first")
    name, var = st.name_of_block(below[0]), name_of(loop.loop_var) or "i"
    common = rw.empty_block(f"{name}_{var}_common", [], [])
    parts: list[tir.ForOp] = []
    start = st.min_of(loop)
    for k, size in enumerate(_sizes(loop, factors)):
        part = rw.empty_block(f"{name}_{var}{k}_partition", [], [])
        parts.append(_part(loop, f"{var}{k}", start, size))
        part.body.block.add_op(parts[-1])
        common.body.block.add_op(part)
        infer_regions(part)
        start = start + size
    infer_regions(common)
    rw.before(loop)(common)
    erase_with_tree(loop)
    return parts


def _sizes(loop: tir.ForOp, factors: Sequence[int | None]) -> list[SymExpr]:
    """Return the extents of the parts."""
    sizes = [None if f == -1 else f for f in factors]
    known = [f for f in sizes if f is not None]
    if len(sizes) - len(known) > 1:
        fail("at most one factor may be None", loop, found=list(factors))
    if not known or any(not isinstance(f, int) or f <= 0 for f in known):
        fail("factors are positive integers", loop, found=list(factors))
    extent = st.extent_of(loop)
    rest = extent - sum(known)
    if not Analyzer().can_prove(OPS["gt"](rest, Const(0, extent.dtype))):
        fail("the sum of the factors is not less than the extent", loop, expected=f"below {extent}", found=sum(known))
    if None not in sizes:
        sizes.append(None)
    return [rest if f is None else Const(f, extent.dtype) for f in sizes]


def _part(loop: tir.ForOp, name: str, start: SymExpr, size: SymExpr) -> tir.ForOp:
    """Return a copy of a loop over a part of its range; its blocks get new names."""
    dtype = cast(IntegerType, loop.loop_var.type)
    body = loop.body.clone()
    least = start if start.constant is None else Const(start.constant, dtype)
    part = tir.ForOp(least, size, body)
    set_name(part.loop_var, name)
    for op in part.walk():
        if isinstance(op, tir.BlockOp):
            op.properties["block_name"] = StringAttr(f"{op.block_name.data}_{name}")
    for block in st.blocks_below(part):
        _narrow(block, part.loop_var, least, size)
    return part


def _narrow(block: tir.BlockOp, var: SSAValue, least: SymExpr, size: SymExpr) -> None:
    """Restrict spatial iterators that are bound to a loop to its range."""
    own = [b is var and kind is tir.IterKind.SPATIAL for b, kind in zip(block.bindings, block.kinds, strict=True)]
    block.properties["dom_mins"] = dims_attr(least if o else m for o, m in zip(own, block.mins, strict=True))
    block.properties["dom_extents"] = dims_attr(size if o else e for o, e in zip(own, block.extents, strict=True))
