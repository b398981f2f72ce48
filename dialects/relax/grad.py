"""Operators for differentiation: marks for `Gradient`, and gradients that no other operators express."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.ir import Attribute

from ..sym.expr import SymExpr
from .indexing import integer_tensor
from .layout import SPATIAL, of_rank
from .leaves import ConstantOp
from .loss import NLLLoss
from .operator import AXIS, Operator, operator
from .pooling import POOLS, Pool
from .structure import TupleOp
from .types import TensorType


class _Mark(Operator):
    def infer(self) -> Attribute:
        return self.operands[0].type


class _Checkpoint(_Mark):
    """A mark on a variable at the boundary of a checkpointed part."""

    def infer(self) -> Attribute:
        if isinstance(self.operands[0].owner, ConstantOp | TupleOp):
            self.fail_dtype("argument input must be a variable", "a variable", self.operands[0].owner.name)
        return super().infer()


@operator("relax.grad.no_grad", "input")
class NoGrad(_Mark):
    """The input, with gradients stopped."""


@operator("relax.grad.start_checkpoint", "input")
class StartCheckpoint(_Checkpoint):
    """The input, marked as an input of a part that is recomputed for the gradient instead of being kept."""


@operator("relax.grad.end_checkpoint", "input")
class EndCheckpoint(_Checkpoint):
    """The input, marked as an output of a part that is recomputed for the gradient."""


def check_gradient(op: Operator, dims: tuple[SymExpr, ...] | None) -> None:
    """Raise `ShapeError` if the operand `output_grad` is certainly not of the shape `dims`."""
    have = op.tensor("output_grad")
    if dims is None:
        return
    if have.rank not in (None, len(dims)):
        op.fail_shape("argument output_grad has the wrong rank", len(dims), have.rank)
    for i, (a, b) in enumerate(zip(dims, have.dims or (), strict=False)):
        op.require_equal(a, b, f"argument output_grad has the wrong extent in dimension {i}", a, b)


@operator(
    "relax.grad.nll_loss_backward",
    "output_grad predictions targets weights?",
    reduction="mean",
    ignore_index=-100,
)
class NLLLossBackward(Operator):
    """The gradient of `nn.nll_loss` with respect to its predictions, given that of its result."""

    def infer(self) -> Attribute:
        return self.tensor("predictions")

    def check_operands(self) -> None:
        predictions, targets, weights = (getattr(self, n) for n in ("predictions", "targets", "weights"))
        attrs = {n: self.attr(n) for n in self.ATTR_SPECS}
        loss: Any = NLLLoss.make(predictions, targets, weights, **attrs)
        t = loss.result_type
        loss.drop_all_references()
        check_gradient(self, t.dims)


class PoolBackward(Pool):
    """The gradient of a pooling with respect to its data, given that of its result; attributes are those of the
    pooling.
    """

    KIND: ClassVar[str] = "max"

    def infer(self) -> Attribute:
        super().infer()
        return self.tensor("data")

    def check_operands(self) -> None:
        check_gradient(self, cast(TensorType, super().infer()).dims)


def _backward(kind: str, rank: int) -> type[Operator]:
    which = "the greatest point of each window, the first of equals" if kind == "max" else "all points of each window"
    doc = f"The gradient of `nn.{kind}_pool{rank}d` by its data: what `output_grad` says goes to {which}."
    cls = type(f"{kind.title()}Pool{rank}dBackward", (PoolBackward,), {"__doc__": doc, "__module__": __name__})
    specs: dict[str, Any] = dict(POOLS[(kind, rank)].ATTR_SPECS)
    defined: Any = operator(f"relax.grad.{kind}_pool{rank}d_backward", "output_grad data", **specs)(cls)
    defined.KIND = kind
    return of_rank(rank, defined)


POOL_BACKWARD = {(kind, rank): _backward(kind, rank) for kind in ("max", "avg") for rank in SPATIAL}


@operator("relax.grad.take_backward", "output_grad x indices", axis=AXIS)
class TakeBackward(Operator):
    """The gradient of `take` with respect to x: the slices of output_grad are accumulated at `indices`."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        return TensorType.of(x.dims, x.element, x.rank)

    def check_operands(self) -> None:
        x, axis = self.tensor("x"), self.attr("axis")
        indices = integer_tensor(self, "indices")
        if axis is None and x.rank not in (None, 1):
            self.fail_shape("attribute axis must be given where x has several dimensions", found=x)
        if x.dims is not None and indices.dims is not None:
            place = (axis or 0) % len(x.dims)
            check_gradient(self, (*x.dims[:place], *indices.dims, *x.dims[place + 1 :]))
