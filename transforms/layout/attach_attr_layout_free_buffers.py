"""Mark weights of tensor functions, whose layout may be chosen freely."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i64
from xdsl.ir import SSAValue

from ...dialects import relax, tir
from ...ir.functions.lookup import callee_names, functions, ops_of_type, relax_functions
from ...ir.names import NameSupply, function_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before
from ..params.weights import num_input
from .attributes import LAYOUT_FREE, with_attrs


@dataclass(frozen=True)
class AttachAttrLayoutFreeBuffers(Pass):
    """List the inputs of tensor functions that are constants or weights in an attribute.

    call_tir(matmul, (x, w))  ->  call_tir(matmul1, (x, w))   matmul1: {"layout_free_buffers": [1]}

    Weights are the parameters of a Relax function after the first `num_input` (an attribute of it). A function called
    with different ones is copied; private functions that are no longer called are removed. Aliases hide a weight:
    `CanonicalizeBindings` should run first.
    """

    name: ClassVar[str] = "attach-attr-layout-free-buffers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = NameSupply(function_names(op))
        copies: dict[Hashable, str] = {}
        replaced: dict[str, tir.FuncOp] = {}
        table = functions(op)
        for func in sorted(relax_functions(op), key=lambda f: f.sym_name.data):
            inputs = num_input(func)
            weights = set[SSAValue]() if inputs is None else set(func.body.block.args[inputs:])
            for call in list(ops_of_type(func, relax.CallTIROp)):
                callee = table.get(call.callee_name)
                if not isinstance(callee, tir.FuncOp):
                    continue
                free = tuple(i for i, v in enumerate(call.args) if v in weights or _is_constant(v))
                key = (call.callee_name, free)
                if key not in copies:
                    copies[key] = _with_free(op, callee, free, names)
                replaced[call.callee_name] = callee
                call.callee = SymbolRefAttr(copies[key])
        _remove_uncalled(op, replaced)


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp)


def _with_free(module: ModuleOp, func: tir.FuncOp, free: tuple[int, ...], names: NameSupply) -> str:
    """Add a copy of `func` with the attribute, and return its name."""
    new = func.clone()
    new.sym_name = StringAttr(names.fresh(func.sym_name.data))
    with_attrs(new, {LAYOUT_FREE: ArrayAttr([IntegerAttr(i, i64) for i in free])})
    insert_before(func, new)
    return new.sym_name.data


def _remove_uncalled(module: ModuleOp, candidates: dict[str, tir.FuncOp]) -> None:
    called = {n for op in module.walk() for n in callee_names(op)}
    for name, func in candidates.items():
        if func.private and name not in called:
            erase(func)
