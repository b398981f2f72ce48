"""`convert-host-to-llvm`: entry points in the llvm dialect; what else an executable needs is in module attributes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.relax.data import TensorDataAttr
from ...dialects.sched import SequenceOp
from ...ir.passes.transform import Pass
from ...runtime import abi
from ...runtime.metadata import FunctionInfo
from ...runtime.slots import SlotSpec
from .builder import PTR
from .entry import relax_entry, tir_entry
from .function import HostModule
from .kernels import KERNEL_PREFIX, kernel_of, kernel_symbol
from .packed_calls import packed_entries

FUNCTIONS, SLOTS, CONSTANTS = "host.functions", "host.slots", "host.constants"


@dataclass(frozen=True)
class ConvertHostToLLVM(Pass):
    """Replace relax functions by their entry points, and add those of public tir functions."""

    name = "convert-host-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {f.sym_name.data: f for f in op.ops if isinstance(f, tir.FuncOp)}
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, relax.FuncOp)}
        module = HostModule({name: kernel_of(f) for name, f in kernels.items()}, recursive_functions(functions))
        entries = [relax_entry(module, f) for f in functions.values()]
        entries += [tir_entry(module, f) for f in kernels.values() if not f.private]
        entries += [entry for f in kernels.values() for entry in packed_entries(module, f)]
        block = op.body.block
        for function in functions.values():
            block.erase_op(function)
        _rename_kernels(kernels)
        _rename_schedules(op)
        present = {f.sym_name.data for f in block.ops if isinstance(f, llvm.FuncOp)}
        present |= {e.sym_name.data for e in entries}
        block.add_ops([*_globals(module), *entries, *module.declarations.ops(present)])
        op.attributes |= _attributes(module)


def _rename_kernels(kernels: dict[str, tir.FuncOp]) -> None:
    """Give tir functions names that no C function has: those are declared in the same module from here on."""
    for name, function in kernels.items():
        function.properties["sym_name"] = StringAttr(kernel_symbol(name))
        function.properties["sym_visibility"] = StringAttr("private")
        for call in function.walk():
            if isinstance(call, tir.CallExternOp | tir.CallPureExternOp | tir.CallOp) and call.func.data in kernels:
                call.properties["func"] = StringAttr(kernel_symbol(call.func.data))


def _rename_schedules(op: ModuleOp) -> None:
    """What is decided for the schedule of a function follows it."""
    for sequence in op.ops:
        if isinstance(sequence, SequenceOp) and sequence.function_name is not None:
            sequence.properties["function"] = SymbolRefAttr(kernel_symbol(sequence.function_name))


def recursive_functions(functions: dict[str, relax.FuncOp]) -> frozenset[str]:
    """The functions that may call themselves, directly or not."""
    calls = {name: {c.callee_name for c in f.walk() if isinstance(c, relax.CallOp)} for name, f in functions.items()}
    return frozenset(name for name in calls if name in _reachable(name, calls))


def _reachable(name: str, calls: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    stack = list(calls[name])
    while stack:
        each = stack.pop()
        if each not in found:
            found.add(each)
            stack.extend(calls.get(each, ()))
    return found


def _globals(module: HostModule) -> list[Operation]:
    version, slots = abi.abi_constant(len(module.slots))
    numbers = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [2]), [version, slots])
    zero = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [1]), [0])
    table = llvm.GlobalOp(llvm.LLVMArrayType(slots, PTR), abi.TABLE_SYMBOL, "external", value=zero, alignment=8)
    made: list[Operation] = [
        table,
        llvm.GlobalOp(llvm.LLVMArrayType(2, i64), abi.ABI_SYMBOL, "external", constant=True, value=numbers),
    ]
    for text, symbol in module.texts.items():
        data = text + "\0"
        kind = llvm.LLVMArrayType(len(data.encode()), i8)
        made.append(llvm.GlobalOp(kind, symbol, "internal", constant=True, value=StringAttr(data)))
    return made


def _attributes(module: HostModule) -> dict[str, Attribute]:
    return {
        FUNCTIONS: ArrayAttr(StringAttr(json.dumps(info.to_json())) for info in module.infos),
        SLOTS: ArrayAttr(StringAttr(json.dumps(slot)) for slot in module.slots),
        CONSTANTS: ArrayAttr(module.constants),
    }


@dataclass(frozen=True)
class HostData:
    """What an executable has beside its code."""

    functions: tuple[FunctionInfo, ...]
    slots: tuple[SlotSpec, ...]
    constants: tuple[np.ndarray[Any, Any], ...]


def host_data(op: ModuleOp) -> HostData:
    """What `convert-host-to-llvm` left in the attributes of a module. Raises `TiraxError` where it did not run."""
    if SLOTS not in op.attributes:
        raise TiraxError("the module has no entry points", hint="run convert-host-to-llvm before")

    def texts(key: str) -> list[Any]:
        return [json.loads(s.data) for s in cast("ArrayAttr[StringAttr]", op.attributes[key])]

    constants = cast("ArrayAttr[TensorDataAttr]", op.attributes[CONSTANTS])
    return HostData(
        tuple(FunctionInfo.from_json(f) for f in texts(FUNCTIONS)),
        tuple((kind, payload) for kind, payload in texts(SLOTS)),
        tuple(c.numpy() for c in constants),
    )


@dataclass(frozen=True)
class IsolateKernels(Pass):
    """Functions of func that kernels were split into get names that no C function has; all become private."""

    name = "isolate-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        defined = {f.sym_name.data: f for f in op.ops if isinstance(f, func.FuncOp) and f.body.first_block is not None}
        renamed = {name for name in defined if not name.startswith(KERNEL_PREFIX)}
        for name, function in defined.items():
            if name in renamed:
                function.properties["sym_name"] = StringAttr(kernel_symbol(name))
            function.properties["sym_visibility"] = StringAttr("private")
        inside = (inner for function in defined.values() for inner in function.walk())  # entry points call C functions
        for inner in inside:
            for key, attr in inner.properties.items():
                if isinstance(attr, SymbolRefAttr) and attr.root_reference.data in renamed:
                    inner.properties[key] = SymbolRefAttr(kernel_symbol(attr.root_reference.data))
