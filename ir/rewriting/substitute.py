"""Replacing symbolic variables and removing ops: what several passes do to IR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.relax.types import PrimType, ShapeType, TensorType, substitute_type, tuple_type
from ...dialects.sym import IndexMapAttr, SymAttr
from ...dialects.sym.expr import SymExpr, Var


class SymbolSubstitution:
    """Replaces symbolic variables in attributes and types; results are memoised."""

    def __init__(self, mapping: Mapping[Var, SymExpr]):
        self.mapping = mapping
        self._memo: dict[Attribute, Attribute] = {}

    def attribute(self, attr: Attribute) -> Attribute:
        """The attribute with variables replaced."""
        found = self._memo.get(attr)
        if found is None:
            found = self._memo[attr] = self._replace(attr)
        return found

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
        """Replace variables in everything below and on `root`, in place."""
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


def set_type(value: SSAValue, new: Attribute) -> None:
    """Change the type of a value in place; its users must agree with the new type."""
    value._type = new  # pyright: ignore[reportPrivateUsage]


def substitute_symbols(root: Operation, mapping: Mapping[Var, SymExpr]) -> None:
    """Replace symbolic variables everywhere in `root`, in place."""
    if mapping:
        SymbolSubstitution(mapping).operation(root)


_UNUSED_IS_DEAD: tuple[type[Operation], ...] = (
    *relax.LEAVES,
    relax.Operator,
    relax.TupleOp,
    relax.TupleGetItemOp,
    relax.BindOp,
    relax.ClosureOp,
    relax.CallTIROp,
    relax.CallTIRInplaceOp,
    relax.CallDPSPackedOp,
    relax.CallPurePackedOp,
    relax.CallInplacePackedOp,
)


def is_removable(op: Operation) -> bool:
    """Whether a relax binding may go where nothing uses its results: it is pure."""
    if isinstance(op, relax.Operator):
        return op.PURE
    if isinstance(op, relax.CallValueOp):
        return isinstance(op.func.type, relax.CallableType) and op.func.type.pure
    return isinstance(op, _UNUSED_IS_DEAD)


def erase(op: Operation) -> None:
    """Detach and erase an operation, and let go of what it says: constants may hold many megabytes.

    IR is cycles, which nothing collects while a module is compiled.
    """
    op.detach()
    op.erase()
    op.properties.clear()


def erase_unused(ops: Iterable[Operation]) -> bool:
    """Erase those of `ops` (in order of definition) that are removable and unused, uses among themselves included."""
    changed = False
    for op in reversed(list(ops)):
        if is_removable(op) and not any(r.first_use for r in op.results):
            erase(op)
            changed = True
    return changed
