"""Equality saturation: DPL's rules, all of them at all places, and of what that makes equal the cheapest program.

A greedy rewriter replaces, and by that loses what stood there. Here a rule adds: what a match is equal to joins its
class in an e-graph (`egraph`), until no rule finds anything new or a limit is reached; then the expressions of least
cost are taken. So the order of the rules does not matter, and rules that only pay off together are found.
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
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var, bound_expr
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
    """Replace what dataflow blocks compute by the cheapest that `rules` make equal to it.

    `rules`: a `PatternMatchingRewriter`, a pair of a pattern and a rewriter, or a sequence of these. A rule says that
    two expressions are equal; it should not ask which is better. What has another struct info is not taken for equal.
    `cost(expr)`: what an expression costs when its operands are there; `EstimatedCost()` where it is None. What costs
    as much as what was there, or more, never replaces it. `max_iterations`: how often all rules are tried;
    `max_nodes`: how many expressions are added to a block's own. By default `egraph.iterations` and `egraph.nodes` of
    the limits (docs/limits.md).

    Raises `TiraxError` where a rewriter gives what cannot stand in a dataflow block, or a cost is not a number.
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
        """Let cheaper expressions stand for the results of a run, if there are any."""
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
    """The single rules of rewriters, of pairs of a pattern and a rewriter, and of sequences of these."""
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
    """The saturated e-graphs of a function's dataflow blocks, to look at: `print(graph.op)`. The function stays."""
    graphs: list[EGraph] = []
    for block in ops_of_type(func.clone(), relax.DataflowOp):
        for run in _runs(block):
            graphs.append(EGraph(run, _roots(run)))
            saturate(graphs[-1], tuple(rules_of(rules)), max_iterations, max_nodes)
    return graphs


# The part of a block that is an e-graph.


def _runs(block: relax.DataflowOp) -> Iterator[list[Operation]]:
    """The bindings between those that are opaque: that may fail, bind symbolic variables or hold a body."""
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
    """The values of a run that are used after it."""
    inside = set(run)
    return [op.results[0] for op in run if any(user not in inside for user in consumers(op.results[0]))]


# Saturating.


class ClassMatcher(Matcher):
    """Matches in an e-graph: a variable is every expression of its class, one after the other."""

    def __init__(self, graph: EGraph):
        super().__init__(self._first)
        self._graph = graph

    def class_of(self, expr: Subject) -> ClassOp | None:
        """The class of an expression, None for a leaf or operator."""
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
        """Yields for each way in which this one expression is like the pattern."""
        for _ in RULES[type(pattern)](self, pattern, expr):
            self.bound[pattern] = expr
            try:
                yield
            finally:
                del self.bound[pattern]


def _any_member_will_do(pattern: p.DFPattern) -> bool:
    """Whether a pattern asks for nothing but what all members of a class have in common: their type."""
    if isinstance(pattern, p.AndPattern):
        return _any_member_will_do(pattern.left) and _any_member_will_do(pattern.right)
    if isinstance(pattern, p.StructInfoPattern | p.DataTypePattern | p.ShapePattern):
        return _any_member_will_do(pattern.pattern)
    return isinstance(pattern, p.WildcardPattern)


def saturate(
    graph: EGraph, rules: Sequence[ExprPatternRewriter], max_iterations: int | None = None, max_nodes: int | None = None
) -> bool:
    """Add what the rules make equal. Whether nothing more can be added; False where a limit came first."""
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
    """What the rules find that was not `seen`: each a class of the old and the new value that stands in no block."""
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
    """What a rule gives for an expression, for each way in which it matches."""
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
    """What makes a match another one: the class where any member will do, else the member."""
    if not isinstance(expr, _IN_CLASSES):
        return expr.name if isinstance(expr, Op) else None
    cls = matcher.class_of(expr) if _any_member_will_do(pattern) else None
    return expr.ssa if cls is None else cls.result


# Extraction.


class _Price:
    """What members cost, asked for once; integers above 0, so that an expression costs more than its parts."""

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
"""The member of each class that costs least, each after those that it uses."""


def _parts(op: Operation) -> list[ClassOp]:
    """The classes that a member uses, each once."""
    return list(dict.fromkeys(v.op for v in op.operands if isinstance(v, OpResult) and isinstance(v.op, ClassOp)))


def _cheapest(graph: EGraph, price: _Price) -> Chosen:
    """Knuth's generalization of Dijkstra's algorithm: what is cheapest is settled first, so nothing uses itself."""
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
    """The members that the roots need, in order of use."""
    needed: set[ClassOp] = set()
    stack = [v.op for v in graph.roots if isinstance(v, OpResult) and isinstance(v.op, ClassOp)]
    while stack:
        cls = stack.pop()
        if cls not in needed:
            needed.add(cls)
            stack += _parts(chosen[cls])
    return [op for cls, op in chosen.items() if cls in needed]


def _cost_of_all(graph: EGraph, chosen: Chosen, price: _Price) -> int:
    """What the roots cost, what is used twice counted once."""
    return sum(map(price, _needed(graph, chosen)))


def _build(graph: EGraph, chosen: Chosen) -> Iterable[SSAValue]:
    """The values of the roots, as ops that have no place yet."""
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
