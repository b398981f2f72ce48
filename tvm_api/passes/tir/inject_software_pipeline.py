"""`inject-software-pipeline`: statements of a loop's body run for different iterations at a time.

    for i in range(16) {stage 0: B = A[i]; stage 1: C[i] = B}
      ->  B2[0] = A[0]
          for i in range(15) {B2[(i + 1) % 2] = A[i + 1]; C[i] = B2[i % 2]}
          C[15] = B2[1]

The annotations `software_pipeline_stage` and `software_pipeline_order` of the loop have a number for each statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.attributes import from_attr
from ....dialects.quick import operations
from ....handles.tir.block_views import BLOCK_HEAD
from ....handles.tir.stmt import SeqStmt, body_of, operations_of, sequence, statements_in
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import erase_with_tree, functions, remove_dead
from .inferred_regions import infer_simplified
from .pipeline_phases import Pipeline, Step

STAGE, ORDER, ASYNC = "software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages"


@dataclass(frozen=True)
class InjectSoftwarePipeline(Pass):
    """Rewrite annotated loops into a prologue, a loop that runs the stages for several iterations, and an epilogue.

    Buffers that the loop allocates get as many versions as iterations are under way. Raises `UnsupportedError` for
    annotations that do not match the statements of the body, and for orders that their dependences do not allow.
    """

    name = "inject-software-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            doubled = _doubled(func)
            loops = [inner for inner in operations(func) if isinstance(inner, tir.ForOp)]
            for loop in reversed(loops):
                if _is_annotated(loop):
                    _pipeline(loop, doubled)
            remove_dead(func)


def _doubled(func: tir.FuncOp) -> set[SSAValue]:
    """Return the buffers with two versions in any case, by the annotation `double_buffer_scope` of a block."""
    found: set[SSAValue] = set()
    for block in operations(func):
        notes = block.annotations if isinstance(block, tir.BlockOp) else None
        if notes is None or "double_buffer_scope" not in notes.data or not isinstance(block, tir.BlockOp):
            continue
        index = cast(int, from_attr(notes.data["double_buffer_scope"]))
        if not 0 <= index < len(block.writes):
            raise UnsupportedError(
                "Index of the buffer exceeds the size of the write regions of the block",
                location=location_of(block),
                expected=f"less than {len(block.writes)}",
                found=str(index),
            )
        found.add(block.writes[index].buffer)
    return found


def _notes(loop: tir.ForOp) -> dict[str, Any]:
    return {} if loop.annotations is None else dict(loop.annotations.data)


def _is_annotated(loop: tir.ForOp) -> bool:
    notes = _notes(loop)
    for key, other, name in ((STAGE, ORDER, "Order"), (ORDER, STAGE, "Stage")):
        if key in notes and other not in notes:
            raise UnsupportedError(
                f"{name} of the software pipeline is not defined", location=location_of(loop), expected=other
            )
    return STAGE in notes


def _pipeline(loop: tir.ForOp, doubled: set[SSAValue]) -> None:
    body = loop.body.block
    inner = statements_in(body)
    allocations: list[tir.AllocBufferOp] = []
    if len(inner) == 1 and isinstance(inner[0], tir.BlockOp):
        body = inner[0].body.block
        allocations += _allocations(inner[0])
    statements = _statements(body)
    if statements is None:
        raise UnsupportedError(
            f"The body of the software pipeline should be SeqStmt, got {type(body_of(body)).__name__}",
            location=location_of(loop),
            hint="let the loop have a statement for each number of its annotations",
        )
    blocks: list[tir.BlockOp] = []
    for statement in statements:
        nested = _nested(statement)
        if nested is None:
            blocks.append(_as_block(statement))
        else:
            allocations += _allocations(cast(tir.BlockOp, statement[0]))
            blocks += [_as_block(each) for each in nested]
    steps = _steps(loop, blocks)
    _check(loop, steps)
    new = Pipeline(loop, steps, allocations, doubled).emit()
    _replace(loop, new)


def _replace(loop: tir.ForOp, new: tir.BlockOp) -> None:
    insert_before(loop, new)
    erase_with_tree(loop)


def _allocations(block: tir.BlockOp) -> list[tir.AllocBufferOp]:
    return [op for op in block.body.block.ops if isinstance(op, tir.AllocBufferOp)]


def _statements(body: Block) -> list[list[Operation]] | None:
    """Return the operations of each statement of a sequence, None for a body of one statement."""
    stmt = sequence([op for op in statements_in(body) if not isinstance(op, BLOCK_HEAD)])
    return [operations_of(each) for each in stmt.seq] if isinstance(stmt, SeqStmt) else None


def _nested(statement: Sequence[Operation]) -> list[list[Operation]] | None:
    """Return the statements of a block that is a sequence, whose statements are those of the pipeline."""
    first = statement[0]
    if not isinstance(first, tir.BlockOp) or first.predicate is not None:
        return None
    return _statements(first.body.block)


def _as_block(statement: Sequence[Operation]) -> tir.BlockOp:
    """Return a statement as a block, in its place."""
    first = statement[0]
    if isinstance(first, tir.BlockOp) and first.predicate is None:
        return first
    inside = Block()
    block = tir.BlockOp("", [], Region(inside))
    insert_before(first, block)
    for op in statement:
        op.detach()
        inside.add_op(op)
    infer_simplified(block)
    return block


def _steps(loop: tir.ForOp, blocks: list[tir.BlockOp]) -> list[Step]:
    notes = _notes(loop)
    numbers = {key: [int(n) for n in cast("list[int]", from_attr(notes[key]))] for key in (STAGE, ORDER)}
    for key, listed in numbers.items():
        if len(listed) != len(blocks):
            raise UnsupportedError(
                f"the original order has {len(blocks)} statements, but the pipeline annotation '{key}' has a"
                " different size",
                location=location_of(loop),
                expected=f"{len(blocks)} numbers",
                found=str(listed),
            )
    copied = {int(n) for n in cast("list[int]", from_attr(notes[ASYNC]))} if ASYNC in notes else set[int]()
    rows = zip(blocks, numbers[STAGE], numbers[ORDER], strict=True)
    return [Step(block, stage, order, stage in copied) for block, stage, order in rows]


def _check(loop: tir.ForOp, steps: Sequence[Step]) -> None:
    """Check that orders are unique, and that what reads a buffer comes after what writes it."""
    orders = [step.order for step in steps]
    if len(set(orders)) < len(orders):
        raise UnsupportedError(
            "Two statements in the software pipeline cannot have the same order",
            location=location_of(loop),
            found=str(orders),
        )
    if any(not 0 <= order < len(orders) for order in orders):
        raise UnsupportedError(
            "an order of the software pipeline is out of range",
            location=location_of(loop),
            expected=f"the numbers below {len(orders)}",
            found=str(orders),
        )
    for number, reader in enumerate(steps):
        read = {r.buffer for r in reader.block.reads}
        for writer in steps[:number]:
            if read.isdisjoint(w.buffer for w in writer.block.writes):
                continue
            if writer.stage > reader.stage:
                raise UnsupportedError(
                    f"statement in stage {reader.stage} cannot depends on statement in a later stage {writer.stage}",
                    location=location_of(reader.block),
                )
            if writer.stage == reader.stage and writer.order >= reader.order:
                raise UnsupportedError(
                    "two statements with buffer access dependency in the same stage of the software pipeline cannot"
                    " be reordered",
                    location=location_of(reader.block),
                )
