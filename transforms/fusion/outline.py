"""Groups of bindings become functions of their own, and calls of these take their places."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax import PrimType, ShapeType, TensorType, free_symbolic_vars
from ...dialects.sym.expr import Var
from ...ir.equality import fingerprint
from ...ir.functions.symbolic_vars import mentioned_in
from ...ir.names import NameSupply, fresh_suffix, function_names, make_unique
from .graph import BindingGraph, operands_of

PRIMITIVE = "Primitive"
"""The attribute of functions that are to become one tensor function."""

TIR_VARS = "tir_vars"
"""The name of the shape parameter that holds the symbolic variables that no other parameter determines."""


def is_primitive(func: relax.FuncOp) -> bool:
    """Whether a function has the attribute `Primitive`."""
    attr = func.func_attrs.data.get(PRIMITIVE) if func.func_attrs is not None else None
    return isinstance(attr, IntegerAttr) and attr.value.data != 0


def determined_symbols(types: Sequence[Attribute]) -> set[Var]:
    """The symbolic variables that parameters of `types` bind: those that are a whole dimension, or a scalar's value."""
    found: set[Var] = set()
    for t in types:
        if isinstance(t, TensorType | ShapeType):
            found.update(d for d in t.dims or () if isinstance(d, Var))
        elif isinstance(t, PrimType) and isinstance(t.expr, Var):
            found.add(t.expr)
        elif isinstance(t, TupleType):
            found |= determined_symbols(t.types.data)
    return found


@dataclass
class _Inputs:
    """What a group takes from outside: parameters of its function with the arguments, in order of first use."""

    params: list[tuple[str, Attribute]] = field(default_factory=lambda: list[tuple[str, Attribute]]())
    args: list[SSAValue | tuple[SSAValue, int]] = field(default_factory=lambda: list[SSAValue | tuple[SSAValue, int]]())
    slots: dict[SSAValue | tuple[SSAValue, int], int] = field(
        default_factory=lambda: dict[SSAValue | tuple[SSAValue, int], int]()
    )
    anonymous: int = 0

    def add(self, key: SSAValue | tuple[SSAValue, int], name: str | None, t: Attribute) -> None:
        """A value, or one field of a tuple."""
        if key in self.slots:
            return
        if name is None:
            name, self.anonymous = f"param_{self.anonymous}", self.anonymous + 1
        self.slots[key] = len(self.args)
        self.params.append((name, t))
        self.args.append(key)


class Outliner:
    """Makes functions of groups of bindings, for all functions of one module."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._functions = NameSupply(function_names(module))
        self._variables = NameSupply()
        self._shared: dict[Hashable, str] = {}

    def outline(self, dataflow: relax.DataflowOp, graph: BindingGraph, groups: Sequence[Sequence[int]]) -> None:
        """Rewrite a dataflow block: each group of several bindings becomes a call; a group alone stays.

        Bindings are put into an order of the dependencies of groups. A group whose values nobody uses is dropped.
        """
        ordered = [[graph.ops[i] for i in groups[g]] for g in dependency_order(graph, groups)]
        made = [_Group.of(ops) if len(ops) > 1 else None for ops in ordered]
        writer = _Writer(dataflow.body.block)
        for ops, group in zip(ordered, made, strict=True):
            if len(ops) == 1:
                writer.place(ops[0])
                continue
            if group is not None:
                self._call(dataflow, group, writer)
            for op in reversed(ops):
                op.erase()
        writer.finish()

    def _call(self, dataflow: relax.DataflowOp, group: _Group, writer: _Writer) -> None:
        name = self._add(group.func, group.name)
        args: list[SSAValue] = []
        for key in group.inputs.args:
            if isinstance(key, SSAValue):
                args.append(writer.current(key))
            else:
                field_of = relax.TupleGetItemOp(writer.current(key[0]), key[1])
                args.append(self._name(writer.add(field_of), "lv"))
        if group.free:
            args.append(writer.add(relax.ShapeOp(group.free)))
        call = relax.CallOp(name, args, group.func.ret_type)
        call.location = group.func.location
        result = writer.add(call)
        if len(group.outputs) == 1:
            self._take_over(dataflow, group.outputs[0], result, writer)
            return
        self._name(result, "lv")
        for i, output in enumerate(group.outputs):
            self._take_over(dataflow, output, writer.add(relax.TupleGetItemOp(result, i)), writer)

    def _add(self, func: relax.FuncOp, name: str) -> str:
        """The name of a function equal to `func`, which is put into the module unless there is one already."""
        key = fingerprint(func)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._functions.fresh(name)
            func.sym_name = type(func.sym_name)(found)
            self._module.body.block.add_op(func)
        return found

    def _take_over(self, dataflow: relax.DataflowOp, old: SSAValue, new: SSAValue, writer: _Writer) -> None:
        """Put `new` in the place of `old`, with a name of its own: `gv` where it leaves the block by that name."""
        leaving = [dataflow.outputs[u.index] for u in old.uses if u.operation is dataflow.output_op]
        leaving = [r for r in leaving if name_of(r) == name_of(old)]
        self._name(new, "gv" if leaving else "lv")
        for result in leaving:
            set_name(result, name_of(new))
        writer.replace(old, new)

    def _name(self, value: SSAValue, base: str) -> SSAValue:
        set_name(value, self._variables.fresh(base))
        return value


@dataclass
class _Group:
    """A group of several bindings that something uses, and its function."""

    name: str
    inputs: _Inputs
    outputs: list[SSAValue]
    func: relax.FuncOp
    free: list[Var]

    @classmethod
    def of(cls, ops: Sequence[Operation]) -> _Group | None:
        outputs = outputs_of(ops)
        if not outputs:
            return None
        inputs = inputs_of(ops, outputs)
        func, free = build_function(ops, inputs, outputs)
        return cls(fused_name(ops), inputs, outputs, func, free)


class _Writer:
    """Writes the new order of a block's ops, inline operands before what uses them."""

    def __init__(self, block: Block):
        self._block = block
        self._output = block.last_op
        self._old = dict.fromkeys(op for op in block.ops if op is not self._output)
        self._new: dict[SSAValue, SSAValue] = {}
        for op in self._old:
            op.detach()

    def add(self, op: Operation) -> SSAValue:
        """A new op; its first result."""
        assert self._output is not None
        self._block.insert_op_before(op, self._output)
        return op.results[0]

    def place(self, op: Operation) -> None:
        """An op of the old block, unless it was placed before."""
        if op.parent is self._block:
            return
        for operand in operands_of(op):
            self.place_inline(operand)
        assert self._output is not None
        self._block.insert_op_before(op, self._output)

    def replace(self, old: SSAValue, new: SSAValue) -> None:
        """`new` stands for `old` from now on."""
        self._new[old] = new
        old.replace_all_uses_with(new)

    def current(self, value: SSAValue) -> SSAValue:
        """What stands for a value of the old block, or for one from outside, at this point."""
        self.place_inline(value)
        return self._new.get(value, value)

    def place_inline(self, value: SSAValue) -> None:
        """The op of an inline operand of the old block; nothing for other values."""
        if isinstance(value, OpResult) and value.op in self._old and relax.is_inline(value.op):
            self.place(value.op)

    def finish(self) -> None:
        """Place the inline operands of the outputs; drop those that nothing uses any more."""
        assert self._output is not None
        for operand in self._output.operands:
            self.place_inline(operand)
        for op in reversed([op for op in self._old if op.parent is None and relax.is_inline(op)]):
            op.erase()


def dependency_order(graph: BindingGraph, groups: Sequence[Sequence[int]]) -> list[int]:
    """The groups by first binding, each after those that it depends on."""
    group_of = {i: g for g, members in enumerate(groups) for i in members}

    def needed(group: int) -> Iterator[int]:
        return (group_of[p] for i in groups[group] for p in graph.producers[i])

    order: list[int] = []
    seen: set[int] = set()
    for start in range(len(groups)):
        stack = [] if start in seen else [(start, needed(start))]
        seen.add(start)
        while stack:
            group, rest = stack[-1]
            following = next((g for g in rest if g not in seen), None)
            if following is None:
                order.append(group)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, needed(following)))
    return order


def outputs_of(ops: Sequence[Operation]) -> list[SSAValue]:
    """The values of a group that something outside of it uses."""
    inside = {inner for op in ops for inner in op.walk()}
    values = [r for op in ops for r in op.results]
    return [v for v in values if any(u.operation not in inside for u in v.uses)]


def fused_name(ops: Sequence[Operation]) -> str:
    """`fused_` and the names of what the ops call."""
    parts = [p for op in ops if (p := _callee(op))]
    return "_".join(["fused", *parts])


def _callee(op: Operation) -> str:
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp):
        return op.callee_name
    if isinstance(op, relax.CallOp):
        return op.callee_name.removeprefix("fused_")
    if isinstance(op, relax.Operator):
        return op.name.removeprefix("relax.").replace(".", "_")
    return ""


def inputs_of(ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> _Inputs:
    """The parameters of a group's function. A tuple of which only fields are used is passed by these fields."""
    inside = set(ops)
    inputs = _Inputs()
    whole = {o for op in ops if not isinstance(op, relax.TupleGetItemOp) for o in operands_of(op)}
    whole |= {op.tuple_ for op in ops if isinstance(op, relax.TupleGetItemOp) and op.result in outputs}
    for op in ops:
        for operand in operands_of(op):
            if operand.owner in inside or _stays_inline(operand):
                continue
            name = name_of(operand)
            if isinstance(op, relax.TupleGetItemOp) and operand not in whole:
                i = op.index.data
                inputs.add((operand, i), f"{name}_{i}" if name else None, op.result.type)
            else:
                inputs.add(operand, name, operand.type)
    return inputs


def _stays_inline(value: SSAValue) -> bool:
    """Whether an operand is copied into the function: an inline leaf, but for constant tensors and symbolic values."""
    if not isinstance(value, OpResult) or not relax.is_inline(value.op):
        return False
    if isinstance(value.op, relax.ConstantOp | relax.TupleOp):
        return False
    return not mentioned_in(value.op)


def build_function(
    ops: Sequence[Operation], inputs: _Inputs, outputs: Sequence[SSAValue]
) -> tuple[relax.FuncOp, list[Var]]:
    """The private function of a group, made of copies of its ops, with a result for each of `outputs`.

    Several results are a tuple. Also gives the symbolic variables that a last shape parameter passes.
    """
    types = [t for _, t in inputs.params]
    known = determined_symbols(types)
    mentioned = dict.fromkeys(free_symbolic_vars(types))
    mentioned.update(dict.fromkeys(v for op in ops for v in mentioned_in(op)))
    free = [v for v in mentioned if v not in known]
    if free:
        types.append(ShapeType.of(free))
    outer = Block(arg_types=types)
    taken: set[str] = set()
    for arg, name in zip(outer.args, [*(n for n, _ in inputs.params), TIR_VARS], strict=False):
        set_name(arg, fresh_suffix(name, taken))
    dataflow = _copy_into_dataflow(ops, inputs, outputs, outer)
    outer.add_op(dataflow)
    results: list[SSAValue] = list(dataflow.outputs)
    value = results[0]
    if len(results) > 1:
        joined = relax.TupleOp(results)
        outer.add_op(joined)
        value = joined.result
    outer.add_op(relax.ReturnOp(value))
    func = relax.FuncOp("fused", Region(outer), value.type, private=True, attrs={PRIMITIVE: 1})
    func.location = ops[-1].location
    make_unique(func)
    return func, free


def _copy_into_dataflow(
    ops: Sequence[Operation], inputs: _Inputs, outputs: Sequence[SSAValue], outer: Block
) -> relax.DataflowOp:
    values: dict[SSAValue, SSAValue] = {
        key: outer.args[slot] for key, slot in inputs.slots.items() if isinstance(key, SSAValue)
    }
    inner = Block()
    for op in ops:
        if isinstance(op, relax.TupleGetItemOp) and (op.tuple_, op.index.data) in inputs.slots:
            values[op.result] = outer.args[inputs.slots[op.tuple_, op.index.data]]
            continue
        for operand in operands_of(op):
            if operand not in values:  # an inline leaf
                inner.add_op(cast(Operation, operand.owner).clone(values))
        copy = op.clone(values)
        for old, new in zip(op.results, copy.results, strict=True):
            set_name(new, name_of(old))
        inner.add_op(copy)
    inner.add_op(relax.OutputOp([values[v] for v in outputs]))
    dataflow = relax.DataflowOp(Region(inner))
    supply = NameSupply()
    for old, result in zip(outputs, dataflow.outputs, strict=True):
        name = supply.fresh("gv")
        set_name(values[old], name)
        set_name(result, name)
    return dataflow
