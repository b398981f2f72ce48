"""xDSL's interpreter with an explicit stack, so that only memory limits the depth of calls.

An implementation that runs a region is a generator of steps: it yields the steps of the region, and gets their results.

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
"""A generator that yields other steps, which run to completion before it continues, and returns results."""


class Machine(Interpreter):
    """An interpreter of operations whose implementations return results or steps."""

    def region(self, region: Region, args: PythonValues = (), name: str = "unknown") -> Steps:
        """Return the steps of a single-block region, in a new scope; they return the results of its terminator."""
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
        """Run steps and everything they yield, and return their result. Raises `LimitError` if they nest too deeply."""
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
        finally:  # after an error, end the innermost first, each with its scope
            while stack:
                stack.pop().close()
        return value

    def run_ssacfg_region(self, region: Region, args: PythonValues, name: str = "unknown") -> PythonValues:
        """Run a region like xDSL's method, on the stack of this machine."""
        return self.drive(self.region(region, args, name)) if region.blocks else ()

    def _run_op(self, op: Operation, inputs: PythonValues) -> Any:
        result = self._impls.run(self, op, inputs)
        return self.drive(result) if isinstance(result, GeneratorType) else result
