"""Entry points: the check of arguments in front of what a function does.

head(items, normalised):   check everything at `items`; where that fails: failed
failed:                    a second time: internal error. Else ask `explain` for a tuple of normalised arguments
                           (or an exception), and go to head with its items
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import func
from xdsl.ir import Attribute, Block

from ...diagnostics import TiraxError
from ...dialects import host, relax, tir
from ...runtime import abi
from ...runtime.abi import Slot
from .body import Body
from .checks import Check, is_native
from .function import HostFunction, HostModule
from .info import function_info, param_struct_info
from .kernels import prepare_kernel, run_kernels
from .native import PTR
from .values import Tensor, Value, flat_fields


def relax_entry(module: HostModule, op: relax.FuncOp) -> func.FuncOp:
    """The entry point of a relax function in destination passing form."""
    name = op.sym_name.data
    accesses = _relax_accesses(module, op)
    types = [p.type for p in op.params]
    params = list(zip(op.params, types, accesses, strict=True))
    module.infos.append(function_info(op, name, params, op.ret_type))
    f = HostFunction(module, name)

    def run(values: list[Value]) -> None:
        Body(f, dict(zip(op.params, values, strict=True))).block(op.body.block)

    return _entry(f, types, accesses, run)


def tir_entry(module: HostModule, op: tir.FuncOp) -> func.FuncOp:
    """The entry point of a tir function: inputs and outputs are arguments, the result is None."""
    name = op.sym_name.data
    accesses = module.kernels[name].accesses
    types = [param_struct_info(p) for p in op.params]
    params = list(zip(op.params, types, accesses, strict=True))
    module.infos.append(function_info(op, name, params, None))
    f = HostFunction(module, name)

    def run(values: list[Value]) -> None:
        run_kernels(f, [prepare_kernel(f, name, values, [])])
        f.give(f.slot(Slot.NONE))

    return _entry(f, types, accesses, run)


def _relax_accesses(module: HostModule, op: relax.FuncOp) -> list[str]:
    """Whether kernels write to the memory of parameters: call_tir_inplace does."""
    written = dict.fromkeys(op.params, False)
    for inner in op.walk():
        if isinstance(inner, host.KernelOp):
            accesses = module.kernels[inner.callee_name].accesses
            for value, access in zip(inner.call_args, accesses, strict=False):
                if value in written and access != "read":
                    written[value] = True
    return ["readwrite" if w else "read" for w in written.values()]


def _entry(
    f: HostFunction, types: Sequence[Attribute], accesses: Sequence[str], run: Callable[[list[Value]], None]
) -> func.FuncOp:
    head, failed, explain = f.new_block(PTR, PTR), f.new_block(), f.new_block()
    if all(map(is_native, types)):
        f.branch(f.compare("eq", f.nargs, f.integer(len(types))), head, explain, f.args, f.null)
    else:
        f.jump(explain)
    f.block = head
    values = _checked_arguments(f, types, accesses, failed)
    with f.inside(failed):
        f.when(f.is_null(head.args[1]), explain)
        f.fail("internal", f"the arguments of '{f.name}' do not pass their native check after they were normalised")
    with f.inside(explain):
        f.call("PyErr_Clear", [], None)
        arguments = [f.slot(f.module.slot("explain", f.name)), f.args, f.nargs, f.null]
        normalised = f.own(f.call("PyObject_Vectorcall", arguments))
        f.jump(head, f.address(normalised, abi.TUPLE_ITEMS), normalised)
    f.scope.zero_division = lambda: f.fail("shape", f"'{f.name}': an extent is divided by zero")
    try:
        run(values)
    except TiraxError as error:
        error.notes = (*error.notes, f"in function @{f.name}")
        raise
    return f.complete()


def _checked_arguments(
    f: HostFunction, types: Sequence[Attribute], accesses: Sequence[str], failed: Block
) -> list[Value]:
    check = Check(f, failed)
    items = f.block.args[0]
    objects = [f.read(f.address(items, i, PTR)) for i in range(len(types))]
    written = [a != "read" for a in accesses]
    values = check.objects(objects, types, written)
    check.finish()
    if any(written):
        pairs = [(t, w) for v, w in zip(values, written, strict=True) for t in flat_fields(v)]
        check.disjoint([(t, w) for t, w in pairs if isinstance(t, Tensor)])
    return values
