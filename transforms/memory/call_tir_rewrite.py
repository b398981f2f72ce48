"""Make the tensors that calls in destination passing style write into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import relax_functions
from ...ir.names import NameSupply, variable_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase
from ..bindings.to_non_dataflow import flatten_dataflow
from .emit import Emitter


@dataclass(frozen=True)
class CallTIRRewrite(Pass):
    """Calls of tensor functions and of packed functions in destination passing style get their outputs as arguments.

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
            calls = [inner for inner in func.walk() if isinstance(inner, _DESTINATION_PASSING)]
            if calls:
                flatten_dataflow(func)
            for call in calls:
                _rewrite(call, Emitter(call, names))


_DESTINATION_PASSING = (relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallDPSPackedOp)


def _rewrite(call: Any, emit: Emitter) -> None:
    given: list[SSAValue | None] = [None] * len(call.output_types)
    if isinstance(call, relax.CallTIRInplaceOp):
        given = [call.args[i] if i >= 0 else None for i in call.indices]
    made: list[SSAValue] = []
    outputs: list[SSAValue] = []
    for t, value in zip(call.output_types, given, strict=True):
        if value is None:
            value = emit.named(relax.memory.AllocTensor, "alloc", *_allocation(emit, t))
            made.append(value)
        outputs.append(value)
    emit.effect(_call(call, [*call.args, *made]))
    _bind(call, outputs, emit)


def _allocation(emit: Emitter, t: Attribute) -> Sequence[SSAValue]:
    assert isinstance(t, relax.TensorType) and t.dims is not None and t.element is not None
    return [emit.shape(t.dims), emit.dtype(t.element), emit.integer(0), emit.string("global")]


def _call(call: Any, args: Sequence[SSAValue]) -> Operation:
    if isinstance(call, relax.CallDPSPackedOp):
        return relax.CallPackedOp(call.func.data, args)
    return relax.CallOp(call.callee_name, args, TupleType(()), call.tir_vars)


def _bind(call: Any, outputs: Sequence[SSAValue], emit: Emitter) -> None:
    """The outputs, under the name of the call."""
    if isinstance(call.result.type, TupleType):
        bound: Any = relax.TupleOp(outputs)
    else:
        bound = relax.BindOp(outputs[0], call.result.type)
    emit.put(bound)
    set_name(bound.result, name_of(call.result))
    call.result.replace_all_uses_with(bound.result)
    erase(call)
