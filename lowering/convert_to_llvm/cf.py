"""`cf` to llvm: branches keep their attributes; `loop_annotation` is a property of those of llvm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.xdsl_extras import llvm_extras
from .core import Lowerer, Rules
from .floats import narrow_bits

Values = Sequence[SSAValue]


def _handed_over(op: Operation, at: Lowerer) -> list[SSAValue]:
    return [narrow_bits(at, v) for v in op.operands]


def _br(op: cf.BranchOp, at: Lowerer) -> Values:
    _branch(llvm.BrOp, llvm_extras.BrOp, op, at)
    return ()


def _branch(
    kind: type[Operation], hinted: type[Operation], op: Operation, at: Lowerer, **properties: Attribute
) -> None:
    """Insert a branch of `kind`, or `hinted` if there are hints for a loop."""
    attributes = dict(op.attributes)
    hints = attributes.pop("loop_annotation", None)
    if hints is not None:
        kind, properties["loop_annotation"] = hinted, hints
    operands = _handed_over(op, at)
    at.insert(kind.create(operands=operands, successors=op.successors, attributes=attributes, properties=properties))


def _cond_br(op: cf.ConditionalBranchOp, at: Lowerer) -> Values:
    segments = op.properties["operandSegmentSizes"]
    _branch(llvm.CondBrOp, llvm_extras.CondBrOp, op, at, operandSegmentSizes=segments)
    return ()


def _switch(op: cf.SwitchOp, at: Lowerer) -> Values:
    values = op.case_values
    numbers: Sequence[int] = () if values is None else cast("DenseIntOrFPElementsAttr[Any]", values).get_values()
    cases = [
        (int(number), block, [narrow_bits(at, v) for v in operands])
        for number, block, operands in zip(numbers, op.case_blocks, op.case_operand, strict=True)
    ]
    at.insert(
        llvm_extras.SwitchOp(op.flag, (op.default_block, [narrow_bits(at, v) for v in op.default_operands]), cases)
    )
    return ()


RULES: Rules = {cf.BranchOp: _br, cf.ConditionalBranchOp: _cond_br, cf.SwitchOp: _switch}
