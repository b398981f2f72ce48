"""Compute operators in place of an operand that is dead afterwards."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import relax, tir
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import Dims
from ....ir.affine.values import sym_expr_of
from ....ir.equality import fingerprint
from ....ir.functions.lookup import ops_of_type, relax_functions
from ....ir.names import NameSupply, function_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import replace_op
from ....transforms.legalize import LegalizeOps
from .aliases import Aliases

SUPPORTED = frozenset(f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "nn.silu", "nn.relu"))
"""The operators that may work in place, as in TVM."""


@dataclass(frozen=True)
class DataflowUseInplaceCalls(Pass):
    """Lets operators of dataflow blocks write to a dead operand of the result's type.

    z = add(x, y); u = nn.relu(z)  ->  z = add(x, y); u = call_tir_inplace(relu_inplace, (z,), [0])

    The operators are `add`, `subtract`, `multiply`, `divide`, `nn.relu` and `nn.silu`; the last suitable
    operand is used. Parameters and other values from outside of the block, constants and values computed from
    constants alone, outputs, and values that may share memory with a live value are not overwritten.
    """

    name = "dataflow-use-inplace-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = _Functions(op)
        for func in relax_functions(op):
            for block in list(ops_of_type(func, relax.DataflowOp)):
                for operator, index in list(_candidates(block)):
                    functions.rewrite(operator, index)


def _candidates(block: relax.DataflowOp) -> Iterator[tuple[relax.Operator, int]]:
    """Yield the operators that can write in place, each with the index of the operand to overwrite."""
    aliases = Aliases(block)
    for op in block.body.block.ops:
        if isinstance(op, relax.Operator) and op.name in SUPPORTED:
            for i, value in reversed(list(enumerate(op.operands))):
                if _same_tensor(value, op) and aliases.ends_with(value, op):
                    yield op, i
                    break


def _same_tensor(value: SSAValue, op: relax.Operator) -> bool:
    t = value.type
    known = isinstance(t, relax.TensorType) and t.dims is not None and t.element is not None
    return known and t == op.result_type


@dataclass(frozen=True)
class _InPlace:
    """The replacement of operators of equal kind and types: the function, its operands, and the one it overwrites."""

    callee: str
    order: list[int]
    place: int
    tir_vars: Dims | None


class _Functions:
    """The functions that write in place, by structure, with their names."""

    def __init__(self, module: ModuleOp):
        self._module = module
        self._first = module.body.block.first_op
        self._names = NameSupply(function_names(module))
        self._bases = NameSupply(function_names(module))
        self._base_of: dict[Hashable, str] = {}
        self._known: dict[Hashable, str] = {}
        self._memo: dict[Hashable, _InPlace | None] = {}

    def rewrite(self, op: relax.Operator, index: int) -> None:
        """Let `op` overwrite its operand `index`, if the tensor function for it allows that."""
        kinds = [(v.type, v.owner.value if isinstance(v.owner, relax.ConstantOp) else None) for v in op.operands]
        key = (op.name, frozenset(op.properties.items()), op.result_type, index, *kinds)
        if key not in self._memo:
            self._memo[key] = self._make(op, index)
        inplace = self._memo[key]
        if inplace is None:
            return
        operands = [op.operands[i] for i in inplace.order]
        new = relax.CallTIRInplaceOp(inplace.callee, operands, [inplace.place], op.result_type, inplace.tir_vars)
        replace_op(op, new)

    def _make(self, op: relax.Operator, index: int) -> _InPlace | None:
        legalized = _legalized(op)
        if legalized is None:
            return None
        func, order, tir_vars = legalized
        base = self._base_of.get(key := fingerprint(func))
        if base is None:
            base = self._base_of[key] = self._bases.fresh(func.sym_name.data)
        if index not in order or not _write_into(func, order.index(index)):
            return None
        return _InPlace(self._add(func, base), order, order.index(index), tir_vars)

    def _add(self, func: tir.FuncOp, base: str) -> str:
        key = fingerprint(func)
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = self._names.fresh(f"{base}_inplace")
            func.sym_name = StringAttr(name)
            func.detach()
            if self._first is None:
                self._module.body.block.add_op(func)
            else:
                self._module.body.block.insert_op_before(func, self._first)
        return name


def _legalized(op: relax.Operator) -> tuple[tir.FuncOp, list[int], Dims | None] | None:
    """Return the tensor function of a legalized operator, with the indices of its operands and its scalars.

    Returns None if it is not legalized to a single call.
    """
    block = Block()
    copies = {value: _copy_operand(value, block) for value in op.operands}
    copy = op.clone(dict(copies))
    block.add_ops([copy, relax.ReturnOp(copy.results[0])])
    module = ModuleOp([relax.FuncOp("main", Region(block), op.result_type)])
    LegalizeOps().apply(Context(), module)
    functions = [f for f in module.ops if isinstance(f, tir.FuncOp)]
    calls = [c for c in block.ops if not isinstance(c, relax.ReturnOp | relax.ConstantOp)]
    if len(functions) != 1 or len(calls) != 1 or not isinstance(calls[0], relax.CallTIROp):
        return None
    positions = {copies[value]: i for i, value in enumerate(op.operands)}
    return functions[0], [positions[a] for a in calls[0].args], calls[0].tir_vars


def _copy_operand(value: SSAValue, block: Block) -> SSAValue:
    """Return a parameter, or a copy of a constant, whose value the tensor function may contain."""
    constant = value.owner
    if isinstance(constant, relax.ConstantOp):
        copy = constant.clone()
        block.add_op(copy)
        return copy.result
    parameter = block.insert_arg(value.type, len(block.args))
    set_name(parameter, name_of(value))
    return parameter


def _write_into(func: tir.FuncOp, place: int) -> bool:
    """Let a tensor function write its result to its parameter `place`; return False if that would be incorrect.

    Elements of the parameter must be read before anything is written, or be the element that is written.
    """
    block = func.body.block
    number = max(i for i, p in enumerate(func.params) if isinstance(p.type, tir.BufferType))
    source, target = block.args[place], block.args[number]
    if source.type != target.type or not _reads_first(block, source, target):
        return False
    target.replace_all_uses_with(source)
    block.erase_arg(target)
    if func.handle_names is not None:
        names = list(func.handle_names)
        func.handle_names = ArrayAttr([*names[:number], *names[number + 1 :]])
    return True


def _reads_first(block: Block, source: SSAValue, target: SSAValue) -> bool:
    position = {op: i for i, op in enumerate(block.ops)}
    stores = [use.operation for use in target.uses if isinstance(use.operation, tir.StoreOp)]
    begin = min(position[_outermost(s, block)] for s in stores)
    return all(
        position[_outermost(load, block)] < begin or any(_same_element(load, s) for s in stores)
        for load in (use.operation for use in source.uses)
        if isinstance(load, tir.LoadOp)
    )


def _outermost(op: Operation, block: Block) -> Operation:
    ancestor = block.find_ancestor_op_in_block(op)
    assert ancestor is not None
    return ancestor


def _same_element(load: tir.LoadOp, store: Operation) -> bool:
    """Return whether a load and a store of one block have equal indices."""
    if not isinstance(store, tir.StoreOp) or load.parent is not store.parent:
        return False
    return [sym_expr_of(i) for i in load.indices] == [sym_expr_of(i) for i in store.indices]
