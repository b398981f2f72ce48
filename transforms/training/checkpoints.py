"""Checkpointing: values that the gradient recomputes instead of storing them (Chen et al., 2016).

Values between the inputs, marked `start_checkpoint`, and the outputs, marked `end_checkpoint`, are not stored: if the
gradient needs one of them, the bindings that lead to it from the inputs are repeated, as `lv1_cp`.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.grad import EndCheckpoint, StartCheckpoint
from ...ir.rewriting.edit import erase
from .expressions import Tape


def remove_marks(block: Block) -> set[SSAValue]:
    """Remove checkpoint markers from a block, and return the values to be recomputed."""
    inside = set[SSAValue]()
    kept = set[SSAValue]()
    opened = set[SSAValue]()
    marks: list[Operation] = []
    for op in block.ops:
        if isinstance(op, StartCheckpoint):
            opened.add(op.results[0])
            kept.add(op.operands[0])
            marks.append(op)
        elif isinstance(op, EndCheckpoint):
            marks.append(op)
        elif not isinstance(op, relax.OutputOp) and any(v in opened for v in op.operands):
            opened.update(op.results)
            inside.update(op.results)
    for op in marks:
        source = op.operands[0]
        if name_of(source) is None:
            set_name(source, name_of(op.results[0]))
        if op.results[0] in kept:
            kept.add(source)
        op.results[0].replace_all_uses_with(source)
        erase(op)
    return inside - kept


class Recomputation:
    """Provider of the values that the gradient uses: stored ones unchanged, copies of the others."""

    def __init__(self, tape: Tape, inside: set[SSAValue]):
        self._tape, self._inside = tape, inside
        self._copies: dict[SSAValue, SSAValue] = {}

    def value(self, value: SSAValue) -> SSAValue:
        """Return the value, or its copy after recomputing it and everything it needs."""
        stack = [value]
        while stack:
            last = stack[-1]
            if last not in self._inside or last in self._copies or not isinstance(last, OpResult):
                stack.pop()
                continue
            missing = [v for v in reversed(last.op.operands) if v in self._inside and v not in self._copies]
            if missing:
                stack += missing
                continue
            stack.pop()
            self._copy(last.op)
        return self._copies.get(value, value)

    def _copy(self, op: Operation) -> None:
        new = op.clone({v: self._copies[v] for v in op.operands if v in self._copies})
        name = name_of(op.results[0])
        self._tape.insert(new, None if name is None else f"{name}_cp")
        self._copies[op.results[0]] = new.results[0]
