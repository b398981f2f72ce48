"""Helpers of `tvm.relax.testing` for tests of Relax programs: layers, named packed functions, and a pass.

Layers emit into the current `BlockBuilder`:

    with bb.function("main"):
        model = Sequential(Linear(784, 128), ReLU())
        data = Placeholder((1, 784), name="data")
        with bb.dataflow():
            out = bb.emit_output(model(data))
        bb.emit_func_output(out, [data, *model.parameters()])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, cast

import numpy as np

from ..diagnostics import ShapeError, TiraxError
from ..handles.module import IRModule
from ..handles.passes import module_pass
from ..handles.relax.calls import call_operator, call_value, to_expr
from ..handles.relax.expr import Expr, Var
from ..handles.relax.function import Function
from ..handles.struct_info import TensorStructInfo
from ..runtime import NDArray, array, register_func
from .block_builder import BlockBuilder
from .mutator import PyExprMutator
from .nn.subroutine import snake_case


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise TiraxError("there is no function to build in", hint="with bb.function(…):")
    return builder


def emit(expr: Any, name_hint: str = "") -> Var:
    """Bind an expression in the current function."""
    return _builder().emit(expr, name_hint)


def emit_te(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Var:
    """Bind the result of a tensor expression in the current function."""
    return _builder().emit_te(func, *args, **kwargs)


def _unique(name: str) -> str:
    builder = BlockBuilder.current()
    return name if builder is None else builder.get_unique_name(name)


class Placeholder(Var):
    """An input: a variable of a shape and dtype."""

    __slots__ = ()

    def __init__(self, shape: Sequence[Any], dtype: str = "float32", name: str = "data"):
        super().__init__(_unique(name), TensorStructInfo(shape, dtype))


class Parameter(Var):
    """A parameter of a layer: a variable of static shape. Raises `ShapeError` for a symbolic one."""

    __slots__ = ()

    def __init__(self, shape: Sequence[int], dtype: str = "float32", name: str = "param"):
        if not all(isinstance(d, int) for d in shape):
            raise ShapeError("the shape of a parameter is known", expected="integers", found=list(shape))
        super().__init__(_unique(name), TensorStructInfo(shape, dtype))


class Module:
    """Base class of layers: `forward` emits code, and `parameters()` are those of the layer and its sublayers.

    With `define_subroutine = True` in the class, each call becomes a call of a private function, whose
    parameters are the arguments, then those of the layer.
    """

    define_subroutine: ClassVar[bool] = False

    def parameters(self) -> list[Parameter]:
        """Return the parameters in order of assignment, without duplicates."""
        return list(dict.fromkeys(_parameters_in(vars(self))))

    def forward(self, input: Expr) -> Expr:
        """Emit the layer's computation; implemented by subclasses."""
        raise TiraxError(f"{type(self).__name__} defines no forward")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        builder = BlockBuilder.current()
        if builder is None or not self.define_subroutine:
            return self.forward(*args, **kwargs)
        return self._call(builder, inspect.signature(self.forward).bind(*args, **kwargs).arguments)

    def _call(self, builder: BlockBuilder, arguments: Mapping[str, Any]) -> Var:
        """Emit a call of a new function that computes `forward`. Raises `TiraxError` for arguments that are not
        expressions.
        """
        for name, value in arguments.items():
            if not isinstance(value, Expr):
                kind = type(value).__name__
                raise TiraxError(f"the argument {name} of a subroutine is no value", expected="an Expr", found=kind)
        args = {name: _bound(builder, value) for name, value in arguments.items()}
        inputs = {name: Var(name, value.struct_info) for name, value in args.items()}
        weights = self.parameters()
        inner = [Var(w.name_hint, w.struct_info) for w in weights]
        function = builder.function(snake_case(type(self).__name__), [*inputs.values(), *inner], private=True)
        with function, _standing_for(weights, inner):
            result = _bound(builder, to_expr(self.forward(**inputs)))
            callee = builder.emit_func_output(result)
        return builder.emit(call_value(callee, [*args.values(), *weights], [result.struct_info]))


def _bound(builder: BlockBuilder, value: Expr) -> Var:
    return value if isinstance(value, Var) else builder.emit(value)


@contextmanager
def _standing_for(weights: Sequence[Parameter], inner: Sequence[Var]) -> Iterator[None]:
    """Replace the parameters of a layer by those of its function while it is built."""
    kept = [w.ssa for w in weights]
    try:
        for weight, var in zip(weights, inner, strict=True):
            weight.point_at(var.ssa)
        yield
    finally:
        for weight, value in zip(weights, kept, strict=True):
            weight.point_at(value)


def _parameters_in(value: Any) -> Iterator[Parameter]:
    if isinstance(value, Parameter):
        yield value
    elif isinstance(value, Module):
        yield from value.parameters()
    elif isinstance(value, dict | list | tuple):
        for inner in cast("list[Any]", list(value.values() if isinstance(value, dict) else value)):
            yield from _parameters_in(inner)


class Sequential(Module):
    """A sequence of layers."""

    def __init__(self, *modules: Module):
        self.modules = list(modules)

    def forward(self, input: Expr) -> Expr:
        """Apply the layers in order."""
        for module in self.modules:
            input = module(input)
        return input


class ReLU(Module):
    """max(input, 0)"""

    def forward(self, input: Expr) -> Var:
        """Emit the layer."""
        return emit(call_operator("relax.nn.relu", input))


class LogSoftmax(Module):
    """The logarithm of the softmax over the last axis."""

    def forward(self, input: Expr) -> Var:
        """Emit the layer."""
        return emit(call_operator("relax.nn.log_softmax", input))


class Linear(Module):
    """`input @ weight + bias`; the weight has the shape (in_features, out_features)."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        self.weight = Parameter((in_features, out_features), name="linear_weight")
        self.bias = Parameter((out_features,), name="linear_bias") if bias else None

    def forward(self, input: Expr) -> Var:
        """Emit the layer."""
        product = emit(call_operator("relax.matmul", input, self.weight))
        return product if self.bias is None else emit(call_operator("relax.add", product, self.bias))


def init_params(mod: IRModule, seed: int = 0) -> list[NDArray]:
    """Return random values in [0, 1) for the parameters of `main` with static shapes, in order, reproducible by `seed`.

    Raises `ShapeError` if there are none.
    """
    random = np.random.default_rng(seed)
    arrays: list[NDArray] = []
    for param in mod["main"].params:
        shape = getattr(param.struct_info, "shape", None)
        if shape is not None and all(isinstance(d, int) for d in shape):
            arrays.append(array(random.random(tuple(shape)).astype(param.struct_info.dtype)))
    if not arrays:
        raise ShapeError("no parameter has a shape that is known")
    return arrays


# packed functions that tests call by name


@register_func("test.vm.move", override=True)
def move(src: Any) -> Any:
    """Return the argument."""
    return src


@register_func("test.vm.add", override=True)
def add(a: Any, b: Any) -> NDArray:
    """Return the sum of two tensors."""
    return array(np.asarray(a) + np.asarray(b))


@register_func("test.vm.mul", override=True)
def mul(a: Any, b: Any) -> NDArray:
    """Return the elementwise product of two tensors."""
    return array(np.asarray(a) * np.asarray(b))


@register_func("test.vm.equal_zero", override=True)
def equal_zero(a: Any) -> NDArray:
    """Return where a tensor is 0."""
    return array(np.asarray(a) == 0)


@register_func("test.vm.subtract_one", override=True)
def subtract_one(a: Any) -> NDArray:
    """Return a tensor minus 1."""
    values = np.asarray(a)
    return array(values - values.dtype.type(1))


@register_func("test.vm.identity", override=True)
def identity_packed(a: Any, b: Any) -> None:
    """Copy `a` to `b`."""
    np.copyto(np.asarray(b), np.asarray(a))


@register_func("test.vm.tile", override=True)
def tile_packed(a: Any, b: Any) -> None:
    """Write `a` to `b` twice, side by side."""
    np.copyto(np.asarray(b), np.tile(np.asarray(a), (1, 2)))


@register_func("test.vm.add_scalar", override=True)
def add_scalar(a: Any, b: Any) -> Any:
    """Return the sum of two scalars."""
    return a + b


@register_func("test.vm.check_if_defined", override=True)
def check_if_defined(obj: Any) -> bool:
    """Return whether an object is defined."""
    return obj is not None


def check_saved_func(vm: Any, func_name: str, *inputs: Any) -> Any:
    """Call a function that a virtual machine has saved together with its inputs, and return the result."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    return vm[saved]()


@module_pass(opt_level=0, name="ApplyEmptyMutator")
class ApplyEmptyCppMutator:
    """Rebuild every Relax function with a mutator that changes nothing."""

    def transform_module(self, mod: Any, ctx: object) -> Any:
        """Return the rebuilt module."""
        rewriter = PyExprMutator(mod)
        for gv, func in mod.functions_items():
            if isinstance(func, Function):
                rewriter.builder_.update_func(gv, rewriter.visit_expr(func))
        return rewriter.builder_.get()
