"""Going through operations, where it is done often."""

from __future__ import annotations

from xdsl.ir import Operation


def operations(root: Operation) -> list[Operation]:
    """`root` and all operations inside of it as they are now, each before those inside of it: `list(root.walk())`.

    Without generators inside of generators, which cost xDSL most of the time of a pass that looks for something.
    """
    found = [root]
    if root.regions:
        _collect(root, found)
    return found


def _collect(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _collect(inner, found)
                inner = inner.next_op
            block = block.next_block
