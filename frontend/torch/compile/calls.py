"""Calls of a compiled function with the interface of its graph: PyTorch tensors, by position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....runtime import Executable, NDArray, from_dlpack
from ....runtime.exchange import exchanging
from .graphs import Argument, Plain, Result, Signature

Call = Callable[..., Any]


def graph_call(executable: Executable, signature: Signature) -> Call:
    """Return a callable that runs `main` of an executable with the graph's arguments and returns the graph's
    outputs.
    """
    call = _in_order(_tensor_call(executable, signature.used), signature)
    return _picking(call, signature)


def _tensor_call(executable: Executable, used: Sequence[bool]) -> Call:
    """Call `main` with the graph's tensors; non-dense ones are copied."""
    import torch

    function, info = executable["main"], executable.functions["main"]
    types = (torch.Tensor, torch.nn.Parameter)

    def through_arrays(*args: Any) -> tuple[Any, ...]:
        arrays = [_array(a) for a, use in zip(args, used, strict=True) if use]
        results = function(*arrays)
        return tuple(_tensor(r, arrays) for r in results)

    strict = exchanging(function, info, types, through_arrays, used)

    def copying(*args: Any) -> Any:
        return strict(*(_dense(a) if isinstance(a, torch.Tensor) else a for a in args))

    return exchanging(function, info, types, copying, used)


def _dense(tensor: Any) -> Any:
    """Return a plain, row-major, aligned tensor: itself or a copy."""
    plain = tensor.detach().resolve_neg().contiguous()
    return plain if plain.data_ptr() % plain.element_size() == 0 else plain.clone()


def _array(value: Any) -> Any:
    return from_dlpack(_dense(value)) if hasattr(value, "__dlpack__") else value


def _tensor(value: Any, arguments: Sequence[Any]) -> Any:
    import torch

    if not isinstance(value, NDArray):
        return value
    return torch.from_dlpack(value.copy() if any(value is a for a in arguments) else value)


def _in_order(call: Call, signature: Signature) -> Call:
    """Wrap `call` to pass arguments in their memory order."""
    if not signature.orders:
        return call
    orders = tuple(signature.orders.items())

    def permuting(*args: Any) -> Any:
        permuted = list(args)
        for index, order in orders:
            permuted[index] = args[index].permute(order)
        return call(*permuted)

    return permuting


def _picking(call: Call, signature: Signature) -> Call:
    """Wrap `call` to return the graph's outputs."""
    outputs = signature.outputs
    if outputs == tuple(Result(i) for i in range(len(outputs))) and not signature.single:
        return call
    if signature.single and outputs == (Result(0),):
        return lambda *args: call(*args)[0]
    picks = [_PICKS[type(output)](output) for output in outputs]

    def picking(*args: Any) -> Any:
        results = call(*args)
        values = tuple([pick(args, results) for pick in picks])
        return values[0] if signature.single else values

    return picking


def _result(output: Result) -> Call:
    index, order = output.index, output.order
    if output.is_size:
        return lambda args, results: results[index][0]
    if order is not None:
        return lambda args, results: results[index].permute(order)
    return lambda args, results: results[index]


def _argument(output: Argument) -> Call:
    index = output.index
    return lambda args, results: args[index]


def _plain(output: Plain) -> Call:
    value = output.value
    return lambda args, results: value


_PICKS: dict[type, Callable[[Any], Call]] = {Result: _result, Argument: _argument, Plain: _plain}
