"""Values in prim_funcs: type promotion as in TVM, and the operations that values are emitted as."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import isfinite
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, VectorType, f32, i1
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.dtypes import DTYPES, bit_width, dtype_name, dtype_of, float_attr, is_float, is_scalable, is_unsigned
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var, i32, i64
from ...ir.affine.values import Materializer, sym_expr_of
from .evaluator import Evaluator
from .folding import SYMBOLS, as_sym
from .tir_state import TirParser
from .values import Access, FreshVar, Imm, Ref, Slice, describe

_INTRINSIC_OPERATORS = {
    "pow": "pow",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}
_LOGICAL = frozenset({"and", "or"})
_NEUTRAL_RIGHT: dict[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "floordiv": 1, "truncdiv": 1}
_NEUTRAL_LEFT: dict[str, int] = {"add": 0, "mul": 1}


_INTRINSIC_OPERATORS = {
    "pow": "pow",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}
LOGICAL = frozenset({"and", "or"})


# Types


def element(dtype: Attribute) -> Attribute:
    """Return the type of one lane."""
    return dtype.element_type if isinstance(dtype, VectorType) else dtype


def lanes(dtype: Attribute) -> int:
    return dtype.get_shape()[0] if isinstance(dtype, VectorType) else 1


def promote(a: Attribute, b: Attribute) -> Attribute:
    """Return the common element type in which values of the element types `a` and `b` are computed."""
    if a == b:
        return a
    if is_float(a) or is_float(b):
        if not (is_float(a) and is_float(b)):
            return a if is_float(a) else b
        return a if bit_width(a) >= bit_width(b) else b
    bits = max(bit_width(a), bit_width(b))
    if is_unsigned(a) == is_unsigned(b):
        return a if bit_width(a) == bits else b
    if bit_width(a) == bit_width(b):
        return a if is_unsigned(a) else b
    return a if bit_width(a) == bits else b


def dtype_by_name(name: str) -> Attribute | None:
    """Return the type denoted by `T.<name>`, or None if there is none."""
    if name == "boolean":
        return i1
    base = name.partition("x")[0] if not name.startswith("x") else name
    return dtype_of(name) if base in DTYPES and (name in DTYPES or name.rpartition("x")[2].isdigit()) else None


def dtype_text(p: Evaluator[Any], value: Any, node: ast.AST) -> str:
    """Return the name of a data type that is passed by name, as `T.float32`, or as a numpy dtype."""
    if isinstance(value, Ref) and value.dialect == "tir":
        value = value.path
    name = value if isinstance(value, str) else getattr(value, "name", getattr(value, "__name__", None))
    if not isinstance(name, str):
        raise p.error(node, "a data type is expected", expected='a name such as "float32"', found=describe(value))
    return name


def as_dtype(p: TirParser, value: Any, node: ast.AST, default: str | None = None) -> Attribute:
    """Return a data type that is passed by name, as `T.float32`, or as a numpy dtype."""
    if value is None and default is not None:
        return dtype_of(default)
    name = dtype_text(p, value, node)
    if name == "handle":
        return tir.types.HANDLE
    with p.source.located(node):
        return dtype_of(name)


# Values


def expr(p: TirParser, value: Any, node: ast.AST) -> SSAValue:
    """Return the SSA value of a scalar or vector expression."""
    if isinstance(value, SSAValue):
        if isinstance(value.type, tir.BufferType):
            raise p.error(node, "a buffer stands where a value is expected", hint="index it: A[i, j]")
        return value
    if isinstance(value, Access):
        return load(p, value)
    if isinstance(value, SymExpr):
        return _symbolic(p, value, node)
    if isinstance(value, FreshVar) and value.name is not None:
        return value.free
    imm = imm_of(value)
    if imm is None:
        raise p.error(node, "this is no TIR expression", found=describe(value))
    return p.emit(tir.ConstOp(imm.value, imm.dtype), node)


def _symbolic(p: TirParser, value: SymExpr, node: ast.AST) -> SSAValue:
    if isinstance(value, Const):
        return p.emit(tir.ConstOp(value.value, value.dtype), node)
    if id(value) in p.state.written:
        _, kind, a, b = p.state.written[id(value)]
        return emit_operator(p, kind, a, b, node)
    if not any(v in p.state.scalars for v in value.free_vars()):
        return p.emit(ValueOp(value), node)
    mapping = {v: Var(s, v.dtype) for v, s in p.state.scalars.items()}
    return Materializer(lambda op: p.emit(op, node))(value.substitute(cast("dict[Var, SymExpr]", mapping)))


def imm_of(value: Any) -> Imm | None:
    """Return a constant with the type that TVM assigns to it, or None if the value is not a constant."""
    if isinstance(value, Imm):
        return value
    if isinstance(value, Const):
        return Imm(value.value, value.dtype)
    if isinstance(value, bool):
        return Imm(int(value), i1)
    if isinstance(value, int):
        return Imm(value, i32 if -(2**31) <= value < 2**31 else i64)
    return Imm(value, f32) if isinstance(value, float) else None


def convert(imm: Imm, dtype: Attribute) -> Imm:
    """Return a constant converted to another type, rounded or wrapped as by a cast."""
    if is_float(dtype):
        return Imm(float_attr(float(imm.value), dtype).value.data, dtype)
    if dtype == i1:
        return Imm(int(bool(imm.value)), i1)
    if not isinstance(dtype, IntegerType):
        raise TiraxError(f"a constant cannot be of {dtype}")
    if isinstance(imm.value, float) and not isfinite(imm.value):
        raise TiraxError(f"{imm.value} has no integer value")
    bits = bit_width(dtype)
    wrapped = int(imm.value) & ((1 << bits) - 1)
    return Imm(wrapped - (1 << bits) if not is_unsigned(dtype) and wrapped >> (bits - 1) else wrapped, dtype)


def type_of(p: TirParser, value: Any, node: ast.AST) -> Attribute:
    """Return the type of `expr(value)`."""
    if isinstance(value, SSAValue):
        return value.type
    if isinstance(value, SymExpr):
        return value.dtype
    imm = imm_of(value)
    return expr(p, value, node).type if imm is None else imm.dtype


def cast_to(p: TirParser, value: Any, dtype: Attribute, node: ast.AST) -> SSAValue:
    """Cast `value` to `dtype`; constants are converted immediately."""
    imm = imm_of(value)
    if imm is not None and not isinstance(dtype, VectorType):
        return p.emit(tir.ConstOp(convert(imm, dtype).value, dtype), node)
    ssa = expr(p, value, node)
    if isinstance(dtype, VectorType) and (not isinstance(ssa.type, VectorType) or _is_uniform(ssa, dtype)):
        one = ssa.owner.value if isinstance(ssa.owner, tir.BroadcastOp) else ssa
        scalar = cast_to(p, _constant(one), element(dtype), node)
        return p.emit(tir.BroadcastOp(scalar, lanes(dtype), is_scalable(dtype)), node)
    return ssa if ssa.type == dtype else p.emit(tir.CastOp(ssa, dtype), node)


def _is_uniform(value: SSAValue, dtype: Attribute) -> bool:
    """Return whether a vector is a broadcast of one value and has another type than `dtype`."""
    return isinstance(value.owner, tir.BroadcastOp) and value.type != dtype


def _constant(value: SSAValue) -> Any:
    """Return the constant of a value, or the value itself if it is not constant."""
    op = value.owner
    return Imm(op.py_value, value.type) if isinstance(op, tir.ConstOp) else value


def match_types(p: TirParser, values: Sequence[Any], node: ast.AST) -> list[SSAValue]:
    """Cast values to their common type."""
    ready = [load(p, v) if isinstance(v, Access) else v for v in values]
    types = [type_of(p, v, node) for v in ready]
    dtype = element(types[0])
    for t in types[1:]:
        dtype = promote(dtype, element(t))
    widths = {tir.with_lanes(dtype, t) for t in types if isinstance(t, VectorType)}
    if len(widths) > 1:
        raise p.error(node, "vectors of different lengths", found=", ".join(dtype_name(t) for t in types))
    target = widths.pop() if widths else dtype
    return [cast_to(p, v, target, node) for v in ready]


def as_condition(p: TirParser, value: Any, node: ast.AST) -> SSAValue:
    """Return `value` as a condition. Raises `ScriptError` if it is not bool."""
    ssa = expr(p, value, node)
    if element(ssa.type) != i1:
        raise p.error(node, "a condition must be bool", found=dtype_name(ssa.type), hint="compare it: x != 0")
    return ssa


def int_expr(p: TirParser, value: Any, node: ast.AST) -> SymExpr:
    """Return an integer as an expression over SSA values and named variables."""
    symbolic = as_sym(value, default=i32)
    if symbolic is not None:
        return symbolic
    ssa = expr(p, value, node)
    if not isinstance(ssa.type, IntegerType):
        raise p.error(node, "an integer is expected", found=describe(value))
    return sym_expr_of(as_index(p, ssa, node))


def emit_operator(p: TirParser, kind: str, a: Any, b: Any, node: ast.AST) -> SSAValue:
    """Emit an operator on `a` and `b` without folding."""
    if kind in LOGICAL:
        x, y = as_condition(p, a, node), as_condition(p, b, node)
        if lanes(x.type) != lanes(y.type):
            x, y = match_types(p, (x, y), node)
        return p.emit(tir.BINARY[kind](x, y), node)
    x, y = match_types(p, (a, b), node)
    if kind in _INTRINSIC_OPERATORS:
        return p.emit(tir.CallIntrinOp(_INTRINSIC_OPERATORS[kind], [x, y], x.type), node)
    if kind == "div" and not is_float(x.type):
        raise p.error(
            node,
            "'/' on integers is ambiguous",
            found=f"{dtype_name(x.type)} and {dtype_name(y.type)}",
            hint="write // (floor) or T.truncdiv (towards zero), or convert with T.Cast",
        )
    cls = tir.BINARY.get("div" if kind == "truncdiv" else kind)
    if cls is None:
        raise p.error(node, f"operator '{SYMBOLS.get(kind, kind)}' is not part of TIR")
    return p.emit(cls(x, y), node)


# Elements of buffers


def load(p: TirParser, access: Access) -> SSAValue:
    """Return the element or vector that an access loads."""
    return p.emit(tir.LoadOp(access.buffer, indices_of(p, access)), access.node)


def indices_of(p: TirParser, access: Access) -> list[SSAValue]:
    indices = [
        index_of(p, i, d, access.node) for i, d in zip(access.indices, dims_of_buffer(access.buffer), strict=True)
    ]
    wrong = next((i for i in indices[:-1] if isinstance(i.type, VectorType)), None)
    if wrong is not None:
        raise p.error(access.node, "only the last index may be a vector", found=dtype_name(wrong.type))
    return indices


def dims_of_buffer(buffer: SSAValue) -> tuple[SymExpr, ...]:
    return cast(tir.BufferType, buffer.type).dims


def index_of(p: TirParser, value: Any, dim: SymExpr, node: ast.AST) -> SSAValue:
    """Return one index of an access; a slice becomes a vector of indices."""
    if isinstance(value, Slice):
        return _vector_index(p, value, dim, node)
    index = expr(p, value, node)
    if not isinstance(element(index.type), IntegerType):
        raise p.error(node, "an index must be an integer", found=dtype_name(index.type))
    return as_index(p, index, node)


def as_index(p: TirParser, value: SSAValue, node: ast.AST) -> SSAValue:
    """Return an integer as an index, which has at least 8 bits."""
    widened = tir.index_cast(value)
    return value if widened is None else p.emit(widened, node)


def _vector_index(p: TirParser, value: Slice, dim: SymExpr, node: ast.AST) -> SSAValue:
    start, extent = span(p, value, dim, node)
    step = 1 if value.step is None else as_sym(value.step)
    stride = step.constant if isinstance(step, SymExpr) else step
    reach, scalable = _constant_length(extent)
    if reach is None or stride is None or stride < 1:
        raise p.error(
            node, "the length of a vector access must be a constant, or T.vscale() times one", found=str(extent)
        )
    count = -(-reach // stride)
    if count == 1 and not scalable:
        return start
    if count < 1:
        raise p.error(node, "an access to no element", found=f"{count} elements")
    by = p.emit(tir.ConstOp(stride, start.type), node)
    return p.emit(tir.RampOp(start, by, count, scalable), node)


def _constant_length(extent: SymExpr) -> tuple[int | None, bool]:
    """Return the constant length, and whether it is multiplied by `T.vscale()`; None if it is not constant."""
    scales = [v for v in extent.free_vars() if v.value is not None and tir.is_vscale(v.value)]
    if not scales:
        return extent.constant, False
    scale = scales[0]  # all calls return the same number
    extent = extent.substitute(dict.fromkeys(scales, scale))
    number = extent.substitute({scale: Const(1, scale.dtype)}).constant
    return (number, True) if number is not None and extent == scale * number else (None, False)


def span(p: TirParser, value: Slice, dim: SymExpr, node: ast.AST) -> tuple[SSAValue, SymExpr]:
    """Return the first index of a slice and its length."""
    start = 0 if value.start is None else value.start
    stop = dim if value.stop is None else value.stop
    low, high = (int_expr(p, v, node) for v in (start, stop))
    if isinstance(start, int) and isinstance(low, Const) and isinstance(high.dtype, IntegerType):
        start = low = Const(low.value, high.dtype)
    return as_index(p, expr(p, start, node), node), high - low
