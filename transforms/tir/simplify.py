"""`simplify`: index arithmetic is written as short as the ranges of loop variables allow, and decided branches go.

    for %i to 8 {
      if %i < 8 {store %x, %A[(%i * 4 + 3) floordiv 4]}     ->     for %i to 8 {store %x, %A[%i]}
    }

Inside of a branch what its condition says of a variable is known, too.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.sym.analyzer import Analyzer, Interval
from ...dialects.sym.expr import Const, Op, SymExpr, Var, add, i1, i32, i64, mul
from ...ir.affine import Materializer, expr_of
from ...ir.prim_expr import same_tree
from ...ir.transform import Pass
from .walk import bind_loop, erase_with_tree, functions, inline_before, integer_type, remove_dead

_INDEX_TYPES = (i1, i32, i64)
"""What is computed in other types may wrap around."""
_FLIPPED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True)
class Simplify(Pass):
    """Simplify integer expressions, remove branches that are decided and stores of what is there already."""

    name = "simplify"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _Simplifier().block(func.body.block)
            remove_dead(func)


class _Simplifier:
    def __init__(self) -> None:
        self.analyzer = Analyzer()

    def block(self, block: Block) -> None:
        for op in list(block.ops):
            self._operation(op)

    def _operation(self, op: Operation) -> None:
        if isinstance(op, tir.IfOp):
            self._branch(op)
        elif isinstance(op, tir.ForOp):
            self._loop(op)
        elif isinstance(op, tir.StoreOp):
            self._store(op)
        elif isinstance(op, tir.LoadOp | tir.LetOp | tir.EvaluateOp | tir.CallIntrinOp | tir.SelectOp | tir.RampOp):
            self._operands(op)
        elif op.regions:
            self._operands(op)
            for region in op.regions:
                for block in region.blocks:
                    self.block(block)

    def _operands(self, op: Operation) -> None:
        for position, value in enumerate(op.operands):
            new = self._simplified(value, op)
            if new is not value:
                op.operands[position] = new

    def _simplified(self, value: SSAValue, user: Operation) -> SSAValue:
        """A shorter form of an integer expression in front of its user; itself where there is none."""
        dtype = integer_type(value)
        if dtype is None or not isinstance(value.owner, tir.BinaryExpr | tir.NotOp):
            return value
        given = expr_of(value)
        if any(v.dtype not in _INDEX_TYPES for v in given.free_vars()):
            return value
        found = self.analyzer.simplify(given)
        block = Block()
        new = Materializer(block.add_op)(found, dtype)
        if same_tree(new, value) and _length(new) >= _length(value):
            return value
        inline_before(block, user)
        return new

    def _store(self, op: tir.StoreOp) -> None:
        self._operands(op)
        source = op.value.owner
        if not isinstance(source, tir.LoadOp) or source.buffer is not op.buffer or source.next_op is not op:
            return
        if all(same_tree(a, b) for a, b in zip(source.indices, op.indices, strict=True)):
            erase_with_tree(op)

    def _loop(self, op: tir.ForOp) -> None:
        self._operands(op)
        bind_loop(self.analyzer, op)
        self.block(op.body.block)

    def _branch(self, op: tir.IfOp) -> None:
        self._operands(op)
        condition = expr_of(op.cond)
        known = self.analyzer.simplify(condition).constant
        if known is not None:
            self._decided(op, bool(known))
            return
        for region, holds in ((op.then_region, True), (op.else_region, False)):
            with self._assuming(condition, holds):
                if region.first_block is not None:
                    self.block(region.block)

    def _decided(self, op: tir.IfOp, holds: bool) -> None:
        region = op.then_region if holds else op.else_region
        if region.first_block is not None:
            self.block(region.block)
            inline_before(region.block, op)
        erase_with_tree(op)

    @contextmanager
    def _assuming(self, condition: SymExpr, holds: bool) -> Generator[None]:
        """Know meanwhile what a condition, or its opposite, says of single variables."""
        outer = self.analyzer
        inner = self.analyzer = outer.copy()
        for var, limits in _limits(condition, holds, outer):
            inner.bind(var, limits.low, limits.high)
        try:
            yield
        finally:
            self.analyzer = outer


def _limits(condition: SymExpr, holds: bool, analyzer: Analyzer) -> Iterator[tuple[Var, Interval]]:
    """Ranges of variables that follow from a condition of the form `variable < constant`, or several of them."""
    if not isinstance(condition, Op):
        return
    if condition.kind == "not":
        yield from _limits(condition.args[0], not holds, analyzer)
    elif condition.kind == ("and" if holds else "or"):
        for part in condition.args:
            yield from _limits(part, holds, analyzer)
    elif condition.kind in _FLIPPED:
        kind = condition.kind if holds else _FLIPPED[condition.kind]
        found = _limit(kind, condition.args[0] - condition.args[1], analyzer)
        if found is not None:
            yield found


def _limit(kind: str, difference: SymExpr, analyzer: Analyzer) -> tuple[Var, Interval] | None:
    """What `difference <kind> 0` says, where the difference is a multiple of one variable and a constant."""
    variables = difference.free_vars()
    if len(variables) != 1 or variables[0].dtype == i1:
        return None
    (var,) = variables
    one = Const(1, var.dtype)
    factor = (difference.substitute({var: add(var, one)}) - difference).constant
    offset = None if factor is None else (difference - mul(var, factor)).constant
    if not factor or offset is None:
        return None
    known = analyzer.bounds(var)
    low, high = known.low, known.high
    if factor < 0:
        kind = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(kind, kind)
        factor, offset = -factor, -offset
    if kind in ("lt", "le", "eq"):
        high = min(high, (-offset - (kind == "lt")) // factor)
    if kind in ("gt", "ge", "eq"):
        low = max(low, -((offset - (kind == "gt")) // factor))
    return None if kind == "ne" else (var, Interval(low, high))


def _length(value: SSAValue) -> int:
    """The number of operations of an expression, as a tree."""
    if not isinstance(value.owner, tir.BinaryExpr | tir.NotOp):
        return 1
    return 1 + sum(_length(o) for o in value.owner.operands)
