"""A schedule primitive that reverses a loop."""

from tirax.dialects import tir
from tirax.ir.affine.values import Materializer
from tirax.ir.rewriting.edit import insert_before
from tirax.schedule import checks
from tirax.schedule.registry import new_primitive
from tirax.schedule.state import State, blocks_below, extent_of, fail, loop_expr


@new_primitive
def acme_reverse(state: State, loop: tir.ForOp) -> None:
    """Run a loop backwards: replace `i` by `n - 1 - i`.

    Rejects loops that are not plain or contain a reduction or several blocks, whose order may matter.
    """
    checks.require_plain(loop, "reversed")
    blocks = blocks_below(loop)
    if len(blocks) != 1:
        fail("a loop around several blocks cannot run backwards", *blocks)
    checks.require_complete(blocks[0])
    uses, first = list(loop.loop_var.uses), loop.body.block.first_op
    index = Materializer(lambda op: insert_before(first, op))(extent_of(loop) - 1 - loop_expr(loop))
    for use in uses:
        use.operation.operands[use.index] = index
