"""The types of gradient rules, and the table of them.

    @gradient("nn.softmax")
    def softmax(s: Site) -> Gradients:
        return [(s.grad - total(s.grad * s.out, [s.attr("axis")], True)) * s.out]

A rule returns an expression for each argument of the operator (a list for `xs*`), or None if there is no gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...handles.relax.expr import Expr, Tuple
from ...tables import Table
from .expressions import call, dims, shape, tensor

Gradients = Sequence[Expr | list[Expr] | None]


@dataclass(frozen=True)
class Site:
    """An operator to differentiate: its result, the gradient of the result, and its arguments."""

    op: relax.Operator
    grad: Expr
    out: Expr
    args: Sequence[Any]
    normalize: Callable[[Expr], Expr]

    def attr(self, name: str) -> Any:
        """Return the Python value of an attribute."""
        return self.op.attr(name)

    def fields(self, arg: int) -> list[Expr]:
        """Return the tensors of the tuple argument `arg`, which may be a single value."""
        values: list[Expr] = list(self.args[arg])
        return list(values[0]) if self._one_value(arg) else values

    def gathered(self, arg: int, gradients: list[Expr]) -> list[Expr]:
        """Return the gradients of the tensors in the tuple argument `arg`, in the form that rules return."""
        return [Tuple(gradients)] if self._one_value(arg) else gradients

    def _one_value(self, arg: int) -> bool:
        values: list[Expr] = list(self.args[arg])
        return len(values) == 1 and isinstance(values[0].ssa.type, TupleType)

    def part(self, index: int) -> Expr | None:
        """Return the gradient of a field of the result, or None if it is certainly zero."""
        owner = self.grad.ssa.owner
        if isinstance(owner, relax.TupleOp):
            producer = owner.fields_[index].owner
            if isinstance(producer, Operation) and producer.name == "relax.zeros":
                return None
        return self.grad[index]

    def fit(self, gradient: Expr, like: Expr) -> Expr:
        """Return a gradient in the shape of the argument `like`, summed over broadcast dimensions."""
        gradient = self.normalize(gradient)
        return gradient if tensor(gradient).dims == dims(like) else call("collapse_sum_to", gradient, shape(dims(like)))

    def cast(self, gradient: Expr, like: Expr) -> Expr:
        """Return a gradient in the dtype of the argument `like`."""
        dtype = tensor(like).element
        return gradient if tensor(gradient).element == dtype else call("astype", gradient, dtype=dtype)

    def refuse(self, reason: str) -> UnsupportedError:
        """Return the error for an operator whose gradient is not supported in this form."""
        return UnsupportedError(f"{self.op.name} has no gradient {reason}")


GradientRule = Callable[[Site], Gradients]

GRADIENTS: Table[GradientRule] = Table("gradient rule")
"""The rules by operator name without `relax.`."""

CONSTANT: frozenset[str] = frozenset(
    (
        *("grad.no_grad", "zeros_like", "ones_like", "full_like", "eye_like", "one_hot"),
        *("argmax", "argmin", "argsort", "bucketize", "nonzero", "multinomial_from_uniform"),
        *("random.bernoulli", "random.bits", "random.exponential", "random.multinomial", "random.normal"),
        *("random.permutation", "random.randint", "random.uniform"),
        *("floor", "ceil", "round", "trunc", "sign", "floor_divide", "isfinite", "isinf", "isnan"),
        *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
        *("logical_not", "logical_and", "logical_or", "logical_xor", "left_shift", "right_shift"),
        *("bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor"),
        *("shape_of", "tensor_to_shape", "shape_to_tensor"),
    )
)
"""Operators without gradients: their results do not depend on the arguments, or are piecewise constant."""


gradient = GRADIENTS.row
"""Register the decorated function as the rule of operators, named without `relax.`."""
