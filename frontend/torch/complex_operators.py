"""Converters of operators that take or return complex tensors, beside the table of real ones.

An argument that is a complex tensor is a `Pairs`; all others are as in `table.py`. A complex result is a `Pairs`.
Operators that do the same to both parts (`PARTWISE`) use the converter of real tensors for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import UnsupportedError
from ...handles.relax.expr import Expr, ShapeExpr, TupleGetItem, const
from ..importing.relax_operators import R
from .arguments import mapped
from .emitter import Emitter, Extent, cast_to, dtype_of, is_float, shape_of
from .pairs import Pairs
from .table import Converter, Table, lookup

COMPLEX: Table[Converter] = Table("converter of complex numbers")
"""The converter of each operator (`mul`) or overload (`mul.Tensor`)."""
row = COMPLEX.row

_PARTWISE = """
    alias cat chunk clone constant_pad_nd contiguous cumsum detach detach_ diagonal expand flatten flip gather index
    index_select lift_fresh_copy mean movedim narrow neg pad permute repeat reshape resolve_conj resolve_neg roll select
    slice split split_with_sizes squeeze stack sum t transpose tril triu unbind unfold unsqueeze view _unsafe_view
    zeros_like empty_like numpy_T view_as select_copy swapaxes unflatten tile repeat_interleave
    reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d as_strided new_zeros select_scatter
    slice_scatter
"""
PARTWISE = frozenset(_PARTWISE.split())
"""Operators that move or add elements: the same for the real and for the imaginary parts."""

ALWAYS_COMPLEX = frozenset(
    (
        "complex",
        "polar",
        "view_as_complex",
        "view_as_real",
        "_conj",
        "_fft_c2c",
        "_fft_r2c",
        "_fft_c2r",
        "linalg_eig",
        "linalg_eigvals",
    )
)
"""Operators that take or return complex tensors in every program."""


def complex_converter(operator: str, overload: str) -> Converter | None:
    """Return the converter of an overload for complex tensors, or None if there is none."""
    found = COMPLEX.get(f"{operator}.{overload}") or COMPLEX.get(operator)
    real = lookup(operator, overload) if found is None and operator in PARTWISE else None
    return found if real is None else _partwise(real)


def _partwise(convert: Converter) -> Converter:
    def apply(e: Emitter, *args: Any, **kwargs: Any) -> Any:
        results = [
            convert(e, *mapped(list(args), part), **{k: mapped(v, part) for k, v in kwargs.items()})
            for part in (lambda v: _real_part(e, v), lambda v: _imaginary_part(e, v))
        ]
        if isinstance(results[0], list | tuple):
            return [_pair(e, re, im) for re, im in zip(*results, strict=True)]
        return _pair(e, *results)

    return apply


def _pair(e: Emitter, re: Expr, im: Expr) -> Pairs:
    return Pairs((e.bound(re), e.bound(im)))


def _real_part(e: Emitter, value: Any) -> Any:
    if isinstance(value, str) and value.startswith("complex"):
        return _REAL[value]
    if isinstance(value, complex):
        return value.real
    return value.split(e.emit)[0] if isinstance(value, Pairs) else value


def _imaginary_part(e: Emitter, value: Any) -> Any:
    if isinstance(value, Pairs):
        return value.split(e.emit)[1]
    if isinstance(value, complex):
        return value.imag
    if isinstance(value, Expr) and is_float(dtype_of(value)):
        return e.emit(R.zeros_like(value))
    return _real_part(e, value)


_REAL = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


# Operands: a pair of parts, the imaginary one None for real numbers.

Parts = tuple[Any, Any]


def _dtype(e: Emitter, *values: Any) -> str:
    """Return the dtype of the parts of the result. Raises `UnsupportedError` for half precision."""
    value: Any = None if e.node is None else e.node.meta.get("val")
    if hasattr(value, "is_complex") and value.is_complex():
        dtype = str(value.dtype.to_real()).removeprefix("torch.")
    else:
        dtypes = {v.dtype for v in values if isinstance(v, Pairs)}
        dtype = "float64" if "float64" in dtypes else "float32"
    if dtype not in ("float32", "float64"):
        raise UnsupportedError("complex numbers of half precision are not supported")
    return dtype


def _operand(e: Emitter, value: Any, dtype: str) -> Parts:
    if isinstance(value, Pairs):
        re, im = (e.bound(cast_to(v, dtype)) for v in value.split(e.emit))
        return re, im
    if isinstance(value, complex):
        return const(value.real, dtype), const(value.imag, dtype) if value.imag else None
    return e.bound(e.tensor(value, dtype)), None


def _operands(e: Emitter, *values: Any) -> list[Parts]:
    dtype = _dtype(e, *values)
    return [_operand(e, v, dtype) for v in values]


def _result(e: Emitter, re: Expr, im: Expr | None) -> Pairs:
    """Return a result of the traced shape: a part that was real or a number may have another one."""
    re = e.bound(re)
    im = e.bound(R.zeros_like(re) if im is None else im)
    shape = e.result_shape()
    if shape is not None:
        re, im = (v if shape_of(v) == shape else e.emit(R.broadcast_to(v, ShapeExpr(shape))) for v in (re, im))
    return Pairs((re, im))


def _negative(e: Emitter, x: Any) -> Any:
    return None if x is None else e.emit(R.negative(x))


def _plus(e: Emitter, a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else e.emit(R.add(a, b))


def _minus(e: Emitter, a: Any, b: Any) -> Any:
    return _negative(e, b) if a is None else a if b is None else e.emit(R.subtract(a, b))


def _times(e: Emitter, a: Any, b: Any, product: Callable[..., Any] = R.multiply) -> Any:
    return None if a is None or b is None else e.emit(product(a, b))


def product(e: Emitter, a: Parts, b: Parts, times: Callable[..., Any] = R.multiply) -> Parts:
    """Return the product of complex numbers; `times` may be a matrix product."""
    re = _minus(e, _times(e, a[0], b[0], times), _times(e, a[1], b[1], times))
    return re, _plus(e, _times(e, a[0], b[1], times), _times(e, a[1], b[0], times))


def quotient(e: Emitter, a: Parts, b: Parts) -> Parts:
    """Return the quotient; the divisor is scaled, so that its square does not overflow."""
    if b[1] is None:
        return e.emit(R.divide(a[0], b[0])), None if a[1] is None else e.emit(R.divide(a[1], b[0]))
    size = e.emit(R.add(R.abs(b[0]), R.abs(b[1])))
    re, im = e.emit(R.divide(b[0], size)), e.emit(R.divide(b[1], size))
    divisor = e.emit(R.add(R.multiply(b[0], re), R.multiply(b[1], im)))
    top = product(e, a, (re, _negative(e, im)))
    return e.emit(R.divide(top[0], divisor)), e.emit(R.divide(top[1], divisor))


def magnitude(e: Emitter, z: Parts) -> Expr:
    """Return the absolute value; the parts are scaled, so that their squares do not overflow."""
    if z[1] is None:
        return e.emit(R.abs(z[0]))
    a, b = e.emit(R.abs(z[0])), e.emit(R.abs(z[1]))
    large, small = e.emit(R.maximum(a, b)), e.emit(R.minimum(a, b))
    ratio = e.emit(R.divide(small, R.where(R.greater(large, _like(large, 0.0)), large, _like(large, 1.0))))
    size = e.emit(R.multiply(large, R.sqrt(R.add(R.multiply(ratio, ratio), _like(large, 1.0)))))
    infinite = R.equal(large, _like(large, math.inf))
    return e.emit(R.where(infinite, large, size))


def _like(x: Expr, value: float) -> Expr:
    return const(value, dtype_of(x))


# Construction and parts.


@row("view_as_complex")
def view_as_complex(e: Emitter, x: Expr) -> Pairs:
    """Return pairs in the last dimension as complex numbers."""
    return Pairs(whole=x)


@row("view_as_real", "view_as_real_copy")
def view_as_real(e: Emitter, x: Pairs) -> Expr:
    """Return complex numbers as pairs in a last dimension."""
    return x.joined(e.emit)


@row("complex")
def complex_of(e: Emitter, x: Expr, imag: Expr) -> Pairs:
    """Return complex numbers of their parts."""
    return _result(e, x, imag)


@row("polar")
def polar(e: Emitter, x: Expr, angle: Expr) -> Pairs:
    """Return complex numbers of absolute value x."""
    return _result(e, R.multiply(x, R.cos(angle)), e.emit(R.multiply(x, R.sin(angle))))


@row("real")
def real(e: Emitter, x: Pairs) -> Expr:
    """Return the real parts."""
    return x.split(e.emit)[0]


@row("imag")
def imag(e: Emitter, x: Pairs) -> Expr:
    """Return the imaginary parts."""
    return x.split(e.emit)[1]


@row("_conj", "conj", "conj_physical", "_conj_physical", "_conj_copy")
def conj(e: Emitter, x: Pairs) -> Pairs:
    """Return the conjugates."""
    re, im = x.split(e.emit)
    return Pairs((re, e.emit(R.negative(im))))


@row("abs")
def absolute(e: Emitter, x: Pairs) -> Expr:
    """Return the absolute values."""
    return magnitude(e, x.split(e.emit))


@row("angle")
def angle(e: Emitter, x: Pairs) -> Expr:
    """Return the angles."""
    re, im = x.split(e.emit)
    return _angle(e, re, im)


def _angle(e: Emitter, re: Expr, im: Expr) -> Expr:
    convert = lookup("atan2")
    assert convert is not None
    return e.bound(convert(e, im, re))


@row("sgn")
def sgn(e: Emitter, x: Pairs) -> Pairs:
    """Return numbers of absolute value 1, or 0 for 0."""
    z = x.split(e.emit)
    size = magnitude(e, z)
    divisor = e.emit(R.where(R.equal(size, _like(size, 0.0)), _like(size, 1.0), size))
    return _result(e, *quotient(e, z, (divisor, None)))


@row("_to_copy", "to.dtype", "prims::convert_element_type", "to.dtype_layout", "type_as")
def converted(e: Emitter, x: Any, *rest: Any, dtype: str | None = None, **_: Any) -> Any:
    """Return numbers of another dtype; real ones of complex numbers are their real parts."""
    value: Any = e.node.meta.get("val")
    if value.is_complex():
        return _result(e, *_operand(e, x, str(value.dtype.to_real()).removeprefix("torch.")))
    return cast_to(x.split(e.emit)[0], str(value.dtype).removeprefix("torch."))


@row("full", "scalar_tensor", "full_like", "zeros", "ones", "ones_like", "new_full", "fill")
def filled(e: Emitter, *args: Any, **_: Any) -> Pairs:
    """Return a tensor of one number."""
    shape, dtype = e.result_shape(), _dtype(e)
    name = str(e.node.target)
    numbers = [a for a in args if isinstance(a, bool | int | float | complex)]
    if shape is None or not (numbers or "zeros" in name or "ones" in name):
        raise UnsupportedError("a tensor of complex numbers that the run computes")
    value = complex(0 if "zeros" in name else 1 if "ones" in name else numbers[-1])
    re, im = (e.emit(R.full(ShapeExpr(shape), const(v, dtype))) for v in (value.real, value.imag))
    return Pairs((re, im))


# Arithmetic.


@row("add")
def add(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Pairs:
    """Return x + alpha · other."""
    a, b, factor = _operands(e, x, other, alpha)
    b = b if alpha == 1 else product(e, b, factor)
    return _result(e, _plus(e, a[0], b[0]), _plus(e, a[1], b[1]))


@row("sub")
def subtract(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Pairs:
    """Return x - alpha · other."""
    a, b, factor = _operands(e, x, other, alpha)
    b = b if alpha == 1 else product(e, b, factor)
    return _result(e, _minus(e, a[0], b[0]), _minus(e, a[1], b[1]))


@row("rsub")
def reversed_subtract(e: Emitter, x: Any, other: Any, alpha: Any = 1) -> Pairs:
    """Return other - alpha · x."""
    return subtract(e, other, x, alpha)


@row("mul", "multiply")
def multiply(e: Emitter, x: Any, other: Any) -> Pairs:
    """Return the products."""
    a, b = _operands(e, x, other)
    return _result(e, *product(e, a, b))


@row("div", "true_divide", "divide")
def divide(e: Emitter, x: Any, other: Any) -> Pairs:
    """Return the quotients."""
    return _result(e, *quotient(e, *_operands(e, x, other)))


@row("reciprocal")
def reciprocal(e: Emitter, x: Pairs) -> Pairs:
    """Return the inverses."""
    return divide(e, 1.0, x)


@row("square")
def square(e: Emitter, x: Pairs) -> Pairs:
    """Return the squares."""
    return multiply(e, x, x)


@row("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def where(e: Emitter, condition: Expr, x: Any, other: Any) -> Pairs:
    """Return x where the condition holds, else other."""
    (a, b), (c, d) = _operands(e, x, other)
    zero = const(0.0, dtype_of(a))
    return _result(e, R.where(condition, a, c), e.emit(R.where(condition, *(zero if v is None else v for v in (b, d)))))


@row("masked_fill")
def masked_fill(e: Emitter, x: Pairs, mask: Expr, value: Any) -> Pairs:
    """Return x with `value` where the mask holds."""
    return where(e, mask, value, x)


@row("eq")
def equal(e: Emitter, x: Any, other: Any) -> Expr:
    """Return whether both parts are equal."""
    (a, b), (c, d) = _operands(e, x, other)
    zero = const(0.0, dtype_of(a))
    return R.logical_and(R.equal(a, c), R.equal(*(zero if v is None else v for v in (b, d))))


@row("ne")
def not_equal(e: Emitter, x: Any, other: Any) -> Expr:
    """Return whether a part differs."""
    return R.logical_not(equal(e, x, other))


# Functions.


def _function(name: str) -> Callable[[Callable[[Emitter, Expr, Expr], Parts]], Any]:
    """Register a function of the parts of each number as the row `name`."""

    def register(of_parts: Callable[[Emitter, Expr, Expr], Parts]) -> Any:
        row(name)(lambda e, x: _result(e, *of_parts(e, *_operands(e, x)[0])))
        return of_parts

    return register


@_function("exp")
def exp(e: Emitter, a: Expr, b: Expr) -> Parts:
    size = e.emit(R.exp(a))
    return e.emit(R.multiply(size, R.cos(b))), e.emit(R.multiply(size, R.sin(b)))


@_function("log")
def log(e: Emitter, a: Expr, b: Expr) -> Parts:
    return e.emit(R.log(magnitude(e, (a, b)))), _angle(e, a, b)


@_function("sqrt")
def sqrt(e: Emitter, a: Expr, b: Expr) -> Parts:
    """The part that is greater in magnitude first, since it loses no digits; the other one is b / 2 divided by it."""
    size, half, zero = magnitude(e, (a, b)), _like(a, 0.5), _like(a, 0.0)
    large = e.emit(R.sqrt(R.multiply(R.add(size, R.abs(a)), half)))
    divisor = e.emit(R.where(R.equal(large, zero), _like(a, 1.0), large))
    small = e.emit(R.divide(R.multiply(b, half), divisor))
    right = e.emit(R.greater_equal(a, zero))
    signed = e.emit(R.where(R.less(b, zero), R.negative(large), large))
    return e.emit(R.where(right, large, R.abs(small))), e.emit(R.where(right, small, signed))


@_function("sin")
def sin(e: Emitter, a: Expr, b: Expr) -> Parts:
    return e.emit(R.multiply(R.sin(a), R.cosh(b))), e.emit(R.multiply(R.cos(a), R.sinh(b)))


@_function("cos")
def cos(e: Emitter, a: Expr, b: Expr) -> Parts:
    return e.emit(R.multiply(R.cos(a), R.cosh(b))), e.emit(R.negative(R.multiply(R.sin(a), R.sinh(b))))


@_function("sinh")
def sinh(e: Emitter, a: Expr, b: Expr) -> Parts:
    return e.emit(R.multiply(R.sinh(a), R.cos(b))), e.emit(R.multiply(R.cosh(a), R.sin(b)))


@_function("cosh")
def cosh(e: Emitter, a: Expr, b: Expr) -> Parts:
    return e.emit(R.multiply(R.cosh(a), R.cos(b))), e.emit(R.multiply(R.sinh(a), R.sin(b)))


@_function("tanh")
def tanh(e: Emitter, a: Expr, b: Expr) -> Parts:
    return quotient(e, sinh(e, a, b), cosh(e, a, b))


@_function("tan")
def tan(e: Emitter, a: Expr, b: Expr) -> Parts:
    return quotient(e, sin(e, a, b), cos(e, a, b))


@_function("sigmoid")
def sigmoid(e: Emitter, a: Expr, b: Expr) -> Parts:
    one = _like(a, 1.0)
    re, im = exp(e, e.emit(R.negative(a)), e.emit(R.negative(b)))
    return quotient(e, (one, None), (e.emit(R.add(re, one)), im))


_LARGEST_WRITTEN_OUT = 16
"""The largest exponent of a power that is a chain of products."""


@row("pow")
def power(e: Emitter, x: Any, exponent: Any) -> Pairs:
    """Return powers; of a constant integer as products, else by logarithms, with 0 to any power 0."""
    if isinstance(exponent, int | float) and exponent == int(exponent) and 1 <= abs(exponent) <= _LARGEST_WRITTEN_OUT:
        base = _operands(e, x)[0]
        result = _repeated(e, base, abs(int(exponent)))
        one = const(1.0, dtype_of(base[0]))
        return _result(e, *(result if exponent > 0 else quotient(e, (one, None), result)))
    base, other = _operands(e, x, exponent)
    a = base[0]
    b = e.emit(R.zeros_like(a)) if base[1] is None else base[1]
    scaled = product(e, log(e, a, b), other)
    re, im = exp(e, scaled[0], scaled[1])
    zero = e.emit(R.logical_and(R.equal(a, _like(a, 0.0)), R.equal(b, _like(a, 0.0))))
    return _result(e, R.where(zero, _like(a, 0.0), re), e.emit(R.where(zero, _like(a, 0.0), im)))


def _repeated(e: Emitter, base: Parts, count: int) -> Parts:
    if count == 1:
        return base
    half = _repeated(e, base, count // 2)
    both = product(e, half, half)
    return product(e, both, base) if count % 2 else both


# Matrices.


@row("mm", "bmm", "matmul", "mv", "dot")
def matmul(e: Emitter, x: Any, other: Any) -> Pairs:
    """Return the matrix product."""
    return _result(e, *product(e, *_operands(e, x, other), times=R.matmul))


@row("outer", "ger")
def outer(e: Emitter, x: Any, vec2: Any) -> Pairs:
    """Return the outer product."""
    return _result(e, *product(e, *_operands(e, x, vec2), times=R.outer))


@row("einsum")
def einsum(e: Emitter, equation: str, tensors: Sequence[Any], path: Any = None) -> Pairs:
    """Return the sums of products of two tensors, or of one. Raises `UnsupportedError` for more."""

    def sums(*values: Expr) -> Expr:
        return R.einsum(list(values), subscripts=equation.replace(" ", ""))

    values = _operands(e, *tensors)
    if len(values) > 2:
        raise UnsupportedError("an einsum of more than two complex tensors", found=len(values))
    if len(values) == 2:
        return _result(e, *product(e, values[0], values[1], times=sums))
    re, im = values[0]
    return _result(e, sums(re), None if im is None else e.emit(sums(im)))


@row("vdot")
def vdot(e: Emitter, x: Pairs, other: Pairs) -> Pairs:
    """Return the product of the conjugate of x with other."""
    return matmul(e, conj(e, x), other)


@row("addmm", "baddbmm", "addmv")
def addmm(e: Emitter, x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Pairs:
    """Return beta · x + alpha · a · b."""
    first, left, right, before, factor = _operands(e, x, a, b, beta, alpha)
    re, im = product(e, product(e, left, right, times=R.matmul), factor)
    first = product(e, first, before)
    return _result(e, _plus(e, first[0], re), _plus(e, first[1], im))


@row("linear")
def linear(e: Emitter, x: Any, weight: Any, bias: Any = None) -> Pairs:
    """Return x · weightᵀ + bias."""
    a, b = _operands(e, x, weight)
    turned = tuple(None if v is None else e.emit(R.permute_dims(v, axes=None)) for v in b)
    re, im = product(e, a, (turned[0], turned[1]), times=R.matmul)
    if bias is None:
        return _result(e, re, im)
    added = _operands(e, bias)[0]
    return _result(e, _plus(e, re, added[0]), _plus(e, im, added[1]))


@row("linalg_vector_norm")
def vector_norm(e: Emitter, x: Pairs, *args: Any, **kwargs: Any) -> Any:
    """Return the norm of the absolute values."""
    convert = lookup("linalg_vector_norm")
    assert convert is not None
    return convert(e, absolute(e, x), *args, **kwargs)


@row("linalg_eig")
def eig(e: Emitter, x: Any) -> list[Pairs]:
    """Return the eigenvalues and eigenvectors of a real matrix."""
    if isinstance(x, Pairs):
        raise UnsupportedError("eigenvalues of complex matrices")
    both = e.emit(R.linalg.eig(x))
    return [Pairs(whole=e.emit(TupleGetItem(both, i))) for i in (0, 1)]


@row("linalg_eigvals")
def eigvals(e: Emitter, x: Any) -> Pairs:
    """Return the eigenvalues of a real matrix."""
    return eig(e, x)[0]


# Fourier transforms.

_NORMS = ("backward", "ortho", "forward")
"""How a forward transform is scaled, by PyTorch's number."""


def _transformed(e: Emitter, pairs: Expr, dims: Sequence[int], norm: int, inverse: bool) -> Expr:
    name = _NORMS[2 - norm if inverse else norm]
    for dim in dims:
        pairs = e.emit(R.fft.fft(pairs, axis=dim, inverse=inverse, norm=name))
    return pairs


@row("_fft_c2c")
def fft_c2c(e: Emitter, x: Pairs, dim: Sequence[int], normalization: int, forward: bool) -> Pairs:
    """Return the transform of complex numbers along several dimensions."""
    return Pairs(whole=_transformed(e, x.joined(e.emit), dim, normalization, not forward))


@row("_fft_r2c")
def fft_r2c(e: Emitter, x: Expr, dim: Sequence[int], normalization: int, onesided: bool) -> Pairs:
    """Return the transform of real numbers along several dimensions, half of the last of them if `onesided`."""
    if not onesided:
        both = Pairs((x, e.emit(R.zeros_like(x)))).joined(e.emit)
        return Pairs(whole=_transformed(e, both, dim, normalization, False))
    half = e.emit(R.fft.rfft(x, axis=dim[-1], norm=_NORMS[normalization]))
    return Pairs(whole=_transformed(e, half, dim[:-1], normalization, False))


@row("_fft_c2r")
def fft_c2r(e: Emitter, x: Pairs, dim: Sequence[int], normalization: int, last_dim_size: Extent) -> Expr:
    """Return the real numbers whose transform is x, half of it along the last of the dimensions."""
    pairs = _transformed(e, x.joined(e.emit), dim[:-1], normalization, True)
    return R.fft.irfft(pairs, last_dim_size, axis=dim[-1], norm=_NORMS[2 - normalization])
