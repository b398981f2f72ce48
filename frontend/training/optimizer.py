"""Optimizers: each builds a Relax function `(params, gradients, optim_states) -> (params, optim_states)`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ...diagnostics import DTypeError, TiraxError
from ...dialects.dtypes import is_float, numpy_dtype
from ...dialects.relax.types import TensorType
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import Expr, Tuple, TupleGetItem, Var, const
from ...handles.relax.function import Function
from ...handles.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from ..block_builder import BlockBuilder


class Optimizer:
    """Base class of optimizers: `init(params)` sets the parameters to optimize, and `get_function()` builds a step.

    `state` is the initial state of the first step: the number of steps, and the optimizer's own state.
    """

    def __init__(self, name: str):
        self.name = name
        self.param_list: list[Var] | None = None
        self.state: tuple[Any, ...] | None = None
        self.dtype = ""

    def init(self, params: Var | Sequence[Var]) -> Optimizer:
        """Set the parameters to optimize: tensors of static shape and of the same floating-point dtype.

        Raises `TiraxError` for no parameters, duplicates, and other types.
        """
        variables = [params] if isinstance(params, Var) else list(params)
        if not variables:
            raise TiraxError("there is no parameter to optimize")
        if len({p.vid for p in variables}) < len(variables):
            raise TiraxError("a parameter is given twice", found=", ".join(p.name_hint for p in variables))
        types = [_static_float(p) for p in variables]
        if len({t.element for t in types}) > 1:
            raise DTypeError("all parameters must have one dtype", found=", ".join(str(t.element) for t in types))
        self.param_list = variables
        self.dtype = numpy_dtype(types[0].element).name  # pyright: ignore[reportArgumentType]
        self.state = tuple(_array(a) for a in self._start(types))
        return self

    def _start(self, types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
        """Return the initial state."""
        return [np.zeros((), np.int64)]

    def _zeros(self, types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
        return [np.zeros([d.constant or 0 for d in t.dims or ()], self.dtype) for t in types]

    def get_function(self) -> Function:
        """Build the function of a step. Raises `TiraxError` before `init`."""
        if self.param_list is None or self.state is None:
            raise TiraxError("the optimizer does not know its parameters", hint="optimizer.init(params)")
        infos = [p.struct_info for p in self.param_list]
        states: list[StructInfo] = [TensorStructInfo(s.shape, s.dtype) for s in self.state]
        params, gradients = Var("params", TupleStructInfo(infos)), Var("gradients", TupleStructInfo(infos))
        optim_states = Var("optim_states", TupleStructInfo(states))
        bb = BlockBuilder()
        with bb.function(self.name, [params, gradients, optim_states]):
            with bb.dataflow():
                step = _Step(bb, params, gradients, optim_states, self.dtype)
                step.state[0] = bb.emit(step.old(0, "num_steps") + const(1, "int64"), "num_steps_new")
                self._begin(step)
                new = [self._update(step, i, p.name_hint) for i, p in enumerate(self.param_list)]
                params_new = bb.emit_output(Tuple(new), "params_new")
                states_new = bb.emit_output(Tuple([step.state[i] for i in range(len(states))]), "optim_states_new")
            bb.emit_func_output(Tuple([params_new, states_new]))
        return bb.get()[self.name]

    def _begin(self, step: _Step) -> None:
        """Compute values shared by all parameters."""

    def _update(self, step: _Step, i: int, name: str) -> Expr:
        """Return the new value of a parameter."""
        raise NotImplementedError(self.name)


def _static_float(p: Var) -> TensorType:
    t = p.ssa.type
    if not isinstance(t, TensorType) or t.element is None or not is_float(t.element):
        raise DTypeError(f"the parameter '{p.name_hint}' cannot be optimized", expected="a tensor of floats", found=t)
    if t.dims is None or any(d.constant is None for d in t.dims):
        raise TiraxError(f"the parameter '{p.name_hint}' cannot be optimized", expected="a static shape", found=t)
    return t


def _array(value: np.ndarray[Any, Any]) -> Any:
    from ...runtime import array

    return array(value)


class _Step:
    """A step under construction: the old parameters, gradients and states, and the new states by position."""

    def __init__(self, bb: BlockBuilder, params: Var, gradients: Var, states: Var, dtype: str):
        self.bb, self.dtype = bb, dtype
        self._params, self._gradients, self._states = params, gradients, states
        self.state: dict[int, Expr] = {}

    def param(self, i: int, name: str) -> Expr:
        return self.bb.emit(TupleGetItem(self._params, i), name)

    def gradient(self, i: int, name: str) -> Expr:
        return self.bb.emit(TupleGetItem(self._gradients, i), f"{name}_grad")

    def old(self, i: int, name: str = "") -> Expr:
        return self.bb.emit(TupleGetItem(self._states, i), name)

    def keep(self, i: int, value: Expr, name: str) -> Expr:
        """Bind a new state."""
        self.state[i] = self.bb.emit(value, name)
        return self.state[i]

    def number(self, value: float) -> Expr:
        return const(value, self.dtype)


def _decayed(step: _Step, param: Expr, gradient: Expr, weight_decay: float, name: str) -> Expr:
    """gradient + weight_decay * param"""
    if not weight_decay:
        return gradient
    return step.bb.emit(step.number(weight_decay) * param + gradient, f"{name}_grad_new")


def _rest(value: float) -> float:
    """Return 1 - value in decimal arithmetic: 0.1 for 0.9."""
    return float(1 - Decimal(str(value)))


class SGD(Optimizer):
    """Gradient descent: p - lr * (g + weight_decay * p). The state is the number of steps."""

    def __init__(self, lr: float, weight_decay: float = 0):
        super().__init__("SGD")
        self.lr, self.weight_decay = float(lr), float(weight_decay)

    def _update(self, step: _Step, i: int, name: str) -> Expr:
        p, g = step.param(i, name), step.gradient(i, name)
        g = _decayed(step, p, g, self.weight_decay, name)
        return step.bb.emit(p - step.number(self.lr) * g, f"{name}_new")


class MomentumSGD(Optimizer):
    """Gradient descent with momentum: v = momentum * v + (1 - dampening) * g, then p - lr * v.

    With `nesterov` the result is p - lr * (g + momentum * v). weight_decay * p is added to g first. The state
    is the number of steps, followed by v of each parameter.
    """

    def __init__(
        self, lr: float, momentum: float, dampening: float = 0, weight_decay: float = 0, nesterov: bool = False
    ):
        super().__init__("MomentumSGD")
        self.lr, self.momentum = float(lr), float(momentum)
        self.dampening, self.weight_decay = float(dampening), float(weight_decay)
        self.nesterov = nesterov

    def _start(self, types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
        return [np.zeros((), np.int64), *self._zeros(types)]

    def _update(self, step: _Step, i: int, name: str) -> Expr:
        p, g, v = step.param(i, name), step.gradient(i, name), step.old(i + 1, f"{name}_v")
        g = _decayed(step, p, g, self.weight_decay, name)
        damped = step.number(_rest(self.dampening)) * g if self.dampening else g
        v = step.keep(i + 1, step.number(self.momentum) * v + damped, f"{name}_v_new")
        along = step.bb.emit(g + step.number(self.momentum) * v, f"{name}_g_nest") if self.nesterov else v
        return step.bb.emit(p - step.number(self.lr) * along, f"{name}_new")


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015): p - lr * m / (sqrt(v) + eps), with bias-corrected running means m of g and v of
    g * g.

    weight_decay * p is added to g first. The state is the number of steps, the products of both betas, then m
    and then v of each parameter.
    """

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0
    ):
        super().__init__("Adam")
        self.lr, self.eps, self.weight_decay = float(lr), float(eps), float(weight_decay)
        self.betas = (float(betas[0]), float(betas[1]))

    def _start(self, types: Sequence[TensorType]) -> list[np.ndarray[Any, Any]]:
        ones = [np.ones((), self.dtype) for _ in self.betas]
        return [np.zeros((), np.int64), *ones, *self._zeros(types), *self._zeros(types)]

    def _begin(self, step: _Step) -> None:
        for n, beta in enumerate(self.betas, 1):
            step.keep(n, step.old(n) * step.number(beta), f"beta{n}_prod")

    def _update(self, step: _Step, i: int, name: str) -> Expr:
        assert self.param_list is not None
        at = (i + 3, i + 3 + len(self.param_list))
        p, g = step.param(i, name), step.gradient(i, name)
        m, v = step.old(at[0], f"{name}_m"), step.old(at[1], f"{name}_v")
        g = _decayed(step, p, g, self.weight_decay, name)
        first, second = self.betas
        m = step.keep(at[0], step.number(first) * m + step.number(_rest(first)) * g, f"{name}_m_new")
        v = step.keep(at[1], step.number(second) * v + step.number(_rest(second)) * (g * g), f"{name}_v_new")
        one = step.number(1.0)
        m_hat = step.bb.emit(m / (one - step.state[1]), f"{name}_m_hat")
        v_hat = step.bb.emit(v / (one - step.state[2]), f"{name}_v_hat")
        ratio = m_hat / (call_operator("relax.sqrt", v_hat) + step.number(self.eps))
        return step.bb.emit(p - step.number(self.lr) * ratio, f"{name}_new")


__all__ = ["SGD", "Adam", "MomentumSGD", "Optimizer"]
