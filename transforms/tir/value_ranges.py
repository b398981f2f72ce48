"""Ranges of integers that are computed from data: by their dtypes, constants and the loops around them.

    min(cast<i64>(load %columns[%n] : ui32), 29) * 16 + %j    0 to 479, for a loop `%j` of 16

Unlike the analyzer's facts, which are of symbolic expressions, these hold for values loaded from memory, of which only
the dtype is known: arithmetic that may overflow has the range of its dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, is_unsigned
from ...dialects.sym.bounds import EVERYTHING, TRUTH, Interval
from ...dialects.sym.expr import SymExpr
from ...dialects.sym.operations import OPERATIONS
from ...ir.affine.values import operands_first

_BY_TYPE: dict[type[Operation], str] = {
    **{cls: name for name, cls in tir.BINARY.items() if name in OPERATIONS and name != "div"},
    tir.SelectOp: "select",
}
_THROUGH = (tir.CastOp, tir.LetOp)


def range_of_value(value: SSAValue, known: dict[SSAValue, Interval] | None = None) -> Interval:
    """Return an interval that contains an integer at all times; `known` caches those of other values."""
    known = {} if known is None else known

    def needed(v: SSAValue) -> Sequence[SSAValue]:
        return () if v in known else _operands(v)

    for each in operands_first(value, needed):
        if each not in known:
            known[each] = _range(each, [known[o] for o in _operands(each)])
    return known[value]


def _operands(value: SSAValue) -> Sequence[SSAValue]:
    """Return the operands that a range is computed from, all of them integers."""
    owner = value.owner
    if isinstance(owner, Block):
        loop = _loop(value)
        return [loop.extent] if loop is not None and isinstance(loop.extent, SSAValue) else ()
    known = type(owner) in _BY_TYPE or isinstance(owner, _THROUGH) or _intrinsic(owner) in OPERATIONS
    return owner.operands if known and all(isinstance(o.type, IntegerType) for o in owner.operands) else ()


def _range(value: SSAValue, operands: Sequence[Interval]) -> Interval:
    every, owner = _of_dtype(value), value.owner
    if isinstance(owner, Block):
        found = _of_loop(value, operands)
    elif isinstance(owner, tir.ConstOp) and isinstance(owner.py_value, int):
        found = Interval(owner.py_value, owner.py_value)
    elif _intrinsic(owner) == "popcount":
        found = Interval(0, bit_width(value.type))
    elif not operands:
        return every
    elif isinstance(owner, _THROUGH):
        found = operands[0]
    else:
        name = _BY_TYPE.get(type(owner)) or _intrinsic(owner)
        found = OPERATIONS[name].bounds(*operands)
    return found if every.low <= found.low and found.high <= every.high else every


def _of_dtype(value: SSAValue) -> Interval:
    """Return the integers that a dtype holds; everything for those that are not integers."""
    dtype: Attribute = value.type
    if not isinstance(dtype, IntegerType):
        return EVERYTHING
    if dtype == i1:
        return TRUTH
    bits = bit_width(value.type)
    return Interval(0, 2**bits - 1) if is_unsigned(value.type) else Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _intrinsic(owner: Operation | Block) -> str:
    return owner.func.data if isinstance(owner, tir.CallIntrinOp) else ""


def _loop(value: SSAValue) -> tir.ForOp | None:
    """Return the loop from 0 whose variable this is."""
    loop = cast(Block, value.owner).parent_op()
    if not isinstance(loop, tir.ForOp) or loop.loop_var is not value:
        return None
    return loop if isinstance(loop.min, SymExpr) and loop.min.constant == 0 else None


def _of_loop(value: SSAValue, extents: Sequence[Interval]) -> Interval:
    every, loop = _of_dtype(value), _loop(value)
    if loop is None:
        return every
    count = loop.extent.constant if isinstance(loop.extent, SymExpr) else None
    most = count if count is not None else extents[0].high if extents else every.high + 1
    return Interval(0, max(most - 1, 0))
