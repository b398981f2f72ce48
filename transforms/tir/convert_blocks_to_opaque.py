"""`convert-blocks-to-opaque`: remove the iterators of blocks by substituting their bindings."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, i32

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.relax.types import dims_attr
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from .walk import functions


@dataclass(frozen=True)
class ConvertBlocksToOpaque(Pass):
    """`tir.block "C" (%v = spatial(%i, n)) {S(%v)}` -> `tir.block "C" () {S(%i)}`; predicates and regions stay.

    Raises `UnsupportedError` for a block with an init region: run `lower-init-block` before.
    """

    name = "convert-blocks-to-opaque"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for block in [inner for inner in operations(func) if isinstance(inner, tir.BlockOp)]:
                make_opaque(block)


def make_opaque(block: tir.BlockOp) -> None:
    """Replace the iterators of a block by their bindings."""
    if block.init is not None:
        raise UnsupportedError(
            f'block "{block.block_name.data}" has an init region',
            location=location_of(block),
            hint="run lower-init-block before",
        )
    if not block.bindings:
        return
    body = block.body.block
    for var, binding in zip(block.iter_vars, block.bindings, strict=True):
        var.replace_all_uses_with(binding)
    while body.args:
        body.erase_arg(body.args[-1])
    predicate = [] if block.predicate is None else [block.predicate]
    block.operands = predicate
    block.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [0, len(predicate)])
    block.properties["iter_kinds"] = ArrayAttr([])
    block.properties["dom_mins"] = block.properties["dom_extents"] = dims_attr([])
