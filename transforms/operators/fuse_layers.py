"""Fuse norms and GELU written as separate operators, so that each is one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.relax.operator import Operator
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, OpRule, apply_rules
from .gelu_form import read_gelu
from .normalization_form import centered, normalized, scaled


@dataclass(frozen=True)
class FuseLayers(Pass):
    """Fuse norms and GELU written as several operators to `nn.layer_norm`, `nn.rms_norm`, `nn.gelu` and `nn.gelu_tanh`.

    c = x - mean(x); y = c / sqrt(mean(c * c) + epsilon) * gamma + beta  ->  y = layer_norm(x, gamma, beta)
    y = x / sqrt(mean(x * x) + epsilon) * weight                         ->  y = rms_norm(x, weight)
    y = x * 0.5 * (1 + erf(x / sqrt(2)))                                 ->  y = gelu(x)
    y = 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))  ->  y = gelu_tanh(x)

    Factors and summands may be in any order. Means keep their dimensions, over any axes; squares may be powers, the
    variance `relax.variance`, a quotient a product with `rsqrt`, a reciprocal or a power. Gamma and beta are optional;
    they have the extents of the axes, and 1 along the others. The sizes of x must be known, and the deviation must have
    no other use.
    """

    name = "fuse-layers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, _RULES)


def _gelu(op: Operator, emit: Emit) -> SSAValue | None:
    gelu = read_gelu(op)
    return None if gelu is None else emit(gelu.name, gelu.value)


def _first(*rules: Callable[[Operator, Emit], SSAValue | None]) -> OpRule:
    """Return a rule that tries several rules in order."""

    def rule(op: Operator, emit: Emit) -> SSAValue | None:
        return next((value for each in rules if (value := each(op, emit)) is not None), None)

    return rule


_RULES: dict[str, OpRule] = {
    "relax.divide": _first(normalized, _gelu),
    "relax.multiply": _first(normalized, scaled, _gelu),
    "relax.add": _first(centered, _gelu),
}
