"""Handles on what a schedule's instructions give: blocks, loops and sampled integers. Each is a value of the trace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation, SSAValue

from ..dialects import sched, tir


class Location(Enum):
    """Places for a block that are no loop."""

    INLINE = "inline"
    ROOT = "root"


class RV:
    """A handle on a value of a trace; two on the same value are equal."""

    __slots__ = ("ssa",)

    def __init__(self, ssa: SSAValue):
        self.ssa = ssa

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, RV) and self.ssa is other.ssa

    def __hash__(self) -> int:
        return hash(self.ssa)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ssa.name_hint or '?'})"


class BlockRV(RV):
    """A block, the root among them: the function's whole body."""


class LoopRV(RV):
    """A loop."""


class ExprRV(RV):
    """A sampled integer."""


@dataclass(frozen=True)
class StmtSRef:
    """A block, a loop or a function (which is its own root block) as it is now; `parent` is the one that it is in."""

    stmt: Operation

    @property
    def parent(self) -> StmtSRef | None:
        """The block, loop or function around it, None for a function."""
        around = None if isinstance(self.stmt, tir.FuncOp) else self.stmt.parent_op()
        while around is not None and not isinstance(around, tir.BlockOp | tir.ForOp | tir.FuncOp):
            around = around.parent_op()
        return None if around is None else StmtSRef(around)


_CLASSES: dict[object, type[RV]] = {sched.BLOCK: BlockRV, sched.LOOP: LoopRV, sched.INT: ExprRV}


def handle_on(value: SSAValue) -> RV:
    """The handle on a value of a trace."""
    return _CLASSES[value.type](value)
