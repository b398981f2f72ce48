"""Run Relax programs with torch, as a reference independent of the interpreter.

A row of `_OPERATORS` maps an operator to torch. Programs with other operators are not supported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import relax
from ...dialects.dtypes import dtype_name, dtype_of, numpy_dtype
from ...dialects.sym.expr import Var
from ...interpreter import InterpreterError, interpret, random_inputs, symbolic_sizes
from ...interpreter.compare import same_values, widening_tolerance
from ...ir.functions.lookup import functions
from .checks import demand


class NoReference(Exception):
    """Raised for an operator that is not in the table, or arguments for which torch defines no result."""


ReferenceRule = Callable[..., Any]


def _axes(op: Any, x: Any, name: str = "axis") -> list[int]:
    axis = op.attr(name)
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _reduced(function: str) -> ReferenceRule:
    def rule(torch: Any, op: Any, x: Any) -> Any:
        if function in ("amax", "amin") and x.numel() == 0:
            raise NoReference("torch has no greatest element of nothing")
        more = {"sum": {"dtype": x.dtype}, "var": {"correction": 0}}.get(function, {})
        return getattr(torch, function)(x, dim=_axes(op, x), keepdim=op.attr("keepdims"), **more)

    return rule


def _position(function: str) -> ReferenceRule:
    def rule(torch: Any, op: Any, x: Any) -> Any:
        if x.numel() == 0:
            raise NoReference("torch has no position in nothing")
        axis = op.attr("axis")
        result = getattr(torch, function)(x, dim=axis, keepdim=axis is not None and op.attr("keepdims"))
        return result.reshape([1] * x.ndim) if axis is None and op.attr("keepdims") else result

    return rule


def _divide(torch: Any, op: Any, x: Any, y: Any) -> Any:
    return torch.div(x, y) if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc")


def _dtype(torch: Any, op: Any) -> Any:
    return getattr(torch, dtype_name(op.attr("dtype")))


def _concat(torch: Any, op: Any, *parts: Any) -> Any:
    return torch.cat(parts[0] if isinstance(parts[0], tuple) else parts, dim=op.attr("axis"))


def _take(torch: Any, op: Any, x: Any, indices: Any) -> Any:
    axis = op.attr("axis") % x.ndim
    flat = torch.index_select(x, axis, indices.reshape(-1).long())
    return flat.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def _split(torch: Any, op: Any, x: Any) -> Any:
    """Split as TVM does: all sections are as large as the first, except for the last."""
    where, axis = op.attr("indices_or_sections"), op.attr("axis")
    if not isinstance(where, int):
        return torch.tensor_split(x, list(where), dim=axis)
    size = -(-x.shape[axis] // where)
    return torch.tensor_split(x, [size * i for i in range(1, where)], dim=axis)


def _layer_norm(torch: Any, op: Any, x: Any, scale: Any, shift: Any) -> Any:
    count = len(_axes(op, x, "axes"))
    return torch.nn.functional.layer_norm(x, x.shape[x.ndim - count :], scale, shift, op.attr("epsilon"))


def _squeezed(torch: Any, op: Any, x: Any) -> Any:
    return torch.squeeze(x, dim=tuple(_axes(op, x)))


def _expanded(torch: Any, op: Any, x: Any) -> Any:
    for axis in sorted(op.attr("axis")):
        x = torch.unsqueeze(x, axis)
    return x


def _plain(name: str) -> ReferenceRule:
    """Return the rule of a function of torch or `torch.nn.functional` that takes only the operands."""

    def rule(torch: Any, op: Any, *args: Any) -> Any:
        place, _, last = name.rpartition(".")
        return getattr(torch.nn.functional if place else torch, last)(*args)

    return rule


_SAME = (
    "exp", "tanh", "sigmoid", "abs", "square", "sin", "cos", "erf", "atan", "sqrt", "log", "rsqrt", "add", "multiply",
    "subtract", "maximum", "minimum", "sign", "bitwise_and", "bitwise_xor", "bitwise_or", "bitwise_not", "negative",
    "logical_and", "logical_or", "logical_xor", "logical_not", "less", "less_equal", "greater", "greater_equal",
    "not_equal", "where", "matmul", "zeros_like", "ones_like", "flatten",
)  # fmt: skip
_OPERATORS: dict[str, ReferenceRule] = {
    **{name: _plain(name) for name in _SAME},
    **{f"nn.{n}": _plain(f"F.{n}") for n in ("relu", "gelu", "silu", "selu")},
    **{
        relax_name: _reduced(n)
        for relax_name, n in (("max", "amax"), ("min", "amin"), ("sum", "sum"), ("mean", "mean"))
    },
    "variance": _reduced("var"),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "equal": _plain("eq"),
    "nn.gelu_tanh": lambda torch, op, x: torch.nn.functional.gelu(x, approximate="tanh"),
    "nn.leakyrelu": lambda torch, op, x: torch.nn.functional.leaky_relu(x, op.attr("alpha")),
    "nn.softplus": lambda torch, op, x: torch.nn.functional.softplus(x, op.attr("beta"), op.attr("threshold")),
    "nn.softmax": lambda torch, op, x: torch.softmax(x, op.attr("axis")),
    "nn.log_softmax": lambda torch, op, x: torch.log_softmax(x, op.attr("axis")),
    "nn.layer_norm": _layer_norm,
    "divide": _divide,
    "floor_divide": lambda torch, op, x, y: torch.div(x, y, rounding_mode="floor"),
    "floor_mod": _plain("remainder"),
    "mod": _plain("fmod"),
    "left_shift": _plain("bitwise_left_shift"),
    "right_shift": _plain("bitwise_right_shift"),
    "astype": lambda torch, op, x: x.to(_dtype(torch, op)),
    "permute_dims": lambda torch, op, x: x.permute(list(op.attr("axes") or range(x.ndim - 1, -1, -1))),
    "reshape": lambda torch, op, x, shape: x.reshape(shape),
    "broadcast_to": lambda torch, op, x, shape: x.expand(shape),
    "expand_dims": _expanded,
    "squeeze": _squeezed,
    "concat": _concat,
    "split": _split,
    "take": _take,
    "zeros": lambda torch, op, shape: torch.zeros(shape, dtype=_dtype(torch, op)),
    "ones": lambda torch, op, shape: torch.ones(shape, dtype=_dtype(torch, op)),
    "full": lambda torch, op, shape, fill: torch.full(shape, fill.item(), dtype=_dtype(torch, op)),
    "clip": lambda torch, op, x, low, high: torch.clamp(x, low, high),
}
"""The torch implementation of each operator, called with torch, the operator and its operands."""


class TorchProgram:
    """A module that is executed by torch."""

    def __init__(self, module: ModuleOp):
        import torch

        self.torch = torch
        self.functions = functions(module)

    def call(self, name: str, args: Sequence[Any]) -> Any:
        """Return the result of a function. Raises `NoReference`."""
        func = self.functions[name]
        sizes: dict[str, int] = {}
        for param, value in zip(func.params, args, strict=True):
            self._bind(param.type, value, sizes)
        return self._block(func.body.block, dict(zip(func.params, args, strict=True)), sizes)

    @staticmethod
    def _bind(t: Any, value: Any, sizes: dict[str, int]) -> None:
        for dim, extent in zip(getattr(t, "dims", None) or (), getattr(value, "shape", ()), strict=False):
            if isinstance(dim, Var):
                sizes.setdefault(str(dim.name), int(extent))

    def _block(self, block: Block, values: dict[SSAValue, Any], sizes: dict[str, int]) -> Any:
        for op in block.ops:
            operands = [values[v] for v in op.operands]
            if isinstance(op, relax.ReturnOp | relax.YieldOp):
                return operands[0]
            if isinstance(op, relax.OutputOp):
                return operands
            if isinstance(op, relax.DataflowOp):
                values.update(zip(op.outputs, self._block(op.body.block, values, sizes), strict=True))
            else:
                values[op.results[0]] = self._value(op, operands, values, sizes)
        raise NoReference("a block without an end")

    def _value(self, op: Operation, operands: list[Any], values: dict[SSAValue, Any], sizes: dict[str, int]) -> Any:
        if isinstance(op, relax.Operator):
            return self._operator(op, operands)
        if isinstance(op, relax.ConstantOp):
            return self.tensor(op.value.numpy())
        if isinstance(op, relax.ShapeOp):
            return [max(d.data.evaluate(sizes), 0) for d in op.values_]
        if isinstance(op, relax.PrimValueOp):
            return op.value.value.data  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(op, relax.IfOp):
            region = op.regions[0] if operands[0].item() else op.regions[1]
            return self._block(region.block, dict(values), sizes)
        if isinstance(op, relax.CallOp):
            return self.call(op.callee_name, operands)
        return self._structural(op, operands, sizes)

    def _structural(self, op: Operation, operands: list[Any], sizes: dict[str, int]) -> Any:
        if isinstance(op, relax.MatchCastOp):
            self._bind(op.results[0].type, operands[0], sizes)
            return operands[0]
        if isinstance(op, relax.BindOp):
            return operands[0]
        if isinstance(op, relax.TupleOp):
            return tuple(operands)
        if isinstance(op, relax.TupleGetItemOp):
            return operands[0][op.index.data]
        raise NoReference(op.name)

    def tensor(self, array: Any) -> Any:
        """Return an array as a torch tensor."""
        wide = np.array(array, "f4" if array.dtype.name == "bfloat16" else array.dtype)
        return self.torch.from_numpy(wide).to(getattr(self.torch, array.dtype.name))

    def _operator(self, op: relax.Operator, operands: list[Any]) -> Any:
        rule = _OPERATORS.get(op.name.removeprefix("relax."))
        if rule is None:
            raise NoReference(op.name)
        return rule(self.torch, op, *operands)


def check_against_torch(module: ModuleOp, sizes: Sequence[int] = (2, 5, 1, 0)) -> int:
    """Check the interpreter against torch; return the number of inputs compared."""
    func, program, compared = functions(module)["main"], TorchProgram(module), 0
    tolerance = widening_tolerance(module)
    for n, chosen in enumerate(symbolic_sizes(func, sizes)):
        values = random_inputs(func, chosen, n)
        try:
            results = interpret(module, "main", values)
            expected = program.call("main", [program.tensor(v) for v in values])
        except (InterpreterError, NoReference):
            continue
        same = same_values(_arrays(expected), results, tolerance)
        demand(same, f"at {chosen}\ninputs {values}\ntorch {expected}\nfound {results}")
        compared += 1
    return compared


def _arrays(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_arrays, value))
    name = str(value.dtype).removeprefix("torch.")
    return value.float().numpy().astype(numpy_dtype(dtype_of(name))) if name == "bfloat16" else value.numpy()
