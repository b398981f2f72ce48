"""Names for the quotients of sizes that are multiples of a number.

A program that splits c channels into 4 groups has the size `c // 4`, and was traced under the condition `c % 4 == 0`.
With q = c // 4, and c written as 4 * q, a reshape to `(4, c // 4)` is one of whole dimensions; otherwise each index is
divided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...dialects.relax.types import TensorType, substitute_type
from ...dialects.sym.expr import SymExpr, floordiv
from ...dialects.sym.expr import Var as Size
from ...handles.relax.expr import Expr, ShapeExpr, Var
from ...handles.struct_info import ShapeStructInfo, StructInfo
from ..block_builder import BlockBuilder
from .guards import Guards
from .symbols import Symbols


class Quotients:
    """Variables q for the quotients of sizes that are a * q + b; `symbols` has these expressions in place of the sizes.

    `equal`: the expressions by size.
    """

    def __init__(self, builder: BlockBuilder, symbols: Symbols, guards: Guards):
        self._builder = builder
        self.equal: dict[Size, SymExpr] = {}
        self._values: dict[Size, SymExpr] = {}
        for size, (name, factor, offset) in _forms(symbols, guards).items():
            quotient = Size(name)
            self._values[quotient] = floordiv(size - offset, factor)
            self.equal[size] = quotient * factor + offset
            builder.match_cast(ShapeExpr([self._values[quotient]]), ShapeStructInfo([quotient]), "quotient")
        symbols.replace(self.equal)
        self._sizes = {expr: size for size, expr in self.equal.items()}

    def inputs(self, inputs: Mapping[str, Var]) -> dict[str, Var]:
        """Check at run time that the sizes of inputs are multiples; return the tensors whose types have quotients."""
        types = {name: substitute_type(var.ssa.type, self.equal) for name, var in inputs.items()}
        return {
            name: self._builder.match_cast(var, StructInfo.of(types[name]), name)
            for name, var in inputs.items()
            if isinstance(var.ssa.type, TensorType) and types[name] != var.ssa.type
        }

    def output(self, value: Expr) -> Expr:
        """Return an output with the sizes of inputs in its type: a function's type has no variables of its body."""
        known = value.ssa.type
        if not self.equal or not isinstance(known, TensorType) or known.dims is None:
            return value
        dims = [self._sizes.get(d) or d.substitute(self._values) for d in known.dims]
        own = TensorType.of(dims, known.element)
        return value if own == known else self._builder.match_cast(value, StructInfo.of(own))


def _forms(symbols: Symbols, guards: Guards) -> dict[Size, tuple[str, int, int]]:
    """Return the name of q, a and b by the size a * q + b."""
    forms = {size: form for size, form in symbols.multiples.items() if form[1] > 1}
    for size, divisor in guards.multiples():
        if size not in symbols.multiples:
            divisor = math.lcm(divisor, forms[size][1] if size in forms else 1)
            forms[size] = f"{size.name}_div_{divisor}", divisor, 0
    return forms
