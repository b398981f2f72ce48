"""Segments: runs of bindings without side effects in between, indexed by op, in which patterns are matched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, TupleGetItem, Var, bound_expr, canonical
from ...ir.functions.lookup import binding_blocks
from ...ir.rewriting.edit import is_removable
from .matcher import Matches, Roots
from .place import Placer


@dataclass
class Segment:
    """Bindings in order. Rewritten ones are not looked through or matched again."""

    ops: list[Operation]
    placer: Placer
    rewritten: set[Operation] = field(default_factory=set[Operation])
    position: dict[Operation, int] = field(init=False)
    _by_name: dict[str, list[Operation]] = field(init=False)

    def __post_init__(self) -> None:
        self.position = {op: i for i, op in enumerate(self.ops)}
        self._members = frozenset(self.ops)
        self._by_name = {}
        for op in self.ops:
            self._by_name.setdefault(op.name, []).append(op)

    def candidates(self, roots: Roots) -> Iterator[Operation]:
        """Yield the bindings of these ops that are not rewritten yet, in order."""
        ops: Iterable[Operation] = self.ops
        if roots is not None:
            runs = [run for name in roots if (run := self._by_name.get(name))]
            ops = (
                runs[0] if len(runs) == 1 else sorted((op for run in runs for op in run), key=self.position.__getitem__)
            )
        return (op for op in ops if op not in self.rewritten)

    def lookup(self, var: Var) -> Expr | None:
        """Return the value of a variable bound in the segment, unless it was rewritten."""
        value = canonical(var.ssa)
        if not isinstance(value, OpResult) or not self.can_see(value.op):
            return None
        return bound_expr(value.op)

    def can_see(self, op: Operation) -> bool:
        """Return whether the value of an op is looked through."""
        return op in self._members and op not in self.rewritten and not isinstance(op, relax.MatchCastOp)

    def replace(self, op: Operation, new: Any, matches: Matches, anchor: Operation | None = None) -> bool:
        """Replace the binding `op` by the expression `new`, from `anchor` on. Return False if it is the same one."""
        value = to_expr(new).ssa
        result = op.results[0]
        if canonical(value) is canonical(result):
            return False
        reused = {v for m in matches.values() if (v := _bound_value(m)) is not None} - {result}
        placed = self.placer.place(value, op if anchor is None else anchor, reused)
        self.rewritten.add(op)
        self.placer.replace(op, placed)
        return True


def _bound_value(expr: object) -> SSAValue | None:
    """Return the bound value of a matched expression, if it is one."""
    return expr.ssa if isinstance(expr, Call | TupleGetItem) else None


def segments(func: Operation, placer: Placer) -> Iterator[Segment]:
    """Yield the segments of a function, in order: one for each dataflow block, and the pure runs outside of these."""
    for block in list(binding_blocks(func)):
        for run in _runs(block):
            if run:
                yield Segment(run, placer)


def _runs(block: Block) -> Iterator[list[Operation]]:
    run: list[Operation] = []
    pure = isinstance(block.parent_op(), relax.DataflowOp) or _in_pure_function(block)
    for op in block.ops:
        if op is block.last_op:
            continue
        if _splits(op, pure):
            yield run
            run = []
        elif not relax.is_inline(op) or _is_result(op):
            run.append(op)
    yield run


def _splits(op: Operation, pure: bool) -> bool:
    if isinstance(op, relax.IfOp | relax.DataflowOp):
        return True
    return not pure and not isinstance(op, relax.MatchCastOp) and not is_removable(op)


def _in_pure_function(block: Block) -> bool:
    op = block.parent_op()
    while op is not None and not isinstance(op, relax.FuncOp | relax.ClosureOp):
        op = op.parent_op()
    return op is None or op.impure is None


def _is_result(op: Operation) -> bool:
    """Return whether an unnamed tuple is the result of a function or branch: it counts as the last binding."""
    use = op.results[0].get_user_of_unique_use()
    return relax.is_inline(op) and isinstance(use, relax.ReturnOp | relax.YieldOp)
