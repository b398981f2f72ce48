"""`remove-store-undef`: remove stores of values that depend on `T.undef()`, which may keep the old contents."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....diagnostics import VerifyError
from ....dialects import tir
from ....dialects.quick import operations
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....transforms.tir.walk import erase_with_tree, functions, remove_dead
from .remove_no_op import RemoveNoOp


@dataclass(frozen=True)
class RemoveStoreUndef(Pass):
    """Remove stores of undefined values, and variables bound to them.

    Raises `VerifyError`, with all locations, if an index of a load or a store is undefined.
    """

    name = "remove-store-undef"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            undefined = _undefined(func)
            if undefined:
                _check_indices(func, undefined)
                _remove(func, undefined)
        RemoveNoOp().apply(ctx, op)


def _undefined(func: tir.FuncOp) -> set[SSAValue]:
    """Return the values that depend on `T.undef()`; a select does if both sides do, or its condition."""
    undefined: set[SSAValue] = set()
    for op in operations(func):
        for inner in op.walk() if isinstance(op, tir.IfThenElseOp | tir.LetInOp) else [op]:
            if _is_undef(inner) or _depends(inner, undefined):
                undefined.update(inner.results)
        if _depends(op, undefined):
            undefined.update(op.results)
    return undefined


def _depends(op: Operation, undefined: set[SSAValue]) -> bool:
    if isinstance(op, tir.IfThenElseOp | tir.SelectOp):
        sides = _yielded_values(op) if isinstance(op, tir.IfThenElseOp) else op.operands[1:]
        return op.operands[0] in undefined or all(v in undefined for v in sides)
    return any(v in undefined for v in (*op.operands, *_yielded_values(op)))


def _yielded_values(op: Operation) -> list[SSAValue]:
    """Return the values yielded by the regions of an expression."""
    ends = [region.block.last_op for region in op.regions if isinstance(op, tir.IfThenElseOp | tir.LetInOp)]
    return [v for end in ends if isinstance(end, tir.YieldOp) for v in end.operands]


def _is_undef(op: Operation) -> bool:
    return isinstance(op, tir.CallIntrinOp) and op.func.data == "undef"


def _check_indices(func: tir.FuncOp, undefined: set[SSAValue]) -> None:
    accesses = (op for op in operations(func) if isinstance(op, tir.LoadOp | tir.StoreOp))
    wrong = [op for op in accesses if any(i in undefined for i in op.indices)]
    if wrong:
        notes = [f"and at {location_of(op)}" for op in wrong[1:]]
        raise VerifyError(
            "an index must not be T.undef()", location=location_of(wrong[0]), expected="a value", notes=notes
        )


def _remove(func: tir.FuncOp, undefined: set[SSAValue]) -> None:
    stores = [op for op in operations(func) if isinstance(op, tir.StoreOp) and op.value in undefined]
    for store in stores:
        erase_with_tree(store)
    remove_dead(func)
    for name in reversed([op for op in operations(func) if isinstance(op, tir.LetOp) and op.result in undefined]):
        if name.result.first_use is None:
            erase_with_tree(name)
    remove_dead(func)
