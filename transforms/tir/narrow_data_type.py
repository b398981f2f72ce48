"""`narrow-data-type`: loops and indices of int64 are int32 where all that is computed of them fits.

for %i : i64 = 0 to 16 {load %A[%i * 8]}     ->     for %i : i32 = 0 to 16 {load %A[%i * 8]}
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer
from ...ir.affine.values import sym_expr_of
from ...ir.passes.transform import Pass
from .narrow_index import narrow_operation, wide
from .walk import bind_loop, erase_with_tree, functions, values_of

_ARITHMETIC = (*tir.BINARY.values(), tir.ConstOp, tir.CastOp, tir.SelectOp, tir.LetOp, ValueOp)
_USERS = (*_ARITHMETIC, tir.LoadOp, tir.ForOp, tir.IfOp, tir.EvaluateOp, tir.IfThenElseOp)


@dataclass(frozen=True)
class NarrowDataType(Pass):
    """Narrow the index arithmetic of a function to `target_bits`, 32 (64 changes nothing), where all of it fits.

    A function stays as it is where something may not fit, or where int64 is data, too: it is loaded, stored or passed.
    Raises `UnsupportedError` for other widths.
    """

    name = "narrow-data-type"
    target_bits: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.target_bits not in (32, 64):
            raise UnsupportedError("indices have 32 or 64 bits", expected="32 or 64", found=self.target_bits)
        for func in functions(op):
            if self.target_bits == 32 and _fits(func):
                _narrow(func)


def _fits(func: tir.FuncOp) -> bool:
    analyzer = Analyzer()
    if wide(func.params):
        return False
    return all(_operation_fits(op, analyzer) for op in list(func.walk())[1:])


def _operation_fits(op: Operation, analyzer: Analyzer) -> bool:
    if isinstance(op, tir.ForOp):
        bind_loop(analyzer, op)
    defined = wide(values_of(op))
    if defined and not isinstance(op, (*_ARITHMETIC, tir.ForOp, tir.RampOp)):
        return False
    used = wide(op.operands)
    stored = isinstance(op, tir.StoreOp) and op.value in used
    if stored or (used and not isinstance(op, (*_USERS, tir.RampOp, tir.StoreOp))):
        return False
    return all(_value_fits(v, analyzer) for v in defined)


def _value_fits(value: SSAValue, analyzer: Analyzer) -> bool:
    if not isinstance(value.type, IntegerType):
        return True
    bounds = analyzer.bounds(sym_expr_of(value))
    return bounds.low >= -(2**31) and bounds.high < 2**31


def _narrow(func: tir.FuncOp) -> None:
    for op in list(func.walk()):
        narrow_operation(op, buffers=False)
    for op in list(func.walk()):
        if isinstance(op, tir.CastOp) and op.value.type == op.result.type:
            op.result.replace_all_uses_with(op.value)
            erase_with_tree(op)
