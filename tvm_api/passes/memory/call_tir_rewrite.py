"""Allocate the outputs of calls in destination-passing style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import relax
from ....dialects.quick import operations
from ....ir.functions.lookup import relax_functions
from ....ir.functions.outputs import outputs_to_make
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_to
from ....transforms.bindings.to_non_dataflow import flatten_dataflow


@dataclass(frozen=True)
class CallTIRRewrite(Pass):
    """Passes outputs as arguments to tensor functions and to packed functions in destination-passing style.

    y = call_tir(f, (x,), out)             ->  alloc = builtin.alloc_tensor(out); f(x, alloc); y = alloc
    y = call_tir(f, (x,), out, [n])        ->  …; vm.call_tir_dyn(f, (x, alloc, shape([n]))); …
    y = call_dps_packed("f", (x,), out)    ->  …; call_packed("f", x, alloc); …
    y = call_tir_inplace(f, (x,), [0])     ->  f(x); y = x

    These calls have effects: dataflow blocks are dissolved.
    """

    name = "call-tir-rewrite"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(variable_names(op))
        for func in relax_functions(op):
            if any(inner.name in _RULES for inner in operations(func)):
                flatten_dataflow(func)
                apply_to(func, _RULES, names)


def _rewrite(call: Any, emit: Emit) -> SSAValue:
    reused: list[SSAValue | None] = [None] * len(call.output_types)
    if isinstance(call, relax.CallTIRInplaceOp):
        reused = [call.args[i] if i >= 0 else None for i in call.indices]
    allocated: list[SSAValue] = []
    outputs: list[SSAValue] = []
    for t, value in zip(outputs_to_make(call), reused, strict=True):
        if value is None:
            value = emit.named("alloc", relax.memory.AllocTensor.make(*_allocation(emit, t)))
            allocated.append(value)
        outputs.append(value)
    emit.named("_", _call(call, [*call.args, *allocated]))
    if isinstance(call.result.type, TupleType):
        return emit.put(relax.TupleOp(outputs))
    return emit.put(relax.BindOp(outputs[0], call.result.type))


def _allocation(emit: Emit, t: Attribute) -> Sequence[SSAValue]:
    assert isinstance(t, relax.TensorType) and t.dims is not None and t.element is not None
    return [emit.shape(t.dims), emit.dtype(t.element), emit.integer(0), emit.string("global")]


def _call(call: Any, args: Sequence[SSAValue]) -> Operation:
    if isinstance(call, relax.CallDPSPackedOp):
        return relax.CallPackedOp(call.func.data, args)
    return relax.CallOp(call.callee_name, args, TupleType(()), call.tir_vars)


_RULES = dict.fromkeys((relax.CallTIROp.name, relax.CallTIRInplaceOp.name, relax.CallDPSPackedOp.name), _rewrite)
