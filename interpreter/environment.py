"""State of a running program besides its SSA values: symbolic variables, packed functions, init steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import GeneratorType
from typing import Any

import numpy as np
from xdsl.interpreter import InterpreterFunctions, OpImplResult, PythonValues, ReturnedValues
from xdsl.ir import Operation

from ..diagnostics import unknown_name
from ..dialects import tir
from ..dialects.dtypes import lanes_of, numpy_dtype, scalar_of
from ..dialects.sym.expr import SymExpr, Var
from .machine import Machine, Steps
from .scalars import InterpreterError, as_array


class Environment:
    """Symbolic variables of the functions on the call stack, and the packed functions available to calls."""

    def __init__(self, packed: Mapping[str, Callable[..., Any]] | None = None):
        self._frames: list[dict[str, int]] = [{}]
        self._packed = packed
        self.first_steps: list[bool] = []

    @contextmanager
    def function(self, _name: str) -> Iterator[None]:
        """Open a new scope of symbolic variables."""
        self._frames.append({})
        try:
            yield
        finally:
            self._frames.pop()

    @property
    def variables(self) -> dict[str, int]:
        return self._frames[-1]

    def evaluate(self, expr: SymExpr) -> int:
        """Return the value of an expression. Raises `InterpreterError` for an unbound variable."""
        try:
            return expr.evaluate(self.variables)
        except KeyError as error:
            raise InterpreterError(f"the symbolic variable {error} of '{expr}' is not bound") from error

    def shape(self, dims: Iterable[SymExpr]) -> tuple[int, ...]:
        return tuple(self.evaluate(d) for d in dims)

    def array_shape(self, buffer: tir.BufferType) -> tuple[int, ...]:
        """Return the shape of a buffer's array; vector elements add a last dimension."""
        lanes = lanes_of(buffer.dtype)
        return (*self.shape(buffer.dims), *((lanes,) if lanes > 1 else ()))

    def new_array(self, buffer: tir.BufferType) -> Any:
        """Return an array for a buffer, filled with a pattern that exposes reads of uninitialized memory."""
        array = np.empty(self.array_shape(buffer), numpy_dtype(scalar_of(buffer.dtype)))
        array.reshape(-1).view(np.uint8)[:] = 0x7B
        if array.dtype.kind == "b":
            array[...] = True
        return array

    def bind(self, name: str, value: int) -> None:
        """Bind a variable. Raises `InterpreterError` if it already has another value."""
        known = self.variables.setdefault(name, value)
        if known != value:
            raise InterpreterError(f"the symbolic variable {name} has two values", expected=known, found=value)

    def bind_dims(self, dims: Sequence[SymExpr], shape: Sequence[int]) -> None:
        """Bind plain variables from a shape, then check that every extent agrees."""
        if len(dims) != len(shape):
            raise InterpreterError("an array has the wrong rank", expected=len(dims), found=len(shape))
        for d, extent in zip(dims, shape, strict=True):
            if isinstance(d, Var) and isinstance(d.name, str) and d.name not in self.variables:
                self.bind(d.name, extent)
        for d, extent in zip(dims, shape, strict=True):
            if all(v.name in self.variables for v in d.free_vars()) and self.evaluate(d) != extent:
                raise InterpreterError(
                    f"an array has the wrong extent where {d}", expected=self.evaluate(d), found=extent
                )

    def bind_tir(self, func: tir.FuncOp, args: Sequence[Any]) -> None:
        """Bind the variables that the parameters of a tensor function determine.

        Scalar parameters bind those of their name.
        """
        from ..dialects.names import name_of

        for param, value in zip(func.params, args, strict=True):
            if not isinstance(param.type, tir.BufferType | tir.HandleType):
                name = name_of(param)
                if name is not None and as_array(value).dtype.kind in "iu":
                    self.bind(name, int(value))
        buffers = [(p.type, v) for p, v in zip(func.params, args, strict=True) if isinstance(p.type, tir.BufferType)]
        for t, array in buffers:
            for d, extent in zip(t.dims, array.shape, strict=False):
                if isinstance(d, Var) and isinstance(d.name, str):
                    self.variables.setdefault(d.name, extent)
        for t, array in buffers:
            self.bind_dims(t.dims, array.shape[: len(array.shape) - (lanes_of(t.dtype) > 1)])

    def packed(self, name: str) -> Callable[..., Any]:
        """Return a packed function of this environment, or one registered with the runtime, which gets `NDArray`s."""
        if self._packed is not None and name in self._packed:
            return self._packed[name]
        from ..runtime.ndarray import NDArray
        from ..runtime.registry import get_global_func, list_global_func_names

        registered = get_global_func(name, allow_missing=True)
        if registered is None:
            raise unknown_name("packed function", name, [*(self._packed or ()), *list_global_func_names()])
        return lambda *args: registered(*(a.view(NDArray) if isinstance(a, np.ndarray) else a for a in args))


# Interpreter functions from tables: op type -> implementation.

Implementation = Callable[[Machine, Any, PythonValues], Any]
"""`(interpreter, op, operand values)` -> results, as a tuple or `ReturnedValues` for a terminator.

Or a generator of steps.
"""


class TableFunctions(InterpreterFunctions):
    """Implementations from a table, presented the way xDSL expects the `@impl` methods of a class."""

    def __init__(self, table: Mapping[type[Operation], Implementation]):
        self._table = table

    def _impls(self) -> Iterable[tuple[type[Operation], Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [(op_type, _adapt(f)) for op_type, f in self._table.items()]

    def _cast_impls(self) -> Iterable[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ()

    _attr_impls = _ext_impls = _callable_impls = _cast_impls  # pyright: ignore[reportAssignmentType]


def _with_result(steps: Steps) -> Steps:
    return OpImplResult((yield from steps), None)


def _adapt(function: Implementation) -> Callable[..., Any]:
    def run(_self: TableFunctions, interpreter: Machine, op: Operation, args: PythonValues) -> Any:
        out = function(interpreter, op, args)
        if isinstance(out, GeneratorType):
            return _with_result(out)
        if isinstance(out, ReturnedValues):
            return OpImplResult((), out)
        return OpImplResult(out, None)

    return run
