"""Rules of operators on rows of blocks."""

from __future__ import annotations

from ...dialects.relax.operator import Operator
from ...topi import block_quantization as blocks
from .legalize_rules import Emit, operand, result_tensor, rule


@rule("relax.dequantize_blocks")
def dequantize_blocks(op: Operator) -> Emit:
    """relax.dequantize_blocks(packed) -> dequantize_blocks(packed)"""
    args = (operand(op, "packed"), op.attr("format"), result_tensor(op).element, op.attr("interleaved"))
    return Emit(blocks.dequantize_blocks, args, "dequantize_blocks")


@rule("relax.take_blocks")
def take_blocks(op: Operator) -> Emit:
    """relax.take_blocks(packed, indices) -> take_blocks(packed, indices)"""
    attrs = (op.attr("format"), result_tensor(op).element, op.attr("interleaved"))
    return Emit(blocks.take_blocks, (operand(op, "packed"), operand(op, "indices"), *attrs), "take_blocks")


@rule("relax.matmul_blocks")
def matmul_blocks(op: Operator) -> Emit:
    """relax.matmul_blocks(x, packed) -> matmul_blocks(x, packed)"""
    attrs = (op.attr("format"), result_tensor(op).element, op.attr("activation"), op.attr("interleaved"))
    return Emit(blocks.matmul_blocks, (operand(op, "x"), operand(op, "packed"), *attrs), "matmul_blocks")
