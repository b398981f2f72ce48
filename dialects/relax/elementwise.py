"""Element-wise operators: unary, binary, comparison, logical, bitwise, and others that map element by element.

Each family is a table with a row per operator. Binary operators broadcast as in numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import NoneAttr, StringAttr, i1
from xdsl.ir import Attribute

from ..sym.expr import SymExpr
from .operator import BOOL, DTYPE, FLOATS, INTEGERS, INTEGERS_AND_BOOL, NUMBERS, Domain, Operator, as_dtype, operator
from .types import PrimType, TensorType


class UnaryOp(Operator):
    """An element-wise unary operator; the result has the type of the operand."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        return TensorType(x.shape, x.ndim, x.dtype, x.vdevice)


class NumericUnaryOp(UnaryOp):
    """An element-wise operator on numbers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}


class FloatUnaryOp(UnaryOp):
    """An element-wise operator on floating point numbers only."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": FLOATS}


class LogicalUnaryOp(UnaryOp):
    """An element-wise operator on bools."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": BOOL}


class BitwiseUnaryOp(UnaryOp):
    """An element-wise operator on the bits of integers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": INTEGERS_AND_BOOL}


class PredicateOp(Operator):
    """An element-wise operator with a bool result."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        return TensorType(x.shape, x.ndim, i1, x.vdevice)


def broadcast_dims(
    op: Operator, names: Sequence[str], shapes: Sequence[Sequence[SymExpr]]
) -> tuple[SymExpr, ...] | None:
    """Return the shape that `shapes` broadcast to; None if two symbolic extents may or may not be equal."""
    rank = max(len(s) for s in shapes)
    out: list[SymExpr] = []
    for i in range(rank):
        dims = [(n, s[i - rank + len(s)]) for n, s in zip(names, shapes, strict=True) if i - rank + len(s) >= 0]
        chosen = _broadcast_dim(op, dims)
        if chosen is None:
            return None
        out.append(chosen)
    return tuple(out)


def _broadcast_dim(op: Operator, dims: list[tuple[str, SymExpr]]) -> SymExpr | None:
    name, out = dims[0]
    unknown = False
    for other_name, other in dims[1:]:
        if other == out or other.constant == 1:
            continue
        if out.constant == 1:
            name, out = other_name, other
        elif out.constant is not None and other.constant is not None:
            op.fail_shape(
                f"arguments {name} and {other_name} do not broadcast",
                f"equal extents, or 1, where {name} has {out}",
                other,
            )
        else:
            unknown = True
    return None if unknown else out


class BinaryOp(Operator):
    """An element-wise operator on two tensors that broadcast, or on a tensor and a scalar, of the same dtype."""

    RESULT_DTYPE: ClassVar[Attribute | None] = None

    def infer(self) -> Attribute:
        a, b = self._side("x1"), self._side("x2")
        mixed = a.element is not None and b.element is not None and a.element != b.element
        if mixed and self.RESULT_DTYPE is None:
            self.fail_dtype("arguments x1 and x2 must have one dtype", a.element, b.element)
        if isinstance(a.vdevice, StringAttr) and isinstance(b.vdevice, StringAttr) and a.vdevice != b.vdevice:
            self.fail_dtype("arguments x1 and x2 must be on one virtual device", a.vdevice, b.vdevice)
        if a is b and a.dims and self.RESULT_DTYPE is None and isinstance(a.vdevice, NoneAttr):
            return a  # types are shared: nearly all of a program's sums and products end here; numbers have no extents
        dtype = self.RESULT_DTYPE or (a.element if b.element is not None else None)
        if dtype is not None and all(isinstance(v.type, PrimType) for v in self.operands):
            return PrimType.of(dtype)
        if (first := a.extents) is not None and (second := b.extents) is not None:
            dims = broadcast_dims(self, ("x1", "x2"), (first, second))
            return TensorType.of(dims, dtype, max(len(first), len(second)))
        known = a.rank is not None and b.rank is not None
        shape = a.shape_var if a.shape_var == b.shape_var else None
        return TensorType.of(shape, dtype, max(a.rank or 0, b.rank or 0) if known else None)

    def _side(self, name: str) -> TensorType:
        """Return the type of an operand; a scalar counts as a tensor of rank 0."""
        value = getattr(self, name)
        if not isinstance(value.type, PrimType):
            return self.tensor(name)
        self.check_domain(scalar := TensorType.of((), value.type.dtype), name, f"argument {name}")
        return scalar


class ArithmeticOp(BinaryOp):
    """A binary operator on numbers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}


class LogicalOp(BinaryOp):
    """A binary operator on bools."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": BOOL}


class BitwiseOp(BinaryOp):
    """A binary operator on the bits of integers; a bool is one bit."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": INTEGERS_AND_BOOL}


class ShiftOp(BinaryOp):
    """A binary operator on integers."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": INTEGERS}


class CompareOp(BinaryOp):
    """A binary operator whose result is bool."""

    RESULT_DTYPE: ClassVar[Attribute | None] = i1


_UNARY: dict[str, str] = {
    "abs": "|x|",
    "ceil": "The least integer that is not below x.",
    "floor": "The greatest integer that is not above x.",
    "round": "The nearest integer, halves to even.",
    "square": "x * x",
    "trunc": "x without its fraction.",
    "nn.relu": "max(x, 0)",
}
_NUMERIC_UNARY: dict[str, str] = {
    "negative": "-x",
    "sign": "-1, 0 or 1 as x is negative, zero or positive.",
}
_LOGICAL_UNARY: dict[str, str] = {"logical_not": "not x"}
_BITWISE_UNARY: dict[str, str] = {"bitwise_not": "~x"}
_FLOAT_UNARY: dict[str, str] = {
    "acos": "The angle whose cosine is x.",
    "acosh": "The inverse of cosh.",
    "asin": "The angle whose sine is x.",
    "asinh": "The inverse of sinh.",
    "atan": "The angle whose tangent is x.",
    "atanh": "The inverse of tanh.",
    "cos": "cos(x)",
    "cosh": "cosh(x)",
    "digamma": "The derivative of lgamma; NaN at negative integers.",
    "erf": "The error function.",
    "erfinv": "The inverse of erf.",
    "exp": "e to the x.",
    "expm1": "exp(x) - 1, precise near 0.",
    "lgamma": "The logarithm of the absolute value of the gamma function.",
    "log": "The natural logarithm.",
    "log10": "The logarithm to the base 10.",
    "log1p": "log(1 + x), precise near 0.",
    "log2": "The logarithm to the base 2.",
    "rsqrt": "1 / sqrt(x)",
    "sigmoid": "1 / (1 + exp(-x))",
    "sin": "sin(x)",
    "sinh": "sinh(x)",
    "sqrt": "The square root.",
    "tan": "tan(x)",
    "tanh": "tanh(x)",
    "nn.gelu": "x * (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, 2016)",
    "nn.gelu_tanh": "gelu, with erf approximated by tanh",
    "nn.selu": "The self-normalizing unit (Klambauer et al., 2017).",
    "nn.silu": "x * sigmoid(x)",
}
_PREDICATES: dict[str, str] = {
    "isfinite": "Whether x is neither infinite nor NaN.",
    "isinf": "Whether x is infinite.",
    "isnan": "Whether x is NaN.",
}
_ARITHMETIC: dict[str, str] = {
    "add": "x1 + x2",
    "subtract": "x1 - x2",
    "multiply": "x1 * x2",
    "divide": "x1 / x2, for integers truncated",
    "floor_divide": "floor(x1 / x2)",
    "power": "x1 to the x2",
    "mod": "x1 - trunc(x1 / x2) * x2",
    "floor_mod": "x1 - floor(x1 / x2) * x2",
}
_BINARY: dict[str, str] = {
    "maximum": "The greater of x1 and x2.",
    "minimum": "The lesser of x1 and x2.",
}
_LOGICAL: dict[str, str] = {
    "logical_and": "x1 and x2",
    "logical_or": "x1 or x2",
    "logical_xor": "x1 != x2 of truth values",
}
_BITWISE: dict[str, str] = {
    "bitwise_and": "x1 & x2",
    "bitwise_or": "x1 | x2",
    "bitwise_xor": "x1 ^ x2",
}
_SHIFTS: dict[str, str] = {
    "left_shift": "x1 << x2",
    "right_shift": "x1 >> x2",
}
_COMPARE: dict[str, str] = {
    "equal": "x1 == x2",
    "not_equal": "x1 != x2",
    "greater": "x1 > x2",
    "greater_equal": "x1 >= x2",
    "less": "x1 < x2",
    "less_equal": "x1 <= x2",
}


def _family(rows: dict[str, str], base: type[Operator], args: str) -> dict[str, type[Operator]]:
    def row(name: str, doc: str) -> type[Operator]:
        cls = type(name.replace(".", "_"), (base,), {"__doc__": doc, "__module__": __name__})
        return operator(f"relax.{name}", args)(cls)

    return {name: row(name, doc) for name, doc in rows.items()}


UNARY = {
    **_family(_UNARY, UnaryOp, "x"),
    **_family(_NUMERIC_UNARY, NumericUnaryOp, "x"),
    **_family(_LOGICAL_UNARY, LogicalUnaryOp, "x"),
    **_family(_BITWISE_UNARY, BitwiseUnaryOp, "x"),
    **_family(_FLOAT_UNARY, FloatUnaryOp, "x"),
    **_family(_PREDICATES, PredicateOp, "x"),
}
BINARY = {
    **_family(_ARITHMETIC, ArithmeticOp, "x1 x2"),
    **_family(_BINARY, BinaryOp, "x1 x2"),
    **_family(_LOGICAL, LogicalOp, "x1 x2"),
    **_family(_BITWISE, BitwiseOp, "x1 x2"),
    **_family(_SHIFTS, ShiftOp, "x1 x2"),
    **_family(_COMPARE, CompareOp, "x1 x2"),
}


@operator("relax.clip", "x min max")
class Clip(Operator):
    """x clamped to [min, max]; both are prim values."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"x": NUMBERS}

    def infer(self) -> Attribute:
        return self.tensor("x")


@operator("relax.nn.leakyrelu", "x", alpha=0.01)
class LeakyRelu(FloatUnaryOp):
    """x if it is positive, alpha * x otherwise, elementwise."""


@operator("relax.nn.softplus", "x", beta=1.0, threshold=20.0)
class Softplus(FloatUnaryOp):
    """log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""


@operator("relax.astype", "x", dtype=DTYPE)
class Astype(Operator):
    """x converted to `dtype`; floating point to integer truncates."""

    def infer(self) -> Attribute:
        x = self.tensor("x")
        dtype = as_dtype(self.attr("dtype"))
        if dtype is None:
            self.fail_dtype("attribute dtype must be given")
        return x.of_dtype(dtype)


@operator("relax.where", "condition x1 x2")
class Where(Operator):
    """x1 where the condition is true, x2 elsewhere; all three broadcast."""

    def infer(self) -> Attribute:
        c, a, b = self.tensor("condition"), self.tensor("x1"), self.tensor("x2")
        if c.element != i1:
            self.fail_dtype("argument condition must be bool", i1, c.element)
        if a.element is not None and b.element is not None and a.element != b.element:
            self.fail_dtype("arguments x1 and x2 must have one dtype", a.element, b.element)
        dtype = a.element if b.element is not None else None
        ranks = [t.rank for t in (c, a, b)]
        rank = None if None in ranks else max(r or 0 for r in ranks)
        shapes = [t.dims for t in (c, a, b)]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            variables = {c.shape_var, a.shape_var, b.shape_var}
            return TensorType.of(variables.pop() if len(variables) == 1 else None, dtype, rank)
        return TensorType.of(broadcast_dims(self, ("condition", "x1", "x2"), known), dtype, rank)


@operator("relax.ewise_fma", "x1 x2 x3")
class EwiseFMA(Operator):
    """x1 * x2 + x3 for tensors of one shape."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    def infer(self) -> Attribute:
        types = [self.tensor(n) for n in ("x1", "x2", "x3")]
        first = types[0]
        for name, t in zip(("x2", "x3"), types[1:], strict=True):
            if t.element is not None and first.element is not None and t.element != first.element:
                self.fail_dtype(f"argument {name} must have the dtype of x1", first.element, t.element)
            if t.rank is not None and first.rank is not None and t.rank != first.rank:
                self.fail_shape(f"argument {name} must have the rank of x1", first.rank, t.rank)
            for i, (a, b) in enumerate(zip(first.dims or (), t.dims or (), strict=False)):
                self.require_equal(a, b, f"argument {name} has another extent than x1 in dimension {i}", a, b)
        known = next((t for t in types if t.rank is not None), first)
        dtype = first.element if all(t.element is not None for t in types) else None
        if all(t.shape == first.shape for t in types) and first.rank is not None:
            return TensorType(first.shape, first.ndim, dtype or NoneAttr(), NoneAttr())
        return TensorType.of(first.dims if all(t.dims is not None for t in types) else None, dtype, known.rank)
