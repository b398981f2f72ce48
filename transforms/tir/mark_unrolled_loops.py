"""`mark-unrolled-loops`: make the decisions of `unroll-loop`, but only give loops the kind `unrolled`.

The lowering unrolls such loops when it knows the values of the loop variables; the program stays small until then.
A vectorized loop counts as one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from .unroll_loop import UnrollLoop


@dataclass(frozen=True)
class MarkUnrolledLoops(UnrollLoop):
    """Mark loops that `pragma_auto_unroll_max_step` allows to unroll; the options are those of `unroll-loop`."""

    name = "mark-unrolled-loops"
    only_mark: bool = True
