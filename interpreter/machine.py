"""xDSL's interpreter with a stack of its own, so that calls in calls are as deep as memory allows.

What runs a region is a generator of steps: it yields the steps of the region, and is sent their results.

    def branch(interpreter, op, args):
        results = yield interpreter.region(op.then_region if args[0] else op.else_region)
        return results
"""

from __future__ import annotations

from collections.abc import Generator
from types import GeneratorType
from typing import Any

from xdsl.interpreter import Interpreter, PythonValues, ReturnedValues
from xdsl.ir import Operation, Region

from ..ir.passes.limits import exceeded, limit

Steps = Generator[Any, Any, Any]
"""Yields other steps, which run to their end before these go on, and returns results."""


class Machine(Interpreter):
    """Runs implementations of operations, which give their results or steps."""

    def region(self, region: Region, args: PythonValues = (), name: str = "unknown") -> Steps:
        """The steps of a region of one block, in a scope of its own; they return what its terminator does."""
        outside = self._ctx
        self.push_scope(name)
        self.set_values(zip(region.block.args, args, strict=False))
        try:
            for op in region.block.ops:
                result = self._impls.run(self, op, self.get_values(op.operands))
                if isinstance(result, GeneratorType):
                    result = yield result
                if isinstance(result.terminator_value, ReturnedValues):
                    return result.terminator_value.values
                self.set_values(zip(op.results, result.values, strict=True))
            return ()
        finally:
            self._ctx = outside

    def drive(self, steps: Steps) -> Any:
        """What steps return, after all that they yield. Raises `LimitError` where they are too deep."""
        stack, value, most = [steps], None, limit("interpret.depth")
        try:
            while stack:
                try:
                    stack.append(stack[-1].send(value))
                    value = None
                    if len(stack) > 3 * most:  # the steps of an operation, its results', those of its region
                        raise exceeded("interpret.depth", "calls of the program never end, or are too deep")
                except StopIteration as end:
                    stack.pop()
                    value = end.value
        finally:  # after an error the innermost ends first, each with its scope
            while stack:
                stack.pop().close()
        return value

    def run_ssacfg_region(self, region: Region, args: PythonValues, name: str = "unknown") -> PythonValues:
        """As xDSL's, on the stack of this machine."""
        return self.drive(self.region(region, args, name)) if region.blocks else ()

    def _run_op(self, op: Operation, inputs: PythonValues) -> Any:
        result = self._impls.run(self, op, inputs)
        return self.drive(result) if isinstance(result, GeneratorType) else result
