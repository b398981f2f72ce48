"""`lower-narrow-types`: 8 bit floats and 4 bit integers become bytes.

No machine computes with them: they are stored and converted. A buffer of them becomes one of bytes (`int4` has one byte
an element, its low half), and a conversion becomes arithmetic on the bits:

    %x = tir.load %A[%i] : f8E4M3FN            %b = tir.load %A[%i] : ui8
    %y = tir.cast %x : f8E4M3FN -> f32    ->   %y = sign and magnitude of %b, shifted to where f32 has them

Rounding is that of float32 to the nearest, to even where two are equally near; what is too great becomes infinity, or
NaN where the type has none: as `ml_dtypes` converts. Anything else done to these types is a diagnostic.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import (
    NARROW,
    NarrowFloat,
    dtype_name,
    is_narrow,
    numpy_dtype,
    scalar_of,
    ui4,
    ui8,
    ui32,
)
from ...dialects.names import name_of, set_name
from ...ir import prim_expr as tx
from ...ir.prim_expr import PrimExpr, place
from ...ir.substitute import set_type
from ...ir.transform import Pass
from ...ir.verify import location_of
from .walk import functions, inline_before

_INFINITY = 0xFF << 23
"""The magnitude of infinity in float32, above which all is NaN."""
_MOVES = (
    tir.LoadOp,
    tir.StoreOp,
    tir.SelectOp,
    tir.IfThenElseOp,
    tir.YieldOp,
    tir.LetOp,
    tir.AllocBufferOp,
    tir.MatchBufferOp,
    tir.ReadsOp,
    tir.WritesOp,
    tir.BlockOp,
)
"""What does not look at the values."""


@dataclass(frozen=True)
class LowerNarrowTypes(Pass):
    """Store 8 bit floats and 4 bit integers as bytes, and convert them by arithmetic on bits.

    Raises `UnsupportedError` for other operations on them.
    """

    name = "lower-narrow-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if any(_holds_narrow(v.type) for inner in func.walk() for v in _values(inner)):
                _lower(func)


def _values(op: Operation) -> list[SSAValue]:
    """What an operation defines."""
    return [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]


def _holds_narrow(t: Attribute) -> bool:
    return is_narrow(scalar_of(t.dtype if isinstance(t, tir.BufferType) else t))


def _lower(func: tir.FuncOp) -> None:
    casts = [(op, op.value.type, op.result.type) for op in func.walk() if isinstance(op, tir.CastOp)]
    for op in list(func.walk()):
        _check(op)
        if isinstance(op, tir.ConstOp) and is_narrow(op.result.type):
            _replace(op, tx.const(_byte(op), ui8))
    for op in func.walk():
        for value in _values(op):
            if _holds_narrow(value.type):
                set_type(value, _as_bytes(value.type))
    for op, source, target in casts:
        if is_narrow(source) or is_narrow(target):
            _replace(op, _converted(PrimExpr(op.value), source, target))


def _check(op: Operation) -> None:
    """Raise `UnsupportedError` where an operation computes with narrow values."""
    values = [*op.operands, *op.results]
    found = next((v.type for v in values if _holds_narrow(v.type)), None)
    plain = not isinstance(found, tir.BufferType) and is_narrow(found) if found is not None else True
    if found is None or (plain and isinstance(op, (tir.CastOp, tir.ConstOp))) or isinstance(op, _MOVES):
        return
    dtype = scalar_of(found.dtype if isinstance(found, tir.BufferType) else found)
    raise UnsupportedError(
        f"{op.name}: nothing is computed with {dtype_name(dtype)}",
        location=location_of(op),
        found=found,
        hint="convert it first: R.astype, T.Cast",
    )


def _as_bytes(t: Attribute) -> Attribute:
    if isinstance(t, tir.BufferType):
        return tir.BufferType(t.shape, ui8, t.strides, t.offset, t.scope, t.align, t.offset_factor, t.separators)
    return ui8


def _byte(op: tir.ConstOp) -> int:
    """The stored form of a constant."""
    import numpy as np

    return int(np.asarray(op.py_value).astype(numpy_dtype(op.result.type)).view(np.uint8)[()])


def _replace(op: Operation, expr: PrimExpr) -> None:
    block = Block()
    value = place(expr, block, {})
    inline_before(block, op)
    set_name(value, name_of(value) or name_of(op.results[0]))
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _converted(value: PrimExpr, source: Attribute, target: Attribute) -> PrimExpr:
    """A value, a byte where `source` is narrow, as `target`, a byte where that is narrow."""
    if is_narrow(source):
        value = _decode(value, source)
    return _encode(value, target) if is_narrow(target) else value.astype(target)


def _decode(byte: PrimExpr, source: Attribute) -> PrimExpr:
    """The value of a byte as int32 or float32, which hold all of them."""
    form = NARROW[source]
    if form is None:
        low = (byte & 15).astype(i32)
        return low if source == ui4 else (low ^ 8) - 8
    bits = byte.astype(ui32)
    magnitude = bits & 0x7F
    # the exponent of the narrow type where float32 has its own: too small by the difference of the biases
    value = _reinterpreted(magnitude << (23 - form.mantissa), f32) * tx.const(2.0 ** (127 - form.bias), f32)
    nan = tx.const(float("nan"), f32)
    if form.single_nan:
        value = tx.select(tx.equal(bits, form.nan), nan, value)
    elif form.infinity is None:
        value = tx.select(tx.equal(magnitude, form.nan), nan, value)
    else:
        value = tx.select(tx.equal(magnitude, form.infinity), tx.const(float("inf"), f32), value)
        value = tx.select(magnitude > form.infinity, nan, value)
    return tx.select(tx.equal(bits >> 7, 0), value, value * tx.const(-1.0, f32))


def _reinterpreted(value: PrimExpr, dtype: Attribute) -> PrimExpr:
    return PrimExpr(tir.ReinterpretOp(value.value, dtype).result)


def _encode(value: PrimExpr, target: Attribute) -> PrimExpr:
    """The byte of a value of any other type."""
    form = NARROW[target]
    if form is None:
        return (value.astype(i32) & 15).astype(ui8)
    bits = _reinterpreted(value.astype(f32), ui32)
    magnitude = bits & 0x7FFFFFFF
    code = tx.select(
        _reinterpreted(magnitude, f32) < tx.const(2.0 ** (1 - form.bias), f32),
        _subnormal(magnitude, form),
        _normal(magnitude, form),
    )
    greatest = (0x7F if form.single_nan else form.nan - 1) if form.infinity is None else form.infinity - 1
    too_great = form.nan if form.infinity is None else form.infinity
    code = tx.select(code > greatest, tx.const(too_great, ui32), code)
    code = tx.select(magnitude > _INFINITY, tx.const(form.nan, ui32), code)
    negative = tx.equal(bits >> 31, 1)
    if form.single_nan:
        negative = tx.logical_and(negative, tx.logical_and(tx.less(0, code), code < form.nan))
    return (code | tx.select(negative, tx.const(0x80, ui32), tx.const(0, ui32))).astype(ui8)


def _subnormal(magnitude: PrimExpr, form: NarrowFloat) -> PrimExpr:
    """How many of the least steps of the narrow type: a great number added rounds away what is less than one."""
    steps = _reinterpreted(magnitude, f32) * tx.const(2.0 ** (form.bias - 1 + form.mantissa), f32)
    return _reinterpreted(steps + tx.const(2.0**23, f32), ui32) - ((127 + 23) << 23)


def _normal(magnitude: PrimExpr, form: NarrowFloat) -> PrimExpr:
    """The upper bits, rounded: half a step is added, less one where the last bit that stays is even."""
    cut = 23 - form.mantissa
    rounded = magnitude + ((1 << (cut - 1)) - 1) + ((magnitude >> cut) & 1)
    return (rounded >> cut) - ((127 - form.bias) << form.mantissa)
