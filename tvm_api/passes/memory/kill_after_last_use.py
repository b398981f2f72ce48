"""Free tensors and storages after their last use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import relax
from ....dialects.names import set_name
from ....dialects.relax import memory
from ....ir.functions.lookup import binding_blocks, relax_functions
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ..bindings.canonicalize_bindings import CanonicalizeBindings


@dataclass(frozen=True)
class KillAfterLastUse(Pass):
    """Kills the tensors, storages, tuples and objects of a function after their last use, in the same block.

    y = exp(x); z = exp(y)  ->  y = exp(x); z = exp(y); memory.kill_tensor(y)

    Parameters, constants, results of blocks, and bindings in dataflow blocks are not killed. Trivial bindings
    are removed first, as in `canonicalize-all-bindings`. A value that a branch uses is killed after the branch.
    """

    name = "kill-after-last-use"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        CanonicalizeBindings().apply(ctx, op)
        names = NameSupply(variable_names(op))
        for func in relax_functions(op):
            for block in list(binding_blocks(func)):
                if not isinstance(block.parent_op(), relax.DataflowOp):
                    _kill_in(block, names)


def _kill_in(block: Block, names: NameSupply) -> None:
    ending: dict[Operation, list[SSAValue]] = {}
    position = {op: i for i, op in enumerate(block.ops)}
    for op in block.ops:
        for value in op.results:
            last = _last_use(value, block, position)
            if _killer(value) is not None and last is not None and last is not block.last_op:
                ending.setdefault(last, []).append(value)
    for op, values in ending.items():
        for value in sorted(values, key=_kind)[::-1]:
            killer = _killer(value)
            assert killer is not None
            kill = killer(value)
            kill.location = op.location
            set_name(kill.results[0], names.fresh("_"))
            block.insert_op_after(kill, op)


def _kind(value: SSAValue) -> int:
    """Return the place of a value among those killed together, which are otherwise in order of definition."""
    if isinstance(value.owner, _STORAGES):
        return 1
    return 0 if isinstance(value.type, relax.TensorType) else 2


def _last_use(value: SSAValue, block: Block, position: dict[Operation, int]) -> Operation | None:
    """Return the last op of the block that uses the value, directly or nested; None if it is unused or killed there.

    The fields of an unnamed tuple are used where the tuple is used.
    """
    last: Operation | None = None
    for use in value.uses:
        op = block.find_ancestor_op_in_block(use.operation)
        if op is not None and isinstance(op, relax.TupleOp) and relax.is_inline(op):
            op = _last_use(op.result, block, position)
        if op is None or isinstance(op, memory.Kill):
            return None
        if last is None or position[op] > position[last]:
            last = op
    return last


def _killer(value: SSAValue) -> Callable[[SSAValue], Operation] | None:
    """Return the constructor of the kill op for the kind of a value, or None."""
    op = value.owner
    if isinstance(op, _STORAGES):
        return memory.KillStorage.make
    if isinstance(op, (Block, *relax.LEAVES)) or relax.is_inline(op):
        return None
    return _KILLERS.get(type(value.type))


_STORAGES = (memory.AllocStorage, memory.VMAllocStorage)
_KILLERS: dict[type[Attribute], Callable[[SSAValue], Operation]] = {
    relax.TensorType: memory.KillTensor.make,
    relax.ObjectType: memory.KillObject.make,
    TupleType: memory.KillObject.make,
}
