"""Set up a model for training, and run the training with persistent parameters and states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, i64
from xdsl.ir import Attribute

from ...diagnostics import ShapeError, TiraxError, unknown_name
from ...dialects import relax
from ...dialects.attributes import from_attr
from ...dialects.names import name_of
from ...handles.module import IRModule
from ...handles.relax.expr import Var
from ...handles.relax.function import Function
from ...handles.struct_info import TensorStructInfo
from ...ir.functions.lookup import relax_functions
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...transforms.legalize import LegalizeOps
from ...transforms.training.append_loss import AppendLoss
from ...transforms.training.gradient import Gradient
from .loss import Loss
from .optimizer import Optimizer

if TYPE_CHECKING:
    from ...runtime import NDArray, VirtualMachine

Values = Sequence[Any] | Mapping[str, Any]

BACKBONE = "backbone"
LOSS = "backbone_loss"
ADJOINT = "backbone_loss_adjoint"
OPTIMIZER = "optimizer"
"""The names of the functions of a training module."""


class Trainer:
    """Trains a module created by `SetupTrainer`, using `vm`, which runs its build.

    Parameters and states are initially zero; without `zero_init_param_state` they must be set first.

    trainer = Trainer(mod, relax.VirtualMachine(relax.build(mod), cpu()), cpu(), False)
    trainer.xaiver_uniform_init_params() loss = trainer.update([x], [y])
    """

    BACKBONE_FUNC = BACKBONE
    BACKBONE_LOSS_FUNC = LOSS
    ADJOINT_FUNC = ADJOINT
    OPTIMIZER_FUNC = OPTIMIZER

    def __init__(self, train_mod: IRModule, vm: VirtualMachine, device: Any = None, zero_init_param_state: bool = True):
        for name in ("input_num", "param_num", "state_num", "optim_state"):
            if name not in train_mod.attrs:
                raise TiraxError(f"the module has no attribute {name}", hint="SetupTrainer makes a module to train")
        self.mod, self.vm, self.device = train_mod, vm, device
        first, params, states = (int(train_mod.attrs[n]) for n in ("input_num", "param_num", "state_num"))
        backbone = list(train_mod[self.BACKBONE_FUNC].params)
        self._param_vars: list[Var] = backbone[first : first + params]
        self._state_vars: list[Var] = backbone[first + params : first + params + states]
        self._params: list[Any] = [None] * params
        self._states: list[Any] = [None] * states
        self._optim_state = tuple(_array(a.numpy()) for a in train_mod.attrs["optim_state"])
        if zero_init_param_state:
            self.zero_init_params()
            self.zero_init_states()

    def zero_init_params(self) -> None:
        """Set all parameters to zero."""
        self._params = [_array(np.zeros(*_layout(v))) for v in self._param_vars]

    def zero_init_states(self) -> None:
        """Set all states to zero."""
        self._states = [_array(np.zeros(*_layout(v))) for v in self._state_vars]

    def xaiver_uniform_init_params(self) -> None:
        """Initialize all parameters uniformly in ±sqrt(6 / sum of the extents) (Glorot and Bengio, 2010).

        Uses numpy's global generator. (The name is spelled as in TVM.)
        """
        arrays: list[Any] = []
        for v in self._param_vars:
            shape, dtype = _layout(v)
            bound = np.sqrt(6.0 / max(sum(shape), 1))
            arrays.append(_array((bound * np.random.uniform(-1.0, 1.0, shape)).astype(dtype)))
        self._params = arrays

    def load_params(self, params: Values) -> None:
        """Set the parameters, in order or by name."""
        self._params = _loaded("parameter", self._param_vars, params)

    def load_states(self, states: Values) -> None:
        """Set the states, in order or by name."""
        self._states = _loaded("state", self._state_vars, states)

    def export_params(self) -> dict[str, NDArray]:
        """Return the parameters by name."""
        return {v.name_hint: p for v, p in zip(self._param_vars, self._params, strict=True)}

    def export_states(self) -> dict[str, NDArray]:
        """Return the states by name."""
        return {v.name_hint: s for v, s in zip(self._state_vars, self._states, strict=True)}

    def predict(self, *input_instances: Any) -> Any:
        """Run the model on inputs; the states are not updated.

        Raises `TiraxError` before parameters and states are set.
        """
        result = self.vm[self.BACKBONE_FUNC](*map(_array, input_instances), *self._ready())
        return result[0] if isinstance(result, tuple | list) else result

    def update(self, input_instances: Any, targets: Any) -> NDArray:
        """Run a training step: compute loss and gradients, update parameters and states, and return the loss."""
        result, gradients = self.vm[self.ADJOINT_FUNC](*_arrays(input_instances), *self._ready(), *_arrays(targets))
        loss = result
        if isinstance(result, tuple | list):
            loss, *self._states = result
        step = self.vm[self.OPTIMIZER_FUNC](tuple(self._params), tuple(gradients), self._optim_state)
        self._params, self._optim_state = list(step[0]), tuple(step[1])
        return loss

    def profile_adjoint(self, input_instances: Any, targets: Any, **options: Any) -> Any:
        """Measure the time to compute the loss and the gradients, without an update; `options` are for
        `vm.time_evaluator`.
        """
        args = [*_arrays(input_instances), *self._ready(), *_arrays(targets)]
        return self.vm.time_evaluator(self.ADJOINT_FUNC, self.device, **options)(*args)

    def _ready(self) -> list[Any]:
        for kind, variables, values in (
            ("parameter", self._param_vars, self._params),
            ("state", self._state_vars, self._states),
        ):
            for v, value in zip(variables, values, strict=True):
                if value is None:
                    raise TiraxError(f"the {kind} '{v.name_hint}' has no value", hint=f"trainer.load_{kind}s(…)")
        return [*self._params, *self._states]


def _array(value: Any) -> Any:
    from ...runtime import NDArray, array

    return value if isinstance(value, NDArray) else array(np.asarray(value))


def _arrays(value: Any) -> list[Any]:
    return [_array(v) for v in value] if isinstance(value, list | tuple) else [_array(value)]


def _layout(v: Var) -> tuple[list[int], str]:
    """Return the shape and dtype of a parameter. Raises `TiraxError` if the shape is symbolic."""
    info = v.struct_info
    dims = info.shape.values if isinstance(info, TensorStructInfo) and info.shape is not None else []
    shape = [d for d in dims if isinstance(d, int)]
    if not isinstance(info, TensorStructInfo) or info.shape is None or len(shape) < len(dims):
        raise TiraxError(f"'{v.name_hint}' has no static shape", found=info, hint="load it from an array")
    return shape, str(info.dtype)


def _loaded(kind: str, variables: Sequence[Var], values: Values) -> list[Any]:
    names = [v.name_hint for v in variables]
    if isinstance(values, Mapping):
        for name in values:
            if name not in names:
                raise unknown_name(kind, str(name), names)
        missing = [n for n in names if n not in values]
        if missing:
            raise TiraxError(f"the {kind} '{missing[0]}' is missing", expected=", ".join(names))
        values = [values[n] for n in names]
    if len(values) != len(names):
        raise TiraxError(f"there are {len(names)} {kind}s", expected=", ".join(names), found=len(values))
    arrays = [_array(v) for v in values]
    for v, a in zip(variables, arrays, strict=True):
        info = v.struct_info
        dims = info.shape.values if isinstance(info, TensorStructInfo) and info.shape is not None else []
        pairs = zip(dims, a.shape, strict=False)
        if len(dims) != len(a.shape) or any(isinstance(d, int) and d != e for d, e in pairs):
            raise ShapeError(f"the {kind} '{v.name_hint}' has another shape", expected=dims, found=a.shape)
    return arrays


# Setting up the functions for training a model.


@dataclass(frozen=True)
class SetupTrainer(Pass):
    """Completes a module with a function `backbone` for training.

    backbone(inputs…, parameters…, states…) -> (prediction, updated states…)

    The module's attributes `param_num` and `state_num` are the numbers of parameters and states. The pass adds

    - `backbone_loss`, which applies `loss` to the prediction and targets like `loss_args[1:]`,
    - `backbone_loss_adjoint`, which also returns the gradients of the parameters,
    - `optimizer`, a step of the optimizer, and the attributes `input_num` and `optim_state`, its initial state.

    With `legalize` all operators are legalized.
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
    attr = op.attributes.get(name)
    number = from_attr(attr)
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
