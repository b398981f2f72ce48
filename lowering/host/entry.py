"""Entry points: argument checks in front of the body of a function.

head(items, normalized):   check everything at `items`; on failure: failed
failed:                    a second time: internal error. Else call `explain` for a tuple of normalized arguments
                           (or an exception), and go to head with its items

Each call of a packed function in a kernel also gets an entry point, which the kernel calls:

    PyObject* entry_<kernel>.packed.<i>(null, words, n)

It reads the arguments from `words`, 64 bits each (an array as its address and its extents), calls the packed function
with the GIL held, and writes the number that it returns to `words[0]`. It returns null if an exception is set: the
kernel then stops, and the function that called it propagates the exception. Arrays passed to a packed function are
views of the kernel's memory: it must not keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith, func, llvm
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import host, relax, tir
from ...dialects.dtypes import is_float, lanes_of
from ...dialects.quick import operations
from ...dialects.relax.types import Dims, dims_attr
from ...dialects.sym.expr import product
from ...ir.functions.bounds import variable_bounds
from ...ir.locations import location_of
from ...runtime import abi
from ...runtime.abi import Slot
from ..tir_to_scf.signature import PACKED_DIMS, PACKED_ENTRY
from .body import Body
from .checks import Check, is_native
from .function import HostFunction, HostModule
from .info import function_info, param_struct_info
from .kernels import Kernel, prepare_kernel, run_kernels, scalar_of_kernel
from .marks import mark_function
from .native import I32, I64, PTR, f64
from .symbols import ENTRY_PREFIX
from .values import Tensor, Value, array_over, as_long, as_object, flat_fields, new_descr, number_object


def relax_entry(module: HostModule, op: relax.FuncOp) -> func.FuncOp:
    """Return the entry point of a relax function in destination passing form."""
    name = op.sym_name.data
    accesses = _relax_accesses(module, op)
    types = [p.type for p in op.params]
    params = list(zip(op.params, types, accesses, strict=True))
    module.infos.append(function_info(op, name, params, op.ret_type))
    f = HostFunction(module, name)

    def run(values: list[Value]) -> None:
        Body(f, dict(zip(op.params, values, strict=True))).block(op.body.block)

    return _entry(f, op, types, accesses, run)


def tir_entry(module: HostModule, name: str, op: tir.FuncOp) -> func.FuncOp:
    """Return the entry point of the tir function `name`: inputs and outputs are arguments, the result is a number or
    None.
    """
    accesses = module.kernels[name].accesses
    types = [param_struct_info(p) for p in op.params]
    params = list(zip(op.params, types, accesses, strict=True))
    result = None if op.ret_type is None else relax.PrimType.of(op.ret_type)
    module.infos.append(function_info(op, name, params, result))
    f = HostFunction(module, name)

    def run(values: list[Value]) -> None:
        call = prepare_kernel(f, name, values, [], op)
        if call.signature.result is not None:
            f.give(as_object(f, scalar_of_kernel(f, call)))
            return
        run_kernels(f, [call])
        f.give(f.slot(Slot.NONE))

    return _entry(f, op, types, accesses, run)


def _relax_accesses(module: HostModule, op: relax.FuncOp) -> list[str]:
    """Return the access mode of each parameter: kernels called by call_tir_inplace write to its memory."""
    written = dict.fromkeys(op.params, False)
    for inner in operations(op):
        if isinstance(inner, host.KernelOp):
            accesses = _kernel(module, inner).accesses
            for value, access in zip(inner.call_args, accesses, strict=False):
                if value in written and access != "read":
                    written[value] = True
    return ["readwrite" if w else "read" for w in written.values()]


def _kernel(module: HostModule, call: host.KernelOp) -> Kernel:
    kernel = module.kernels.get(call.callee_name)
    if kernel is None:
        raise UnsupportedError(
            f"'{call.callee_name}' is no tensor function",
            location=location_of(call),
            hint="convert-host-to-func goes before tensor functions are lowered",
        )
    return kernel


def _entry(
    f: HostFunction,
    op: Operation,
    types: Sequence[Attribute],
    accesses: Sequence[str],
    run: Callable[[list[Value]], None],
) -> func.FuncOp:
    mark_function(f, op)
    head, failed, explain = f.new_block(PTR, PTR), f.new_block(), f.new_block()
    if all(map(is_native, types)):
        f.branch(f.compare("eq", f.nargs, f.integer(len(types))), head, explain, f.args, f.null)
    else:
        f.jump(explain)
    f.block = head
    values = _checked_arguments(f, op, types, accesses, failed)
    with f.inside(failed):
        f.when(f.is_null(head.args[1]), explain)
        f.fail("internal", f"the arguments of '{f.name}' do not pass their native check after they were normalised")
    with f.inside(explain):
        f.call("PyErr_Clear", [], None)
        arguments = [f.slot_of("explain", f.name), f.args, f.nargs, f.null]
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
    f: HostFunction, op: Operation, types: Sequence[Attribute], accesses: Sequence[str], failed: Block
) -> list[Value]:
    check = Check(f, failed)
    items = f.block.args[0]
    objects = [f.read(f.address(items, i, PTR)) for i in range(len(types))]
    written = [a != "read" for a in accesses]
    values = check.objects(objects, types, written)
    check.finish()
    if isinstance(op, relax.FuncOp | tir.FuncOp):
        check.bounds(variable_bounds(op))
    if any(written):
        pairs = [(t, w) for v, w in zip(values, written, strict=True) for t in flat_fields(v)]
        check.disjoint([(t, w) for t, w in pairs if isinstance(t, Tensor)])
    return values


def packed_entries(module: HostModule, called: str, kernel: tir.FuncOp) -> list[func.FuncOp]:
    """Return the entry points for the packed calls in the kernel `called`, and record their names at the calls.

    Raises `UnsupportedError` for an argument that is neither a number, a string nor a buffer.
    """
    entries: list[func.FuncOp] = []
    for call in [op for op in operations(kernel) if isinstance(op, tir.CallPackedOp)]:
        name = f"{called}.packed.{len(entries)}"
        call.attributes[PACKED_ENTRY] = StringAttr(ENTRY_PREFIX + name)
        call.attributes[PACKED_DIMS] = ArrayAttr([_dims(call, a) for a in call.call_args])
        entries.append(_packed_entry(HostFunction(module, name), call))
    return entries


def _dims(call: tir.CallPackedOp, value: SSAValue) -> Dims:
    """Return the extents passed with an argument: those of a buffer, or the product of the extents for an address."""
    owner, t = value.owner, value.type
    if isinstance(t, tir.BufferType):
        return dims_attr(t.dims)
    if isinstance(owner, tir.BufferDataOp):
        return dims_attr([product(cast(tir.BufferType, owner.buffer.type).dims)])
    if isinstance(owner, tir.StringImmOp) or not (isinstance(t, tir.HandleType) or lanes_of(t) > 1):
        return dims_attr([])
    raise UnsupportedError(
        f"an argument of {t} for the packed function '{call.func.data}'",
        location=location_of(call),
        expected="numbers, strings, and buffers",
    )


def _packed_entry(f: HostFunction, call: tir.CallPackedOp) -> func.FuncOp:
    state = f.call("PyGILState_Ensure", [], I32)
    f.before_return = lambda: f.call("PyGILState_Release", [state], None)
    args: list[SSAValue] = []
    at = 0
    for value, dims in zip(call.call_args, cast("ArrayAttr[Dims]", call.attributes[PACKED_DIMS]), strict=True):
        obj, at = _argument(f, value, len(dims), at)
        args.append(obj)
    f.require_stack()
    result = f.own(f.vectorcall(f.slot_of("packed", call.func.data), args))
    none, zero = f.slot(Slot.NONE), f.integer(0)
    number = f.choose(
        f.compare("eq", result, none), lambda: zero, lambda: as_long(f, result) if _gives_number(call) else zero
    )
    f.store(number, f.args)
    f.check(f.select(f.is_null(f.call("PyErr_Occurred", [])), none, f.null))
    f.jump(f.cleanup, none)
    return f.complete()


def _gives_number(call: tir.CallPackedOp) -> bool:
    """Return whether the result has a use other than as a statement."""
    return any(not isinstance(use.operation, tir.EvaluateOp) for use in call.result.uses)


def _argument(f: HostFunction, value: SSAValue, rank: int, at: int) -> tuple[SSAValue, int]:
    """Return the Python object of an argument whose words begin at `at`, and the index of the next argument's words."""
    t, owner = value.type, value.owner
    if isinstance(owner, tir.StringImmOp):
        return f.slot_of("value", owner.value.data), at
    word = f.read(f.address(f.args, at, I64), I64)
    buffer = owner.buffer.type if isinstance(owner, tir.BufferDataOp) else t
    if isinstance(buffer, tir.BufferType):
        return _array(f, word, buffer.dtype, rank, at + 1), at + 1 + rank
    number = f.pure(arith.BitcastOp, (word,), f64) if is_float(t) else word
    return number_object(f, number, t), at + 1


def _array(f: HostFunction, data: SSAValue, element: Attribute, rank: int, at: int) -> SSAValue:
    """Return an array over the kernel's memory; its extents are the words from `at` on."""
    descr, address = new_descr(f, element), f.pure(llvm.IntToPtrOp, (data,), PTR)
    return f.own(array_over(f, descr, rank, f.address(f.args, at, I64), address, f.integer(abi.OUTPUT_FLAGS, I32)))
