"""Alias analysis of a dataflow block: the memory that values share, and its last use."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ....dialects import relax

_SAME = frozenset(
    f"relax.{name}"
    for name in (
        "expand_dims",
        "flatten",
        "reshape",
        "squeeze",
        "to_vdevice",
        "hint_on_device",
        "wrap_param",
        "memory.view",
        "memory.ensure_zero_offset",
        "builtin.stop_lift_params",
    )
)
"""Operators that may return their operand itself."""
_NEW = (relax.CallTIROp, relax.CallDPSPackedOp)
"""Calls that return newly allocated tensors."""


class Memory:
    """The memory of one value, or of all values from outside."""


FOREIGN = Memory()
"""The memory of parameters, constants, and results of functions that may have stored them."""


class Aliases:
    """The memory that each value of a dataflow block may occupy, and the last use of each memory."""

    def __init__(self, block: relax.DataflowOp):
        self._memory: dict[SSAValue, frozenset[Memory]] = {}
        self._constant: set[SSAValue] = set()
        self._last: dict[Memory, Operation] = {}
        for op in block.body.block.ops:
            for memory in self._of(op.operands):
                self._last[memory] = op
            locations = self._results(op)
            constant = isinstance(op, relax.LEAVES) or self._is_computed(op)
            for result in op.results:
                self._memory[result] = locations
                if constant:
                    self._constant.add(result)

    def ends_with(self, value: SSAValue, op: Operation) -> bool:
        """Return whether the memory of `value`, an operand of `op`, is known and not used after `op`.

        False for values that may be computed at compile time, whose memory must not be written, and if another
        operand may share the memory.
        """
        memories = self._of([value])
        if len(memories) != 1 or FOREIGN in memories or value in self._constant:
            return False
        others = [v for v in op.operands if v is not value]
        (memory,) = memories
        once = list(op.operands).count(value) == 1
        return once and self._last[memory] is op and memory not in self._of(others)

    def _of(self, values: Iterable[SSAValue]) -> frozenset[Memory]:
        foreign = frozenset((FOREIGN,))
        return frozenset[Memory]().union(*(self._memory.get(v, foreign) for v in values))

    def _results(self, op: Operation) -> frozenset[Memory]:
        if isinstance(op, _NEW) or (isinstance(op, relax.Operator) and op.name not in _SAME):
            return frozenset((Memory(),))
        if isinstance(op, relax.CallTIRInplaceOp):
            reused = self._of(op.args[i] for i in op.indices if i >= 0)
            return reused | {Memory()} if -1 in op.indices else reused
        structure = isinstance(op, relax.BindOp | relax.MatchCastOp | relax.TupleOp | relax.TupleGetItemOp)
        shared = self._of(op.operands)
        return shared if structure or (isinstance(op, relax.Operator) and op.operands) else shared | {FOREIGN}

    def _is_computed(self, op: Operation) -> bool:
        """Return whether all operands of an op are constant."""
        return all(v in self._constant for v in op.operands)
