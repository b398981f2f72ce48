"""The bindings of a dataflow block as a graph, and its post-dominator tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.quick import operations
from ...dialects.relax import free_symbolic_vars
from ...dialects.sym.expr import Var
from ...ir.functions.symbolic_vars import mentioned_in
from .pattern import OpPattern, declared_pattern


def operands_of(op: Operation) -> Iterator[SSAValue]:
    """Yield the operands of an op, and the outside values used in its regions."""
    if not op.regions:
        yield from op.operands
        return
    inner = list(op.walk())
    defined: set[SSAValue] = {r for o in inner for r in o.results}
    defined.update(a for o in inner for region in o.regions for block in region.blocks for a in block.args)
    yield from (operand for o in inner for operand in o.operands if operand not in defined)


class BindingGraph:
    """Bindings by index, in program order, with the indices of their producers and users.

    Inline operands are looked through. `external` are the bindings whose value leaves the block.
    """

    def __init__(self, block: Block):
        self._block = block
        self.ops = [op for op in block.ops if not relax.is_inline(op) and not isinstance(op, relax.OutputOp)]
        self.index: dict[Operation, int] = {op: i for i, op in enumerate(self.ops)}
        self.producers: list[list[int]] = [self._producers(op) for op in self.ops]
        self._bind_symbols()
        self.consumers: list[list[int]] = [[] for _ in self.ops]
        for i, producers in enumerate(self.producers):
            for p in producers:
                self.consumers[p].append(i)
        last = block.last_op
        self.external: set[int] = set() if last is None else set(self._producers(last))

    def _producers(self, op: Operation) -> list[int]:
        producers: dict[int, None] = {}
        stack = list(operands_of(op))
        stack.reverse()
        while stack:
            owner = stack.pop().owner
            if not isinstance(owner, Operation) or owner.parent is not self._block:
                continue
            if owner in self.index:
                producers[self.index[owner]] = None
            else:
                stack.extend(reversed(owner.operands))
        return list(producers)

    def _bind_symbols(self) -> None:
        """Order ops that mention a symbolic variable after the `match_cast` of the block that may bind it."""
        binders: dict[Var, int] = {}
        for i, op in enumerate(self.ops):
            if binders:
                after = [binders[v] for v in self._mentioned(op) if v in binders]
                self.producers[i] = list(dict.fromkeys((*self.producers[i], *after)))
            if isinstance(op, relax.MatchCastOp):
                binders.update(dict.fromkeys(free_symbolic_vars([op.result.type]), i))

    def _mentioned(self, op: Operation) -> Iterator[Var]:
        """Yield the symbolic variables that an op or its inline operands, such as a shape, mention."""
        yield from mentioned_in(op)
        for operand in operands_of(op):
            owner = operand.owner
            if isinstance(owner, Operation) and relax.is_inline(owner):
                yield from self._mentioned(owner)


def binding_patterns(graph: BindingGraph, functions: Callable[[str], tir.FuncOp | None]) -> list[OpPattern]:
    """Return the kind of each binding: that of the called tensor function, or opaque."""
    return [_pattern_of(op, functions) for op in graph.ops]


def elementary_functions(graph: BindingGraph, functions: Callable[[str], tir.FuncOp | None]) -> list[int]:
    """Return how many elementary functions (exp, tanh, …) each binding's tensor function contains."""
    known: dict[str, int] = {}
    return [_elementary(op, functions, known) for op in graph.ops]


def _elementary(op: Operation, functions: Callable[[str], tir.FuncOp | None], known: dict[str, int]) -> int:
    if not isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp):
        return 0
    name = op.callee_name
    if name not in known:
        func = functions(name)
        called = [o for o in operations(func) if isinstance(o, tir.CallIntrinOp)] if func is not None else []
        known[name] = sum(call.func.data in tir.ELEMENTARY for call in called)
    return known[name]


def _pattern_of(op: Operation, functions: Callable[[str], tir.FuncOp | None]) -> OpPattern:
    if isinstance(op, relax.TupleGetItemOp):
        return OpPattern.INJECTIVE
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp):
        func = functions(op.callee_name)
        declared = declared_pattern(func) if func is not None else None
        known = declared is not None and declared in OpPattern.__members__.values()
        return OpPattern(declared) if known else OpPattern.OPAQUE
    return OpPattern.OPAQUE


class PostDominators:
    """The immediate post-dominator of each binding, and the maximum kind on the paths to it.

    Least common ancestors use jump pointers (Myers 1983: an applicative random-access stack), each of which stores the
    maximum over the nodes it skips: n log n in total.
    """

    def __init__(self, graph: BindingGraph, patterns: Sequence[OpPattern]):
        n = self.exit = len(graph.ops)
        self.parent = [n] * (n + 1)
        self.pattern = [OpPattern.ELEMWISE] * (n + 1)
        self._depth = [0] * (n + 1)
        self._jump = [n] * (n + 1)
        self._jump_pattern = [OpPattern.OPAQUE] * (n + 1)
        for i in range(n - 1, -1, -1):
            if i in graph.external:
                self._set(i, n, OpPattern.OPAQUE)
            else:
                self._set(i, *self._common(graph.consumers[i], patterns))

    def dominator(self, i: int) -> int | None:
        """Return the immediate post-dominator of binding i, or None if its value leaves the block on some path."""
        parent = self.parent[i]
        return None if parent == self.exit else parent

    def _common(self, consumers: Sequence[int], patterns: Sequence[OpPattern]) -> tuple[int, OpPattern]:
        kind = max((patterns[c] for c in consumers), default=OpPattern.ELEMWISE)
        if not consumers:
            return self.exit, kind
        common = consumers[0]
        for c in consumers[1:]:
            common, on_way = self._ancestor(common, c)
            kind = max(kind, on_way)
        return common, kind

    def _set(self, i: int, parent: int, pattern: OpPattern) -> None:
        self.parent[i], self.pattern[i] = parent, pattern
        self._depth[i] = self._depth[parent] + 1
        far = self._jump[parent]
        if self._depth[parent] - self._depth[far] == self._depth[far] - self._depth[self._jump[far]]:
            self._jump[i] = self._jump[far]
            self._jump_pattern[i] = max(pattern, self._jump_pattern[parent], self._jump_pattern[far])
        else:
            self._jump[i], self._jump_pattern[i] = parent, pattern

    def _ancestor(self, a: int, b: int) -> tuple[int, OpPattern]:
        """Return the least common ancestor, and the maximum kind on the two paths to it."""
        depth, jump, parent = self._depth, self._jump, self.parent
        kind = OpPattern.ELEMWISE
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            far = depth[jump[a]] >= depth[b]
            kind = max(kind, self._jump_pattern[a] if far else self.pattern[a])
            a = jump[a] if far else parent[a]
        while a != b:
            far = jump[a] != jump[b]
            kinds = self._jump_pattern if far else self.pattern
            kind = max(kind, kinds[a], kinds[b])
            a, b = (jump[a], jump[b]) if far else (parent[a], parent[b])
        return a, kind
