"""`cf` to llvm: branches keep their discardable attributes (`loop_annotation`, see `lowering/llvm_text.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import cf, llvm
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.xdsl_extras import llvm_extras
from .core import Lowerer, Rules
from .floats import narrow_bits

Values = Sequence[SSAValue]


def _handed_over(op: Operation, at: Lowerer) -> list[SSAValue]:
    return [narrow_bits(at, v) for v in op.operands]


def _br(op: cf.BranchOp, at: Lowerer) -> Values:
    at.insert(llvm.BrOp.create(operands=_handed_over(op, at), successors=op.successors, attributes=op.attributes))
    return ()


def _cond_br(op: cf.ConditionalBranchOp, at: Lowerer) -> Values:
    at.insert(
        llvm.CondBrOp.create(
            operands=_handed_over(op, at),
            successors=op.successors,
            attributes=op.attributes,
            properties={"operandSegmentSizes": op.properties["operandSegmentSizes"]},
        )
    )
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
