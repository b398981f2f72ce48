"""Operators on memory and shapes as what is called at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.dtypes import dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax import memory
from ...ir.functions.lookup import relax_functions
from ...ir.locations import location_of
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase_with_leaves
from .emit import Emitter

_BYTE = dtype_of("uint8")
_PACKED = {
    "relax.reshape": "vm.builtin.reshape",
    "relax.shape_of": "vm.builtin.shape_of",
    "relax.tensor_to_shape": "vm.builtin.tensor_to_shape",
}
"""Operators that are packed functions at run time."""


@dataclass(frozen=True)
class LowerRuntimeBuiltin(Pass):
    """Operators of `memory` become those of `vm`, and some others calls of packed functions.

    memory.alloc_storage(size, device, scope, dtype)  ->  vm.alloc_storage(size, device, "uint8", scope)
    memory.alloc_tensor(s, 0, shape, dtype)           ->  vm.alloc_tensor(s, 0, shape, dtype)
    memory.kill_tensor(t), memory.kill_storage(s)     ->  vm.kill_object(…)
    reshape(x, shape)                                 ->  call_packed("vm.builtin.reshape", x, shape)

    To be used after `to-non-dataflow` and `lower-alloc-tensor`: raises `TiraxError` where such an operator stands in a
    dataflow block, and for what is left of `builtin.alloc_tensor`.
    """

    name = "lower-runtime-builtin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(variable_names(op))
        for func in relax_functions(op):
            for operator in [inner for inner in func.walk() if isinstance(inner, relax.Operator)]:
                rule = _RULES.get(type(operator)) or (_packed if operator.name in _PACKED else None)
                if rule is not None:
                    _check_place(operator)
                    _replace(operator, rule(operator, Emitter(operator, names)))


def _check_place(op: Operation) -> None:
    if isinstance(op.parent_op(), relax.DataflowOp):
        message = f"{op.name} would have effects in a dataflow block"
        raise TiraxError(message, location=location_of(op), hint="run to-non-dataflow before")


def _replace(op: Operation, new: Operation) -> None:
    set_name(new.results[0], name_of(op.results[0]))
    op.results[0].replace_all_uses_with(new.results[0])
    erase_with_leaves(op)


def _storage(op: relax.Operator, emit: Emitter) -> Operation:
    size, device, scope, _ = op.operands
    return emit.put(memory.VMAllocStorage.make(size, device, emit.dtype(_BYTE), scope))


def _tensor(op: relax.Operator, emit: Emitter) -> Operation:
    args: list[SSAValue] = list(op.operands)
    return emit.put(memory.VMAllocTensor.make(*args))


def _kill(op: relax.Operator, emit: Emitter) -> Operation:
    return emit.put(memory.KillObject.make(op.operands[0]))


def _packed(op: relax.Operator, emit: Emitter) -> Operation:
    return emit.put(relax.CallPackedOp(_PACKED[op.name], op.operands, op.result_type))


def _left(op: relax.Operator, emit: Emitter) -> Operation:
    raise TiraxError("a tensor is not in storage yet", location=location_of(op), hint="run lower-alloc-tensor before")


_RULES: dict[type[Operation], Callable[[Any, Emitter], Operation]] = {
    memory.AllocTensor: _left,
    memory.AllocStorage: _storage,
    memory.MemoryAllocTensor: _tensor,
    memory.KillStorage: _kill,
    memory.KillTensor: _kill,
}
