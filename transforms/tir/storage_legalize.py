"""`lower-narrow-types`, `bf16-storage-legalize`, `fp8-storage-legalize`: store values of narrow types as integers.

CPUs do not compute with floats of 8 or 4 bits and integers of 4 or 2: they are only stored and converted. Their buffers
become buffers of bytes (`int4` uses one byte for each element, the low half), and conversions become bit arithmetic:

    %x = tir.load %A[%i] : f8E4M3FN            %b = tir.load %A[%i] : ui8
    %y = tir.cast %x : f8E4M3FN -> f32    ->   %y = sign and magnitude of %b, shifted to where f32 has them
    %x = tir.load %A[%i] : bf16                %b = tir.load %A[%i] : ui16
    %y = tir.cast %x : bf16 -> f32        ->   %y = reinterpret(cast(%b) << 16) : f32

Conversion rounds float32 to nearest, ties to even, and float64 to float32 first, as PyTorch does; overflow becomes
infinity, or NaN in types without infinity, as in `ml_dtypes`. Any other operation on these types is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, lanes_of, numpy_dtype, scalar_of
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...handles.tir.place import place
from ...handles.tir.placeholders import placeholder_value
from ...handles.tir.prim_expr import PrimExpr
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, inline_before, set_type
from .storage_codecs import BF16_CODECS, FP8_CODECS, NARROW_CODECS, Codec
from .walk import functions, values_of

_MOVES = (
    tir.FuncOp,
    tir.ReturnOp,
    tir.LoadOp,
    tir.StoreOp,
    tir.SelectOp,
    tir.IfThenElseOp,
    tir.YieldOp,
    tir.LetOp,
    tir.LetInOp,
    tir.EvaluateOp,
    tir.BroadcastOp,
    tir.ShuffleOp,
    tir.ReinterpretOp,
    tir.AllocBufferOp,
    tir.AllocateOp,
    tir.DeclBufferOp,
    tir.BufferDataOp,
    tir.MatchBufferOp,
    tir.CallOp,
    tir.ReadsOp,
    tir.WritesOp,
    tir.BlockOp,
)
"""Operations that do not inspect the values."""
_CONVERTED = (tir.CastOp, tir.ConstOp)


def store_as_bits(func: tir.FuncOp, codecs: Mapping[Attribute, Codec], hint: str) -> None:
    """Store values of the types in `codecs` as integers and convert them by arithmetic, in place.

    Raises `UnsupportedError` with `hint` for an operation that computes with such values.
    """
    _Storage(codecs, hint).function(func)


class _Storage:
    def __init__(self, codecs: Mapping[Attribute, Codec], hint: str):
        self.codecs = codecs
        self.hint = hint

    def function(self, func: tir.FuncOp) -> None:
        if not any(self._stored(v.type) for inner in operations(func) for v in values_of(inner)):
            return
        for op in operations(func):
            self._check(op)
        casts = [(op, op.value.type, op.result.type) for op in operations(func) if isinstance(op, tir.CastOp)]
        for op in operations(func):
            if isinstance(op, tir.ConstOp) and op.result.type in self.codecs:
                self._constant(op)
        for op in operations(func):
            self._retype(op)
        for op, source, target in casts:
            if self._stored(source) or self._stored(target):
                self._convert(op, source, target)

    def _stored(self, t: Attribute) -> Attribute | None:
        """Return the type in `codecs` of a scalar or vector type, or None."""
        inner = t.dtype if isinstance(t, tir.BufferType | tir.HandleType) else scalar_of(t)
        return inner if inner in self.codecs else None

    def _check(self, op: Operation) -> None:
        values = [*op.operands, *op.results]
        stored_type = next((v.type for v in values if self._stored(v.type)), None)
        if stored_type is None or isinstance(op, _MOVES):
            return
        dtype = self._stored(stored_type)
        if isinstance(op, _CONVERTED) and dtype is not None and scalar_of(stored_type) == dtype:
            return
        raise UnsupportedError(
            f"{op.name}: nothing is computed with {dtype_name(dtype or stored_type)}",
            location=location_of(op),
            found=stored_type,
            hint=self.hint,
        )

    def _constant(self, op: tir.ConstOp) -> None:
        import numpy as np

        bits = self.codecs[op.result.type].bits
        stored = np.asarray(op.py_value).astype(numpy_dtype(op.result.type)).view(numpy_dtype(bits))
        _replace(op, PrimExpr(tir.ConstOp(int(stored[()]), bits).result))

    def _retype(self, op: Operation) -> None:
        for value in values_of(op):
            if self._stored(value.type):
                set_type(value, self._as_bits(value.type))
        for key in ("dtype", "ret_type"):
            t = op.properties.get(key)
            if t is not None and self._stored(t):
                op.properties[key] = self._as_bits(t)

    def _as_bits(self, t: Attribute) -> Attribute:
        if isinstance(t, tir.BufferType):
            return t.replaced(dtype=self._as_bits(t.dtype))
        if isinstance(t, tir.HandleType):
            return tir.HandleType(self._as_bits(t.dtype), t.scope)
        return like(self.codecs[scalar_of(t)].bits, t)

    def _convert(self, op: tir.CastOp, source: Attribute, target: Attribute) -> None:
        """Convert a value by arithmetic, lane by lane for a vector."""
        scalars = scalar_of(source), scalar_of(target)
        codecs = [self.codecs.get(t) for t in scalars]
        value = placeholder = PrimExpr(placeholder_value(scalar_of(op.value.type)))
        if codecs[0] is not None:
            value = codecs[0].decode(value)
        value = value.astype(scalars[1]) if codecs[1] is None else codecs[1].encode(value)
        block = Block()
        mapping = {placeholder.ssa: op.value}
        if lanes_of(source) == 1:
            result = place(value, block, mapping)
        else:
            result = _place_lanes(value.ssa, block, mapping, lanes_of(source))
        _replace_by(op, block, result)


_NATIVE_FROM = {"bfloat16": 80, "float8": 89}
"""The first NVIDIA GPU architecture that computes in these types."""


def computes_in(func: tir.FuncOp, kind: str) -> bool:
    """Return whether a function targets a GPU with native arithmetic in bfloat16, or in 8-bit floats."""
    target = None if func.func_attrs is None else func.func_attrs.data.get("target")
    arch = target.described.data.get("arch") if isinstance(target, tir.TargetAttr) else None
    number = re.fullmatch(r"sm_(\d+)a?", arch.data) if isinstance(arch, StringAttr) else None
    return number is not None and int(number[1]) >= _NATIVE_FROM[kind]


def like(dtype: Attribute, t: Attribute) -> Attribute:
    """Return `dtype`, or a vector of it with as many lanes as `t`."""
    return dtype if lanes_of(t) == 1 else VectorType(dtype, [lanes_of(t)])


def _place_lanes(value: SSAValue, block: Block, mapping: dict[SSAValue, SSAValue], lanes: int) -> SSAValue:
    """Materialize a scalar expression with vectors; see `place`."""
    if value in mapping:
        return mapping[value]
    op = value.owner
    assert isinstance(op, Operation), "an expression over placeholders that are all mapped"
    new: Operation = op.clone({o: _place_lanes(o, block, mapping, lanes) for o in op.operands})
    if not op.operands:
        block.add_op(new)
        new = tir.BroadcastOp(new.results[0], lanes)
    else:
        set_type(new.results[0], VectorType(value.type, [lanes]))
    block.add_op(new)
    mapping[value] = new.results[0]
    return new.results[0]


def _replace(op: Operation, expr: PrimExpr) -> None:
    block = Block()
    _replace_by(op, block, place(expr, block, {}))


def _replace_by(op: Operation, block: Block, value: SSAValue) -> None:
    """Replace an operation by the code that computes `value`."""
    inline_before(block, op)
    set_name(value, name_of(value) or name_of(op.results[0]))
    op.results[0].replace_all_uses_with(value)
    erase(op)


@dataclass(frozen=True)
class BF16StorageLegalize(Pass):
    """Store buffers and values of bfloat16 as uint16; float32 is rounded to nearest even.

    Parameters are converted, too: callers pass the same memory. Functions whose target computes in bfloat16 are
    unchanged. Raises `UnsupportedError` for arithmetic in bfloat16, which `bf16-compute-legalize` removes.
    """

    name = "bf16-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not computes_in(func, "bfloat16"):
                store_as_bits(func, BF16_CODECS, "run bf16-compute-legalize before")


@dataclass(frozen=True)
class FP8StorageLegalize(Pass):
    """Store buffers and values of 8-bit floats as uint8, like `lower-narrow-types`, which also handles 4-bit integers.

    Raises `UnsupportedError` for arithmetic in such types, which `fp8-compute-legalize` removes.
    """

    name = "fp8-storage-legalize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not computes_in(func, "float8"):
                store_as_bits(func, FP8_CODECS, "run fp8-compute-legalize before")


@dataclass(frozen=True)
class LowerNarrowTypes(Pass):
    """Store 8-bit floats and 4-bit integers as bytes, and convert them by bit arithmetic.

    Raises `UnsupportedError` for other operations on them.
    """

    name = "lower-narrow-types"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            store_as_bits(func, NARROW_CODECS, "convert it first: R.astype, T.Cast")
