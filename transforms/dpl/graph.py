"""Matching of a `PatternContext` against a dataflow block: each pattern is assigned a distinct variable.

The search follows the edges: once a pattern has a variable, the candidates of an adjacent pattern are the operands or
users of that variable. Only the first pattern of each connected component is tried at all ops of its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import relax
from ...handles.relax.call import Call
from ...handles.relax.expr import Expr, Tuple, Var, bound_expr, canonical, expr_of
from ...handles.relax.function import DataflowBlock
from . import patterns as p
from .matcher import Matcher, Matches, Subject, roots_of, same_value


def match_block(constraints: p.Constraints, dfb: DataflowBlock) -> Matches | None:
    """Return the variables that the patterns of a context match in a dataflow block, or None if there is no match."""
    if not constraints.nodes:
        return None
    search = _Search(constraints, BlockIndex(dfb.op))
    for _ in search.solve():
        return Matches({n: search.matched_variable(n) for n in constraints.nodes})
    return None


p.SEARCH.in_block = match_block


@dataclass
class BlockIndex:
    """The bindings of a dataflow block by op, and the users of each value."""

    block: relax.DataflowOp
    bindings: list[Operation] = field(init=False)
    position: dict[Operation, int] = field(init=False)

    def __post_init__(self) -> None:
        ops = self.block.body.block.ops
        self.bindings = [op for op in ops if not isinstance(op, relax.OutputOp) and not relax.is_inline(op)]
        self.position = {op: i for i, op in enumerate(self.bindings)}

    @cached_property
    def by_name(self) -> dict[str, list[SSAValue]]:
        """Return the values of bindings by the name of their op."""
        values: dict[str, list[SSAValue]] = {}
        for op in self.bindings:
            values.setdefault(op.name, []).append(op.results[0])
        return values

    @cached_property
    def values(self) -> list[SSAValue]:
        """Return all values bound in the block or used from outside, in order of first occurrence."""
        values: dict[SSAValue, None] = {}
        for op in self.bindings:
            values.update(dict.fromkeys(operand_values(op)))
            values.setdefault(op.results[0])
        return list(values)

    def lookup(self, var: Var) -> Expr | None:
        """Return the expression that a variable is bound to in the block."""
        value = canonical(var.ssa)
        if (
            isinstance(value, OpResult)
            and value.op.parent is self.block.body.block
            and not isinstance(value.op, relax.MatchCastOp)
        ):
            return bound_expr(value.op)
        return None


def operand_values(op: Operation) -> Iterator[SSAValue]:
    """Yield the variables that a binding uses, also inside tuples and other unnamed expressions."""
    for value in op.operands:
        if isinstance(value, OpResult) and relax.is_inline(value.op):
            yield from operand_values(value.op)
        else:
            yield canonical(value)


def consumers(value: SSAValue) -> dict[Operation, None]:
    """Return the ops that use a variable, directly or in an unnamed tuple, including the end of a block."""
    users: dict[Operation, None] = {}
    for use in value.uses:
        if use.operation.results and relax.is_inline(use.operation):
            users.update(consumers(use.operation.results[0]))
        else:
            users.setdefault(use.operation)
    return users


class _Search:
    """A backtracking search; `solve` yields for every solution."""

    def __init__(self, constraints: p.Constraints, index: BlockIndex):
        self.constraints = constraints
        self.index = index
        self.matcher = Matcher(index.lookup)
        self.taken: set[SSAValue] = set()
        self.at: dict[p.DFPattern, SSAValue] = {}
        self.edges_of: dict[p.DFPattern, list[p.Edge]] = {n: [] for n in constraints.nodes}
        for edge in constraints.edges:
            self.edges_of[edge.definition].append(edge)
            self.edges_of[edge.user].append(edge)

    def solve(self) -> Iterator[None]:
        """Yield with every pattern assigned to a distinct variable."""
        node = self._next()
        if node is None:
            if all(map(self._same_shape, self.constraints.same_shapes)):
                yield
            return
        for value in self._candidates(node):
            if value in self.taken:
                continue
            for _ in self.matcher.match(node, expr_of(value)):
                yield from self._place(node, value)

    def _place(self, node: p.DFPattern, value: SSAValue) -> Iterator[None]:
        self.at[node] = value
        self.taken.add(value)
        if all(map(self._holds, self.edges_of[node])):
            yield from self.solve()
        del self.at[node]
        self.taken.discard(value)

    def _next(self) -> p.DFPattern | None:
        """Return an unassigned pattern, preferably one adjacent to an assigned one."""
        free = [n for n in self.constraints.nodes if n not in self.at]
        for node in free:
            if any(e.definition in self.at or e.user in self.at for e in self.edges_of[node]):
                return node
        calls = (n for n in free if roots_of(n) is not None)
        return next(calls, free[0] if free else None)

    def _candidates(self, node: p.DFPattern) -> Iterable[SSAValue]:
        for edge in self.edges_of[node]:
            if edge.definition is node and edge.user in self.at:
                return dict.fromkeys(operand_values(self._op_at(edge.user)))
            if edge.user is node and edge.definition in self.at:
                position = self.index.position
                users = [op for op in consumers(self.at[edge.definition]) if op in position]
                return [op.results[0] for op in sorted(users, key=position.__getitem__)]
        roots = roots_of(node)
        if roots is None:
            return self.index.values
        return [v for name in sorted(roots) for v in self.index.by_name.get(name, ())]

    def _op_at(self, node: p.DFPattern) -> Operation:
        value = self.at[node]
        return value.op if isinstance(value, OpResult) else self.index.block

    def _holds(self, edge: p.Edge) -> bool:
        """Return whether an edge holds, or has an unassigned end."""
        if edge.definition not in self.at or edge.user not in self.at:
            return True
        value, user = self.at[edge.definition], self._op_at(edge.user)
        if edge.only and [op for op in consumers(value) if op.results] != [user]:
            return False
        if edge.index < 0:
            return value in set(operand_values(user))
        return self._is_argument(value, user, edge.index)

    @staticmethod
    def _is_argument(value: SSAValue, user: Operation, index: int) -> bool:
        expr = bound_expr(user)
        args = expr.args if isinstance(expr, Call) else [expr_of(v) for v in user.operands]
        if any(isinstance(arg, Tuple) for arg in args):  # the inputs of a destination-passing call count one by one
            used = list(operand_values(user))
            return index < len(used) and same_value(used[index], value)
        if index >= len(args):
            return False
        arg = args[index]
        return isinstance(arg, Var) and same_value(arg.ssa, value)

    def _same_shape(self, patterns: tuple[p.DFPattern, ...]) -> bool:
        shapes = {_shape_of(self.at.get(x, self.matcher.bound.get(x))) for x in patterns}
        return len(shapes) == 1 and None not in shapes

    def matched_variable(self, node: p.DFPattern) -> Expr:
        """Return the variable assigned to a pattern."""
        return expr_of(self.at[node])


def _shape_of(value: SSAValue | Subject | None) -> tuple[object, ...] | None:
    t = value.type if isinstance(value, SSAValue) else value.struct_info.type if isinstance(value, Expr) else None
    if isinstance(t, TupleType):
        return None
    return getattr(t, "dims", None)
