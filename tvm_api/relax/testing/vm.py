"""`tvm.relax.testing.vm`: packed functions that tests call by name, `test.vm.add` and so on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....runtime import NDArray, array, register_func


@register_func("test.vm.move", override=True)
def move(src: Any) -> Any:
    """The argument."""
    return src


@register_func("test.vm.add", override=True)
def add(a: Any, b: Any) -> NDArray:
    """The sum of two tensors."""
    return array(np.asarray(a) + np.asarray(b))


@register_func("test.vm.mul", override=True)
def mul(a: Any, b: Any) -> NDArray:
    """The product of two tensors, element by element."""
    return array(np.asarray(a) * np.asarray(b))


@register_func("test.vm.equal_zero", override=True)
def equal_zero(a: Any) -> NDArray:
    """Where a tensor is 0."""
    return array(np.asarray(a) == 0)


@register_func("test.vm.subtract_one", override=True)
def subtract_one(a: Any) -> NDArray:
    """A tensor less 1."""
    values = np.asarray(a)
    return array(values - values.dtype.type(1))


@register_func("test.vm.identity", override=True)
def identity_packed(a: Any, b: Any) -> None:
    """Copy `a` into `b`."""
    np.copyto(np.asarray(b), np.asarray(a))


@register_func("test.vm.tile", override=True)
def tile_packed(a: Any, b: Any) -> None:
    """Write `a` into `b` twice, side by side."""
    np.copyto(np.asarray(b), np.tile(np.asarray(a), (1, 2)))


@register_func("test.vm.add_scalar", override=True)
def add_scalar(a: Any, b: Any) -> Any:
    """The sum of two scalars."""
    return a + b


@register_func("test.vm.check_if_defined", override=True)
def check_if_defined(obj: Any) -> bool:
    """Whether an object is there."""
    return obj is not None


def check_saved_func(vm: Any, func_name: str, *inputs: Any) -> Any:
    """What a function gives that a virtual machine has saved with its inputs, called without any."""
    saved = f"{func_name}_saved"
    vm.save_function(func_name, saved, *inputs)
    return vm[saved]()


__all__ = [
    "add",
    "add_scalar",
    "check_if_defined",
    "check_saved_func",
    "equal_zero",
    "identity_packed",
    "move",
    "mul",
    "subtract_one",
    "tile_packed",
]
