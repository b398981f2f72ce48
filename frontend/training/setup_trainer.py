"""From a model to all functions that training it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of
from ...handles.relax.expr import Var
from ...handles.relax.function import Function
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.verification.verify import location_of
from ...transforms.legalize import LegalizeOps
from ...transforms.training.append_loss import AppendLoss
from ...transforms.training.gradient import Gradient
from .loss import Loss
from .optimizer import Optimizer

BACKBONE = "backbone"
LOSS = "backbone_loss"
ADJOINT = "backbone_loss_adjoint"
OPTIMIZER = "optimizer"


@dataclass(frozen=True)
class SetupTrainer(Pass):
    """Completes a module with a function `backbone` for training.

    backbone(inputs…, parameters…, states…) -> (prediction, updated states…)

    The module says by its attributes `param_num` and `state_num` how many parameters and states there are. It gets

    - `backbone_loss`, which ends with `loss` of the prediction and of targets like `loss_args[1:]`,
    - `backbone_loss_adjoint`, which gives the gradients of the parameters besides,
    - `optimizer`, a step of the optimizer, and the attributes `input_num` and `optim_state`, where this starts from.

    All is legalized where `legalize` is on.
    """

    name: ClassVar[str] = "setup-trainer"
    loss: Loss
    optimizer: Optimizer
    loss_args: Sequence[Any]
    legalize: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        backbone = relax_functions(op, BACKBONE)[0]
        param_num, state_num = _count(op, "param_num"), _count(op, "state_num")
        input_num = len(backbone.params) - param_num - state_num
        if input_num < 0:
            raise TiraxError(
                "the backbone has too few parameters",
                location=location_of(backbone),
                expected=f"inputs, {param_num} parameters and {state_num} states",
                found=len(backbone.params),
            )
        AppendLoss(BACKBONE, self.loss(*self.loss_args), self.loss.num_backbone_outputs, LOSS).apply(ctx, op)
        params = backbone.params[input_num : input_num + param_num]
        names = tuple(name_of(p) or "" for p in params)
        Gradient(LOSS, require_grads=names).apply(ctx, op)
        self.optimizer.init([Var.on(p) for p in params])
        _add(op, self.optimizer.get_function())
        assert self.optimizer.state is not None
        states = [_contents(s.numpy()) for s in self.optimizer.state]
        op.attributes |= {"input_num": IntegerAttr(input_num, i64), "optim_state": ArrayAttr(states)}
        if self.legalize:
            LegalizeOps().apply(ctx, op)


def _count(op: ModuleOp, name: str) -> int:
    found = op.attributes.get(name)
    number = relax.from_attr(found)
    if not isinstance(number, int):
        raise TiraxError(
            f"the module does not say how many there are: its attribute {name} is missing",
            hint=f'I.module_attrs({{"{name}": …}}), or mod.with_attr("{name}", …)',
        )
    return number


def _add(op: ModuleOp, function: Function) -> None:
    func: Any = function.op.clone()
    func.sym_name = type(func.sym_name)(OPTIMIZER)
    op.body.block.add_op(func)


def _contents(array: Any) -> Attribute:
    from ...dialects.dtypes import dtype_of

    return relax.TensorDataAttr.from_numpy(array, dtype_of(array.dtype.name))


__all__ = ["ADJOINT", "BACKBONE", "LOSS", "OPTIMIZER", "SetupTrainer"]
