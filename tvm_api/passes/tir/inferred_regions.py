"""Regions of new blocks, with extents in the form in which TVM prints them."""

from __future__ import annotations

from ....dialects import tir
from ....dialects.relax.types import dims_attr
from ....handles.tir.expr_kinds import dim_node
from ....handles.tir.prim_expr import as_sym
from ....ir.buffers.regions import infer_regions
from ...handles.arith.analyzer import Analyzer


def infer_simplified(block: tir.BlockOp) -> None:
    """Insert the regions that a block reads and writes, which must have none."""
    infer_regions(block)
    rules = Analyzer()
    for region in (*block.reads, *block.writes):
        if any(extent.constant is None for extent in region.extents):
            extents = [as_sym(rules.simplify(dim_node(extent))) for extent in region.extents]
            region.properties["extents_attr"] = dims_attr(extents)
