"""What `bf16-compute-legalize` and `fp8-compute-legalize` share: arithmetic in a wider type."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import FloatAttr, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import tir
from ...dialects.dtypes import lanes_of, scalar_of
from ...dialects.names import name_of, set_name
from .walk import erase_with_tree, inserter, remove_dead

_COMPUTED = (*tir.BINARY.values(), tir.SelectOp, tir.CallIntrinOp)


def legalize(func: tir.FuncOp, is_narrow: Callable[[Attribute], bool], wide: Attribute) -> None:
    """Compute in `wide` what the function computes in types for which `is_narrow` holds.

    Operands are converted, and results are converted back where they are stored: what is computed of what was computed
    stays in the wide type, as in TVM.
    """
    found = False
    for op in list(func.walk()):
        if isinstance(op, _COMPUTED) and any(is_narrow(scalar_of(v.type)) for v in (*op.operands, *op.results)):
            _compute_wide(op, is_narrow, wide)
            found = True
        elif isinstance(op, tir.CastOp):
            _skip_conversion(op, is_narrow)
    if found:
        remove_dead(func)


def _like(dtype: Attribute, t: Attribute) -> Attribute:
    return dtype if lanes_of(t) == 1 else VectorType(dtype, [lanes_of(t)])


def _compute_wide(op: Operation, is_narrow: Callable[[Attribute], bool], wide: Attribute) -> None:
    insert = inserter(op)
    operands = [_widened(v, wide, insert) if is_narrow(scalar_of(v.type)) else v for v in op.operands]
    (result,) = op.results
    narrow = result.type if is_narrow(scalar_of(result.type)) else None
    new = type(op).create(
        operands=operands,
        result_types=[result.type if narrow is None else _like(wide, narrow)],
        properties=dict(op.properties),
    )
    insert(new)
    value = new.results[0]
    if narrow is not None:
        insert(back := tir.CastOp(value, narrow))
        value = back.result
    set_name(value, name_of(result))
    result.replace_all_uses_with(value)
    erase_with_tree(op)


def _widened(value: SSAValue, wide: Attribute, insert: Callable[[Operation], None]) -> SSAValue:
    """A value in the wide type: what was converted to the narrow one before, a constant, or a conversion."""
    owner = value.owner
    if isinstance(owner, tir.ConstOp) and isinstance(owner.value, FloatAttr):
        insert(constant := tir.ConstOp(owner.value.value.data, wide))
        return constant.result
    wanted = _like(wide, value.type)
    if isinstance(owner, tir.CastOp) and owner.value.type == wanted:
        return owner.value
    insert(cast := tir.CastOp(value, wanted))
    return cast.result


def _skip_conversion(op: tir.CastOp, is_narrow: Callable[[Attribute], bool]) -> None:
    """`wide -> narrow -> wide` is nothing."""
    source = op.value.owner
    if not isinstance(source, tir.CastOp) or source.value.type != op.result.type:
        return
    if is_narrow(scalar_of(op.value.type)):
        op.result.replace_all_uses_with(source.value)
        erase_with_tree(op)
