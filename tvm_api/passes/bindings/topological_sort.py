"""Sort the bindings of dataflow blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ....diagnostics import unknown_name
from ....dialects import relax
from ....dialects.relax.calls import overwritten
from ....ir.functions.lookup import ops_of_type, relax_functions
from ....ir.functions.symbolic_vars import mentioned_by
from ....ir.passes.transform import Pass

ORDERS = ("depth-first", "breadth-first")
DIRECTIONS = ("from-inputs", "from-outputs")


@dataclass(frozen=True)
class TopologicalSort(Pass):
    """Sorts bindings in the order of a traversal: depth or breadth first, from the inputs or the outputs.

    a = exp(x); b = exp(y); c = abs(a); return (c, b)  ->  a = exp(x); c = abs(a); b = exp(y); return (c, b)

    From the inputs, parameter by parameter, a binding comes as soon as all its operands have come. From the
    outputs, unused bindings come first; depth first, a binding comes where its first user needs it, breadth
    first as late as possible. Raises `NameLookupError` for another order or direction.
    """

    name = "topological-sort"
    order: str = "depth-first"
    direction: str = "from-inputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.order not in ORDERS:
            raise unknown_name("order", self.order, ORDERS)
        if self.direction not in DIRECTIONS:
            raise unknown_name("direction", self.direction, DIRECTIONS)
        for func in relax_functions(op):
            for block in ops_of_type(func, relax.DataflowOp):
                _place(block.body.block, self._sorted(_Graph.of(block)))

    def _sorted(self, graph: _Graph) -> list[Operation]:
        depth = self.order == "depth-first"
        if self.direction == "from-inputs":
            return _from_inputs(graph, depth)
        if depth:
            return _post_order([*graph.unused(), *graph.outputs()], graph.sources)
        return _ready_first([*graph.outputs(), *graph.unused()], graph.sources, graph.users, depth)[::-1]


_Node = TypeVar("_Node", bound=Hashable)
_Edges = dict[Operation, list[Operation]]


@dataclass
class _Graph:
    """The def-use graph of a block's bindings, in order. Leaves without a name count as operands."""

    block: relax.DataflowOp
    sources: _Edges = field(default_factory=dict[Operation, list[Operation]])
    users: _Edges = field(default_factory=dict[Operation, list[Operation]])

    @staticmethod
    def of(block: relax.DataflowOp) -> _Graph:
        graph = _Graph(block)
        casts: dict[object, Operation] = {}
        for op in block.body.block.ops:
            if relax.is_inline(op) or isinstance(op, relax.OutputOp):
                continue
            used = [v.op for v in _values(op) if isinstance(v, OpResult) and v.op in graph.sources]
            used += [casts[v] for v in mentioned_by([op, *_inline(op)]) if v in casts]
            graph.sources[op] = list(dict.fromkeys(used))
            graph.users[op] = []
            for source in graph.sources[op]:
                graph.users[source].append(op)
            if isinstance(op, relax.MatchCastOp):
                for v in mentioned_by([op]):
                    casts.setdefault(v, op)
        for op in graph.sources:
            for value in overwritten(op):
                graph.keep_before(op, value)
        return graph

    def keep_before(self, writer: Operation, value: SSAValue) -> None:
        """Keep other uses of `value` before `writer`, which reuses its memory."""
        for user in self.sources:
            if user is writer:
                return
            if user not in self.sources[writer] and value in _values(user):
                self.sources[writer].append(user)
                self.users[user].append(writer)

    def inputs(self) -> Sequence[SSAValue]:
        """Return the parameters of the enclosing function."""
        func = self.block.parent_op()
        while not isinstance(func, relax.FuncOp | relax.ClosureOp):
            assert func is not None
            func = func.parent_op()
        return func.body.block.args

    def outputs(self) -> list[Operation]:
        """Return the bindings that are outputs of the block, in the order of their use after it; others follow."""
        places = {result: place for place, result in enumerate(self.block.outputs)}
        used: list[int] = []
        after = self.block.next_op
        while after is not None:
            used += [places[v] for op in after.walk() for v in op.operands if isinstance(v, OpResult) and v in places]
            after = after.next_op
        values = self.block.output_op.values_
        ordered = [values[place] for place in dict.fromkeys([*used, *range(len(values))])]
        inside = [u for v in ordered for u in (_values(v.op) if _is_leaf(v) else (v,))]
        producers = [v.op for v in inside if isinstance(v, OpResult) and v.op in self.sources]
        return list(dict.fromkeys(producers))

    def unused(self) -> list[Operation]:
        """Return the bindings without users."""
        outputs = set(self.outputs())
        return [op for op, users in self.users.items() if not users and op not in outputs]


def _from_inputs(graph: _Graph, depth: bool) -> list[Operation]:
    """Return the order from the inputs: parameters, then bindings without inputs, each followed by bindings that
    are ready.
    """
    params = graph.inputs()
    before: dict[Operation | SSAValue, list[Operation | SSAValue]] = {p: [] for p in params}
    after: dict[Operation | SSAValue, list[Operation | SSAValue]] = {p: [] for p in params}
    for op, sources in graph.sources.items():
        used = set(_values(op))
        own = [p for p in params if p in used]
        before[op] = [*sources, *own]
        after[op] = list(graph.users[op])
        for p in own:
            after[p].append(op)
    free = [op for op, used in before.items() if not used and isinstance(op, Operation)]
    order = _ready_first([*params, *free], after, before, depth)
    return [node for node in order if isinstance(node, Operation)]


def _inline(op: Operation) -> list[Operation]:
    """Return the unnamed leaves and tuples that are operands of `op`, transitively, before their users."""
    inlined: dict[Operation, None] = {}
    for inner in op.walk():
        for v in inner.operands:
            if isinstance(v, OpResult) and relax.is_inline(v.op) and v.op.parent is op.parent:
                inlined |= dict.fromkeys([*_inline(v.op), v.op])
    return list(inlined)


def _is_leaf(value: SSAValue) -> TypeGuard[OpResult]:
    return isinstance(value, OpResult) and relax.is_inline(value.op)


def _values(op: Operation) -> list[SSAValue]:
    """Return the values that `op` uses, itself or in leaves and regions."""
    return [v for o in (op, *_inline(op)) for inner in o.walk() for v in inner.operands]


def _ready_first(
    start: Sequence[_Node], after: Mapping[_Node, list[_Node]], before: Mapping[_Node, list[_Node]], depth: bool
) -> list[_Node]:
    """Return the ops from `start` on, each `after` all ops `before` it."""
    left = {op: len(used) for op, used in before.items()}
    queue = deque(op for op in start if not left[op])
    order: list[_Node] = []
    while queue:
        op = queue.popleft()
        order.append(op)
        ready: list[_Node] = []
        for each in after[op]:
            left[each] -= 1
            if not left[each]:
                ready.append(each)
        if depth:
            queue.extendleft(reversed(ready))
        else:
            queue.extend(ready)
    return order


def _post_order(start: Iterable[Operation], sources: _Edges) -> list[Operation]:
    """Return each op after its operands, as late as possible before its first user."""
    order: dict[Operation, None] = {}
    stack = [(op, False) for op in start][::-1]
    while stack:
        op, seen = stack.pop()
        if seen:
            order.setdefault(op)
        elif op not in order:
            stack.append((op, True))
            stack += [(s, False) for s in sources[op] if s not in order][::-1]
    return list(order)


def _place(block: Block, order: Sequence[Operation]) -> None:
    """Move the bindings into this order, with unnamed operands before their first user."""
    end = block.last_op
    assert end is not None
    placed = dict.fromkeys(o for op in (*order, end) for o in (*_inline(op), op) if o is not end)
    for op in placed:
        op.detach()
        block.insert_op_before(op, end)
