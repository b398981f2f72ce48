"""Symbols of kernels: the passes `merge-kernels` and `isolate-kernels`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from ...dialects import host, relax, tir
from ...dialects.quick import operations
from ...dialects.sched import SequenceOp
from ...ir.alike import with_others
from ...ir.passes.transform import Pass
from .scalars import Contents, erase_functions, merge_up_to_constants

KERNEL_PREFIX = "kernel."
ENTRY_PREFIX = "entry_"
"""Prefix of entry points; no function that a kernel becomes has it."""


def kernel_symbol(name: str) -> str:
    """Return the symbol of a kernel: no C function has such a name."""
    return KERNEL_PREFIX + name


NAMED = "host.named"
"""Attribute of a module whose kernels have their final names: the names of the public ones."""


def kernels_of(op: ModuleOp) -> dict[str, tir.FuncOp]:
    """Return the tir functions of a module, by the names that calls use."""
    cut = len(KERNEL_PREFIX) if NAMED in op.attributes else 0
    return {f.sym_name.data[cut:]: f for f in op.ops if isinstance(f, tir.FuncOp)}


def name_kernels(op: ModuleOp) -> tuple[str, ...]:
    """Rename the tir functions of a module (`rename_kernels`) before entry points are emitted, which call them by
    their former names; return the names of the public ones. Idempotent.
    """
    if NAMED not in op.attributes:
        kernels = kernels_of(op)
        public = ArrayAttr(StringAttr(name) for name, f in kernels.items() if not f.private)
        rename_kernels(op, kernels)
        op.attributes[NAMED] = public
    return tuple(name.data for name in cast("ArrayAttr[StringAttr]", op.attributes[NAMED]))


def rename_kernels(op: ModuleOp, kernels: dict[str, tir.FuncOp]) -> None:
    """Give tir functions names that no C function has: C functions are declared in the same module from here on.

    Schedules of a function follow the new name.
    """
    for name, function in kernels.items():
        function.properties["sym_name"] = StringAttr(kernel_symbol(name))
        function.properties["sym_visibility"] = StringAttr("private")
        for call in operations(function):
            if isinstance(call, tir.CallExternOp | tir.CallPureExternOp | tir.CallOp) and call.func.data in kernels:
                call.properties["func"] = StringAttr(kernel_symbol(call.func.data))
    for sequence in op.ops:
        if isinstance(sequence, SequenceOp) and sequence.function_name is not None:
            sequence.properties["function"] = SymbolRefAttr(kernel_symbol(sequence.function_name))


Schedules = dict[str | None, tuple[str, ...]]
"""The schedules of functions, by their names."""


def _duplicates(contents: Mapping[str, Hashable], schedules: Schedules) -> dict[str, str]:
    """Map the name of each duplicate to that of the first function with the same structure and the same schedule."""
    first: dict[Hashable, str] = {}
    kept = {name: first.setdefault((content, schedules.get(name)), name) for name, content in contents.items()}
    return {name: other for name, other in kept.items() if name != other}


_NAMES: dict[type[Operation], str] = {
    relax.CallTIROp: "callee",
    relax.CallTIRInplaceOp: "callee",
    host.KernelOp: "callee",
    relax.CallDPSPackedOp: "func",
    relax.CallPackedOp: "func",
    relax.CallBuiltinWithCtxOp: "func",
    relax.CallPurePackedOp: "func",
    relax.CallInplacePackedOp: "func",
    tir.CallOp: "func",
}
"""The property that names the tir function that an op calls."""


def _renamed(attr: Attribute, names: dict[str, str]) -> Attribute:
    if isinstance(attr, SymbolRefAttr):
        name = attr.root_reference.data
        return SymbolRefAttr(names[name]) if name in names else attr
    return StringAttr(names[attr.data]) if isinstance(attr, StringAttr) and attr.data in names else attr


@dataclass(frozen=True)
class MergeKernels(Pass):
    """Redirect calls of private tir functions of the same structure to the first one and erase the others.

    If they differ only in constants that are added or multiplied, these become parameters (`scalars.py`).
    """

    name = "merge-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedules: Schedules = {
            s.function_name: tuple(str(rule) for rule in s.rules) for s in op.ops if isinstance(s, SequenceOp)
        }
        private = [f for f in op.ops if isinstance(f, tir.FuncOp) and f.private]
        contents = [Contents.of(f) for f in with_others(private)]
        names = _duplicates({each.name: (each.form, each.numbers) for each in contents}, schedules)
        if names:
            _merge(op, names)
        merge_up_to_constants(op, schedules.get, [each for each in contents if each.name not in names])


def _merge(op: ModuleOp, names: dict[str, str]) -> None:
    """Redirect calls by `names`, and erase the functions that were called."""
    for inner in operations(op):
        key = _NAMES.get(type(inner))
        if key is not None:
            inner.properties[key] = _renamed(inner.properties[key], names)
    erase_functions(op, names)


MOST_INLINED = 32
"""The number of calls up to which LLVM may inline a function."""


@dataclass(frozen=True)
class IsolateKernels(Pass):
    """Rename the functions of func that kernels were split into to names that no C function has; make all private.

    Functions with many call sites are not inlined: LLVM would optimize a loop nest once per call.
    """

    name = "isolate-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        defined = {f.sym_name.data: f for f in op.ops if isinstance(f, func.FuncOp) and _is_of_kernel(f)}
        renamed = {name for name in defined if not name.startswith(KERNEL_PREFIX)}
        for name, function in defined.items():
            if name in renamed:
                function.properties["sym_name"] = StringAttr(kernel_symbol(name))
            function.properties["sym_visibility"] = StringAttr("private")
        for name, count in _references(op).items():
            if count > MOST_INLINED and name in defined:
                defined[name].attributes["no_inline"] = UnitAttr()
        inside = (
            inner for function in defined.values() for inner in operations(function)
        )  # entry points call C functions
        for inner in inside:
            for key, attr in inner.properties.items():
                if isinstance(attr, SymbolRefAttr) and attr.root_reference.data in renamed:
                    inner.properties[key] = SymbolRefAttr(kernel_symbol(attr.root_reference.data))


def _references(op: ModuleOp) -> Counter[str]:
    """Count how often operations refer to each function."""
    named = (attr for inner in operations(op) for attr in inner.properties.values() if isinstance(attr, SymbolRefAttr))
    return Counter(attr.root_reference.data for attr in named)


def _is_of_kernel(function: func.FuncOp) -> bool:
    return function.body.first_block is not None and not function.sym_name.data.startswith(ENTRY_PREFIX)
