"""Share memory between tensors whose lifetimes do not overlap."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Block, SSAValue

from ....dialects import relax, tir
from ....dialects.relax.memory import AllocStorage, AllocTensor, MemoryAllocTensor
from ....ir.functions.lookup import functions, relax_functions
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit
from ....ir.rewriting.edit import replace_op
from .storage_pool import StoragePlan, StoragePool
from .tokens import Token, TokenTable, attributes_of

PLAN_RESULTS = "relax.memory_plan_dynamic_func_output"
"""The attribute of a function whose results of bounded size are planned as well."""


@dataclass(frozen=True)
class StaticPlanBlockMemory(Pass):
    """Places the tensors of `builtin.alloc_tensor` in shared storages.

    a = builtin.alloc_tensor(shape([2, 4]), "float32", 0, "global")
    ->  storage = memory.alloc_storage(shape([32]), 0, "global", "float32")
        a = memory.alloc_tensor(storage, 0, shape([2, 4]), "float32")

    A storage is free after the last call with a tensor in it, or a reshaped one, as an argument. It is reused
    for tensors of the same dtype and device that are at most 16 times smaller or larger. Symbolic variables in
    the attribute `tir_var_upper_bound` count as their bound; sizes without a bound must be equal.

    Tensors are left alone if anything other than a tensor function or packed function uses them, or another
    block than that of the allocation: results, arguments of Relax functions, conditions. Packed functions must
    neither store nor return their arguments. Raises `TiraxError` for bounds that are not numbers.
    """

    name = "static-plan-block-memory"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(variable_names(op))
        kernels = {n for n, f in functions(op).items() if isinstance(f, tir.FuncOp)}
        for func in relax_functions(op):
            attributes = attributes_of(func)
            table = TokenTable(func, kernels, PLAN_RESULTS in attributes)
            _assign(func.body.block, table, StoragePool())
            _rewrite(table, names)
            if attributes.pop(PLAN_RESULTS, None) is not None:
                func.func_attrs = DictionaryAttr(attributes) if attributes else None


def _assign(block: Block, table: TokenTable, pool: StoragePool) -> None:
    """Assign storage to the tokens of a block, including its branches, in binding order."""
    for op in block.ops:
        token = table.of(op) if isinstance(op, AllocTensor) else None
        if token is not None:
            shares = token.uses > 0 and not token.result
            storage = pool.take(token.kind, token.size) if shares else None
            token.storage = storage or StoragePlan(token.kind, token.size, block)
        for used in table.arguments(op):
            used.uses -= 1
            if used.uses == 0 and used.storage is not None and not used.result:
                pool.give(used.storage)
        if isinstance(op, relax.IfOp):
            for branch in (op.then_region.block, op.else_region.block):
                _assign(branch, table, pool)
                pool.leave(branch)


def _rewrite(table: TokenTable, names: NameSupply) -> None:
    """Allocate each storage before its first tensor, and place the tensors in them."""
    storages: dict[StoragePlan, SSAValue] = {}
    for token in table.all:
        if token.storage is not None:
            emit = Emit(token.op, names)
            if token.storage not in storages:
                storages[token.storage] = _make_storage(token, emit)
            _place(token, storages[token.storage], emit)


def _make_storage(token: Token, emit: Emit) -> SSAValue:
    assert token.storage is not None
    _, dtype, device, scope = token.op.operands
    size = emit.shape([token.storage.size])
    return emit.named("storage", AllocStorage.make(size, device, scope, dtype))


def _place(token: Token, storage: SSAValue, emit: Emit) -> None:
    shape, dtype, device, _ = token.op.operands
    elsewhere = isinstance(device.owner, relax.PrimValueOp) and device.type != relax.PrimValueOp(0).result.type
    new = MemoryAllocTensor.make(storage, emit.integer(0), shape, dtype, device if elsewhere else None)
    replace_op(token.op, new)
