"""Optimize the quantization of values computed from quantized tensors: move, cancel, or fold it to one multiply-add."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from .quantized_form import MOVED, bounds_of, quantized_form
from .rules import number, producer, used_once

_LARGEST = 2.0**126
"""Numbers between its inverse and this one have a normal reciprocal."""
_SAME = 2.0**-20
"""Relative tolerance of scales: bytes scaled and scaled back within it round to themselves."""
_DEPTH = 8
_COMPUTED = frozenset(
    f"relax.{name}"
    for name in (
        *("add", "subtract", "multiply", "divide", "mean", "matmul", "sigmoid", "tanh", "erf", "minimum", "maximum"),
        *("clip", "astype", "nn.relu", "nn.gelu", "nn.softmax", "nn.layer_norm", "nn.conv2d"),
    )
)
"""Operators whose results are rounded already, or are limits of such results."""


@dataclass(frozen=True)
class Requantize(Pass):
    """Keep tensors as bytes in operators that only move elements, and multiply instead of dividing to quantize.

    max_pool2d(dequantize(x, s, z))  ->  dequantize(max_pool2d(x), s, z)
    quantize(dequantize(x, s, z), s, z)  ->  x        quantize(y, s, z) = astype(limited(round(y / s) + z))
    round(relu(n * a + b) / s)  ->  round(relu(n * (a / s) + b / s))        y * (1 / s) as well

    s and z are constant scalars, s is positive, a and b are computed from constants (for `fold-constant`), and the
    rounded value is the result of operators that round, too: it may be off by 1.5 more units in the last place, so that
    values close to the middle of two integers may round to the other one.
    """

    name = "requantize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, dict.fromkeys((f"relax.{name}" for name in MOVED), _moved))
        apply_rules(op, {"relax.astype": _converted})
        apply_rules(op, {"relax.round": _rounded})


# f(dequantize(x, s, z))  ->  dequantize(f(x), s, z)


def _moved(op: Operator, emit: Emit) -> SSAValue | None:
    dequantize = producer(op.operands[0], "dequantize")
    scale = None if dequantize is None else _positive(dequantize.operands[1])
    if dequantize is None or scale is None or not _is_scalar(dequantize.operands[2]):
        return None
    attrs = {name: op.attr(name) for name in op.ATTR_SPECS}
    x, *parameters = dequantize.operands
    moved = emit(op.name.removeprefix("relax."), x, *op.operands[1:], **attrs)
    return emit("dequantize", moved, *parameters, axis=-1)


# round(x / s)  ->  round(x * (1 / s))


def _rounded(op: Operator, emit: Emit) -> SSAValue | None:
    scaling = used_once(op.operands[0], "divide") or used_once(op.operands[0], "multiply")
    factor = None if scaling is None else _positive(scaling.operands[1])
    if scaling is None or factor is None:
        return None
    x = scaling.operands[0]
    if not isinstance(x.owner, Operator) or x.owner.name not in _COMPUTED:
        return None
    by = np.float32(factor) if scaling.name == "relax.multiply" else np.float32(1) / np.float32(factor)
    return emit("round", _multiplied(x, emit.constant(by, f32), emit))


# astype(limited(round(dequantize(x, s, z) / s) + z))  ->  x


def _converted(op: Operator, emit: Emit) -> SSAValue | None:
    form = quantized_form(op)
    dequantize = None if form is None else producer(form.x, "dequantize")
    if form is None or dequantize is None:
        return None
    q, *parameters = dequantize.operands
    scale, zero = map(number, parameters)
    same = scale is not None and math.isclose(scale, form.scale, rel_tol=_SAME) and zero == form.zero
    if not same or q.type != op.results[0].type:
        return None
    least, most = bounds_of(q)
    return q if form.limits[0] <= least and most <= form.limits[1] else None


def _multiplied(x: SSAValue, factor: SSAValue, emit: Emit) -> SSAValue:
    """Return x times a constant.

    The factor goes into the constants if x is a product with constants, or a sum with one.
    """
    op = x.owner
    if not isinstance(op, Operator) or not x.has_one_use():
        return emit("multiply", x, factor)
    if op.name == "relax.nn.relu":
        return emit("nn.relu", _multiplied(op.operands[0], factor, emit))
    if op.name in ("relax.add", "relax.multiply"):
        for inner, other in (op.operands, op.operands[::-1]):
            if _is_constant(other) and inner.type == x.type:
                scaled = emit("multiply", other, factor)
                if op.name == "relax.multiply":
                    return _multiplied(inner, scaled, emit)
                return emit("add", _multiplied(inner, factor, emit), scaled)
    return emit("multiply", x, factor)


def _is_constant(value: SSAValue, depth: int = _DEPTH) -> bool:
    """Return whether a value is computed from constants by a chain of at most `depth` operators."""
    owner = value.owner
    if isinstance(owner, relax.ConstantOp | relax.ShapeOp):
        return True
    if not isinstance(owner, Operator) or not depth or not owner.operands or not owner.PURE:
        return False
    return all(_is_constant(operand, depth - 1) for operand in owner.operands)


def _positive(scale: SSAValue) -> float | None:
    """Return a constant float32 scalar whose reciprocal is a normal number, else None."""
    t = scale.type
    value = number(scale) if isinstance(t, TensorType) and t.rank == 0 and t.element == f32 else None
    return value if value is not None and 1 / _LARGEST <= value <= _LARGEST else None


def _is_scalar(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.rank == 0
