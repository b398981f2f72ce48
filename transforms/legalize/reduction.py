"""Rules of reductions and of what normalises along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import topi
from ...dialects.relax.operator import Operator
from .legalize_rules import RULES, Emit, LegalizeRule, operand, rule


def _reduction(function: Callable[..., Any], name: str) -> LegalizeRule:
    return lambda op: Emit(function, (operand(op, "x"), op.attr("axis"), op.attr("keepdims")), name)


def _along_axis(function: Callable[..., Any], name: str) -> LegalizeRule:
    return lambda op: Emit(function, (operand(op, "x"), op.attr("axis")), name)


_REDUCTIONS = "sum prod max min mean std variance argmax argmin"
RULES.update({f"relax.{n}": _reduction(getattr(topi, n), n) for n in _REDUCTIONS.split()})
RULES.add("relax.nn.softmax", _along_axis(topi.nn.softmax, "softmax"))
RULES.add("relax.nn.log_softmax", _along_axis(topi.nn.log_softmax, "log_softmax"))


@rule("relax.nn.layer_norm")
def layer_norm(op: Operator) -> Emit:
    """relax.nn.layer_norm(data, gamma, beta) -> layer_norm(data, gamma, beta), where `scale` and `center` are on"""
    gamma = operand(op, "gamma") if op.attr("scale") else None
    beta = operand(op, "beta") if op.attr("center") else None
    return Emit(
        topi.nn.layer_norm, (operand(op, "data"), gamma, beta, op.attr("axes"), op.attr("epsilon")), "layer_norm"
    )
