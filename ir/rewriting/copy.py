"""Copies of expressions and statements with values replaced, for builders and rewriters of tensor functions.

An expression is a tree, wherever its operations are: a copy has its own operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.quick import make
from ...dialects.sym import ValueOp
from ..origins import carry

Mapping = dict[SSAValue, SSAValue]
_EXPRESSIONS = frozenset({*tir.EXPRESSION_OPS, ValueOp} - {tir.YieldOp})


def is_expression(op: Operation) -> bool:
    """Return whether an operation is part of an expression, not a statement."""
    return type(op) in _EXPRESSIONS


class Copier:
    """Base of copiers into blocks; subclasses override the handling of expressions or statements."""

    def value(self, value: SSAValue, block: Block | None, mapping: Mapping) -> SSAValue:
        """Copy the tree of `value` to the end of `block` (detached if None); `mapping` is extended.

        Values that are not expressions, such as variables, buffers and lets, are looked up in `mapping`, or kept.
        """
        known = mapping.get(value)
        if known is not None:
            return known
        op = value.owner
        if not isinstance(op, Operation) or not is_expression(op):
            return value
        operands = [self.value(v, block, mapping) for v in op.operands]
        regions = [self.expression_region(region, mapping) for region in op.regions]
        new = _like(op, operands, regions)
        if block is not None:
            block.add_op(new)
        mapping[value] = new.results[0]
        return new.results[0]

    def expression_region(self, region: Region, mapping: Mapping) -> Region:
        """Copy a region that ends with `tir.yield`."""
        block, inner = self._open(region, mapping)
        last = region.block.last_op
        assert isinstance(last, tir.YieldOp)
        block.add_op(tir.YieldOp(self.value(last.value, block, inner)))
        return Region(block)

    def statement(self, op: Operation, block: Block, mapping: Mapping) -> None:
        """Copy a statement and its expressions to the end of `block`."""
        operands = [self.value(v, block, mapping) for v in op.operands]
        regions = [self.region(region, mapping) for region in op.regions]
        new = _like(op, operands, regions)
        block.add_op(new)
        copies: Mapping = dict(zip(op.results, new.results, strict=True))
        carry(copies)
        mapping.update(copies)

    def region(self, region: Region, mapping: Mapping) -> Region:
        """Copy a region of statements, or one that ends with `tir.yield`."""
        if region.first_block is None:
            return Region()
        if isinstance(region.block.last_op, tir.YieldOp):
            return self.expression_region(region, mapping)
        block, inner = self._open(region, mapping)
        self.statements(region.block.ops, block, inner)
        return Region(block)

    def statements(self, ops: Iterable[Operation], block: Block, mapping: Mapping) -> None:
        """Copy the statements among `ops` in order; expressions are copied with their users."""
        for op in ops:
            if not is_expression(op) and not isinstance(op, tir.YieldOp):
                self.statement(op, block, mapping)

    @staticmethod
    def _open(region: Region, mapping: Mapping) -> tuple[Block, Mapping]:
        """Return an empty block with arguments like a region's, and the mapping for its contents."""
        old = region.block.args
        block = Block(arg_types=[a.type for a in old])
        for a, b in zip(old, block.args, strict=True):
            set_name(b, name_of(a))
        copies: Mapping = dict(zip(old, block.args, strict=True))
        carry(copies)
        return block, {**mapping, **copies}


def _like(op: Operation, operands: list[SSAValue], regions: list[Region]) -> Operation:
    new = make(type(op), operands, [r.type for r in op.results], op.properties, op.attributes, op.location)
    for region in regions:
        new.add_region(region)
    for old, result in zip(op.results, new.results, strict=True):
        set_name(result, name_of(old))
    return new


def copied_tree(value: SSAValue, insert: Callable[[Operation], None], stays: Callable[[SSAValue], bool]) -> SSAValue:
    """Recompute a value by copies of its operations, passed to `insert` in order; values that `stays` are shared."""
    op = value.owner
    if not isinstance(op, Operation) or stays(value):
        return value
    new = op.clone({o: copied_tree(o, insert, stays) for o in op.operands})
    insert(new)
    return new.results[0]


_COPIER = Copier()


def clone_expr(value: SSAValue, block: Block | None, mapping: Mapping) -> SSAValue:
    """Copy an expression to the end of `block`, replacing values by `mapping`."""
    return _COPIER.value(value, block, mapping)


def copied(ops: Iterable[Operation], block: Block, mapping: Mapping) -> None:
    """Copy statements to the end of `block`."""
    _COPIER.statements(ops, block, mapping)


def with_aliases(ops: Sequence[Operation], known: Mapping) -> list[Operation]:
    """Return statements with the definitions of their undeclared buffers, after the aliased memory or at the start."""
    aliases = free_aliases(ops, known)
    before = [alias for alias in aliases if alias.operands[0].owner not in ops]
    return [*before, *(o for op in ops for o in (op, *(a for a in aliases if a.operands[0].owner is op)))]


def free_aliases(ops: Sequence[Operation], known: Mapping) -> list[Operation]:
    """Return the definitions of buffers that statements use without declaring them; no statement contains them."""
    here = dict.fromkeys(inner for op in ops for inner in op.walk())
    owners = dict.fromkeys(v.owner for op in here for v in op.operands if v not in known and v.owner not in here)
    return [op for op in owners if isinstance(op, tir.DeclBufferOp) and op.alias]
