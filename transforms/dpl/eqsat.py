"""Equality saturation: apply DPL rules everywhere, and extract the cheapest of all equal programs.

A greedy rewriter loses the expression that it replaces. Here a rule adds: the replacement joins the class of the match
in an e-graph (`egraph`), until no rule adds anything or a limit is reached; then the cheapest expressions are
extracted. So the order of the rules does not matter, and rules that only pay off together are found.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.equivalence import ClassOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Constant, Expr, Tuple, TupleGetItem, Var, bound_expr
from ...handles.relax.op import Op
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.passes.limits import limit
from ...ir.passes.transform import Pass, no_gc
from ...ir.rewriting.edit import is_removable
from . import patterns as p
from .cost import CostFunction, EstimatedCost
from .egraph import EGraph
from .graph import consumers
from .matcher import RULES, Matcher, Matches, Subject, Ways, same_expr
from .place import Placer, names_of
from .rewriter import ExprPatternRewriter, PatternMatchingRewriter, clean_up, forget_discarded, verify

_IN_CLASSES = (Var, Call, Tuple, TupleGetItem, Constant)
_SCALE = 1024


@dataclass(frozen=True)
class EqsatRewrite(Pass):
    """Replace the results of dataflow blocks by the cheapest expressions that `rules` make equal to them.

    `rules`: a `PatternMatchingRewriter`, a pair of a pattern and a rewriter, or a sequence of these. A rule states that
    two expressions are equal; it should not decide which is better. Expressions with different struct info are not
    joined. `cost(expr)`: the cost of an expression, given its operands; `EstimatedCost()` by default. Only a strictly
    cheaper program replaces the original. `max_iterations`: how often all rules are tried; `max_nodes`: how many
    expressions may be added to a block. The defaults are the limits `egraph.iterations` and `egraph.nodes`
    (docs/limits.md).

    Raises `TiraxError` if a rewriter returns something that a dataflow block cannot contain, or a cost is not a number.
    """

    name: ClassVar[str] = "eqsat-rewrite"
    rules: tuple[ExprPatternRewriter, ...] = ()
    cost: CostFunction | None = None
    max_iterations: int | None = None
    max_nodes: int | None = None

    def __init__(
        self,
        rules: Any,
        cost: CostFunction | None = None,
        max_iterations: int | None = None,
        max_nodes: int | None = None,
    ):
        object.__setattr__(self, "rules", tuple(rules_of(rules)))
        object.__setattr__(self, "cost", cost)
        object.__setattr__(self, "max_iterations", max_iterations)
        object.__setattr__(self, "max_nodes", max_nodes)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with no_gc():
            for func in relax_functions(op):
                self._rewrite(func)

    def _rewrite(self, func: relax.FuncOp) -> None:
        placer = Placer(names_of(func))
        runs = [(run, _roots(run)) for block in ops_of_type(func, relax.DataflowOp) for run in _runs(block)]
        changed = [self._improve(run, roots, placer) for run, roots in runs]
        forget_discarded(func)
        if any(changed):
            verify(func)
            clean_up(func)

    def _improve(self, run: list[Operation], roots: list[SSAValue], placer: Placer) -> bool:
        """Replace the results of a run by cheaper expressions, if there are any."""
        graph = EGraph(run, roots)
        price = _Price(EstimatedCost() if self.cost is None else self.cost)
        before = _cost_of_all(graph, _cheapest(graph, price), price)
        try:
            saturate(graph, self.rules, self.max_iterations, self.max_nodes)
            chosen = _cheapest(graph, price)
            if _cost_of_all(graph, chosen, price) >= before:
                return False
            for root, value in zip(roots, _build(graph, chosen), strict=True):
                old = cast(OpResult, root).op
                placer.replace(old, placer.place(value, old))
            placer.placed.clear()
            return True
        finally:
            graph.drop()


def rules_of(rules: Any) -> Iterator[ExprPatternRewriter]:
    """Yield the single rules of rewriters, of pairs of a pattern and a rewriter, and of sequences of these."""
    if isinstance(rules, PatternMatchingRewriter):
        yield from rules.rules()
    elif isinstance(rules, tuple | list):
        parts = cast("Sequence[Any]", rules)
        if len(parts) == 2 and isinstance(parts[0], p.DFPattern):
            yield from PatternMatchingRewriter.from_pattern(parts[0], parts[1]).rules()
        else:
            for part in parts:
                yield from rules_of(part)
    else:
        raise TiraxError("not a rule", expected="a PatternMatchingRewriter or (pattern, rewriter)", found=repr(rules))


def saturated(
    func: relax.FuncOp, rules: Any, max_iterations: int | None = None, max_nodes: int | None = None
) -> list[EGraph]:
    """Return the saturated e-graphs of a function's dataflow blocks, for inspection: `print(graph.op)`."""
    graphs: list[EGraph] = []
    for block in ops_of_type(func.clone(), relax.DataflowOp):
        for run in _runs(block):
            graphs.append(EGraph(run, _roots(run)))
            saturate(graphs[-1], tuple(rules_of(rules)), max_iterations, max_nodes)
    return graphs


# Parts of a block that become e-graphs.


def _runs(block: relax.DataflowOp) -> Iterator[list[Operation]]:
    """Yield the runs of bindings between opaque ones, which may fail, bind symbolic variables or have a body."""
    run: list[Operation] = []
    for op in block.body.block.ops:
        if isinstance(op, relax.MatchCastOp | relax.OutputOp) or op.regions or not _is_pure(op):
            if run:
                yield run
            run = []
        elif not relax.is_inline(op):
            run.append(op)


def _is_pure(op: Operation) -> bool:
    return is_removable(op) or isinstance(op, relax.LEAVES)


def _roots(run: list[Operation]) -> list[SSAValue]:
    """Return the values of a run that are used after it."""
    inside = set(run)
    return [op.results[0] for op in run if any(user not in inside for user in consumers(op.results[0]))]


# Saturation.


class ClassMatcher(Matcher):
    """A matcher on an e-graph: a variable represents every expression of its class."""

    def __init__(self, graph: EGraph):
        super().__init__(self._first)
        self._graph = graph

    def class_of(self, expr: Subject) -> ClassOp | None:
        """Return the class of an expression, or None for a leaf or operator."""
        return self._graph.class_of(expr.ssa) if isinstance(expr, _IN_CLASSES) else None

    def _first(self, var: Var) -> Expr | None:
        cls = self.class_of(var)
        first = None if cls is None else self._graph.first(cls)
        return None if isinstance(first, Var) else first

    def match(self, pattern: p.DFPattern, expr: Subject) -> Ways:
        cls, known = self.class_of(expr), self.bound.get(pattern)
        if known is not None:
            if same_expr(known, expr) if cls is None else self.class_of(known) is cls:
                yield
        elif cls is None or not isinstance(expr, Var) or isinstance(pattern, p.NotPattern):
            yield from self._as(pattern, expr)
        else:
            alike = _any_member_will_do(pattern)
            for member in (self._graph.first(cls),) if alike else self._graph.exprs(cls):
                yield from self._as(pattern, member)

    def _as(self, pattern: p.DFPattern, expr: Subject) -> Ways:
        """Yield for each way in which this single expression matches the pattern."""
        for _ in RULES[type(pattern)](self, pattern, expr):
            self.bound[pattern] = expr
            try:
                yield
            finally:
                del self.bound[pattern]


def _any_member_will_do(pattern: p.DFPattern) -> bool:
    """Return whether a pattern tests only the type, which all members of a class share."""
    if isinstance(pattern, p.AndPattern):
        return _any_member_will_do(pattern.left) and _any_member_will_do(pattern.right)
    if isinstance(pattern, p.StructInfoPattern | p.DataTypePattern | p.ShapePattern):
        return _any_member_will_do(pattern.pattern)
    return isinstance(pattern, p.WildcardPattern)


def saturate(
    graph: EGraph, rules: Sequence[ExprPatternRewriter], max_iterations: int | None = None, max_nodes: int | None = None
) -> bool:
    """Add the results of the rules until nothing changes; return False if a limit is reached first."""
    max_iterations = limit("egraph.iterations") if max_iterations is None else max_iterations
    max_nodes = limit("egraph.nodes") if max_nodes is None else max_nodes
    seen: set[Hashable] = set()
    most = len(graph.members) + max_nodes
    for _ in range(max_iterations):
        size, joined = len(graph.members), False
        for pair in _search(graph, rules, seen, max_nodes):
            if len(graph.members) < most:
                old, new = pair.operands
                joined |= graph.join(old, graph.add(new))
            pair.operands = ()
        graph.forget_discarded()
        if len(graph.members) >= most:
            return False
        if not joined and len(graph.members) == size:
            return True
    return False


def _search(graph: EGraph, rules: Sequence[ExprPatternRewriter], seen: set[Hashable], most: int) -> list[ClassOp]:
    """Return the new matches, not in `seen`, as detached classes of the old and the new value."""
    pending: list[ClassOp] = []
    for op, cls in graph.members.items():
        for rule in () if isinstance(op, relax.BindOp) else rules:
            if rule.roots is not None and op.name not in rule.roots:
                continue
            for new in _equal_to(graph, rule, op, seen):
                pending.append(ClassOp(cls.result, new))
                if len(pending) > most:
                    return pending
    return pending


def _equal_to(graph: EGraph, rule: ExprPatternRewriter, op: Operation, seen: set[Hashable]) -> Iterator[SSAValue]:
    """Yield the results of a rule for each of its matches of an expression."""
    matcher = ClassMatcher(graph)
    for _ in matcher.match(rule.pattern, bound_expr(op)):
        matches = Matches(matcher.bound)
        key = (rule, op, *(_identity(matcher, part, expr) for part, expr in matches.items()))
        if key in seen:
            continue
        seen.add(key)
        expr = matches[rule.pattern]
        matches.update(dict.fromkeys(rule.also, expr))
        new = rule.func(expr, matches)
        if new is not None and new is not expr:
            yield to_expr(new).ssa


def _identity(matcher: ClassMatcher, pattern: p.DFPattern, expr: Subject) -> Hashable:
    """Return the key that identifies a match: by class if any member will do, else by member."""
    if not isinstance(expr, _IN_CLASSES):
        return expr.name if isinstance(expr, Op) else None
    cls = matcher.class_of(expr) if _any_member_will_do(pattern) else None
    return expr.ssa if cls is None else cls.result


# Extraction.


class _Price:
    """Cached costs of members; positive integers, so that an expression costs more than its parts."""

    def __init__(self, cost: CostFunction):
        self._cost = cost
        self._known: dict[Operation, int] = {}

    def __call__(self, op: Operation) -> int:
        price = self._known.get(op)
        if price is None:
            price = self._known[op] = self._ask(op)
        return price

    def _ask(self, op: Operation) -> int:
        if isinstance(op, (relax.BindOp, *relax.LEAVES)):
            return 0
        cost = self._cost(bound_expr(op))
        if not 0 <= cost < math.inf:
            raise TiraxError(f"the cost of {op.name}", expected="a number that is not negative", found=cost)
        return round(cost * _SCALE) + 1


Chosen = dict[ClassOp, Operation]
"""The cheapest member of each class, operands first."""


def _parts(op: Operation) -> list[ClassOp]:
    """Return the classes that a member uses, each once."""
    return list(dict.fromkeys(v.op for v in op.operands if isinstance(v, OpResult) and isinstance(v.op, ClassOp)))


def _cheapest(graph: EGraph, price: _Price) -> Chosen:
    """Choose the cheapest members by Knuth's generalization of Dijkstra's algorithm, which excludes cycles."""
    missing = {op: len(_parts(op)) for op in graph.members}
    totals = {op: price(op) for op in graph.members}
    users: dict[ClassOp, list[Operation]] = {}
    for op in graph.members:
        for cls in _parts(op):
            users.setdefault(cls, []).append(op)
    order = {op: i for i, op in enumerate(graph.members)}
    heap = [(totals[op], order[op], op) for op, count in missing.items() if not count]
    heapify(heap)
    chosen: Chosen = {}
    while heap:
        total, _, op = heappop(heap)
        cls = graph.members[op]
        if cls in chosen:
            continue
        chosen[cls] = op
        for user in users.get(cls, ()):
            totals[user] += total
            missing[user] -= 1
            if not missing[user]:
                heappush(heap, (totals[user], order[user], user))
    return chosen


def _needed(graph: EGraph, chosen: Chosen) -> list[Operation]:
    """Return the members that the roots need, operands first."""
    needed: set[ClassOp] = set()
    stack = [v.op for v in graph.roots if isinstance(v, OpResult) and isinstance(v.op, ClassOp)]
    while stack:
        cls = stack.pop()
        if cls not in needed:
            needed.add(cls)
            stack += _parts(chosen[cls])
    return [op for cls, op in chosen.items() if cls in needed]


def _cost_of_all(graph: EGraph, chosen: Chosen, price: _Price) -> int:
    """Return the cost of the roots, with shared members counted once."""
    return sum(map(price, _needed(graph, chosen)))


def _build(graph: EGraph, chosen: Chosen) -> Iterable[SSAValue]:
    """Return the values of the roots, as detached ops."""
    copies: dict[SSAValue, SSAValue] = {}
    for op in _needed(graph, chosen):
        copies[graph.members[op].result] = _copy(op, copies)
    return [copies[root] if root in copies else _leaf(root) for root in graph.roots]


def _copy(op: Operation, copies: dict[SSAValue, SSAValue]) -> SSAValue:
    if isinstance(op, relax.BindOp):
        return op.value
    copy = op.clone()
    copy.operands = [copies[value] if value in copies else _leaf(value) for value in op.operands]
    return copy.results[0]


def _leaf(value: SSAValue) -> SSAValue:
    return cast(OpResult, value).op.clone().results[0]
