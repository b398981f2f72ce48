"""Substitution of symbolic variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import tir
from ...dialects.relax.types import PrimType, ShapeType, TensorType, substitute_type, tuple_type
from ...dialects.sym import IndexMapAttr, SymAttr
from ...dialects.sym.expr import SymExpr, Var
from .edit import set_type


class SymbolSubstitution:
    """Substitution of symbolic variables in attributes and types; results are memoized."""

    def __init__(self, mapping: Mapping[Var, SymExpr]):
        self.mapping = mapping
        self._memo: dict[Attribute, Attribute] = {}

    def attribute(self, attr: Attribute) -> Attribute:
        """Return the attribute with variables replaced."""
        replaced = self._memo.get(attr)
        if replaced is None:
            replaced = self._memo[attr] = self._replace(attr)
        return replaced

    def _replace(self, attr: Attribute) -> Attribute:
        if isinstance(attr, SymAttr):
            return SymAttr(attr.data.substitute(self.mapping))
        if isinstance(attr, IndexMapAttr):
            return IndexMapAttr(attr.data.substitute(self.mapping))
        if isinstance(attr, tir.BufferType):
            return attr.substitute(self.mapping)
        if isinstance(attr, TensorType | ShapeType | PrimType):
            return substitute_type(attr, self.mapping)
        if isinstance(attr, TupleType):
            return tuple_type(self.attribute(t) for t in attr.types)
        if isinstance(attr, ArrayAttr):
            return ArrayAttr([self.attribute(a) for a in attr])
        if isinstance(attr, DictionaryAttr):
            return DictionaryAttr({k: self.attribute(v) for k, v in attr.data.items()})
        return attr

    def operation(self, root: Operation) -> None:
        """Replace variables in `root` and everything below it, in place."""
        for op in root.walk():
            for name, attr in list(op.properties.items()):
                new = self.attribute(attr)
                if new is not attr:
                    op.properties[name] = new
            for result in op.results:
                self.value(result)
            for region in op.regions:
                for block in region.blocks:
                    for arg in block.args:
                        self.value(arg)

    def value(self, value: SSAValue) -> None:
        """Replace variables in the type of a value, in place."""
        new = self.attribute(value.type)
        if new is not value.type:
            set_type(value, new)


def mentions_symbol(root: Operation, var: Var) -> bool:
    """Return whether a symbolic variable occurs in `root`."""
    other = SymbolSubstitution({var: var + 1})
    return any(other.attribute(attr) != attr for op in root.walk() for attr in _attributes(op))


def _attributes(op: Operation) -> Iterator[Attribute]:
    yield from op.properties.values()
    yield from (result.type for result in op.results)
    yield from (arg.type for region in op.regions for block in region.blocks for arg in block.args)


def substitute_symbols(root: Operation, mapping: Mapping[Var, SymExpr]) -> None:
    """Replace symbolic variables everywhere in `root`, in place."""
    if mapping:
        SymbolSubstitution(mapping).operation(root)
