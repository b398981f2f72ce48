"""Liveness of tensors for memory planning: which may share memory, their sizes, and their uses by calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import relax
from ....dialects.dtypes import byte_size
from ....dialects.relax.memory import AllocTensor
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import SymExpr, Var, product
from ....ir.functions.bounds import upper_bounds
from .storage_pool import StoragePlan

ALIASES = frozenset(("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"))
"""Operators whose result may share the memory of their first operand."""


def attributes_of(func: relax.FuncOp | relax.ClosureOp) -> dict[str, Attribute]:
    """Return the attributes of a function."""
    return {} if func.func_attrs is None else dict(func.func_attrs.data)


class Bounds:
    """Upper bounds of tensor sizes."""

    def __init__(self, func: relax.FuncOp):
        self._analyzer = Analyzer()
        for name, bound in upper_bounds(func).items():
            self._analyzer.bind(Var(name), 0, bound)

    def bytes(self, t: relax.TensorType) -> int | SymExpr:
        """Return the size in bytes of a tensor of known extents and dtype, as a number if it is bounded."""
        assert t.dims is not None and t.element is not None
        size = product([self._extent(d) for d in t.dims]) * byte_size(t.element)
        return size if size.constant is None else size.constant

    def _extent(self, d: SymExpr) -> SymExpr | int:
        high = self._analyzer.bounds(d).high
        return max(high, 0) if isinstance(high, int) else d


@dataclass(eq=False)
class Token:
    """A tensor that may share memory."""

    op: AllocTensor
    block: Block
    kind: tuple[Attribute, ...]
    size: int | SymExpr
    uses: int = 0
    """The number of calls with it as an argument."""
    kept: bool = False
    """True if there are other uses, so that it needs memory of its own."""
    result: bool = False
    """True for a result of the function with a storage of its size."""
    storage: StoragePlan | None = None


Tokens = Token | tuple["Tokens", ...] | None
"""The tokens of a value; a tuple has those of its fields."""


def leaves(tokens: Tokens) -> Iterator[Token]:
    """Yield the individual tokens."""
    if isinstance(tokens, Token):
        yield tokens
    for each in tokens if isinstance(tokens, tuple) else ():
        yield from leaves(each)


class TokenTable:
    """The tokens of a function's values.

    A token belongs to one block: tensors used in another block, or by anything but calls of tensor functions
    and packed functions, are kept. Closures run at another time: tensors used in them are kept, and their own
    are not shared.
    """

    def __init__(self, func: relax.FuncOp, kernels: set[str], plan_results: bool):
        self._bounds = Bounds(func)
        self._kernels = kernels
        self._plan_results = plan_results
        self._of: dict[SSAValue, Tokens] = {}
        self.all: list[Token] = []
        self._visit(func.body.block)

    def arguments(self, op: Operation) -> Iterator[Token]:
        """Yield the tokens among the arguments of a call of a tensor or packed function; none for other ops."""
        if self._uses_tensors(op):
            for operand in op.operands:
                yield from leaves(self._of.get(operand))

    def of(self, op: AllocTensor) -> Token | None:
        """Return the token of an allocation, or None if it needs memory of its own."""
        token = self._of.get(op.results[0])
        return token if isinstance(token, Token) and not token.kept else None

    def _uses_tensors(self, op: Operation) -> bool:
        if isinstance(op, relax.CallOp):
            return op.callee_name in self._kernels
        return isinstance(op, relax.CallPackedOp)

    def _visit(self, block: Block) -> None:
        for op in block.ops:
            rule = _RULES.get(type(op)) or (_same if op.name in ALIASES else None)
            if rule is not None:
                tokens = rule(self, op)
                if tokens is not None:
                    self._of[op.results[0]] = tokens
            elif self._uses_tensors(op):
                self._count(op, block)
            else:
                self._keep(op.operands)
            for region in op.regions:
                if isinstance(op, relax.IfOp):
                    self._visit(region.block)
                else:
                    self._keep(v for inner in region.walk() for v in inner.operands)

    def _count(self, op: Operation, block: Block) -> None:
        for token in self.arguments(op):
            token.uses += 1
            token.kept |= token.block is not block

    def _keep(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            for token in leaves(self._of.get(value)):
                token.kept = True

    def allocation(self, op: AllocTensor) -> Token | None:
        """Return a new token if extents and dtype are known, or None."""
        t = op.new_tensor()
        if t.dims is None or t.element is None or op.parent is None:
            return None
        device, scope = (_content(v) for v in op.operands[2:4])
        token = Token(op, op.parent, (t.element, device, scope), self._bounds.bytes(t))
        self.all.append(token)
        return token

    def same(self, op: Operation) -> Tokens:
        """Return the tokens of the first operand."""
        return self._of.get(op.operands[0])

    def fields(self, op: relax.TupleOp) -> Tokens:
        """Return the tokens of the fields."""
        return tuple(self._of.get(v) for v in op.fields_)

    def field(self, op: relax.TupleGetItemOp) -> Tokens:
        """Return the tokens of one field."""
        tokens = self._of.get(op.tuple_)
        return tokens[op.index.data] if isinstance(tokens, tuple) else None

    def give(self, op: relax.ReturnOp) -> None:
        """Keep the results, or give them storage of their own if requested and their size is bounded."""
        for token in leaves(self._of.get(op.value)):
            token.result = self._plan_results and isinstance(token.size, int)
            token.kept |= not token.result


def _content(value: SSAValue) -> Attribute:
    """Return the type of a leaf's contents."""
    return next(iter(value.owner.properties.values())) if isinstance(value.owner, relax.LEAVES) else value.type


def _same(table: TokenTable, op: Operation) -> Tokens:
    return table.same(op)


_RULES: dict[type[Operation], Callable[[TokenTable, Any], Tokens]] = {
    AllocTensor: TokenTable.allocation,
    relax.BindOp: TokenTable.same,
    relax.MatchCastOp: TokenTable.same,
    relax.TupleOp: TokenTable.fields,
    relax.TupleGetItemOp: TokenTable.field,
    relax.ReturnOp: TokenTable.give,
}
