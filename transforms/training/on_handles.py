"""Gradient rules in TVM's form: `(var, call, gradient, builder) -> [gradient, …]` on handles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue

from ...diagnostics import TiraxError
from ...dialects.relax.operator import Arg, Operator
from ...dialects.relax.registered import GRADIENT
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, Tuple, expr_of
from .expressions import Tape, handle, zeros_like
from .gradient_rules import GRADIENTS, Gradients, Site

PrimalGradient = Callable[[Expr, Call, Expr, Any], Sequence[Any]]
"""`(var, call, gradient, builder) -> gradients`: the call is bound to the variable; one gradient for each argument."""


class TapeBuilder:
    """The builder of TVM's rules, a subset of `BlockBuilder`: adds bindings at the end of the dataflow block."""

    def __init__(self, tape: Tape):
        self._tape = tape

    def emit(self, expr: Any, name_hint: str = "") -> Expr:
        """Bind an expression and return the variable."""
        return handle(self._tape.bind(to_expr(expr), name_hint or "lv"))

    def normalize(self, expr: Any) -> Expr:
        """Return the expression with its operands bound; the expression itself is not bound."""
        return self._tape.normalize(to_expr(expr))


def rule_on_handles(function: PrimalGradient, tape: Tape) -> Callable[[Site], Gradients]:
    """Convert a rule in TVM's form to one for `Gradient`.

    Raises `TiraxError` if it returns the wrong number of gradients.
    """

    def rule(site: Site) -> Gradients:
        call = Call.on(site.op.results[0])
        gradients = list(function(site.out, call, site.grad, TapeBuilder(tape)))
        operands = call.args
        if len(gradients) != len(operands):
            raise TiraxError(
                f"the {GRADIENT} of {site.op.name} gives too few or too many",
                expected=f"{len(operands)} gradients", found=len(gradients),
            )  # fmt: skip
        flat = [None if g is None else to_expr(g) for g in gradients]
        return _by_operand(site, flat)

    return rule


def _by_operand(site: Site, gradients: Sequence[Expr | None]) -> Gradients:
    """Return the gradients grouped like the operands: in one list for a variadic operator."""
    if site.op.SPREAD:
        values = site.args[0]
        return [[zeros_like(v) if g is None else g for g, v in zip(gradients, values, strict=True)]]
    return [_like(gradient, arg) for gradient, arg in zip(gradients, site.args, strict=False)]


def _like(gradient: Expr | None, arg: Any) -> Expr | list[Expr] | None:
    return gradient if gradient is None or not isinstance(arg, list) else _fields(gradient, cast("list[Expr]", arg))


def _fields(gradient: Expr, values: Sequence[Expr]) -> list[Expr]:
    """Split the gradient of a tuple into those of its fields, unless the tuple is a single value."""
    if len(values) == 1 and isinstance(values[0].ssa.type, TupleType):
        return [gradient]
    return [gradient[i] for i in range(len(values))]


@dataclass(frozen=True)
class OwnGradient:
    """The `FPrimalGradient` of an operator with a rule in this package."""

    operator: str

    def __call__(self, orig_var: Expr, orig_call: Call, output_grad: Expr, builder: Any) -> list[Expr | None]:
        """Return the gradients of the arguments of a call, that of a tuple as a tuple, or None where there is none."""
        op = orig_call.op_handle
        if not isinstance(op, Operator) or op.name != self.operator:
            raise TiraxError("this is the gradient of another operator", expected=self.operator, found=op.name)
        args = [_argument(arg) for arg in op.args]
        gradients = GRADIENTS[op.name.removeprefix("relax.")](Site(op, output_grad, orig_var, args, builder.normalize))
        return [Tuple(g) if isinstance(g, list) else g for g in gradients]


def _argument(arg: Arg) -> Any:
    if arg is None or isinstance(arg, SSAValue):
        return None if arg is None else expr_of(arg)
    return [expr_of(v) for v in arg]


def own_gradient(name: str) -> OwnGradient | None:
    """Return this package's rule for an operator, or None."""
    return OwnGradient(name) if name.removeprefix("relax.") in GRADIENTS else None


__all__ = ["OwnGradient", "PrimalGradient", "TapeBuilder", "own_gradient", "rule_on_handles"]
