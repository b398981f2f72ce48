"""A schedule primitive that reverses a loop."""

from tirax.extend import (
    Materializer,
    State,
    blocks_below,
    checks,
    extent_of,
    fail,
    insert_before,
    loop_expr,
    new_primitive,
    tir,
)


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
