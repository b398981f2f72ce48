"""Selection of bindings to fuse: TVM's rules, in three phases.

A binding may be fused into its immediate post-dominator, with everything on the paths between them:

- an operator like matmul (4): in phase 0, if the paths are element-wise and at most broadcast;
- element-wise and broadcast (0, 1): into anything up to injective and into a reduction, in any phase;
- injective and tuples (2, 7): from phase 1 on, into anything up to injective;
- up to injective into a tuple that was fused into something injective: in phase 2;
- a reduction (3) and an opaque binding (8): never.

A group that contains an operator like matmul counts as one. No group of several bindings exceeds the maximum number of
bindings, nor of elementary functions: LLVM is too slow on blocks with hundreds of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.utils.disjoint_set import IntDisjointSet

from .graph import BindingGraph, PostDominators
from .pattern import OpPattern

Condition = Callable[[OpPattern, bool], bool]


def _up_to_broadcast(kind: OpPattern, is_sink: bool) -> bool:
    return kind <= OpPattern.BROADCAST


def _up_to_injective(kind: OpPattern, is_sink: bool) -> bool:
    return kind <= OpPattern.INJECTIVE


def _up_to_matmul_at_the_end(kind: OpPattern, is_sink: bool) -> bool:
    return kind <= (OpPattern.OUT_ELEMWISE_FUSABLE if is_sink else OpPattern.INJECTIVE)


class Groups:
    """Disjoint groups of bindings, grown by the rules of this module; `of(i)` is the number of the group of i.

    `functions` is the number of elementary functions of each binding.
    """

    def __init__(
        self,
        graph: BindingGraph,
        patterns: Sequence[OpPattern],
        max_size: int,
        functions: Sequence[int] = (),
        max_functions: int = 0,
    ):
        self._consumers = graph.consumers
        self._dominators = PostDominators(graph, patterns)
        self.kinds = tuple(patterns)
        self.max_size = max_size
        self._sets = IntDisjointSet(size=len(graph.ops))
        self.max_functions = max_functions
        self._size = [1] * len(graph.ops)
        self._functions = list(functions) or [0] * len(graph.ops)
        self._pattern = list(patterns)
        self._anchored = [p == OpPattern.OUT_ELEMWISE_FUSABLE for p in patterns]
        for phase in range(3):
            for i in range(len(graph.ops)):
                self._fuse(i, phase)

    def of(self, i: int) -> int:
        return self._sets[i]

    def members(self) -> list[list[int]]:
        """Return the bindings of each group, in order; the groups by their first binding."""
        groups: dict[int, list[int]] = {}
        for i in range(self._sets.value_count()):
            groups.setdefault(self.of(i), []).append(i)
        return list(groups.values())

    def dominator(self, i: int) -> int | None:
        """Return the immediate post-dominator of a binding, or None if its value leaves the block on some path."""
        return self._dominators.dominator(i)

    def kind_of_group(self, i: int) -> OpPattern:
        """Return the kind of the group of a binding."""
        return self._pattern[self.of(i)]

    def size(self, i: int) -> int:
        """Return the number of bindings in a binding's group."""
        return self._size[self.of(i)]

    def functions(self, i: int) -> int:
        """Return the number of elementary functions in a binding's group."""
        return self._functions[self.of(i)]

    def between(self, i: int, sink: int) -> list[int]:
        """Return the bindings on the paths to a binding's post-dominator, including the binding."""
        return self._bindings_up_to(i, sink, len(self._size)) or []

    def _fuse(self, i: int, phase: int) -> None:
        sink = self._dominators.dominator(i)
        if self._pattern[i] == OpPattern.OPAQUE or sink is None:
            return
        condition = self._into_tuple(i, sink) if phase == 2 else self._condition(i, sink, phase)
        if condition is None:
            return
        way = self._way(i, sink)
        if way is None or self._too_many_functions(way, sink) or not condition(self._pattern[self.of(sink)], True):
            return
        if all(condition(self._pattern[self.of(j)], False) for j in way[1:]):
            for j in way:
                self._merge(j, sink)

    def _condition(self, i: int, sink: int, phase: int) -> Condition | None:
        """Return the condition on bindings of the paths for fusing i into `sink`, or None if it must not be fused."""
        if self.of(i) == self.of(sink) or self._pattern[sink] == OpPattern.TUPLE:
            return None
        kind, on_way = self._pattern[i], self._dominators.pattern[i]
        if kind == OpPattern.OUT_ELEMWISE_FUSABLE:
            return _up_to_broadcast if phase == 0 and on_way == OpPattern.ELEMWISE else None
        if kind <= OpPattern.BROADCAST:
            return _up_to_matmul_at_the_end if on_way <= OpPattern.COMM_REDUCE else None
        if kind in (OpPattern.INJECTIVE, OpPattern.TUPLE):
            return _up_to_injective if phase == 1 else None
        return None

    def _into_tuple(self, i: int, sink: int) -> Condition | None:
        root = self._pattern[self.of(sink)]
        fused_tuple = self._pattern[sink] == OpPattern.TUPLE and root <= OpPattern.INJECTIVE
        return _up_to_injective if fused_tuple and self._pattern[i] <= OpPattern.INJECTIVE else None

    def _way(self, i: int, sink: int) -> list[int] | None:
        """Return the bindings on the paths from i to its post-dominator, i first; None if the group gets too large."""
        return self._bindings_up_to(i, sink, self.max_size - self._size[self.of(sink)])

    def _too_many_functions(self, way: Sequence[int], sink: int) -> bool:
        """Return whether the groups from a binding to its post-dominator exceed the limit of elementary functions."""
        if not any(self._functions[self.of(j)] for j in way):
            return False
        return sum(self._functions[group] for group in {self.of(j) for j in (*way, sink)}) > self.max_functions

    def _bindings_up_to(self, i: int, sink: int, left: int) -> list[int] | None:
        """Return the bindings up to `sink`, or None if their groups have more than `left` bindings."""
        way: dict[int, None] = {}
        stack = [i]
        while stack:
            j = stack.pop()
            if j == sink or j in way:
                continue
            way[j] = None
            left -= self._size[j]
            if left < 0:
                return None
            stack.extend(self._consumers[j])
        return list(way)

    def _merge(self, i: int, sink: int) -> None:
        child, parent = self.of(i), self.of(sink)
        if child == parent:
            return
        self._sets.union_left(parent, child)
        self._size[parent] += self._size[child]
        self._functions[parent] += self._functions[child]
        if self._anchored[child]:
            self._anchored[parent] = True
            self._pattern[parent] = max(self._pattern[child], self._pattern[parent])
