"""`merge-kernels`: private tir functions with the same structure become one, so that each is compiled once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation

from ...dialects import host, relax, tir
from ...dialects.sched import SequenceOp
from ...ir.equality import fingerprint
from ...ir.passes.transform import Pass


def _duplicates(op: ModuleOp) -> dict[str, str]:
    """The names of the functions that go -> those of the first ones of the same structure, and the same schedule."""
    said = {s.function_name: tuple(str(rule) for rule in s.rules) for s in op.ops if isinstance(s, SequenceOp)}
    first: dict[Hashable, str] = {}
    found: dict[str, str] = {}
    for function in op.ops:
        if isinstance(function, tir.FuncOp) and function.private:
            name = function.sym_name.data
            kept = first.setdefault((fingerprint(function), said.get(name)), name)
            if kept != name:
                found[name] = kept
    return found


_NAMES: dict[type[Operation], str] = {
    relax.CallTIROp: "callee",
    relax.CallTIRInplaceOp: "callee",
    host.KernelOp: "callee",
    relax.CallDPSPackedOp: "func",
    relax.CallPackedOp: "func",
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
    """Let calls of private tir functions of the same structure call the first one; the others go."""

    name = "merge-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = _duplicates(op)
        if not names:
            return
        for inner in op.walk():
            key = _NAMES.get(type(inner))
            if key is not None:
                inner.properties[key] = _renamed(inner.properties[key], names)
        for gone in list(op.ops):
            name = gone.function_name if isinstance(gone, SequenceOp) else None
            if (gone.sym_name.data if isinstance(gone, tir.FuncOp) else name) in names:
                op.body.block.erase_op(gone)
