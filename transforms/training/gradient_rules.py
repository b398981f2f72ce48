"""What a rule of differentiation is, and the table of them.

    @gradient("nn.softmax")
    def softmax(s: Site) -> Gradients:
        return [(s.grad - total(s.grad * s.out, [s.attr("axis")], True)) * s.out]

A rule gives an expression for each argument of the operator (a list for `xs*`), or None where there is no gradient.
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
    """An operator whose gradient is wanted: the gradient of its result, its result and its arguments."""

    op: relax.Operator
    grad: Expr
    out: Expr
    args: Sequence[Any]
    normalize: Callable[[Expr], Expr]

    def attr(self, name: str) -> Any:
        """The Python value of an attribute."""
        return self.op.attr(name)

    def fields(self, arg: int) -> list[Expr]:
        """The tensors of the tuple argument `arg`, which may be one value."""
        values: list[Expr] = list(self.args[arg])
        return list(values[0]) if self._one_value(arg) else values

    def gathered(self, arg: int, gradients: list[Expr]) -> list[Expr]:
        """What a rule gives for the tuple argument `arg`: the gradients of its tensors."""
        return [Tuple(gradients)] if self._one_value(arg) else gradients

    def _one_value(self, arg: int) -> bool:
        values: list[Expr] = list(self.args[arg])
        return len(values) == 1 and isinstance(values[0].ssa.type, TupleType)

    def part(self, index: int) -> Expr | None:
        """The gradient of a field of the result, None where it is zero for certain."""
        owner = self.grad.ssa.owner
        if isinstance(owner, relax.TupleOp):
            producer = owner.fields_[index].owner
            if isinstance(producer, Operation) and producer.name == "relax.zeros":
                return None
        return self.grad[index]

    def fit(self, gradient: Expr, like: Expr) -> Expr:
        """A gradient in the shape of the argument `like`: summed over what broadcasting has repeated."""
        gradient = self.normalize(gradient)
        return gradient if tensor(gradient).dims == dims(like) else call("collapse_sum_to", gradient, shape(dims(like)))

    def cast(self, gradient: Expr, like: Expr) -> Expr:
        """A gradient in the dtype of the argument `like`."""
        dtype = tensor(like).element
        return gradient if tensor(gradient).element == dtype else call("astype", gradient, dtype=dtype)

    def refuse(self, reason: str) -> UnsupportedError:
        """The error for an operator that is differentiable, but not as it stands here."""
        return UnsupportedError(f"{self.op.name} has no gradient {reason}")


GradientRule = Callable[[Site], Gradients]

GRADIENTS: Table[GradientRule] = Table("gradient rule")
"""The rule of each operator, by its name without `relax.`."""

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
"""Operators through which no gradient flows: what they give does not change with their arguments, or only in steps."""


gradient = GRADIENTS.row
"""The decorator of a rule, with the names of its operators without `relax.`."""
