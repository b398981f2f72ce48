"""Reference semantics of Relax operators in numpy: one row for each operator.

A row is `function(op, *args)`: `op` provides the attributes; an argument is an array, a tuple of arrays (for `xs*`),
a shape (a tuple of ints), a Python number (a prim value) or None (an absent optional argument). Floating point is
computed in float64 and rounded once to the result's dtype, so that compiled code is compared with the better value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics import unknown_name
from ...dialects import relax
from ...dialects.block_formats import rounded_to_bytes
from ...dialects.dtypes import is_float, numpy_dtype
from .. import scalars
from . import special
from .base import BASE
from .factorization import FACTORIZATIONS
from .fft import FOURIER
from .grad import GRAD
from .image import IMAGES
from .manipulation import MOVING
from .nn import NETWORK
from .random import RANDOM
from .scan import SCANS


def _numbers(op: Any, packed: Any) -> Any:
    rows = op.attr("interleaved")
    return op.layout.dequantize(op.layout.separate(packed, rows) if rows > 1 else packed)


def _take_blocks(op: Any, packed: Any, indices: Any) -> Any:
    numbers = _numbers(op, packed)
    return numbers[scalars.inside(np.asarray(indices, np.int64), len(numbers))]


def _matmul_blocks(op: Any, x: Any, packed: Any) -> Any:
    if op.attr("activation") == "int8":
        q, scale = rounded_to_bytes(x, op.layout.rounded_together)
        x = (q.astype(np.float64) * scale).reshape(np.shape(x))
    return np.matmul(scalars.wide(x), _numbers(op, packed).astype(np.float64).T)


BLOCKS: dict[str, Callable[..., Any]] = {
    "dequantize_blocks": _numbers,
    "take_blocks": _take_blocks,
    "matmul_blocks": _matmul_blocks,
}
"""Operators by name, without the prefix `relax.`."""


Array = Any
Function = Callable[..., Any]


def _plain(function: Callable[..., Any]) -> Function:
    return lambda _op, *args: function(*(scalars.wide(a) for a in args))


def _rounded_once(function: Callable[..., Any]) -> Function:
    """Wrap a function like `_plain`, but compute float32 directly: rounding the float64 result gives the same bits."""
    plain = _plain(function)

    def run(op: Any, *args: Array) -> Array:
        arrays = [scalars.as_array(a) for a in args]
        return function(*arrays) if all(a.dtype == np.float32 for a in arrays) else plain(op, *arrays)

    return run


def _of_the_dtype(function: Callable[..., Any]) -> Function:
    return lambda _op, *args: function(*map(scalars.as_array, args))


def erf(x: Array) -> Array:
    return scalars.erf(x) if np.size(x) else np.zeros(np.shape(x))


_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _gelu(x: Array) -> Array:
    return x * 0.5 * _erfc(-x / math.sqrt(2.0))


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def _selu(x: Array) -> Array:
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


_FUNCTIONS = "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 rsqrt sin sinh sqrt tan tanh"
"""Operators that an intrinsic of the same name computes."""
_UNARY: dict[str, Callable[..., Any]] = {
    **{name: scalars.FLOAT_INTRINSICS[name] for name in _FUNCTIONS.split()},
    "abs": np.abs,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "floor": np.floor,
    "logical_not": np.logical_not,
    "negative": np.negative,
    "round": np.rint,
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "square": np.square,
    "trunc": np.trunc,
    "nn.relu": lambda x: scalars.maximum(x, x.dtype.type(0)),
    "digamma": special.digamma,
    "erf": erf,
    "erfinv": special.erfinv,
    "lgamma": special.lgamma,
    "sigmoid": scalars.sigmoid,
    "nn.gelu": _gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.selu": _selu,
    "nn.silu": lambda x: x * scalars.sigmoid(x),
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
}


def _divide(a: Array, b: Array) -> Array:
    return scalars.trunc_div(a, b) if a.dtype.kind in "iu" else a / b


_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "floor_divide": scalars.floor_div,
    "power": scalars.power,
    "mod": scalars.trunc_mod,
    "floor_mod": scalars.floor_mod,
    "maximum": scalars.maximum,
    "minimum": scalars.minimum,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}


def _axes(op: Any) -> tuple[int, ...] | None:
    axis = op.attr("axis")
    return axis if axis is None else tuple([axis] if isinstance(axis, int) else axis)


def _reduction(function: Callable[..., Any]) -> Function:
    def run(op: Any, x: Array) -> Array:
        return function(scalars.wide(x), axis=_axes(op), keepdims=op.attr("keepdims"))

    return run


def _extremum(function: Callable[..., Any], largest: bool) -> Function:
    """Return the implementation of max or min; of an empty set, the least or greatest value of the dtype."""

    def run(op: Any, x: Array) -> Array:
        limits = (-np.inf, np.inf) if x.dtype.kind not in "iub" else scalars.limits(x.dtype)
        return function(
            scalars.wide(x), axis=_axes(op), keepdims=op.attr("keepdims"), initial=limits[0 if largest else 1]
        )

    return run


def _arg_reduction(function: Callable[..., Any]) -> Function:
    def run(op: Any, x: Array) -> Array:
        return function(x, axis=op.attr("axis"), keepdims=op.attr("keepdims"))

    return run


def _softmax(op: Any, x: Array) -> Array:
    x, axis = scalars.wide(x), op.attr("axis")
    e = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(op: Any, x: Array) -> Array:
    x, axis = scalars.wide(x), op.attr("axis")
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _layer_norm(op: Any, data: Array, gamma: Array, beta: Array) -> Array:
    x = scalars.wide(data)
    axes = tuple(a % x.ndim for a in op.attr("axes"))
    mean = x.mean(axis=axes, keepdims=True)
    out = (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + op.attr("epsilon"))

    def laid(parameter: Array) -> Array:
        """Reorder the dimensions of a parameter, which follow the order of the `axes` attribute."""
        sorted_axes = scalars.wide(parameter).transpose(np.argsort(axes))
        return sorted_axes.reshape([x.shape[i] if i in axes else 1 for i in range(x.ndim)])

    if op.attr("scale"):
        out = out * laid(gamma)
    return out + laid(beta) if op.attr("center") else out


def _attention(op: Any, q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
    q, k, v = (scalars.wide(t).transpose(0, 2, 1, 3) for t in (q, k, v))
    scale = op.attr("scale")
    scores = q @ k.swapaxes(-1, -2) * (np.float64(q.shape[-1]) ** -0.5 if scale is None else scale)
    if bias is not None:
        scores = scores + scalars.wide(bias)
    return _weighted(scores, _attention_mask(op, *scores.shape[-2:]), v)


def _weighted(scores: Array, allowed: Array, v: Array) -> Array:
    """Return softmax(scores) times v over the allowed positions; zero for a row without any."""
    scores = np.where(allowed, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.finfo(np.float64).max))
    total = e.sum(axis=-1, keepdims=True)
    if allowed.any(axis=-1).all() and not isinstance(total, np.ndarray):  # a sum of exponentials is not zero
        return (e / total @ v).transpose(0, 2, 1, 3)
    return (e / np.where(total == 0, 1, total) @ v).transpose(0, 2, 1, 3)


def _attention_var_len(op: Any, q: Array, k: Array, v: Array, starts_q: Array, starts_k: Array, *_: Array) -> Array:
    """Compute attention sequence by sequence; positions outside all sequences, also before the first, are zero."""
    out = np.zeros((*q.shape[:3], v.shape[3]))
    starts_q, starts_k = (np.maximum(starts, 0) for starts in (starts_q, starts_k))
    for s in range(len(starts_q) - 1):
        mine, its = slice(*starts_q[s : s + 2]), slice(*starts_k[s : s + 2])
        out[:, mine] = _attention(op, q[:, mine], k[:, its], v[:, its])
    return out


def _attention_mask(op: Any, n: int, m: int) -> Array:
    rows, columns = np.indices((n, m))
    causal = op.attr("causal_mask")
    offset = abs(m - n) if causal == "BottomRight" else 0
    allowed = np.ones((n, m), bool) if causal is None else columns <= rows + offset
    window = op.attr("window_size")
    return allowed if window is None else allowed & (columns > rows + offset - window)


def _split(op: Any, x: Array) -> tuple[Array, ...]:
    axis, where = op.attr("axis"), op.attr("indices_or_sections")
    if isinstance(where, int):
        each = -(-x.shape[axis] // where)
        where = [each * i for i in range(1, where)]
    return tuple(np.split(x, where, axis=axis))


def _squeeze(op: Any, x: Array) -> Array:
    axis = op.attr("axis")
    return np.squeeze(x, axis if axis is None else tuple([axis] if isinstance(axis, int) else axis))


def _expand_dims(op: Any, x: Array) -> Array:
    axis = op.attr("axis")
    return np.expand_dims(x, tuple([axis] if isinstance(axis, int) else axis))


def _clip(_op: Any, x: Array, low: float, high: float) -> Array:
    bounds = (np.asarray(bound).astype(x.dtype) for bound in (low, high))
    return scalars.minimum(scalars.maximum(x, next(bounds)), next(bounds))


def _softplus(op: Any, x: Array) -> Array:
    beta, x = op.attr("beta"), scalars.wide(x)
    scaled = beta * x
    return np.where(scaled > op.attr("threshold"), x, np.log1p(np.exp(np.minimum(scaled, op.attr("threshold")))) / beta)


def _full(_op: Any, shape: tuple[int, ...], value: Array) -> Array:
    return np.full(shape, value)


def _with_nan(x: Array, axis: int) -> Array:
    """Return `x` with an additional slice of NaN along `axis`."""
    if x.dtype.kind in "iub":
        raise ValueError(f"there is no NaN of {x.dtype}")
    shape = list(x.shape)
    shape[axis] = 1
    return np.concatenate([x, np.full(shape, np.nan, x.dtype)], axis=axis)


_BOUNDED: dict[str, Callable[[Array, int], Array]] = {
    "fast": lambda i, _n: i,
    "clip": lambda i, n: np.minimum(np.maximum(i, 0), n - 1),
    "wrap": np.mod,
    "nan": lambda i, n: np.where((i >= 0) & (i < n), i, n),
}
"""How each `mode` of take maps an index along an extent; `nan` reads the slice after the last one."""


def _take(op: Any, x: Array, indices: Array) -> Array:
    axis, mode = op.attr("axis") or 0, op.attr("mode")
    if mode not in _BOUNDED:
        raise unknown_name("mode of take", mode, _BOUNDED)
    i = _BOUNDED[mode](np.asarray(indices, dtype=np.int64), x.shape[axis])
    x = _with_nan(x, axis) if mode == "nan" else x
    return np.take(x, scalars.inside(i, x.shape[axis]), axis=axis)


OPERATORS: dict[str, Function] = {
    **{name: _plain(f) for name, f in {**_UNARY, **_BINARY}.items()},
    **{name: _rounded_once(_BINARY[name]) for name in ("add", "subtract", "multiply")},
    **{name: _of_the_dtype(_BINARY[name]) for name in ("floor_divide", "mod", "floor_mod")},
    "clip": _clip,
    "nn.leakyrelu": lambda op, x: np.where(scalars.wide(x) > 0, scalars.wide(x), scalars.wide(x) * op.attr("alpha")),
    "nn.softplus": _softplus,
    "astype": lambda _op, x: x,
    "where": lambda _op, c, a, b: np.where(c, a, b),
    "sum": _reduction(np.sum),
    "prod": _reduction(np.prod),
    "max": _extremum(np.max, True),
    "min": _extremum(np.min, False),
    "mean": _reduction(np.mean),
    "std": _reduction(np.std),
    "variance": _reduction(np.var),
    "argmax": _arg_reduction(np.argmax),
    "argmin": _arg_reduction(np.argmin),
    "nn.softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "permute_dims": lambda op, x: np.transpose(x, op.attr("axes")),
    "reshape": lambda _op, x, shape: np.reshape(x, shape),
    "flatten": lambda _op, x: np.reshape(x, -1),
    "broadcast_to": lambda _op, x, shape: np.broadcast_to(x, shape),
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "concat": lambda op, xs: np.concatenate(xs, axis=op.attr("axis") or 0),
    "split": _split,
    "take": _take,
    "matmul": lambda _op, a, b: np.matmul(scalars.summable(a), scalars.summable(b)),
    "nn.layer_norm": _layer_norm,
    "nn.attention": _attention,
    "nn.attention_var_len": _attention_var_len,
    "nn.dropout": lambda _op, x: (x, np.ones_like(x)),
    "zeros": lambda _op, shape: np.zeros(shape),
    "ones": lambda _op, shape: np.ones(shape),
    "full": _full,
    "zeros_like": lambda _op, x: np.zeros_like(x),
    "ones_like": lambda _op, x: np.ones_like(x),
    **BASE,
    **BLOCKS,
    **FACTORIZATIONS,
    **FOURIER,
    **GRAD,
    **IMAGES,
    **MOVING,
    **NETWORK,
    **RANDOM,
    **SCANS,
}
"""Operators by name, without the prefix `relax.`."""


def to_result(value: Any, result_type: Any, inputs: Sequence[Any] = ()) -> Any:
    """Convert a value to the dtype of the operator's result, tuples field by field.

    The result shares no memory with `inputs`, the operator's inputs.
    """
    if isinstance(value, tuple):
        if isinstance(result_type, relax.ShapeType):
            return value
        return tuple(to_result(v, t, inputs) for v, t in zip(value, result_type.types, strict=True))
    if not isinstance(result_type, relax.TensorType) or result_type.element is None:
        return np.asarray(value)
    dtype = numpy_dtype(result_type.element)
    array = np.asarray(value)
    if array.dtype.kind == "f" and not is_float(result_type.element) and dtype.kind in "iu":
        array = np.trunc(array)
    array = scalars.before_narrowing(array, dtype)
    shares = array.base is not None or any(x is array or isinstance(x, tuple) for x in inputs)
    return np.ascontiguousarray(array.astype(dtype, copy=shares)).reshape(array.shape)
