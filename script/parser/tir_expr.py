"""TIR expressions of a script: type promotion as TVM does it, and the ops that they become."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import copy
from math import isfinite
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IntegerType, VectorType, f32, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import TiraxError, suggestion
from ...dialects import tir
from ...dialects.dtypes import bit_width, dtype_name, dtype_of, float_attr, is_float, is_scalable, is_unsigned
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var, i32, i64
from ...ir.affine.values import Materializer, sym_expr_of
from .evaluator import Evaluator
from .folding import SYMBOLS, as_sym, fold, fold_symbolic
from .scope import Scope
from .source import Source
from .values import Access, CallSite, FreshVar, Imm, Method, Ref, Slice, describe

_INTRINSIC_OPERATORS = {
    "pow": "pow",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}
_LOGICAL = frozenset({"and", "or"})
_BUFFER_ATTRIBUTES = "data, dtype, shape, strides, elem_offset, access_ptr, vload, vstore"


def element(dtype: Attribute) -> Attribute:
    """The type of one lane."""
    return dtype.element_type if isinstance(dtype, VectorType) else dtype


def lanes(dtype: Attribute) -> int:
    return dtype.get_shape()[0] if isinstance(dtype, VectorType) else 1


def promote(a: Attribute, b: Attribute) -> Attribute:
    """The element type that values of the element types `a` and `b` are computed in."""
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


class TirEvaluator(Evaluator):
    """Computes values: SSA values, symbolic integers, typed constants (`Imm`), accesses and Python constants.

    Ops are appended to `block`.
    """

    values: ClassVar[tuple[type, ...]] = (SSAValue, SymExpr, Imm, Access)

    def __init__(self, source: Source, scope: Scope):
        super().__init__(source, scope)
        self.block = Block()
        self.scalars: dict[Var, SSAValue] = {}
        """Scalar parameters: in shapes they stand by name, in expressions as values."""
        self._written: dict[int, tuple[SymExpr, str, Any, Any]] = {}
        """How symbolic expressions were written, by identity: the operator and its operands."""

    def emit(self, op: Operation, node: ast.AST) -> Any:
        """Append `op`; gives its result, if it has one."""
        op.location = self.source.attr(node)
        self.block.add_op(op)
        return op.results[0] if op.results else None

    # Values

    def expr(self, value: Any, node: ast.AST) -> SSAValue:
        """The SSA value of a scalar (or vector) expression."""
        if isinstance(value, SSAValue):
            if isinstance(value.type, tir.BufferType):
                raise self.error(node, "a buffer stands where a value is expected", hint="index it: A[i, j]")
            return value
        if isinstance(value, Access):
            return self.load(value)
        if isinstance(value, SymExpr):
            return self._symbolic(value, node)
        if isinstance(value, FreshVar) and value.name is not None:
            return value.free
        imm = self.imm(value)
        if imm is None:
            raise self.error(node, "this is no TIR expression", found=describe(value))
        return self.emit(tir.ConstOp(imm.value, imm.dtype), node)

    def _symbolic(self, value: SymExpr, node: ast.AST) -> SSAValue:
        if isinstance(value, Const):
            return self.emit(tir.ConstOp(value.value, value.dtype), node)
        if id(value) in self._written:
            _, kind, a, b = self._written[id(value)]
            return self._operator(kind, a, b, node)
        if not any(v in self.scalars for v in value.free_vars()):
            return self.emit(ValueOp(value), node)
        mapping = {v: Var(s, v.dtype) for v, s in self.scalars.items()}
        return Materializer(lambda op: self.emit(op, node))(value.substitute(cast("dict[Var, SymExpr]", mapping)))

    @staticmethod
    def imm(value: Any) -> Imm | None:
        """A constant with the type that TVM gives it; None for what is no constant."""
        if isinstance(value, Imm):
            return value
        if isinstance(value, Const):
            return Imm(value.value, value.dtype)
        if isinstance(value, bool):
            return Imm(int(value), i1)
        if isinstance(value, int):
            return Imm(value, i32 if -(2**31) <= value < 2**31 else i64)
        return Imm(value, f32) if isinstance(value, float) else None

    def type_of(self, value: Any, node: ast.AST) -> Attribute:
        """The type that `expr(value)` has."""
        if isinstance(value, SSAValue):
            return value.type
        if isinstance(value, SymExpr):
            return value.dtype
        imm = self.imm(value)
        return self.expr(value, node).type if imm is None else imm.dtype

    def cast(self, value: Any, dtype: Attribute, node: ast.AST) -> SSAValue:
        """`value` as `dtype`; constants are converted at once."""
        imm = self.imm(value)
        if imm is not None and not isinstance(dtype, VectorType):
            return self.emit(tir.ConstOp(convert(imm, dtype).value, dtype), node)
        ssa = self.expr(value, node)
        if isinstance(dtype, VectorType) and (not isinstance(ssa.type, VectorType) or _is_uniform(ssa, dtype)):
            one = ssa.owner.value if isinstance(ssa.owner, tir.BroadcastOp) else ssa
            scalar = self.cast(_constant(one), element(dtype), node)
            return self.emit(tir.BroadcastOp(scalar, lanes(dtype), is_scalable(dtype)), node)
        return ssa if ssa.type == dtype else self.emit(tir.CastOp(ssa, dtype), node)

    def match(self, values: Sequence[Any], node: ast.AST) -> list[SSAValue]:
        """Values converted to the one type that all can be computed in."""
        ready = [self.load(v) if isinstance(v, Access) else v for v in values]
        types = [self.type_of(v, node) for v in ready]
        dtype = element(types[0])
        for t in types[1:]:
            dtype = promote(dtype, element(t))
        widths = {tir.with_lanes(dtype, t) for t in types if isinstance(t, VectorType)}
        if len(widths) > 1:
            raise self.error(node, "vectors of different lengths", found=", ".join(dtype_name(t) for t in types))
        wanted = widths.pop() if widths else dtype
        return [self.cast(v, wanted, node) for v in ready]

    def condition(self, value: Any, node: ast.AST) -> SSAValue:
        """`value` as a condition; it must be bool."""
        ssa = self.expr(value, node)
        if element(ssa.type) != i1:
            raise self.error(node, "a condition must be bool", found=dtype_name(ssa.type), hint="compare it: x != 0")
        return ssa

    # Operators

    def binary(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        self._check_operands(kind, (a, b), node)
        symbolic = fold_symbolic(kind, a, b) if isinstance(a, SymExpr) or isinstance(b, SymExpr) else None
        if symbolic is not None:
            return self.as_written(symbolic, kind, a, b)
        x, y = self.imm(a), self.imm(b)
        if x is not None and y is not None:
            folded = self._fold_imms(kind, x, y, node)
            if folded is not None:
                return folded
        if kind in _LOGICAL and lanes(self.type_of(a, node)) * lanes(self.type_of(b, node)) > 1:
            kind = f"bitwise_{kind}"  # of truths lane by lane; `T.And` is the other one
            a, b = self.condition(a, node), self.condition(b, node)
        kept = self._identity(kind, a, b, node)
        return self._operator(kind, a, b, node) if kept is None else kept

    def as_written(self, value: SymExpr, kind: str, a: Any, b: Any) -> SymExpr:
        """`a` and `b` under an operator, of which `value` is the canonical form, remembered for `expr`."""
        if value.constant is not None or value is a or value is b:
            return value
        own = copy(value)
        self._written[id(own)] = own, kind, a, b
        return own

    def operator(self, kind: str, a: Any, b: Any, node: ast.AST) -> SSAValue:
        """`a` and `b` under an operator, which is not folded."""
        self._check_operands(kind, (a, b), node)
        return self._operator(kind, a, b, node)

    def _check_operands(self, kind: str, operands: Sequence[Any], node: ast.AST) -> None:
        for value in operands:
            is_buffer = isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType)
            if is_buffer or isinstance(value, str | tuple | list) or value is None:
                what = "a buffer" if is_buffer else describe(value)
                raise self.error(node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=what)

    def _fold_imms(self, kind: str, x: Imm, y: Imm, node: ast.AST) -> Imm | None:
        if kind in _LOGICAL or kind == "div":
            return None
        dtype = promote(x.dtype, y.dtype)
        values = [convert(v, dtype).value for v in (x, y)]
        try:
            result = fold(kind, *values)
        except (ValueError, ArithmeticError, TypeError) as error:
            if is_float(dtype) and not isinstance(error, TypeError):
                return None  # a quotient by 0 and its like have a value when the program runs
            raise self.error(node, f"'{SYMBOLS.get(kind, kind)}' on constants fails: {error}") from None
        if isinstance(result, complex):
            return None
        return Imm(int(result), i1) if isinstance(result, bool) else convert(Imm(result, dtype), dtype)

    def _identity(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        """`x + 0`, `x * 1`, `x // 1` and the like, which TVM's operators fold."""
        for value, other, right in ((a, b, True), (b, a, False)):
            imm = self.imm(other)
            if imm is None or isinstance(value, Imm) or kind not in (_NEUTRAL_RIGHT if right else _NEUTRAL_LEFT):
                continue
            neutral = (_NEUTRAL_RIGHT if right else _NEUTRAL_LEFT)[kind]
            if imm.value == neutral:
                x = self.expr(value, node)
                fits = promote(element(x.type), imm.dtype) == element(x.type)
                return x if fits and _is_neutral(kind, is_float(element(x.type))) else None
        return None

    def _operator(self, kind: str, a: Any, b: Any, node: ast.AST) -> SSAValue:
        if kind in _LOGICAL:
            x, y = self.condition(a, node), self.condition(b, node)
            if lanes(x.type) != lanes(y.type):
                x, y = self.match((x, y), node)
            return self.emit(tir.BINARY[kind](x, y), node)
        x, y = self.match((a, b), node)
        if kind in _INTRINSIC_OPERATORS:
            return self.emit(tir.CallIntrinOp(_INTRINSIC_OPERATORS[kind], [x, y], x.type), node)
        if kind == "div" and not is_float(x.type):
            raise self.error(
                node,
                "'/' on integers is ambiguous",
                found=f"{dtype_name(x.type)} and {dtype_name(y.type)}",
                hint="write // (floor) or T.truncdiv (towards zero), or convert with T.Cast",
            )
        cls = tir.BINARY.get("div" if kind == "truncdiv" else kind)
        if cls is None:
            raise self.error(node, f"operator '{SYMBOLS.get(kind, kind)}' is not part of TIR")
        return self.emit(cls(x, y), node)

    def unary(self, kind: str, value: Any, node: ast.AST) -> Any:
        self._check_operands(kind, (value,), node)
        imm = self.imm(value)
        if kind == "neg":
            if isinstance(value, SymExpr):
                return -value
            if imm is not None:
                return convert(Imm(-imm.value, imm.dtype), imm.dtype)
            x = self.expr(value, node)
            minus = self.cast(Imm(-1, i32), x.type, node)
            return self.emit(tir.MulOp(x, minus), node)
        if kind == "not":
            return self.emit(tir.NotOp(self.condition(value, node)), node)
        x = self.expr(value, node)
        return self.emit(tir.CallIntrinOp(kind, [x], x.type), node)

    # Buffers

    def buffer(self, value: Any, node: ast.AST, what: str = "argument") -> SSAValue:
        if not (isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType)):
            raise self.error(node, f"{what} must be a buffer", found=describe(value))
        return value

    def subscript_of(self, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Access:
        t = value.type
        if not isinstance(t, tir.BufferType):
            raise self.error(node, "only buffers can be indexed", found=describe(value))
        if len(indices) != t.rank:
            raise self.error(
                node, "wrong number of indices", expected=f"{t.rank}, for a buffer of rank {t.rank}", found=len(indices)
            )
        return Access(value, indices, node)

    def load(self, access: Access) -> SSAValue:
        """The element, or the vector, that an access reads."""
        return self.emit(tir.LoadOp(access.buffer, self.indices(access)), access.node)

    def indices(self, access: Access) -> list[SSAValue]:
        found = [self.index(i, d, access.node) for i, d in zip(access.indices, self._dims(access.buffer), strict=True)]
        wrong = next((i for i in found[:-1] if isinstance(i.type, VectorType)), None)
        if wrong is not None:
            raise self.error(access.node, "only the last index may be a vector", found=dtype_name(wrong.type))
        return found

    @staticmethod
    def _dims(buffer: SSAValue) -> tuple[SymExpr, ...]:
        return cast(tir.BufferType, buffer.type).dims

    def index(self, value: Any, dim: SymExpr, node: ast.AST) -> SSAValue:
        """One index of an access; a slice is a vector of indices."""
        if isinstance(value, Slice):
            return self._vector_index(value, dim, node)
        index = self.expr(value, node)
        if not isinstance(element(index.type), IntegerType):
            raise self.error(node, "an index must be an integer", found=dtype_name(index.type))
        return self.as_index(index, node)

    def as_index(self, value: SSAValue, node: ast.AST) -> SSAValue:
        """An integer as an index, which has a byte at least."""
        cast = tir.index_cast(value)
        return value if cast is None else self.emit(cast, node)

    def _vector_index(self, value: Slice, dim: SymExpr, node: ast.AST) -> SSAValue:
        start, extent = self.span(value, dim, node)
        step = 1 if value.step is None else as_sym(value.step)
        stride = step.constant if isinstance(step, SymExpr) else step
        reach, scalable = _reach(extent)
        if reach is None or stride is None or stride < 1:
            raise self.error(
                node, "the length of a vector access must be a constant, or T.vscale() times one", found=str(extent)
            )
        count = -(-reach // stride)
        if count == 1 and not scalable:
            return start
        if count < 1:
            raise self.error(node, "an access to no element", found=f"{count} elements")
        by = self.emit(tir.ConstOp(stride, start.type), node)
        return self.emit(tir.RampOp(start, by, count, scalable), node)

    def span(self, value: Slice, dim: SymExpr, node: ast.AST) -> tuple[SSAValue, SymExpr]:
        """The first index of a slice and the distance to its end."""
        start = 0 if value.start is None else value.start
        stop = dim if value.stop is None else value.stop
        low, high = (self.int_expr(v, node) for v in (start, stop))
        if isinstance(start, int) and isinstance(low, Const) and isinstance(high.dtype, IntegerType):
            start = low = Const(low.value, high.dtype)
        return self.as_index(self.expr(start, node), node), high - low

    def int_expr(self, value: Any, node: ast.AST) -> SymExpr:
        """An integer as an expression over SSA values and named variables."""
        symbolic = as_sym(value, default=i32)
        if symbolic is not None:
            return symbolic
        ssa = self.expr(value, node)
        if not isinstance(ssa.type, IntegerType):
            raise self.error(node, "an integer is expected", found=describe(value))
        return sym_expr_of(self.as_index(ssa, node))

    def region(
        self, value: Any, node: ast.AST, *, widened: bool = False
    ) -> tuple[SSAValue, list[SSAValue], list[SymExpr]]:
        """The buffer, first indices and extents of what `T.reads`, `T.writes` and `T.match_buffer` take.

        An extent depends on no loop: where the region may be `widened` it is all of the dimension then, else refused.
        """
        if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
            value = Access(value, (Slice(None, None, None),) * value.type.rank, node)
        if not isinstance(value, Access):
            raise self.error(node, "a region of a buffer is expected", expected="A[i, 0:4]", found=describe(value))
        starts: list[SSAValue] = []
        extents: list[SymExpr] = []
        for index, dim in zip(value.indices, self._dims(value.buffer), strict=True):
            if isinstance(index, Slice):
                start, extent = self.span(index, dim, value.node)
            else:
                start = self.index(index, dim, value.node)
                extent = Const(1, cast(IntegerType, start.type))
            depends = any(not isinstance(v.name, str) for v in extent.free_vars())
            if depends and widened:
                start, extent = self.span(Slice(None, None, None), dim, value.node)
            elif depends:
                raise self.error(value.node, "the extent of a region must not depend on loops", found=str(extent))
            starts.append(start)
            extents.append(extent)
        return value.buffer, starts, extents

    def dims(self, value: Any, node: ast.AST) -> list[SymExpr]:
        """A shape: ints are int32, as TVM has them."""
        items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
        return [self.dim(v, node) for v in items]

    def dim(self, value: Any, node: ast.AST) -> SymExpr:
        found = as_sym(value, default=i32)
        if found is None:
            raise self.error(
                node, "an extent must be an integer over constants and symbolic variables", found=describe(value)
            )
        return found

    def dtype(self, value: Any, node: ast.AST, default: str | None = None) -> Attribute:
        """A data type given by name, as `T.float32`, or as numpy's."""
        if value is None and default is not None:
            return dtype_of(default)
        if isinstance(value, Ref) and value.dialect == "tir":
            value = value.path
        name = value if isinstance(value, str) else getattr(value, "name", getattr(value, "__name__", None))
        if not isinstance(name, str):
            raise self.error(
                node, "a data type is expected", expected='a name such as "float32"', found=describe(value)
            )
        if name == "handle":
            return tir.types.HANDLE
        with self.source.located(node):
            return dtype_of(name)

    # Members

    def attribute_of(self, value: Any, name: str, node: ast.AST) -> Any:
        if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
            return self._buffer_attribute(value, value.type, name, node)
        if name == "astype":
            return Method(value, name)
        if name == "dtype":
            return dtype_name(self.type_of(value, node))
        raise self.error(node, f"there is no attribute '{name}'", expected="astype or dtype", found=describe(value))

    def address(self, buffer: SSAValue, node: ast.AST) -> SSAValue:
        """`A.data`: the pointer that a buffer was declared at, where it was."""
        owner = buffer.owner
        return owner.data if isinstance(owner, tir.DeclBufferOp) else self.emit(tir.BufferDataOp(buffer), node)

    def _buffer_attribute(self, buffer: SSAValue, t: tir.BufferType, name: str, node: ast.AST) -> Any:
        if name == "data":
            return self.address(buffer, node)
        if name in ("access_ptr", "vload", "vstore"):
            return Method(buffer, name)
        plain: dict[str, Any] = {
            "dtype": dtype_name(t.dtype),
            "shape": t.dims,
            "strides": t.explicit_strides or (),
            "elem_offset": t.elem_offset or Const(0, i32),
        }
        if name not in plain:
            raise self.error(
                node, f"a buffer has no '{name}'", expected=_BUFFER_ATTRIBUTES, hint=suggestion(name, plain)
            )
        return plain[name]

    def call_value(self, target: Any, site: CallSite) -> Any:
        if isinstance(target, Method) and target.name == "astype":
            (dtype,) = site.bind("dtype")
            return self.cast(target.value, self.dtype(dtype, site.node), site.node)
        return super().call_value(target, site)

    def call_builtin(self, name: str, site: CallSite) -> Any:
        raise self.error(
            site.node,
            f"Python's '{name}' may only be applied to constants",
            hint=f"write T.{name}" if name != "len" else None,
        )


def _is_uniform(value: SSAValue, dtype: Attribute) -> bool:
    """Whether a vector is one value in all lanes, and of another type than `dtype`."""
    return isinstance(value.owner, tir.BroadcastOp) and value.type != dtype


def _constant(value: SSAValue) -> Any:
    """The constant that a value is, else the value itself."""
    op = value.owner
    return Imm(op.py_value, value.type) if isinstance(op, tir.ConstOp) else value


_NEUTRAL_RIGHT: dict[str, int] = {"add": 0, "sub": 0, "mul": 1, "div": 1, "floordiv": 1, "truncdiv": 1}
_NEUTRAL_LEFT: dict[str, int] = {"add": 0, "mul": 1}


def _is_neutral(kind: str, of_floats: bool) -> bool:
    """Whether a division by 1 changes nothing: of floats `//` rounds, and `/` of integers is refused."""
    return of_floats if kind == "div" else not of_floats if kind == "floordiv" else True


def convert(imm: Imm, dtype: Attribute) -> Imm:
    """A constant as another type, rounded or wrapped as a cast would do."""
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


def _reach(extent: SymExpr) -> tuple[int | None, bool]:
    """The number that a length is, and whether times `T.vscale()`; None for another."""
    scales = [v for v in extent.free_vars() if v.value is not None and tir.is_vscale(v.value)]
    if not scales:
        return extent.constant, False
    scale = scales[0]  # each call gives the same number
    extent = extent.substitute(dict.fromkeys(scales, scale))
    number = extent.substitute({scale: Const(1, scale.dtype)}).constant
    return (number, True) if number is not None and extent == scale * number else (None, False)
