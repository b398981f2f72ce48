"""`convert-host-to-func`: emit entry points in func, scf, cf and arith, with llvm for pointers and globals.

Everything else that an executable needs is stored in attributes of the module.
"""

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
    TensorType,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.quick import operations
from ...dialects.relax.data import TensorDataAttr
from ...ir.functions.lookup import callee_names
from ...ir.passes.transform import Pass, new_context
from ...ir.text import TextParser, read_text
from ...ir.upstream_text import CONSTANTS
from ...runtime import abi
from ...runtime.metadata import FunctionInfo
from ...runtime.profiling.sites import Site
from ...runtime.slots import SlotSpec
from .entry import packed_entries, relax_entry, tir_entry
from .function import HostModule
from .kernels import kernel_of
from .native import PTR
from .symbols import NAMED, kernels_of, name_kernels

FUNCTIONS, SLOTS, SITES = "host.functions", "host.slots", "host.sites"


@dataclass(frozen=True)
class ConvertHostToFunc(Pass):
    """Replace relax functions by their entry points, and add entry points for public tir functions.

    With `profile` they report which site runs, whenever that changes (`runtime/profiling`).
    """

    name = "convert-host-to-func"

    profile: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        public = name_kernels(op)
        kernels = kernels_of(op)
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, relax.FuncOp)}
        known = {name: kernel_of(name, f, self.profile) for name, f in kernels.items()}
        module = HostModule(known, recursive_functions(functions), sites=[] if self.profile else None)
        entries = [relax_entry(module, f) for f in functions.values()]
        entries += [tir_entry(module, name, kernels[name]) for name in public]
        entries += [entry for name, f in kernels.items() for entry in packed_entries(module, name, f)]
        block = op.body.block
        for function in functions.values():
            block.erase_op(function)
        block.add_ops([*_globals(module), *entries])
        present = {f.sym_name.data for f in block.ops if isinstance(f, func.FuncOp | llvm.FuncOp)}
        called = [(name, t) for name, t in module.declared.items() if name not in present]
        block.add_ops([func.FuncOp.external(name, t.inputs.data, t.outputs.data) for name, t in called])
        del op.attributes[NAMED]
        op.attributes |= _attributes(module)


def recursive_functions(functions: dict[str, relax.FuncOp]) -> frozenset[str]:
    """Return the functions that may call themselves, directly or indirectly."""
    calls = {
        name: {callee for op in operations(f) for callee in callee_names(op) if callee in functions}
        for name, f in functions.items()
    }
    return frozenset(name for name in calls if name in _reachable(name, calls))


def _reachable(name: str, calls: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    stack = list(calls[name])
    while stack:
        each = stack.pop()
        if each not in reached:
            reached.add(each)
            stack.extend(calls.get(each, ()))
    return reached


def _globals(module: HostModule) -> list[Operation]:
    version, slots = abi.abi_constant(len(module.slots))
    numbers = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [2]), [version, slots])
    zero = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [1]), [0])
    table = llvm.GlobalOp(llvm.LLVMArrayType(slots, PTR), abi.TABLE_SYMBOL, "external", value=zero, alignment=8)
    symbols: list[Operation] = [
        table,
        llvm.GlobalOp(llvm.LLVMArrayType(2, i64), abi.ABI_SYMBOL, "external", constant=True, value=numbers),
    ]
    for text, symbol in module.texts.items():
        data = text + "\0"
        kind = llvm.LLVMArrayType(len(data.encode()), i8)
        symbols.append(llvm.GlobalOp(kind, symbol, "internal", constant=True, value=StringAttr(data)))
    return symbols


def _attributes(module: HostModule) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {
        FUNCTIONS: ArrayAttr(StringAttr(json.dumps(info.to_json())) for info in module.infos),
        SLOTS: ArrayAttr(StringAttr(json.dumps(slot)) for slot in module.slots),
        CONSTANTS: ArrayAttr(module.constants),
    }
    if module.sites is not None:
        attributes[SITES] = ArrayAttr(StringAttr(json.dumps(site.to_json())) for site in module.sites)
    return attributes


@dataclass(frozen=True)
class HostData:
    """The data of an executable besides its code."""

    functions: tuple[FunctionInfo, ...]
    slots: tuple[SlotSpec, ...]
    constants: tuple[np.ndarray[Any, Any], ...]
    sites: tuple[Site, ...] = ()


def _constant(attribute: Attribute) -> TensorDataAttr:
    """Return a constant, which text has as a string."""
    if isinstance(attribute, StringAttr):
        attribute = read_text(new_context(), attribute.data, TextParser.parse_attribute)
    if not isinstance(attribute, TensorDataAttr):
        raise TiraxError("a constant of the module is none", expected="#relax.data<…>", found=str(attribute))
    return attribute


def host_data(op: ModuleOp) -> HostData:
    """Return the data that `convert-host-to-func` stored in a module's attributes. Raises `TiraxError` if that pass
    did not run.
    """
    if SLOTS not in op.attributes:
        raise TiraxError("the module has no entry points", hint="run convert-host-to-func before")

    def texts(key: str) -> list[Any]:
        return [json.loads(s.data) for s in cast("ArrayAttr[StringAttr]", op.attributes.get(key, ()))]

    constants = [_constant(c) for c in cast("ArrayAttr[Attribute]", op.attributes[CONSTANTS])]
    return HostData(
        tuple(FunctionInfo.from_json(f) for f in texts(FUNCTIONS)),
        tuple((kind, payload) for kind, payload in texts(SLOTS)),
        tuple(c.numpy() for c in constants),
        tuple(map(Site.from_json, texts(SITES))),
    )
