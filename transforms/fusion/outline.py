"""Outlining of groups of bindings: each becomes a function, and a call of it takes its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.quick import clone
from ...dialects.relax import PrimType, ShapeType, TensorType, free_symbolic_vars
from ...dialects.sym.expr import Var
from ...ir.equality import fingerprint
from ...ir.functions.symbolic_vars import mentioned_in
from ...ir.names import NameSupply, fresh_suffix, function_names, make_unique
from ...ir.rewriting.edit import insert_before, replace_value
from .graph import BindingGraph, operands_of

PRIMITIVE = "Primitive"
"""The attribute of functions that will become one tensor function."""

TIR_VARS = "tir_vars"
"""The name of the shape parameter for symbolic variables that no other parameter determines."""


def is_primitive(func: relax.FuncOp) -> bool:
    """Return whether a function has the attribute `Primitive`."""
    attr = func.func_attrs.data.get(PRIMITIVE) if func.func_attrs is not None else None
    return isinstance(attr, IntegerAttr) and attr.value.data != 0


def determined_symbols(types: Sequence[Attribute]) -> set[Var]:
    """Return the symbolic variables that parameters of `types` bind: those that are an extent or scalar alone."""
    bound: set[Var] = set()
    for t in types:
        if isinstance(t, TensorType | ShapeType):
            bound.update(d for d in t.dims or () if isinstance(d, Var))
        elif isinstance(t, PrimType) and isinstance(t.expr, Var):
            bound.add(t.expr)
        elif isinstance(t, TupleType):
            bound |= determined_symbols(t.types.data)
    return bound


@dataclass
class _Inputs:
    """The inputs of a group: parameters of its function with the arguments, in order of first use."""

    params: list[tuple[str, Attribute]] = field(default_factory=lambda: list[tuple[str, Attribute]]())
    args: list[SSAValue | tuple[SSAValue, int]] = field(default_factory=lambda: list[SSAValue | tuple[SSAValue, int]]())
    slots: dict[SSAValue | tuple[SSAValue, int], int] = field(
        default_factory=lambda: dict[SSAValue | tuple[SSAValue, int], int]()
    )
    anonymous: int = 0

    def add(self, key: SSAValue | tuple[SSAValue, int], name: str | None, t: Attribute) -> None:
        """Add a value, or one field of a tuple."""
        if key in self.slots:
            return
        if name is None:
            name, self.anonymous = f"param_{self.anonymous}", self.anonymous + 1
        self.slots[key] = len(self.args)
        self.params.append((name, t))
        self.args.append(key)


Finish = Callable[[relax.FuncOp, Sequence[Operation]], tuple[relax.FuncOp, str]]
"""(a group's plain function, its bindings) -> (the function for the module, a suffix of its name)."""


class Outliner:
    """Outliner of groups of bindings for all functions of a module; equal functions are shared.

    `bind_constants`: constants are inside the functions, otherwise they are arguments. `rename_at_once`: parameters are
    named after the new names of other groups' results, otherwise after the old ones.
    """

    def __init__(self, module: ModuleOp, bind_constants: bool = False, rename_at_once: bool = False):
        self._module = module
        self._bind_constants = bind_constants
        self._rename_at_once = rename_at_once
        self._functions = NameSupply(function_names(module))
        self._variables = NameSupply()
        self._shared: dict[Hashable, str] = {}

    def outline(
        self,
        dataflow: relax.DataflowOp,
        graph: BindingGraph,
        groups: Sequence[Sequence[int]],
        finish: Finish = lambda func, _: (func, ""),
    ) -> None:
        """Replace each group of a dataflow block by a call of the function that `finish` returns for it.

        Bindings are reordered by the dependencies of groups, which must be acyclic. A group without used values is
        dropped.
        """
        if not groups:
            return
        grouped = {i for members in groups for i in members}
        outlined = {members[0] for members in groups}
        every = sorted([*([i] for i in range(len(graph.ops)) if i not in grouped), *map(list, groups)])
        writer = _Writer(dataflow.body.block, self._variables)
        for g in dependency_order(graph, every):
            ops = [graph.ops[i] for i in every[g]]
            if every[g][0] in outlined:
                self._call(dataflow, ops, outputs_of(ops, graph), writer, finish)
            else:
                writer.place(ops[0])
        writer.finish()

    def _call(
        self,
        dataflow: relax.DataflowOp,
        ops: Sequence[Operation],
        outputs: Sequence[SSAValue],
        writer: _Writer,
        finish: Finish,
    ) -> None:
        if outputs:
            inputs = inputs_of(ops, outputs)
            func, free = build_function(ops, inputs, outputs)
            bound = _bind_constants(func, inputs.args) if self._bind_constants else set[int]()
            args = [self._argument(key, writer) for i, key in enumerate(inputs.args) if i not in bound]
            if free:
                args.append(writer.add(relax.ShapeOp(free)))
            call = relax.CallOp(self._add(fused_name(ops), *finish(func, ops)), args, func.ret_type)
            call.location = ops[-1].location
            _take_over(dataflow, ops, outputs, call, writer)
            if self._rename_at_once:
                writer.rename()
        for op in reversed(ops):
            op.erase()

    @staticmethod
    def _argument(key: SSAValue | tuple[SSAValue, int], writer: _Writer) -> SSAValue:
        value, index = (key, None) if isinstance(key, SSAValue) else key
        writer.place_inline(value)
        return value if index is None else writer.add(relax.TupleGetItemOp(value, index), "lv")

    def _add(self, name: str, func: relax.FuncOp, suffix: str) -> str:
        """Add `func` to the module unless an equal function exists, and return its name."""
        key = fingerprint(func)
        if key not in self._shared:
            name = self._functions.fresh(name)
            if suffix:
                name = self._functions.fresh(f"{name}_{suffix}")
            self._shared[key] = name
            func.sym_name = StringAttr(name)
            self._module.body.block.add_op(func)
        return self._shared[key]


def _take_over(
    dataflow: relax.DataflowOp,
    ops: Sequence[Operation],
    outputs: Sequence[SSAValue],
    call: relax.CallOp,
    writer: _Writer,
) -> None:
    """Replace the results of a group by those of a call; they are named `gv` if they leave the block by name."""
    if len(outputs) > 1:
        writer.add(call, "lv")
    fields = {value: i for i, value in enumerate(outputs)}
    for old in _as_defined(ops, outputs):
        leaving = [dataflow.outputs[u.index] for u in old.uses if u.operation is dataflow.output_op]
        leaving = [outer for outer in leaving if name_of(outer) == name_of(old)]
        new = call if len(outputs) == 1 else relax.TupleGetItemOp(call.result, fields[old])
        replace_value(old, writer.add(new, "gv" if leaving else "lv", *leaving))


def _bind_constants(func: relax.FuncOp, args: Sequence[SSAValue | tuple[SSAValue, int]]) -> set[int]:
    """Move constant arguments into the function; return the positions of the removed parameters."""
    block = func.body.block
    owners = {i: value.op for i, value in enumerate(args) if isinstance(value, OpResult)}
    bound = {i: op for i, op in owners.items() if isinstance(op, relax.ConstantOp) and relax.is_inline(op)}
    for i, op in bound.items():
        for use in list(block.args[i].uses):
            use.operation.operands[use.index] = insert_before(use.operation, op.clone()).result
    for i in sorted(bound, reverse=True):
        block.erase_arg(block.args[i])
    return set(bound)


class _Writer:
    """Writer of the ops of a block in another order, inline operands before their users.

    A replacement keeps the name of the replaced value until `rename`.
    """

    def __init__(self, block: Block, names: NameSupply):
        self._block = block
        self._names = names
        self._unnamed: list[tuple[str, list[SSAValue]]] = []
        self._end = cast(Operation, block.last_op)
        self._old = [op for op in block.ops if op is not self._end]
        for op in self._old:
            op.detach()

    def add(self, op: Operation, base: str | None = None, *alike: SSAValue) -> SSAValue:
        """Add an op and return its first result, named after `base` like those in `alike`; unnamed without a base."""
        self._block.insert_op_before(op, self._end)
        if base is not None:
            self._unnamed.append((base, [op.results[0], *alike]))
        return op.results[0]

    def place(self, op: Operation) -> None:
        """Place an op of the old order, unless it is placed already."""
        if op.parent is None:
            for value in operands_of(op):
                self.place_inline(value)
            self._block.insert_op_before(op, self._end)

    def place_inline(self, value: SSAValue) -> None:
        """Place the op of an inline operand if it is not placed yet; do nothing for other values."""
        if isinstance(value, OpResult) and value.op.parent is None and relax.is_inline(value.op):
            self.place(value.op)

    def finish(self) -> None:
        """Place the inline operands of the outputs, and drop unused ones."""
        for value in self._end.operands:
            self.place_inline(value)
        for op in reversed(self._old):
            if op.parent is None and relax.is_inline(op):
                op.erase()
        self.rename()

    def rename(self) -> None:
        """Name the new ops."""
        for base, values in self._unnamed:
            name = self._names.fresh(base)
            for value in values:
                set_name(value, name)
        self._unnamed.clear()


def dependency_order(graph: BindingGraph, groups: Sequence[Sequence[int]]) -> list[int]:
    """Return the groups by first binding, each after those that it depends on."""
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


def outputs_of(ops: Sequence[Operation], graph: BindingGraph) -> list[SSAValue]:
    """Return the values of a group used outside it, in order of first use.

    An output of the block counts as used at once.
    """
    inside = {inner for op in ops for inner in op.walk()}
    first: dict[SSAValue, tuple[int, int]] = {}
    for op in ops:
        for value in op.results:
            places = [_place(use, op, graph) for use in value.uses if use.operation not in inside]
            if places:
                first[value] = min(places)
    return sorted(first, key=first.__getitem__)


def _as_defined(ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the outputs in order of definition."""
    chosen = set(outputs)
    return [r for op in ops for r in op.results if r in chosen]


def _place(use: Use, producer: Operation, graph: BindingGraph) -> tuple[int, int]:
    """Return the position of a use, as (binding, operand); for an output of the block that of the producer."""
    if isinstance(use.operation, relax.OutputOp):
        return graph.index[producer], -1
    return graph.index.get(use.operation, len(graph.ops)), use.index


def fused_name(ops: Sequence[Operation]) -> str:
    """Return `fused_` followed by the names of the ops' callees."""
    parts = [p for op in ops if (p := _callee(op))]
    return "_".join(["fused", *parts])


def _callee(op: Operation) -> str:
    if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp):
        return op.callee_name
    if isinstance(op, relax.CallOp):
        return op.callee_name.removeprefix("fused_")
    if isinstance(op, relax.Operator):
        return op.name.replace(".", "_")
    return ""


def inputs_of(ops: Sequence[Operation], outputs: Sequence[SSAValue]) -> _Inputs:
    """Return the parameters of a group's function. A tuple of which only fields are used is passed by fields."""
    inside = set(ops)
    inputs = _Inputs()
    tuples = {o for op in ops if not isinstance(op, relax.TupleGetItemOp) for o in operands_of(op)}
    tuples |= {op.tuple_ for op in ops if isinstance(op, relax.TupleGetItemOp) and op.result in outputs}
    for op in ops:
        for operand in operands_of(op):
            if operand.owner in inside or _stays_inline(operand):
                continue
            name = name_of(operand)
            if isinstance(op, relax.TupleGetItemOp) and operand not in tuples:
                i = op.index.data
                inputs.add((operand, i), f"{name}_{i}" if name else None, op.result.type)
            else:
                inputs.add(operand, name, operand.type)
    return inputs


def _stays_inline(value: SSAValue) -> bool:
    """Return whether an operand is copied into the function: an inline leaf, except constants and symbolic values."""
    if not isinstance(value, OpResult) or not relax.is_inline(value.op):
        return False
    if isinstance(value.op, relax.ConstantOp | relax.TupleOp):
        return False
    return not mentioned_in(value.op)


def build_function(
    ops: Sequence[Operation], inputs: _Inputs, outputs: Sequence[SSAValue]
) -> tuple[relax.FuncOp, list[Var]]:
    """Return the private function of a group, with copies of its ops and a result for each of `outputs`.

    Several results form a tuple. Also returns the symbolic variables that a last shape parameter passes.
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
    defined = _as_defined(ops, outputs)
    dataflow = _copy_into_dataflow(ops, inputs, defined, outer)
    outer.add_op(dataflow)
    by_output = dict(zip(defined, dataflow.outputs, strict=True))
    results: list[SSAValue] = [by_output[v] for v in outputs]
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
                inner.add_op(clone(cast(Operation, operand.owner), values))
        copy = clone(op, values)
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
