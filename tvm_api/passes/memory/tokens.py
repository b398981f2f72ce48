"""Which tensors of a function may share memory, how large they are, and how often calls use them."""

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
"""Operators whose result may be in the memory of their first operand."""


def attributes_of(func: relax.FuncOp | relax.ClosureOp) -> dict[str, Attribute]:
    """The attributes of a function."""
    return {} if func.func_attrs is None else dict(func.func_attrs.data)


class Bounds:
    """The sizes of tensors, as large as they can be."""

    def __init__(self, func: relax.FuncOp):
        self._analyzer = Analyzer()
        for name, bound in upper_bounds(func).items():
            self._analyzer.bind(Var(name), 0, bound)

    def bytes(self, t: relax.TensorType) -> int | SymExpr:
        """The bytes of a tensor of known extents and dtype: a number where they are bounded."""
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
    """How often calls have it as an argument."""
    kept: bool = False
    """Whether something else uses it, so that it keeps memory of its own."""
    result: bool = False
    """Whether it is a result of the function that gets storage of its size."""
    storage: StoragePlan | None = None


Tokens = Token | tuple["Tokens", ...] | None
"""The tokens of a value: for a tuple those of its fields."""


def leaves(tokens: Tokens) -> Iterator[Token]:
    """The tokens one by one."""
    if isinstance(tokens, Token):
        yield tokens
    for each in tokens if isinstance(tokens, tuple) else ():
        yield from leaves(each)


class TokenTable:
    """The tokens of the values of a function.

    A token is of one block: what another one uses is kept, and so is what anything but a call of a tensor function or
    a packed function uses. Closures run at another time: what they use is kept, and nothing in them shares memory.
    """

    def __init__(self, func: relax.FuncOp, kernels: set[str], plan_results: bool):
        self._bounds = Bounds(func)
        self._kernels = kernels
        self._plan_results = plan_results
        self._of: dict[SSAValue, Tokens] = {}
        self.all: list[Token] = []
        self._visit(func.body.block)

    def arguments(self, op: Operation) -> Iterator[Token]:
        """The tokens that a call of a tensor function or packed function has as arguments; none for other ops."""
        if self._uses_tensors(op):
            for operand in op.operands:
                yield from leaves(self._of.get(operand))

    def of(self, op: AllocTensor) -> Token | None:
        """The token of an allocation, None where it keeps memory of its own."""
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
        """A new token, where extents and dtype are known."""
        t = op.new_tensor()
        if t.dims is None or t.element is None or op.parent is None:
            return None
        device, scope = (_content(v) for v in op.operands[2:4])
        token = Token(op, op.parent, (t.element, device, scope), self._bounds.bytes(t))
        self.all.append(token)
        return token

    def same(self, op: Operation) -> Tokens:
        """The tokens of the first operand."""
        return self._of.get(op.operands[0])

    def fields(self, op: relax.TupleOp) -> Tokens:
        """The tokens of the fields."""
        return tuple(self._of.get(v) for v in op.fields_)

    def field(self, op: relax.TupleGetItemOp) -> Tokens:
        """The tokens of one field."""
        tokens = self._of.get(op.tuple_)
        return tokens[op.index.data] if isinstance(tokens, tuple) else None

    def give(self, op: relax.ReturnOp) -> None:
        """Results are kept, or have storage of their own where that is wanted and their size is bounded."""
        for token in leaves(self._of.get(op.value)):
            token.result = self._plan_results and isinstance(token.size, int)
            token.kept |= not token.result


def _content(value: SSAValue) -> Attribute:
    """What a leaf holds."""
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
