"""Bindings that passes on memory put before others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.sym.expr import ExprLike
from ...ir.names import NameSupply
from ...ir.rewriting.edit import insert_before

OpT = TypeVar("OpT", bound=Operation)


class Emitter:
    """Puts ops before an `anchor`, at its place in the source; names come from `names`."""

    def __init__(self, anchor: Operation, names: NameSupply):
        self.anchor = anchor
        self.names = names

    def put(self, op: OpT) -> OpT:
        """Put an op before the anchor."""
        return insert_before(self.anchor, op)

    def named(self, cls: type[relax.Operator], base: str, *args: SSAValue | None) -> SSAValue:
        """The result of a new operator, its name `base` or one made of it."""
        result = self.put(cls.make(*args)).results[0]
        set_name(result, self.names.fresh(base))
        return result

    def effect(self, op: Operation) -> None:
        """Put an op that is there for its effect."""
        set_name(self.put(op).results[0], self.names.fresh("_"))

    def shape(self, dims: Iterable[ExprLike]) -> SSAValue:
        """A shape without a name."""
        return self.put(relax.ShapeOp(dims)).result

    def dtype(self, dtype: Attribute) -> SSAValue:
        """A data type without a name."""
        return self.put(relax.DataTypeOp(dtype)).result

    def integer(self, value: ExprLike) -> SSAValue:
        """A number without a name."""
        return self.put(relax.PrimValueOp(value)).result

    def string(self, text: str) -> SSAValue:
        """A string without a name."""
        return self.put(relax.StringOp(text)).result
