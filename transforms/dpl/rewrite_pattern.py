"""A dataflow pattern as an xDSL `RewritePattern`, to combine with handwritten patterns in a greedy set.

PatternRewriteWalker(GreedyRewritePatternApplier([DPLRewritePattern(pattern, rewriter), MyPattern()]))
"""

from __future__ import annotations

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects import relax
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, Var, bound_expr, canonical
from ...ir.names import NameSupply
from ...ir.rewriting.edit import is_removable
from . import patterns as p
from .matcher import Matcher
from .place import Placer, names_of
from .rewriter import Callback, ExprPatternRewriter, PatternMatchingRewriter


class DPLRewritePattern(RewritePattern):
    """Rewrite one binding at a time: a match of `pattern` is replaced by the result of `func(expr, matches)`.

    Variables are looked through within a block, except those of `match_cast`. There is no cleanup: other patterns of
    the set, or passes, do that.
    """

    def __init__(self, pattern: p.DFPattern, func: Callback):
        self._rules = list(PatternMatchingRewriter.from_pattern(pattern, func).rules())
        self._names: tuple[Operation, NameSupply] | None = None

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite `op` if a rule matches and changes it."""
        if op.parent is None or not op.results or isinstance(op, relax.DataflowOp) or relax.is_inline(op):
            return
        for rule in self._rules:
            named = rule.roots is None or op.name in rule.roots
            if named and _is_relax(op) and self._apply(rule, op, rewriter):
                return

    def _apply(self, rule: ExprPatternRewriter, op: Operation, rewriter: PatternRewriter) -> bool:
        matches = rule.matches(Matcher(lambda var: _bound_beside(var, op)), bound_expr(op))
        if matches is None:
            return False
        expr = matches[rule.pattern]
        new = rule.func(expr, matches)
        if new is None or new is expr:
            return False
        value = to_expr(new).ssa
        if canonical(value) is op.results[0]:
            return False
        self._replace(op, Placer(self._supply(op)), value, rewriter)
        return True

    def _replace(self, op: Operation, placer: Placer, value: SSAValue, rewriter: PatternRewriter) -> None:
        users = [use.operation for use in op.results[0].uses]
        placer.replace(op, placer.place(value, op))
        for new_op in placer.placed:
            rewriter.handle_operation_insertion(new_op)
        for user in users:
            rewriter.notify_op_modified(user)
        if op.results[0].first_use is None and is_removable(op):
            rewriter.erase(op)

    def _supply(self, op: Operation) -> NameSupply:
        """Return the names of the function around `op`, read once."""
        func = op
        while not isinstance(func, relax.FuncOp) and (outer := func.parent_op()) is not None:
            func = outer
        if self._names is None or self._names[0] is not func:
            self._names = (func, names_of(func))
        return self._names[1]


def _is_relax(op: Operation) -> bool:
    return op.name.startswith("relax.") and not isinstance(op, relax.FuncOp)


def _bound_beside(var: Var, op: Operation) -> Expr | None:
    """Return the value of a variable bound in the block of `op`."""
    value = canonical(var.ssa)
    if not isinstance(value, OpResult) or value.op.parent is not op.parent:
        return None
    return None if isinstance(value.op, relax.MatchCastOp | relax.DataflowOp) else bound_expr(value.op)
