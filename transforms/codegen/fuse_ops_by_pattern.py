"""The pass `FuseOpsByPattern`: matches of a pattern become separate functions, for a library or code generator.

Patterns are tried in order, each on all bindings of a dataflow block from the last one back, so that the largest
alternative is found; a binding belongs to at most one group. The calls (and fields of tuples) that a pattern names form
its group; the matches of wildcards are arguments of the function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Block, Operation, Region

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...handles.relax.call import Call
from ...handles.relax.expr import Expr, TupleGetItem, bound_expr
from ...handles.tir.attributes import attr_of
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.names import make_unique
from ...ir.passes.transform import Pass
from ..dpl.graph import BlockIndex
from ..dpl.matcher import Matcher, Matches, roots_of
from ..dpl.patterns import CallPattern, TupleGetItemPattern
from ..fusion.graph import BindingGraph
from ..fusion.outline import Outliner, is_primitive
from .fusion_pattern import FusionPattern, fusion_pattern

COMPOSITE = "Composite"
CODEGEN = "Codegen"


@dataclass(frozen=True)
class FuseOpsByPattern(Pass):
    """Outline matches of `patterns` as functions with the attribute `Composite`.

    `bind_constants`: constants are inside the functions, otherwise they are arguments. `annotate_codegen`: each
    function is wrapped in a public one with the attribute `Codegen`, the part of the pattern's name before its first
    dot. `entry_functions`: the functions to process, by default all. A match is skipped if its group cannot be a single
    call because another binding between its members depends on it.
    """

    name: ClassVar[str] = "fuse-ops-by-pattern"
    patterns: tuple[Any, ...] = ()
    bind_constants: bool = True
    annotate_codegen: bool = False
    entry_functions: tuple[str, ...] = field(default=())

    def __init__(
        self,
        patterns: Iterable[Any],
        bind_constants: bool = True,
        annotate_codegen: bool = False,
        entry_functions: Iterable[str] | None = None,
    ):
        object.__setattr__(self, "patterns", tuple(map(fusion_pattern, patterns)))
        object.__setattr__(self, "bind_constants", bind_constants)
        object.__setattr__(self, "annotate_codegen", annotate_codegen)
        object.__setattr__(self, "entry_functions", tuple(entry_functions or ()))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        composites = _Composites(op, self)
        entries = [f for name in self.entry_functions for f in relax_functions(op, name)]
        for func in sorted(entries or relax_functions(op), key=lambda f: f.sym_name.data):
            if is_primitive(func) or _has(func, CODEGEN) or _has(func, COMPOSITE):
                continue
            blocks = list(ops_of_type(func, relax.DataflowOp))
            changed = [composites.outline(block) for block in blocks]
            if any(changed):
                make_unique(func)


def _has(func: relax.FuncOp, attr: str) -> bool:
    return func.func_attrs is not None and attr in func.func_attrs.data


@dataclass
class _Group:
    """A match: its bindings in order, and the attributes of the new function."""

    pattern: FusionPattern
    members: list[int]
    attrs: dict[str, Any]


class _Finder:
    """Search for the groups of a dataflow block."""

    def __init__(self, dataflow: relax.DataflowOp, graph: BindingGraph):
        self._index = BlockIndex(dataflow)
        self._graph = graph
        self._taken: set[Operation] = set()
        self.groups: list[_Group] = []

    def find(self, pattern: FusionPattern) -> None:
        """Add the matches of a pattern that are not yet in a group."""
        roots = roots_of(pattern.pattern)
        for op in reversed(list(self._index.bindings)):
            if op in self._taken or (roots is not None and op.name not in roots):
                continue
            matches = Matcher(self._index.lookup).first(pattern.pattern, bound_expr(op))
            members = None if matches is None else self._members(matches)
            if matches is None or not members or not pattern.accepts(matches, members, self._index):
                continue
            getter = pattern.attrs_getter
            attrs = {} if getter is None else dict(getter(pattern.annotated(matches)))
            self._taken.update(members)
            self.groups.append(_Group(pattern, [self._graph.index[m] for m in members], attrs))

    def _members(self, matches: Matches) -> list[Operation] | None:
        """Return the bindings that a match groups, in order; None if one is not free."""
        members: set[Operation] = set()
        for part, expr in matches.items():
            if isinstance(part, CallPattern | TupleGetItemPattern) and isinstance(expr, Call | TupleGetItem):
                members.add(cast(Expr, expr).op_handle)
        if any(op in self._taken or op not in self._index.position for op in members):
            return None
        return sorted(members, key=self._index.position.__getitem__)

    def all_groups(self) -> list[list[int]]:
        """Return the members of all groups, including single bindings, ordered by first binding."""
        grouped = {m for g in self.groups for m in g.members}
        alone = [[i] for i in range(len(self._graph.ops)) if i not in grouped]
        return sorted([*alone, *(g.members for g in self.groups)])

    def drop_circles(self) -> None:
        """Drop matches that depend on their own results, the last one first."""
        while stuck := _on_circles(self._graph, self.all_groups()):
            last = next(g for g in reversed(self.groups) if len(g.members) > 1 and g.members[0] in stuck)
            self.groups.remove(last)


def _on_circles(graph: BindingGraph, groups: Sequence[Sequence[int]]) -> set[int]:
    """Return the first members of groups on or between dependency cycles: what remains after peeling from both ends."""
    group_of = {i: g for g, members in enumerate(groups) for i in members}
    before = [{group_of[p] for i in members for p in graph.producers[i]} - {g} for g, members in enumerate(groups)]
    after = [{group_of[c] for i in members for c in graph.consumers[i]} - {g} for g, members in enumerate(groups)]
    left = _peel(before, after, set(range(len(groups))))
    return {groups[g][0] for g in _peel(after, before, left)}


def _peel(needed: Sequence[set[int]], users: Sequence[set[int]], groups: set[int]) -> set[int]:
    """Repeatedly remove groups that need no other remaining group, and return the rest."""
    count = {g: len(needed[g] & groups) for g in groups}
    ready = [g for g, n in count.items() if not n]
    while ready:
        for user in users[ready.pop()] & count.keys():
            count[user] -= 1
            if not count[user]:
                ready.append(user)
    return {g for g, n in count.items() if n}


class _Composites:
    """Outliner of the groups of one module."""

    def __init__(self, module: ModuleOp, options: FuseOpsByPattern):
        self._options = options
        self._outliner = Outliner(module, options.bind_constants)

    def outline(self, dataflow: relax.DataflowOp) -> bool:
        """Replace matches in a dataflow block by calls; return whether there were any."""
        graph = BindingGraph(dataflow.body.block)
        finder = _Finder(dataflow, graph)
        for pattern in self._options.patterns:
            finder.find(pattern)
        finder.drop_circles()
        by_first = {g.members[0]: g for g in finder.groups}

        def finish(func: relax.FuncOp, ops: Sequence[Operation]) -> tuple[relax.FuncOp, str]:
            return self._finish(func, by_first[graph.index[ops[0]]])

        self._outliner.outline(dataflow, graph, [g.members for g in finder.groups], finish)
        return bool(finder.groups)

    def _finish(self, func: relax.FuncOp, group: _Group) -> tuple[relax.FuncOp, str]:
        """Return the group's function with its attributes, wrapped for a code generator, and its name suffix."""
        attrs: dict[str, Any] = {COMPOSITE: group.pattern.name, "Primitive": 1, **group.attrs}
        func.func_attrs = DictionaryAttr({k: a for k, v in attrs.items() if (a := attr_of(v)) is not None})
        if not self._options.annotate_codegen:
            return func, ""
        codegen = codegen_of(group.pattern.name)
        return _wrapped(func, codegen), codegen


def codegen_of(composite: str) -> str:
    """Return the code generator of a composite function: the part of its name before the first dot."""
    return composite.partition(".")[0]


def _wrapped(func: relax.FuncOp, codegen: str) -> relax.FuncOp:
    """Return a public function for a code generator, with `func` as its local function."""
    attrs = {k: v for k, v in cast(DictionaryAttr, func.func_attrs).data.items() if k != "Primitive"}
    outer = Block(arg_types=[p.type for p in func.params])
    for new, old in zip(outer.args, func.params, strict=True):
        set_name(new, name_of(old))
    local = relax.ClosureOp(func.detach_region(0), func.ret_type, attrs=DictionaryAttr(attrs))
    set_name(local.result, "local_func")
    call = relax.CallValueOp(local.result, list(outer.args), func.ret_type)
    set_name(call.result, "output")
    outer.add_ops([local, call, relax.ReturnOp(call.result)])
    wrapper = relax.FuncOp("fused", Region(outer), func.ret_type, attrs={CODEGEN: codegen})
    make_unique(wrapper)
    return wrapper
