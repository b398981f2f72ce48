"""`lower-intrin`: replace floating-point intrinsics by LLVM's."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32, f64
from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....dialects.dtypes import scalar_of
from ....dialects.names import name_of, set_name
from ....dialects.quick import operations
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import inserter
from ....transforms.tir.walk import functions, remove_dead

_LLVM = {
    "fma": "llvm.fma",
    "sqrt": "llvm.sqrt",
    "fabs": "llvm.fabs",
    "exp": "llvm.exp",
    "log": "llvm.log",
    "pow": "llvm.pow",
}
"""TVM's names -> LLVM's, of the intrinsics that are compiled as in TVM."""


@dataclass(frozen=True)
class LowerIntrin(Pass):
    """Replace intrinsics of 32- and 64-bit floats by LLVM's, and contract multiply-adds.

    y = T.sqrt(a)   ->  y = T.call_llvm_pure_intrin("float32", "llvm.sqrt", 1, a)
    y = a * b + c   ->  y = T.call_llvm_pure_intrin("float32", "llvm.fmuladd", 3, a, b, c), which is rounded once

    As in TVM's pass of this name for the target `llvm`. Other intrinsics, and these without the pass, are
    lowered during code generation.
    """

    name = "lower-intrin"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for inner in operations(func):
                lowered = _lowered(inner)
                if lowered is not None:
                    _replace(inner, *lowered)
            remove_dead(func)


def _lowered(op: Operation) -> tuple[str, list[SSAValue]] | None:
    """Return LLVM's name of an operation and its arguments, or None if it remains."""
    if not isinstance(op, tir.CallIntrinOp | tir.AddOp) or scalar_of(op.results[0].type) not in (f32, f64):
        return None
    if isinstance(op, tir.CallIntrinOp):
        name = _LLVM.get(op.func.data.removeprefix("tir."))
        return None if name is None else (name, list(op.operands))
    for product, summand in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(product.owner, tir.MulOp):
            return "llvm.fmuladd", [*product.owner.operands, summand]
    return None


def _replace(op: Operation, name: str, args: list[SSAValue]) -> None:
    old = op.results[0]
    new = tir.CallLLVMIntrinOp.create(operands=args, properties={"func": StringAttr(name)}, result_types=[old.type])
    new.counted = len(args)
    inserter(op)(new)
    set_name(new.result, name_of(old))
    old.replace_all_uses_with(new.result)
    op.detach()
    op.erase()
