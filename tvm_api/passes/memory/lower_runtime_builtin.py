"""Lower memory and shape operators to runtime builtins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax
from ....dialects.dtypes import dtype_of
from ....dialects.relax import memory
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, OpRule, apply_to
from ....transforms.legalize.base import view_arguments

_BYTE = dtype_of("uint8")
_PACKED = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
}
"""Operators that are packed functions at run time."""


@dataclass(frozen=True)
class LowerRuntimeBuiltin(Pass):
    """Lowers operators of `memory` to those of `vm`, and some others to calls of packed functions.

    memory.alloc_storage(size, device, scope, dtype)  ->  vm.alloc_storage(size, device, "uint8", scope)
    memory.alloc_tensor(s, 0, shape, dtype)           ->  vm.alloc_tensor(s, 0, shape, dtype)
    memory.kill_tensor(t), memory.kill_storage(s)     ->  vm.kill_object(…)
    reshape(x, shape)                                 ->  call_packed("vm.builtin.reshape", x, shape)

    Use it after `to-non-dataflow` and `lower-alloc-tensor`: raises `TiraxError` if such an operator is in a
    dataflow block, and for remaining `builtin.alloc_tensor`.
    """

    name = "lower-runtime-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_to(op, {name: partial(_lower, rule) for name, rule in _RULES.items()})


def _lower(rule: OpRule, op: relax.Operator, emit: Emit) -> SSAValue | None:
    if isinstance(op.parent_op(), relax.DataflowOp):
        message = f"{op.name} would have effects in a dataflow block"
        raise TiraxError(message, location=location_of(op), hint="run to-non-dataflow before")
    return rule(op, emit)


def _storage(op: relax.Operator, emit: Emit) -> SSAValue:
    size, device, scope, _ = op.operands
    return emit.put(memory.VMAllocStorage.make(size, device, emit.dtype(_BYTE), scope))


def _tensor(op: relax.Operator, emit: Emit) -> SSAValue:
    args: list[SSAValue] = list(op.operands)
    return emit.put(memory.VMAllocTensor.make(*args))


def _kill(op: relax.Operator, emit: Emit) -> SSAValue:
    return emit.put(memory.KillObject.make(op.operands[0]))


def _packed(op: relax.Operator, emit: Emit) -> SSAValue:
    return emit.put(relax.CallPackedOp(_PACKED[op.name], op.operands, op.result_type))


def _view(op: relax.Operator, emit: Emit) -> SSAValue | None:
    args = view_arguments(emit.put, op)
    return (
        None if args is None else emit.put(relax.CallPurePackedOp("runtime.TVMArrayCreateView", args, op.result_type))
    )


def _refuse_unplaced(op: relax.Operator, emit: Emit) -> SSAValue:
    raise TiraxError("a tensor is not in storage yet", location=location_of(op), hint="run lower-alloc-tensor before")


_RULES: dict[str, OpRule] = {
    **dict.fromkeys(_PACKED, _packed),
    memory.AllocTensor.name: _refuse_unplaced,
    memory.AllocStorage.name: _storage,
    memory.MemoryAllocTensor.name: _tensor,
    memory.KillStorage.name: _kill,
    memory.KillTensor.name: _kill,
    "relax.memory.view": _view,
}
