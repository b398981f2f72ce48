"""Groups of bindings of a dataflow block become functions: what the passes for libraries and code generators share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.equality import fingerprint
from ...ir.names import NameSupply, function_names
from ...ir.rewriting.edit import insert_before
from ..fusion.graph import BindingGraph, operands_of
from ..fusion.outline import build_function, dependency_order, inputs_of, outputs_of

Finish = Callable[[relax.FuncOp, Sequence[Operation]], tuple[relax.FuncOp, str]]
"""A group's plain function and its bindings -> the function that is put into the module, and a suffix of its name."""


def on_circles(graph: BindingGraph, groups: Sequence[Sequence[int]]) -> set[int]:
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


class Regrouper:
    """Makes functions of groups, for all functions of one module; equal functions are one."""

    def __init__(self, module: ModuleOp, bind_constants: bool):
        self._module = module
        self._bind_constants = bind_constants
        self._functions = NameSupply(function_names(module))
        self._variables = NameSupply()
        self._shared: dict[Hashable, str] = {}

    def outline(
        self, dataflow: relax.DataflowOp, graph: BindingGraph, groups: Sequence[Sequence[int]], finish: Finish
    ) -> None:
        """Turn each group into a call of the function that `finish` makes of it. Groups must not be on circles."""
        if not groups:
            return
        grouped = {m for g in groups for m in g}
        outlined = {g[0] for g in groups}
        every = sorted([*([i] for i in range(len(graph.ops)) if i not in grouped), *map(list, groups)])
        writer = _Writer(dataflow.body.block)
        for g in dependency_order(graph, every):
            ops = [graph.ops[i] for i in every[g]]
            if every[g][0] in outlined:
                self._call(dataflow, ops, writer, finish)
            else:
                writer.place(ops[0])
        writer.finish()

    def _call(self, dataflow: relax.DataflowOp, ops: Sequence[Operation], writer: _Writer, finish: Finish) -> None:
        outputs = outputs_of(ops)
        if outputs:
            inputs = inputs_of(ops, outputs)
            func, free = build_function(ops, inputs, outputs)
            bound = _bind_constants(func, inputs.args) if self._bind_constants else set[int]()
            kept = [key for i, key in enumerate(inputs.args) if i not in bound]
            args = [self._argument(key, writer) for key in kept]
            if free:
                args.append(writer.add(relax.ShapeOp(free)))
            name = "_".join(["fused", *filter(None, map(_part_of_name, ops))])
            call = relax.CallOp(self._add(name, *finish(func, ops)), args, func.ret_type)
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

    def _add(self, name: str, func: relax.FuncOp, suffix: str) -> str:
        """The name of a function, which is put into the module unless an equal one is there."""
        key = fingerprint(func)
        found = self._shared.get(key)
        if found is None:
            found = self._functions.fresh(name)
            if suffix:
                found = self._functions.fresh(f"{found}_{suffix}")
            self._shared[key] = found
            func.sym_name = StringAttr(found)
            self._module.body.block.add_op(func)
        return found


def _part_of_name(op: Operation) -> str:
    if isinstance(op, relax.Operator):
        return op.name.replace(".", "_")
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp | relax.CallOp):
        return op.callee_name.removeprefix("fused_")
    return ""


def _bind_constants(func: relax.FuncOp, args: Sequence[Any]) -> set[int]:
    """Put constants that are arguments into the function; the positions of the parameters that this removes."""
    block = func.body.block
    found = {i: a.op for i, a in enumerate(args) if isinstance(a, OpResult) and isinstance(a.op, relax.ConstantOp)}
    bound = {i: op for i, op in found.items() if relax.is_inline(op)}
    for i, op in bound.items():
        for use in list(block.args[i].uses):
            copy = op.clone()
            insert_before(use.operation, copy)
            use.operation.operands[use.index] = copy.result
    for i in sorted(bound, reverse=True):
        block.erase_arg(block.args[i])
    return set(bound)


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
        if isinstance(value, OpResult) and value.op.parent is None and relax.is_inline(value.op):
            self.place(value.op)

    def finish(self) -> None:
        """Place what the outputs use; drop leaves that nothing uses any more."""
        for value in self._end.operands:
            self.place_inline(value)
        for op in reversed(self._old):
            if op.parent is None and relax.is_inline(op) and op.results[0].first_use is None:
                op.erase()
