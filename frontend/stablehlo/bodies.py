"""The regions of reductions, sorts, scatters, …: functions of scalars, which become expressions in kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, SymbolRefAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...handles.tir import prim_expr as tx
from ...ir.locations import location_of
from .complex_numbers import Complex, Scalar, complex_scalar
from .graph import Graph
from .narrow import carried
from .scalars import scalar
from .values import array_of, attribute, element_of, is_complex

Known = dict[SSAValue, Scalar]


class Body:
    """A block of operations on tensors of rank 0."""

    def __init__(self, graph: Graph, block: Block):
        self.graph, self.block = graph, block

    def __call__(self, *args: Scalar) -> list[Scalar]:
        """Return the results for these arguments."""
        return self._run(self.block, dict(zip(self.block.args, args, strict=True)))

    def parts(self, *args: Any) -> list[Any]:
        """Like a call, of parts: the two of a complex number are arguments, and results, of their own."""
        rest = iter(args)
        joined = [Complex(next(rest), next(rest)) if is_complex(a) else next(rest) for a in self.block.args]
        return [part for value in self(*joined) for part in (value if isinstance(value, Complex) else (value,))]

    def _run(self, block: Block, known: Known) -> list[Scalar]:
        for op in block.ops:
            if op.name in ("stablehlo.return", "func.return"):
                return [self._value(v, known) for v in op.operands]
            self._convert(op, known)
        return []

    def _value(self, value: SSAValue, known: Known) -> Scalar:
        found = known.get(value)
        if found is not None:
            return found
        number = self.graph.number(value) if value in self.graph.values else None
        if number is None:
            at = value.owner if isinstance(value.owner, Operation) else None
            raise UnsupportedError("a body that reads a tensor from outside", location=location_of(at))
        return carried(constant(number, element_of(value)))

    def _convert(self, op: Operation, known: Known) -> None:
        own = _OWN.get(op.name)
        if own is not None:
            own(self, op, known)
            return
        args = [self._value(v, known) for v in op.operands]
        known[op.results[0]] = element(op, args)

    def constant(self, op: Operation, known: Known) -> None:
        value = cast(DenseIntOrFPElementsAttr, attribute(op, "value"))
        kind = element_of(op.results[0])
        parts = [carried(constant(v.item(), kind)) for v in array_of(value).flat]
        known[op.results[0]] = Complex(*parts) if len(parts) == 2 else parts[0]

    def same(self, op: Operation, known: Known) -> None:
        """An operation that moves elements: there is only one."""
        known[op.results[0]] = self._value(op.operands[0], known)

    def call(self, op: Operation, known: Known) -> None:
        name = "callee" if op.name == "func.call" else "decomposition"
        callee = self.graph.functions.get(cast(SymbolRefAttr, attribute(op, name)).string_value())
        if not isinstance(callee, func.FuncOp) or callee.is_declaration:
            raise UnsupportedError("a call of a function without a body", location=location_of(op))
        block = callee.body.block
        results = self._run(block, dict(zip(block.args, (self._value(v, known) for v in op.operands), strict=True)))
        known.update(zip(op.results, results, strict=True))

    def branch(self, op: Operation, known: Known) -> None:
        """Both sides are computed, and one is chosen."""
        condition = cast(tx.PrimExpr, self._value(op.operands[0], known))
        sides = [self._run(region.block, dict(known)) for region in op.regions]
        if op.name == "stablehlo.if":
            conditions = [condition]
        else:
            conditions = [tx.equal(condition, tx.const(i, condition.type)) for i in range(len(sides) - 1)]
        for number, result in enumerate(op.results):
            chosen = sides[-1][number]
            for chooses, side in reversed(list(zip(conditions, sides, strict=False))):
                chosen = _chosen(chooses, side[number], chosen)
            known[result] = chosen


def _chosen(condition: tx.PrimExpr, a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return Complex(tx.select(condition, a.re, b.re), tx.select(condition, a.im, b.im))
    return tx.select(condition, cast(tx.PrimExpr, a), cast(tx.PrimExpr, b))


def constant(value: float, dtype: Attribute) -> tx.PrimExpr:
    """Return a number as a constant of a dtype."""
    return tx.const(bool(value) if dtype == i1 else value, dtype)


def element(op: Operation, args: Sequence[Scalar]) -> Scalar:
    """Return the element of the result of an elementwise operation. Raises `UnsupportedError` for other operations."""
    if any(isinstance(a, Complex) for a in args) or any(is_complex(r) for r in op.results):
        result = complex_scalar(op, [a if isinstance(a, Complex) else carried(a) for a in args])
        if result is None:
            raise UnsupportedError(f"'{op.name}' of complex numbers", location=location_of(op))
        return result
    return scalar(op, args)


_OWN: dict[str, Callable[[Body, Operation, Known], None]] = {
    "stablehlo.constant": Body.constant,
    "stablehlo.reshape": Body.same,
    "stablehlo.broadcast_in_dim": Body.same,
    "stablehlo.optimization_barrier": Body.same,
    "func.call": Body.call,
    "stablehlo.composite": Body.call,
    "stablehlo.if": Body.branch,
    "stablehlo.case": Body.branch,
}
