"""Convert signed bytes between operators to unsigned ones, for instructions that multiply unsigned by signed bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i8, i32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dtypes import ui8
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, apply_rules
from ...target import Target
from .dot_products import dot_of
from .quantized_form import QuantizedForm, quantized_form
from .rules import number

_SHIFT = 128
_NOT_NEGATIVE = frozenset(f"relax.{name}" for name in ("nn.relu", "sigmoid", "exp", "abs", "nn.softmax"))
_KEPT = frozenset(f"relax.{name}" for name in ("nn.max_pool2d", "nn.avg_pool2d", "mean", "reshape", "permute_dims"))
"""Operators whose result is nonnegative if their operand is."""
_BOTH = frozenset(("relax.add", "relax.multiply"))
"""Operators whose result is nonnegative if both operands are."""
_DEPTH = 8


@dataclass(frozen=True)
class UnsignedActivations(Pass):
    """Convert int8 activations that are only dequantized to uint8, with a shifted zero point.

    dequantize(astype(limited(round(y / s) + z, -128, 127), "int8"), s, z)
    ->  dequantize(astype(limited(round(y / s) + (z + 128), 0, 255), "uint8"), s, z + 128)

    If y is nonnegative and z is 0, nothing is shifted, and the limits are 0 and 127. The results are unchanged. For
    `target`s that compute products of signed bytes by unsigned and signed ones and a correction, as with AVX-512.
    """

    name = "unsigned-activations"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target(self.target)
        signed, mixed = dot_of(i8, i8, i32, target), dot_of(ui8, i8, i32, target)
        if signed is None or mixed is None or not signed.shifted or mixed.shifted:
            return
        shared: dict[tuple[SSAValue, Block | None], SSAValue] = {}
        apply_rules(op, {"relax.dequantize": partial(_unsigned, shared)})


def _unsigned(shared: dict[tuple[SSAValue, Block | None], SSAValue], op: Operator, emit: Emit) -> SSAValue | None:
    q, scale, zero = op.operands
    form = quantized_form(q.owner) if isinstance(q.owner, Operator) and q.owner.name == "relax.astype" else None
    if form is None or cast(TensorType, q.type).element != i8 or not all(map(_is_plain, (u.operation for u in q.uses))):
        return None
    point = number(zero)
    shift = 0 if form.zero == 0 and is_not_negative(form.x) else _SHIFT
    key = q, op.parent
    if key not in shared:
        shared[key] = _quantized(form, shift, emit)
    attrs = {name: op.attr(name) for name in op.ATTR_SPECS}
    return emit("dequantize", shared[key], scale, emit.constant(int(point or 0) + shift, i32), **attrs)


def _is_plain(user: Operation) -> bool:
    """Return whether a user dequantizes with a single constant zero point."""
    return user.name == "relax.dequantize" and number(user.operands[2]) is not None


def _quantized(form: QuantizedForm, shift: int, emit: Emit) -> SSAValue:
    """Return the quantized value as unsigned bytes."""
    zero, (least, most) = form.zero + shift, form.limits
    value = form.rounded if not zero else emit("add", form.rounded, emit.constant(zero, f32))
    low, high = (emit.constant(float(end), f32) for end in (max(least + shift, 0), most + shift))
    return emit("astype", emit("minimum", emit("maximum", value, low), high), dtype="uint8")


def is_not_negative(value: SSAValue, depth: int = _DEPTH) -> bool:
    """Return whether all elements are provably nonnegative."""
    op = value.owner
    if not isinstance(op, Operator) or not depth:
        return False
    if op.name in _NOT_NEGATIVE:
        return True
    if op.name == "relax.dequantize":
        q, scale, zero = op.operands
        return cast(TensorType, q.type).element == ui8 and (number(scale) or -1) > 0 and number(zero) == 0
    if op.name == "relax.maximum" and (number(op.operands[1]) or 0) >= 0 and number(op.operands[1]) is not None:
        return True
    tensors = op.operands if op.name in _BOTH else op.operands[:1] if op.name in _KEPT else ()
    return bool(tensors) and all(is_not_negative(operand, depth - 1) for operand in tensors)
