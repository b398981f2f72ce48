"""The pass `FuseOpsByPattern`: what matches a pattern becomes a function of its own, for a library or code generator.

Patterns are tried in order, each on all bindings of a dataflow block; a binding belongs to one group at most. The calls
(and fields of tuples) that a pattern names are its group; what wildcards stand for is passed to the function.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.equality import fingerprint
from ...ir.expr import Call, Expr, TupleGetItem, bound_expr
from ...ir.functions import ops_of_type, relax_functions
from ...ir.relax_function import attr_of
from ...ir.transform import Pass
from ..fusion.graph import BindingGraph, is_inline, operands_of
from ..fusion.naming import NameSupply, make_unique, symbols
from ..fusion.outline import build_function, dependency_order, inputs_of, is_primitive, outputs_of
from .fusion_pattern import FusionPattern, fusion_pattern
from .graph import BlockIndex
from .matcher import Matcher, Matches, roots_of
from .patterns import CallPattern, TupleGetItemPattern

COMPOSITE = "Composite"
CODEGEN = "Codegen"


@dataclass(frozen=True)
class FuseOpsByPattern(Pass):
    """Make functions with the attribute `Composite` of what matches `patterns`.

    `bind_constants`: constants stand in the functions; else they are passed. `annotate_codegen`: each is wrapped in a
    public function with the attribute `Codegen`, the part of the pattern's name before its first dot.
    `entry_functions`: the functions to look at; all where none is named. A match whose group could not be one call,
    since something outside of it stands between its members, is left as it is.
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
        outliner = _Outliner(op, self)
        wanted = [f for name in self.entry_functions for f in relax_functions(op, name)]
        for func in sorted(wanted or relax_functions(op), key=lambda f: f.sym_name.data):
            if is_primitive(func) or _has(func, CODEGEN) or _has(func, COMPOSITE):
                continue
            blocks = list(ops_of_type(func, relax.DataflowOp))
            changed = [outliner.outline(block) for block in blocks]
            if any(changed):
                make_unique(func)


def _has(func: relax.FuncOp, attr: str) -> bool:
    return func.func_attrs is not None and attr in func.func_attrs.data


@dataclass
class _Group:
    """A match: its bindings in order, and the attributes of the function to be."""

    pattern: FusionPattern
    members: list[int]
    attrs: dict[str, Any]


class _Finder:
    """Finds the groups of a dataflow block."""

    def __init__(self, dataflow: relax.DataflowOp, graph: BindingGraph):
        self._index = BlockIndex(dataflow)
        self._graph = graph
        self._taken: set[Operation] = set()
        self.groups: list[_Group] = []

    def find(self, pattern: FusionPattern) -> None:
        """Add what matches a pattern and is in no group yet."""
        roots = roots_of(pattern.pattern)
        for op in self._index.bindings:
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
        """The bindings that a match groups, in order; None where one is not free."""
        found: set[Operation] = set()
        for part, expr in matches.items():
            if isinstance(part, CallPattern | TupleGetItemPattern) and isinstance(expr, Call | TupleGetItem):
                found.add(cast(Expr, expr).op_handle)
        if any(op in self._taken or op not in self._index.position for op in found):
            return None
        return sorted(found, key=self._index.position.__getitem__)

    def all_groups(self) -> list[list[int]]:
        """The members of all groups, bindings alone included, by first binding."""
        grouped = {m for g in self.groups for m in g.members}
        alone = [[i] for i in range(len(self._graph.ops)) if i not in grouped]
        return sorted([*alone, *(g.members for g in self.groups)])

    def drop_circles(self) -> None:
        """Drop matches that what they give comes back to, the last found first."""
        while stuck := _on_circles(self._graph, self.all_groups()):
            last = next(g for g in reversed(self.groups) if len(g.members) > 1 and g.members[0] in stuck)
            self.groups.remove(last)


def _on_circles(graph: BindingGraph, groups: Sequence[Sequence[int]]) -> set[int]:
    """The first members of groups that depend on themselves, or stand between such: what neither end can take away."""
    group_of = {i: g for g, members in enumerate(groups) for i in members}
    before = [{group_of[p] for i in members for p in graph.producers[i]} - {g} for g, members in enumerate(groups)]
    after = [{group_of[c] for i in members for c in graph.consumers[i]} - {g} for g, members in enumerate(groups)]
    left = _peel(before, after, set(range(len(groups))))
    return {groups[g][0] for g in _peel(after, before, left)}


def _peel(needed: Sequence[set[int]], users: Sequence[set[int]], groups: set[int]) -> set[int]:
    """What is left when everything that needs nothing of what is left is taken away, again and again."""
    count = {g: len(needed[g] & groups) for g in groups}
    ready = [g for g, n in count.items() if not n]
    while ready:
        for user in users[ready.pop()] & count.keys():
            count[user] -= 1
            if not count[user]:
                ready.append(user)
    return {g for g, n in count.items() if n}


class _Outliner:
    """Makes the functions of one module."""

    def __init__(self, module: ModuleOp, options: FuseOpsByPattern):
        self._module = module
        self._options = options
        self._functions = NameSupply(symbols(module))
        self._variables = NameSupply()
        self._shared: dict[Hashable, str] = {}

    def outline(self, dataflow: relax.DataflowOp) -> bool:
        """Turn what matches in a dataflow block into calls; whether anything did."""
        graph = BindingGraph(dataflow.body.block)
        finder = _Finder(dataflow, graph)
        for pattern in self._options.patterns:
            finder.find(pattern)
        finder.drop_circles()
        if not finder.groups:
            return False
        by_first = {g.members[0]: g for g in finder.groups}
        groups = finder.all_groups()
        writer = _Writer(dataflow.body.block)
        for g in dependency_order(graph, groups):
            ops = [graph.ops[i] for i in groups[g]]
            group = by_first.get(groups[g][0])
            if group is None:
                writer.place(ops[0])
            else:
                self._call(dataflow, group, ops, writer)
        writer.finish()
        return True

    def _call(self, dataflow: relax.DataflowOp, group: _Group, ops: Sequence[Operation], writer: _Writer) -> None:
        outputs = outputs_of(ops)
        if outputs:
            inputs = inputs_of(ops, outputs)
            func, free = build_function(ops, inputs, outputs)
            bound = _bind_constants(func, inputs.args) if self._options.bind_constants else set[int]()
            kept = [key for i, key in enumerate(inputs.args) if i not in bound]
            args = [self._argument(key, writer) for key in kept]
            if free:
                args.append(writer.add(relax.ShapeOp(free)))
            call = relax.CallOp(self._add(func, group, ops), args, func.ret_type)
            call.location = ops[-1].location
            self._give(dataflow, outputs, writer.add(call))
        for op in reversed(ops):
            op.erase()

    def _argument(self, key: SSAValue | tuple[SSAValue, int], writer: _Writer) -> SSAValue:
        if isinstance(key, SSAValue):
            writer.place_inline(key)
            return key
        writer.place_inline(key[0])
        return self._named(writer.add(relax.TupleGetItemOp(key[0], key[1])), "lv")

    def _give(self, dataflow: relax.DataflowOp, outputs: Sequence[SSAValue], result: SSAValue) -> None:
        """Put the results of a call in the places of the group's."""
        values = [result]
        if len(outputs) > 1:
            self._named(result, "lv")
            values = [self._field(result, i) for i in range(len(outputs))]
        for old, new in zip(outputs, values, strict=True):
            uses = [u for u in old.uses if u.operation is dataflow.output_op]
            leaving = [dataflow.outputs[u.index] for u in uses if name_of(dataflow.outputs[u.index]) == name_of(old)]
            self._named(new, "gv" if leaving else "lv")
            for outer in leaving:
                set_name(outer, name_of(new))
            old.replace_all_uses_with(new)

    def _field(self, result: SSAValue, index: int) -> SSAValue:
        item = relax.TupleGetItemOp(result, index)
        call = cast(OpResult, result).op
        last = call
        while isinstance(last.next_op, relax.TupleGetItemOp) and last.next_op.tuple_ is result:
            last = last.next_op
        cast(Block, call.parent).insert_op_after(item, last)
        return item.result

    def _named(self, value: SSAValue, base: str) -> SSAValue:
        set_name(value, self._variables.fresh(base))
        return value

    def _add(self, func: relax.FuncOp, group: _Group, ops: Sequence[Operation]) -> str:
        """The name of the group's function, which is put into the module unless an equal one is there."""
        attrs: dict[str, Any] = {COMPOSITE: group.pattern.name, "Primitive": 1, **group.attrs}
        func.func_attrs = DictionaryAttr({k: a for k, v in attrs.items() if (a := attr_of(v)) is not None})
        key = fingerprint(func)
        found = self._shared.get(key)
        if found is None:
            name = self._functions.fresh("_".join(["fused", *filter(None, map(_part_of_name, ops))]))
            if self._options.annotate_codegen:
                func = _wrapped(func, group.pattern.name.partition(".")[0])
                name = self._functions.fresh(f"{name}_{group.pattern.name.partition('.')[0]}")
            func.sym_name = StringAttr(name)
            self._module.body.block.add_op(func)
            found = self._shared[key] = name
        return found


def _part_of_name(op: Operation) -> str:
    if isinstance(op, relax.Operator):
        return op.name.replace(".", "_")
    return op.callee_name if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp | relax.CallOp) else ""


def _bind_constants(func: relax.FuncOp, args: Sequence[Any]) -> set[int]:
    """Put constants that are arguments into the function; the positions of the parameters that this removes."""
    block = func.body.block
    found = {i: a.op for i, a in enumerate(args) if isinstance(a, OpResult) and isinstance(a.op, relax.ConstantOp)}
    bound = {i: op for i, op in found.items() if is_inline(op)}
    for i, op in bound.items():
        for use in list(block.args[i].uses):
            copy = op.clone()
            cast(Block, use.operation.parent).insert_op_before(copy, use.operation)
            use.operation.operands[use.index] = copy.result
    for i in sorted(bound, reverse=True):
        block.erase_arg(block.args[i])
    return set(bound)


def _wrapped(func: relax.FuncOp, codegen: str) -> relax.FuncOp:
    """A public function for a code generator, with `func` as its local function."""
    attrs = {k: v for k, v in cast(DictionaryAttr, func.func_attrs).data.items() if k != "Primitive"}
    outer = Block(arg_types=[p.type for p in func.params])
    for new, old in zip(outer.args, func.params, strict=True):
        set_name(new, name_of(old))
    local = relax.ClosureOp(func.detach_region(0), func.ret_type, attrs=DictionaryAttr(attrs))
    set_name(local.result, "local_func")
    call = relax.CallValueOp(local.result, list(outer.args), func.ret_type)
    set_name(call.result, "output")
    outer.add_ops([local, call, relax.ReturnOp(call.result)])
    made = relax.FuncOp("fused", Region(outer), func.ret_type, attrs={CODEGEN: codegen})
    make_unique(made)
    return made


class _Writer:
    """Writes the ops of a block in another order, leaves and tuples without a name before what uses them."""

    def __init__(self, block: Block):
        self._block = block
        self._end = cast(Operation, block.last_op)
        self._old = [op for op in block.ops if op is not self._end]
        for op in self._old:
            op.detach()

    def add(self, op: Operation) -> SSAValue:
        """A new op; its result."""
        self._block.insert_op_before(op, self._end)
        return op.results[0]

    def place(self, op: Operation) -> None:
        """An op of the old order, unless it stands already."""
        if op.parent is None:
            for value in operands_of(op):
                self.place_inline(value)
            self._block.insert_op_before(op, self._end)

    def place_inline(self, value: SSAValue) -> None:
        """The op of a leaf or tuple without a name."""
        if isinstance(value, OpResult) and value.op.parent is None and is_inline(value.op):
            self.place(value.op)

    def finish(self) -> None:
        """Place what the outputs use; drop leaves that nothing uses any more."""
        for value in self._end.operands:
            self.place_inline(value)
        for op in reversed(self._old):
            if op.parent is None and is_inline(op) and op.results[0].first_use is None:
                op.erase()


__all__ = ["CODEGEN", "COMPOSITE", "FuseOpsByPattern"]
