"""`convert-tir-to-scf`: lower tir functions of flat buffers, without blocks, to func, scf, memref, arith, math and
vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import lanes_of
from ...dialects.names import set_name
from ...dialects.quick import operations
from ...dialects.xdsl_extras import func_extras
from ...ir.locations import location_of
from ...ir.passes.limits import exceeded, limit
from ...ir.passes.transform import Pass
from ...transforms.tir.asserts import STATUS
from ..convert_to_llvm.failures import RETURNS_STATUS
from .calls import CALL_RULES
from .emitter import INDEX, Emitter
from .memory import Memory
from .signature import STATUS_TYPE, KernelSignature, kernel_signature
from .statements import RULES, KernelLowerer
from .values import Values


@dataclass(frozen=True)
class ConvertTirToScf(Pass):
    """Lower each `tir.func` to a kernel, a `func.func`, with the ABI in the docstring of the package; other
    operations stay.

    Raises `LimitError` for vectors longer than `vector.lanes`, `UnsupportedError` if a block, a buffer that is not
    flat or a call of a packed function remains, and `NameLookupError` for an unknown intrinsic.
    """

    name = "convert-tir-to-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = op.body.block
        externs: dict[str, func.FuncOp] = {}
        addresses = _check_lanes(op)
        signatures = {f.sym_name.data: kernel_signature(f) for f in block.ops if isinstance(f, tir.FuncOp)}
        for inner in list(block.ops):
            if isinstance(inner, tir.FuncOp):
                for lowered in lower_function(inner, externs, signatures):
                    block.insert_op_before(lowered, inner)
                inner.detach()
        present = {f.sym_name.data for f in block.ops if isinstance(f, func.FuncOp)}
        for name, extern in externs.items():
            if name not in present:
                block.add_op(extern)
        _take_functions(op, addresses)


def _take_functions(module: ModuleOp, addresses: Sequence[llvm.AddressOfOp]) -> None:
    """Take the addresses of functions by `func.constant`: `llvm.mlir.addressof` is for symbols of the llvm dialect."""
    known = {f.sym_name.data: f.function_type for f in module.body.block.ops if isinstance(f, func.FuncOp)}
    for op in addresses:
        name = op.global_name.string_value()
        if name in known:
            constant = func_extras.ConstantOp(name, known[name])
            pointer = UnrealizedConversionCastOp.get([constant.result], [op.result.type])
            Rewriter.replace_op(op, [constant, pointer])


def _check_lanes(module: ModuleOp) -> list[llvm.AddressOfOp]:
    """Raise `LimitError` for a vector that is too long: LLVM takes minutes to compile it, or aborts.

    Returns the operations that take addresses of symbols: one walk over the module is enough.
    """
    most = limit("vector.lanes")
    addresses: list[llvm.AddressOfOp] = []
    for op in operations(module):
        if isinstance(op, llvm.AddressOfOp):
            addresses.append(op)
        for result in op.results:
            if lanes_of(result.type) > most:
                raise exceeded("vector.lanes", f"'{op.name}' gives a long vector", result.type, location_of(op))
    return addresses


def lower_function(
    op: tir.FuncOp, externs: dict[str, func.FuncOp], signatures: dict[str, KernelSignature]
) -> list[Operation]:
    """Return the constants that the kernel of `op` uses, and the kernel; the C functions that it calls are added to
    `externs`.

    `signatures` are those of the kernels of the module.
    """
    signature = signatures[op.sym_name.data]
    inputs = signature.parameter_types
    entry = Block(arg_types=inputs)
    emit = Emitter(entry)
    values = Values(emit, _bind_symbols(entry, emit, signature))
    memory = Memory(emit, values, signature.noalias)
    for param, arg in zip(op.params, entry.args, strict=False):
        values.bind(param, arg)
    at = KernelLowerer(signature.name, emit, values, memory, signatures, externs, _RULES)
    at.block(op.body.block)
    _check_returns(op)
    returned = [values.value(end.value) for end in op.body.block.ops if isinstance(end, tir.ReturnOp)]
    if signature.result is not None:
        emit.append(memref.StoreOp.get(returned[-1], entry.args[-1], [emit.index(0)]))
    emit.append(func.ReturnOp(returned[-1] if STATUS in op.attributes else emit.constant(0, STATUS_TYPE)))
    kernel = _make_function(signature, inputs, entry)
    if at.may_fail:
        kernel.attributes[RETURNS_STATUS] = UnitAttr()
    if at.separate_lanes:
        kernel.attributes["passthrough"] = _WITHOUT_VECTORIZERS
    return [*at.constants, kernel]


def _check_returns(func: tir.FuncOp) -> None:
    early = next((op for op in func.walk() if isinstance(op, tir.ReturnOp) and not op.is_last), None)
    if early is not None:
        raise UnsupportedError(
            "a function that ends inside of a loop, a branch or a block",
            location=location_of(early),
            hint="return once, at the end",
        )


_RULES = {**RULES, **CALL_RULES}
_WITHOUT_VECTORIZERS = ArrayAttr([StringAttr("noimplicitfloat")])
"""Vectors that are in the program already stay."""


def _bind_symbols(entry: Block, emit: Emitter, signature: KernelSignature) -> dict[str, SSAValue]:
    """Return the symbolic variables as indices; scalar parameters are included by name."""
    symbols: dict[str, SSAValue] = {}
    names = (*signature.names, *signature.symbolic_vars)
    for name, arg in zip(names, entry.args, strict=False):
        set_name(arg, name)
        if isinstance(arg.type, type(i64)):
            cast_op = arith.IndexCastOp(arg, INDEX)
            emit.append(cast_op)
            symbols[name] = cast_op.results[0]
    return symbols


def _make_function(signature: KernelSignature, inputs: list[Attribute], entry: Block) -> func.FuncOp:
    kernel = func.FuncOp(signature.name, FunctionType.from_lists(inputs, [STATUS_TYPE]), Region(entry))
    if signature.noalias and any(isinstance(t, MemRefType) for t in inputs):
        kernel.attributes["tirax.noalias"] = UnitAttr()
    return kernel
