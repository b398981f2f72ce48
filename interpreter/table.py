"""Interpreter functions given as tables: op type -> implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.interpreter import Interpreter, InterpreterFunctions, OpImplResult, PythonValues, ReturnedValues
from xdsl.ir import Operation

Implementation = Callable[[Interpreter, Any, PythonValues], Any]
"""`(interpreter, op, operand values)` -> the results: a tuple, or `ReturnedValues` for a terminator."""


class TableFunctions(InterpreterFunctions):
    """Implementations from a table: an object answers here where xDSL asks a class for its `@impl` methods."""

    def __init__(self, table: Mapping[type[Operation], Implementation]):
        self._table = table

    def _impls(self) -> Iterable[tuple[type[Operation], Any]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return [(op_type, _adapt(f)) for op_type, f in self._table.items()]

    def _cast_impls(self) -> Iterable[Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ()

    _attr_impls = _ext_impls = _callable_impls = _cast_impls  # pyright: ignore[reportAssignmentType]


def _adapt(function: Implementation) -> Callable[..., Any]:
    def run(_self: TableFunctions, interpreter: Interpreter, op: Operation, args: PythonValues) -> Any:
        out = function(interpreter, op, args)
        if isinstance(out, ReturnedValues):
            return OpImplResult((), out)
        return OpImplResult(out, None)

    return run
