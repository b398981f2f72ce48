"""The rules of `quantized-to-integer` (see there): patterns of dequantized bytes, and their replacements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from ...dialects import relax
from ...dialects.dtypes import ui8
from ...dialects.relax.types import TensorType
from ...dialects.sym.expr import SymExpr, product
from ...handles.relax.calls import binary
from ...handles.relax.calls import call_operator as call
from ...handles.relax.expr import Expr, ShapeExpr, Tuple, const
from ...target import Target
from ..dpl.constructors import is_op, wildcard
from ..dpl.patterns import DFPattern
from ..dpl.rewriter import PatternMatchingRewriter
from .byte_pairs import paired_bytes
from .dot_products import PAIRED, Dot, are_words, dot_of, has_pairs
from .pack_dots import panel_width
from .quantized_form import bounds_of, integer_limits
from .rules import constant_array

_MOST = 1 << 31
"""An exclusive bound of int32 sums."""


@dataclass(frozen=True)
class _Pattern:
    """dequantize(q, scale, zero)"""

    q: DFPattern
    scale: DFPattern
    zero: DFPattern
    root: DFPattern


def _dequantized() -> _Pattern:
    q, scale, zero = wildcard(), wildcard(), wildcard()
    return _Pattern(q, scale, zero, is_op("relax.dequantize")(q, scale, zero))


@dataclass(frozen=True)
class _Bytes:
    """A tensor of bytes with `scale` and `zero` point: scalars, or vectors along `axis`."""

    q: Expr
    scale: Expr
    zero: Expr
    axis: int

    @property
    def dims(self) -> tuple[SymExpr, ...]:
        return _dims(self.q)

    @property
    def has_vectors(self) -> bool:
        """True if the scale or the zero point is a vector."""
        return bool(_dims(self.scale) or _dims(self.zero))

    @property
    def is_centred(self) -> bool:
        """True if all zero points are known to be 0."""
        zeros = _contents(self.zero)
        return zeros is not None and not zeros.any()

    @property
    def largest(self) -> int:
        """An upper bound of |q - zero|."""
        low, high = integer_limits(cast(Attribute, _type(self.q).element))
        least, most = bounds_of(self.zero.ssa)
        return max(high - least, most - low)


def _bytes(pattern: _Pattern, matches: Mapping[Any, Any]) -> _Bytes | None:
    """Return the operands of a match; None if a shape is unknown, or it does not convert bytes to float32."""
    root, q, scale, zero = (matches[p] for p in (pattern.root, pattern.q, pattern.scale, pattern.zero))
    types = [expr.ssa.type for expr in (q, scale, zero)]
    if not all(isinstance(t, TensorType) and t.dims is not None for t in types):
        return None
    if _type(q).element not in (i8, ui8) or {_type(root).element, _type(scale).element} != {f32}:
        return None
    zeros = _contents(zero)
    if not _dims(q) or _type(zero).element is None or (zeros is not None and not zeros.size):
        return None
    return _Bytes(q, scale, zero, _attrs(root)["axis"] % len(_dims(q)))


def _attrs(expr: Expr) -> dict[str, Any]:
    """Return the attributes of an operator call."""
    op = cast(relax.Operator, expr.ssa.owner)
    return {name: op.attr(name) for name in op.ATTR_SPECS}


def _type(expr: Expr) -> TensorType:
    return cast(TensorType, expr.ssa.type)


def _dims(expr: Expr) -> tuple[SymExpr, ...]:
    dims = _type(expr).dims
    assert dims is not None
    return dims


def _contents(expr: Expr) -> np.ndarray[Any, Any] | None:
    owner = expr.ssa.owner
    return owner.value.numpy() if isinstance(owner, relax.ConstantOp) else None


def _fits(steps: SymExpr, a: _Bytes, b: _Bytes) -> bool:
    """Return whether the sum of this many products fits int32."""
    return steps.constant is not None and steps.constant * a.largest * b.largest < _MOST


def _has_dot(target: Target, a: _Bytes, b: _Bytes) -> bool:
    """Return whether there is an instruction for products of these bytes."""
    return _dot(target, a.q, b.q) is not None


def _dot(target: Target, a: Expr, b: Expr) -> Dot | None:
    left, right = (cast(Attribute, _type(q).element) for q in (a, b))
    return dot_of(left, right, i32, target)


def _signed(target: Target, a: _Bytes, b: _Bytes) -> _Bytes:
    """Convert constant unsigned bytes to signed ones with shifted zero points, if products with `a` are then faster."""
    array, zeros = constant_array(b.q.ssa), _contents(b.zero)
    if array is None or zeros is None or _type(b.q).element != ui8:
        return b
    signed = _Bytes(const((array ^ 0x80).view(np.int8)), b.scale, const(zeros.astype(np.int32) - 128), b.axis)
    before, after = _dot(target, a.q, b.q), _dot(target, a.q, signed.q)
    return signed if after is not None and not after.shifted and (before is None or before.shifted) else b


def _along(parameter: Expr, axis: int, rank: int) -> Expr:
    """Reshape a vector to `axis` of tensors of `rank`; scalars, and vectors for the last axis, are unchanged."""
    if not _dims(parameter) or axis == rank - 1:
        return parameter
    return call("relax.reshape", parameter, ShapeExpr([*[1] * axis, *_dims(parameter), *[1] * (rank - 1 - axis)]))


def _sum_of(q: Expr, axes: list[int], keepdims: bool) -> Expr:
    return call("relax.sum", call("relax.astype", q, dtype="int32"), axis=axes, keepdims=keepdims)


def _scaled(sums: Expr, scales: Sequence[Expr]) -> Expr:
    return reduce(partial(binary, "multiply"), scales, call("relax.astype", sums, dtype="float32"))


# matmul(dequantize(a, s, p), permute_dims(dequantize(b, t, q)))  ->  matmul(…, dequantize(permute_dims(b), t, q))


def _transposed(_: Target) -> _Rule:
    a, b = _dequantized(), _dequantized()
    swapped = is_op("relax.permute_dims")(b.root)

    def rewrite(expr: Expr, matches: Mapping[Any, Any]) -> Expr:
        operand = _bytes(b, matches)
        if operand is None:
            return expr
        rank = len(operand.dims)
        axes = [a % rank for a in _attrs(matches[swapped])["axes"] or range(rank - 1, -1, -1)]
        moved = call("relax.permute_dims", operand.q, axes=axes)
        again = call("relax.dequantize", moved, operand.scale, operand.zero, axis=axes.index(operand.axis))
        return call("relax.matmul", matches[a.root], again, out_dtype=_attrs(expr)["out_dtype"])

    return is_op("relax.matmul")(a.root, swapped), rewrite


# matmul(dequantize(a, s, p), dequantize(b, t, q))  ->  astype(matmul(a, b) - …) * (s * t)


def _product(target: Target) -> _Rule:
    left, right = _dequantized(), _dequantized()

    def rewrite(expr: Expr, matches: Mapping[Any, Any]) -> Expr:
        a, b = _bytes(left, matches), _bytes(right, matches)
        if a is None or b is None or len(a.dims) < 2 or len(b.dims) < 2 or _type(expr).element != f32:
            return expr
        if (a.has_vectors and a.axis != len(a.dims) - 2) or (b.has_vectors and b.axis != len(b.dims) - 1):
            return expr
        if not _fits(a.dims[-1], a, b):
            return expr
        sums = _integer_product(target, a, b)
        return expr if sums is None else _scaled(sums, (_along(a.scale, 0, 2), b.scale))

    return is_op("relax.matmul")(left.root, right.root), rewrite


def _integer_product(target: Target, a: _Bytes, b: _Bytes) -> Expr | None:
    """Return sum((a - p) * (b - q)) in int32, or None if the target does not support it."""
    if not are_words(target):
        return _product_of_bytes(target, a, b)
    sums = _product_of_pairs(target, a, b)
    return _product_of_words(a, b) if sums is None else sums


def _product_of_pairs(target: Target, a: _Bytes, b: _Bytes) -> Expr | None:
    """Return sum((a - p) * b) in int32, from byte pairs; None if b is not constant, or its pairs do not fit."""
    pair = _paired(target, a, b, (0, 1), len(a.dims) - 1)
    if pair is None:
        return None
    x, weights = pair
    sums: Expr = call("relax.matmul", x, weights, out_dtype="int32")
    if a.is_centred:
        return sums
    zero = call("relax.astype", _along(a.zero, 0, 2), dtype="int32")
    return binary("subtract", sums, binary("multiply", zero, _sum_of(b.q, [-2], True)))


def _paired(target: Target, a: _Bytes, b: _Bytes, axes: tuple[int, int], channels: int) -> tuple[Expr, Expr] | None:
    """Return the operands of a paired product; `axes` are the input and output channels of b, `channels` those of a.

    A row of b that is halved has its channel of a twice.
    """
    array, (left, right) = constant_array(b.q.ssa), (cast(Attribute, _type(q.q).element) for q in (a, b))
    if array is None or not b.is_centred or not has_pairs(left, right, i32, target):
        return None
    order = [i for i in range(array.ndim) if i not in axes] + list(axes)
    paired = paired_bytes(array.transpose(order), panel_width(target, array.shape[axes[1]], PAIRED))
    if paired is None:
        return None
    weights = const(np.ascontiguousarray(paired.matrix.transpose(np.argsort(order))))
    if not paired.halved:
        return a.q, weights
    more = paired.matrix.shape[-2] - array.shape[axes[0]]
    again = const(np.array((paired.halved * more)[:more], np.int64))
    twice = call("relax.take", a.q, again, axis=channels)
    return call("relax.concat", Tuple([a.q, twice]), axis=channels), weights


def _product_of_words(a: _Bytes, b: _Bytes) -> Expr | None:
    """Return sum((a - p) * (b - q)) in int32, from int16; None if b is not constant."""
    weights = _constant_words(b, 1)
    return None if weights is None else call("relax.matmul", _words(a, 0), weights, out_dtype="int32")


def _words(q: _Bytes, axis: int, rank: int = 2) -> Expr:
    """Return bytes minus their zero points, which may be along `axis` of the last `rank`, in int16."""
    wide = call("relax.astype", q.q, dtype="int16")
    if q.is_centred:
        return wide
    return binary("subtract", wide, call("relax.astype", _along(q.zero, axis, rank), dtype="int16"))


def _constant_words(q: _Bytes, axis: int) -> Expr | None:
    """Return the same as a constant, or None if it is not constant."""
    array, zeros = constant_array(q.q.ssa), _contents(q.zero)
    if array is None or zeros is None:
        return None
    along = zeros.reshape([-1 if at == axis else 1 for at in range(array.ndim)]) if zeros.ndim else zeros
    return const(np.ascontiguousarray(array.astype(np.int16) - along.astype(np.int16)))


def _product_of_bytes(target: Target, a: _Bytes, b: _Bytes) -> Expr | None:
    """Return sum((a - p) * (b - q)) in int32; None without a suitable instruction."""
    b = _signed(target, a, b)
    if not _has_dot(target, a, b):
        return None
    p, q = (call("relax.astype", zero, dtype="int32") for zero in (_along(a.zero, 0, 2), b.zero))
    sums: Expr = call("relax.matmul", a.q, b.q, out_dtype="int32")
    if not a.is_centred:
        sums = binary("subtract", sums, binary("multiply", p, _sum_of(b.q, [-2], True)))
    if not b.is_centred:
        sums = binary("subtract", sums, binary("multiply", q, _sum_of(a.q, [-1], True)))
    if not a.is_centred and not b.is_centred:
        sums = binary("add", sums, binary("multiply", binary("multiply", p, q), cast(int, a.dims[-1].constant)))
    return sums


# conv2d(dequantize(x, s, p), dequantize(w, t, q))  ->  astype(conv2d(pad(x, p), w) - …) * (s * t)


def _convolution(target: Target) -> _Rule:
    data, weight = _dequantized(), _dequantized()

    def rewrite(expr: Expr, matches: Mapping[Any, Any]) -> Expr:
        x, w = _bytes(data, matches), _bytes(weight, matches)
        if x is None or w is None or _type(expr).element != f32:
            return expr
        attrs = _attrs(expr)
        if not _is_for_bytes(attrs, x, w):
            return expr
        sums = _integer_convolution(target, x, w, attrs)
        axis = (attrs["out_layout"] or attrs["data_layout"]).index("C")
        return expr if sums is None else _scaled(sums, (x.scale, _along(w.scale, axis, 4)))

    return is_op("relax.nn.conv2d")(data.root, weight.root), rewrite


def _integer_convolution(target: Target, x: _Bytes, w: _Bytes, attrs: dict[str, Any]) -> Expr | None:
    """Return the sum of (x - p) * (w - q) in int32, or None if the target does not support it."""
    if not are_words(target):
        return _convolution_of_bytes(target, x, w, attrs)
    sums = _convolution_of_pairs(target, x, w, attrs)
    return _convolution_of_words(x, w, attrs) if sums is None else sums


def _convolution_of_pairs(target: Target, x: _Bytes, w: _Bytes, attrs: dict[str, Any]) -> Expr | None:
    """Return the convolution of x - p with w, from byte pairs; None with groups, or if the pairs do not fit."""
    kernel, data = attrs["kernel_layout"], attrs["data_layout"]
    if attrs["groups"] > 1 or (any(attrs["padding"]) and _contents(x.zero) is None):
        return None
    pair = _paired(target, x, w, (kernel.index("I"), kernel.index("O")), data.index("C"))
    if pair is None:
        return None
    again = _Bytes(pair[0], x.scale, x.zero, x.axis)
    shifted = _padded(again, attrs)
    assert shifted is not None
    sums: Expr = call("relax.nn.conv2d", shifted, pair[1], **{**attrs, "out_dtype": "int32"})
    axis = (attrs["out_layout"] or data).index("C")
    return sums if x.is_centred else binary("subtract", sums, _along(_too_much(x, w, kernel), axis, 4))


def _convolution_of_words(x: _Bytes, w: _Bytes, attrs: dict[str, Any]) -> Expr | None:
    """Return the convolution of x - p with w - q in int32, from int16; None with groups, or if w is not constant."""
    weights = _constant_words(w, attrs["kernel_layout"].index("O"))
    if weights is None or attrs["groups"] > 1:
        return None
    return call("relax.nn.conv2d", _words(x, 0), weights, **{**attrs, "out_dtype": "int32"})


def _convolution_of_bytes(target: Target, x: _Bytes, w: _Bytes, attrs: dict[str, Any]) -> Expr | None:
    """Return the same from bytes; None without a suitable instruction, or if the padding is unknown."""
    w = _signed(target, x, w)
    missing = _missing_channels(target, x, w, attrs)
    shifted = _padded(x, attrs, missing) if _has_dot(target, x, w) else None
    if shifted is None:
        return None
    w = _with_channels(w, attrs["kernel_layout"], missing)
    if attrs["groups"] > 1:
        w = _centred(w, attrs["kernel_layout"])
    axis = (attrs["out_layout"] or attrs["data_layout"]).index("C")
    sums: Expr = call("relax.nn.conv2d", shifted, w.q, **{**attrs, "out_dtype": "int32"})
    if not x.is_centred:
        sums = binary("subtract", sums, _along(_too_much(x, w, attrs["kernel_layout"]), axis, 4))
    if not w.is_centred:
        zeros = _along(call("relax.astype", w.zero, dtype="int32"), axis, 4)
        sums = binary("subtract", sums, binary("multiply", zeros, _window_sums(shifted, w, attrs)))
    return sums


def _missing_channels(target: Target, x: _Bytes, w: _Bytes, attrs: dict[str, Any]) -> int:
    """Return the number of channels to add to an image to fill the instructions' groups; their weights will be 0."""
    place: int = attrs["data_layout"].index("C")
    dot, channels = _dot(target, x.q, w.q), x.dims[place].constant
    if dot is None or channels is None or attrs["groups"] > 1 or _contents(x.zero) is None or not w.is_centred:
        return 0
    return max(0, dot.group - channels)


def _padded(x: _Bytes, attrs: dict[str, Any], channels: int = 0) -> Expr | None:
    """Return the image padded with its zero point, and clear the padding in `attrs`; None for a variable zero point.

    `channels` more channels are added.
    """
    zeros = _contents(x.zero)
    if not channels and (x.is_centred or not any(attrs["padding"])):
        return x.q
    if zeros is None:
        return None
    widths = _widths(attrs["data_layout"], attrs["padding"])
    widths[2 * attrs["data_layout"].index("C") + 1] = channels
    attrs["padding"] = [0, 0, 0, 0]
    return call("relax.nn.pad", x.q, pad_width=widths, pad_value=float(zeros.item()))


def _with_channels(w: _Bytes, kernel: str, channels: int) -> _Bytes:
    """Return weights with additional input channels, which are 0."""
    if not channels:
        return w
    widths = [0] * 8
    widths[2 * kernel.index("I") + 1] = channels
    return replace(w, q=call("relax.nn.pad", w.q, pad_width=widths, pad_value=0.0))


def _centred(w: _Bytes, kernel: str) -> _Bytes:
    """Return weights with zero point 0, else minus it, in int16: window sums of each group cost more."""
    if w.is_centred:
        return w
    q, zero = (call("relax.astype", part, dtype="int16") for part in (w.q, w.zero))
    return _Bytes(binary("subtract", q, _along(zero, kernel.index("O"), 4)), w.scale, const(0, "int16"), w.axis)


def _too_much(x: _Bytes, w: _Bytes, kernel: str) -> Expr:
    """Return p * sum(w - q), for each output channel."""
    of_weights = _sum_of(w.q, [i for i, letter in enumerate(kernel) if letter != "O"], False)
    if not w.is_centred:
        steps = cast(int, _steps(w, kernel).constant)
        zeros = binary("multiply", call("relax.astype", w.zero, dtype="int32"), steps)
        of_weights = binary("subtract", of_weights, zeros)
    return binary("multiply", call("relax.astype", x.zero, dtype="int32"), of_weights)


def _window_sums(x: Expr, w: _Bytes, attrs: dict[str, Any]) -> Expr:
    """Return the sums over the window and all channels of an image, one channel, in int32."""
    data, kernel = attrs["data_layout"], attrs["kernel_layout"]
    sums = _sum_of(x, [data.index("C")], True)
    extents = [1 if letter in "OI" else cast(int, d.constant) for d, letter in zip(w.dims, kernel, strict=True)]
    ones = const(np.ones(extents), "int32")
    return call("relax.nn.conv2d", sums, ones, **{**attrs, "out_dtype": "int32"})


def _steps(w: _Bytes, kernel: str) -> SymExpr:
    """Return the number of products in each sum."""
    return product(extent for extent, letter in zip(w.dims, kernel, strict=True) if letter != "O")


def _is_for_bytes(attrs: dict[str, Any], x: _Bytes, w: _Bytes) -> bool:
    """Return whether a convolution can be computed in bytes, and is faster that way."""
    data, kernel = attrs["data_layout"], attrs["kernel_layout"]
    if not _is_plain(attrs, x, w):
        return False
    if data[-1] != "C" and attrs["groups"] == 1 and constant_array(w.q.ssa) is None:
        return False
    return _fits(_steps(w, kernel), x, w)


def _is_plain(attrs: dict[str, Any], x: _Bytes, w: _Bytes) -> bool:
    """Return whether the image has a single scale, and weights have known extents and at most one per channel."""
    data, kernel = attrs["data_layout"], attrs["kernel_layout"]
    if any(len(layout) != 4 for layout in (data, kernel, attrs["out_layout"] or data)) or x.has_vectors:
        return False
    if not w.is_centred and (_contents(w.zero) is None or _steps(w, kernel).constant is None):
        return False
    return not w.has_vectors or w.axis == kernel.index("O")


def _widths(layout: str, padding: list[int]) -> list[int]:
    """Convert [top, left, bottom, right] to [before, after, …] of each dimension."""
    of = {"H": (padding[0], padding[2]), "W": (padding[1], padding[3])}
    return [width for letter in layout for width in of.get(letter, (0, 0))]


_Rule = tuple[DFPattern, Callable[[Any, Mapping[Any, Any]], Expr]]
RULES: tuple[Callable[[Target], _Rule], ...] = (_transposed, _product, _convolution)
"""The factories of the rules; each rule is tried everywhere before the next one."""


def rewriter(target: Target) -> PatternMatchingRewriter:
    """Return the composition of the rules for a target."""
    rewriters = (PatternMatchingRewriter.from_pattern(*rule(target)) for rule in RULES)
    return reduce(PatternMatchingRewriter.__or__, rewriters)
