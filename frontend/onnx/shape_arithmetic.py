"""Symbolic shape arithmetic: `Shape`, `Gather`, `Concat`, … of sizes yield expressions instead of tensors.

    Concat(Shape(x)[0:1], [-1, 64])  ->  [n, -1, 64]

A row evaluates an operator on object arrays whose elements are numbers and expressions: numpy moves the
elements and Python computes with them. Other cases are left to the converter, which emits code to compute
the values at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ...dialects.sym import expr as sym
from ...dialects.sym import operators
from ...dialects.sym.analyzer import Analyzer, is_nonnegative
from ...dialects.sym.expr import SymExpr, as_expr
from ...tables import Table
from .node import Node
from .tensors import dtype_name
from .values import MOST_KNOWN, Result, Value

Array = np.ndarray[Any, Any]


class _NotFollowed(Exception):
    """The values or attributes are not supported by shape arithmetic."""


_Row = Callable[..., Any]
_ROWS: Table[_Row] = Table("function of known integers")
_row = _ROWS.row


def fold_shape_node(node: Node, inputs: Sequence[Result]) -> list[Value] | None:
    """Return the outputs of a node as integer values, or None if they cannot be folded."""
    if node.op_type in ("Shape", "Size"):
        return _of_dims(node, inputs[0])
    row = _ROWS.get(node.op_type)
    values = [v for v in inputs if isinstance(v, Value)]
    if row is None or len(values) < sum(v is not None for v in inputs):
        return None
    if all(v.array is not None or v.known_elements is None for v in values):
        return None  # only constants: constant folding handles them
    arrays = [integers(v) if isinstance(v, Value) else None for v in inputs]
    if any(a is None and v is not None for a, v in zip(arrays, inputs, strict=True)):
        return None
    if node.op_type in _TRUNCATING and values[0].dtype in _FLOATS:
        return None
    try:
        results = row(node, *arrays)
    except (_NotFollowed, ValueError, IndexError, TypeError, ZeroDivisionError):
        return None  # the converter reports what is wrong
    dtype = _dtype(node, values)
    outputs = [_array(r) for r in (results if isinstance(results, list) else [results])]
    return [Value.known(a, dtype) for a in outputs] if all(a.size <= MOST_KNOWN for a in outputs) else None


_FLOATS = ("float32", "float64")
"""Floats in which sizes are followed: those of 16 bits do not hold them."""

_TRUNCATING = ("Div", "Mod")
"""Operators whose result for floats is no integer."""


def integers(value: Value) -> Array | None:
    """Return the known elements of a value, also those of a constant of floats that are integers."""
    array = value.array
    if array is None or array.dtype.name not in _FLOATS or array.size > MOST_KNOWN:
        return value.known_elements
    whole = np.isfinite(array).all() and (array == np.trunc(array)).all() and (abs(array) < 1 << 24).all()
    return array.astype(np.int64).astype(object) if whole else None


def _array(result: Any) -> Array:
    """Return a result as an array, since numpy returns the element itself for rank 0."""
    if isinstance(result, np.ndarray):
        return result
    array = np.empty((), object)
    array[()] = result
    return array


def _of_dims(node: Node, x: Result) -> list[Value] | None:
    if not isinstance(x, Value) or x.type.dims is None:
        return None
    if node.op_type == "Size":
        return [Value.known(sym.product(x.dims))]
    return [Value.known(np.array([*x.dims], object)[node.attr("start", 0) : node.attr("end")])]


def _dtype(node: Node, values: Sequence[Value]) -> str:
    if node.op_type == "Cast":
        return dtype_name(node.attr("to"), "the result")
    if node.op_type in _PREDICATES:
        return "bool"
    return values[1].dtype if node.op_type == "Where" else values[0].dtype


# Moving elements.

_PLAIN: dict[str, _Row] = {
    "Identity": lambda node, x: x,
    "Concat": lambda node, *xs: np.concatenate(xs, node.attr("axis")),
    "Transpose": lambda node, x: np.transpose(x, node.attr("perm")),
    "Gather": lambda node, x, i: np.take(x, _numbers(i), node.attr("axis", 0)),
    "GatherElements": lambda node, x, i: np.take_along_axis(x, _numbers(i), node.attr("axis", 0)),
    "Expand": lambda node, x, shape: x * np.ones(_numbers(shape), np.int64),
    "Tile": lambda node, x, repeats: np.tile(x, _numbers(repeats)),
    "Flatten": lambda node, x: x.reshape((int(np.prod(x.shape[: node.attr("axis", 1)])), -1)),
    "Neg": lambda node, x: -x,
    **dict.fromkeys(("Floor", "Ceil", "Round"), lambda node, x: x),
}
_ROWS.update(_PLAIN)


def _numbers(a: Array) -> Array:
    """Return the elements as numbers. Raises `_NotFollowed` if one is an expression."""
    numbers = [as_expr(e).constant for e in a.ravel().tolist()]
    if None in numbers:
        raise _NotFollowed
    return np.array(numbers, np.int64).reshape(a.shape)


def _axes(node: Node, axes: Array | None) -> tuple[int, ...] | None:
    if axes is not None:
        return tuple(_numbers(axes).ravel().tolist())
    attribute = node.attr("axes")
    return None if attribute is None else tuple(attribute)


@_row("Unsqueeze")
def _unsqueeze(node: Node, x: Array, axes: Array | None = None) -> Array:
    return np.expand_dims(x, _axes(node, axes) or ())


@_row("Squeeze")
def _squeeze(node: Node, x: Array, axes: Array | None = None) -> Array:
    return np.squeeze(x, _axes(node, axes))


@_row("Reshape")
def _reshape(node: Node, x: Array, shape: Array) -> Array:
    target = _numbers(shape).tolist()
    if not node.attr("allowzero", 0):
        target = [x.shape[i] if n == 0 else n for i, n in enumerate(target)]
    return x.reshape(target)


@_row("Slice")
def _slice(
    node: Node,
    x: Array,
    starts: Array | None = None,
    ends: Array | None = None,
    axes: Array | None = None,
    steps: Array | None = None,
) -> Array:
    first = node.attr("starts") if starts is None else _numbers(starts).tolist()
    last = node.attr("ends") if ends is None else _numbers(ends).tolist()
    where = _axes(node, axes) or tuple(range(len(first)))
    step = [1] * len(first) if steps is None else _numbers(steps).tolist()
    index = [slice(None)] * x.ndim
    for axis, a, b, s in zip(where, first, last, step, strict=True):
        index[axis] = slice(a, None if s < 0 and b < -x.shape[axis] else b, s)
    return x[tuple(index)]


@_row("Split")
def _split(node: Node, x: Array, split: Array | None = None) -> list[Array]:
    sizes = node.attr("split") if split is None else _numbers(split).tolist()
    axis = node.attr("axis", 0)
    if sizes is None:
        size = -(-x.shape[axis] // len(node.outputs))
        sizes = [size] * len(node.outputs)
    return np.split(x, np.cumsum(sizes)[:-1], axis)


@_row("Cast")
def _cast(node: Node, x: Array) -> Array:
    if dtype_name(node.attr("to"), "the result") not in ("int64", "int32", *_FLOATS):
        raise _NotFollowed
    return x


# Arithmetic.


def _elementwise(function: Callable[..., Any]) -> _Row:
    vectorized = np.frompyfunc(function, function.__code__.co_argcount, 1)
    return lambda node, *xs: np.asarray(vectorized(*xs), object)


def _div(a: Any, b: Any) -> SymExpr:
    """Return the quotient with ONNX's semantics for integers: truncated."""
    x, y = as_expr(a), as_expr(b)
    return sym.floordiv(x, y) if is_nonnegative(x) and is_nonnegative(y) else operators.truncdiv(x, y)


def _mod(a: Any, b: Any) -> SymExpr:
    return sym.floormod(as_expr(a), as_expr(b))


def _abs(a: Any) -> SymExpr:
    return as_expr(a) if is_nonnegative(as_expr(a)) else operators.maximum(as_expr(a), -as_expr(a))


_ROWS.update(
    {
        "Add": _elementwise(lambda a, b: a + b),
        "Sub": _elementwise(lambda a, b: a - b),
        "Mul": _elementwise(lambda a, b: a * b),
        "Div": _elementwise(lambda a, b: _div(a, b)),
        "Mod": _elementwise(lambda a, b: _mod(a, b)),
        "Abs": _elementwise(lambda a: _abs(a)),
    }
)


@_row("Min", "Max")
def _extremum(node: Node, *xs: Array) -> Array:
    extremum = operators.minimum if node.op_type == "Min" else operators.maximum
    choose = np.frompyfunc(lambda a, b: _simplified(extremum(as_expr(a), as_expr(b))), 2, 1)
    return reduce(lambda a, b: np.asarray(choose(a, b), object), xs)


@_row("ReduceSum", "ReduceProd", "ReduceMin", "ReduceMax")
def _reduce(node: Node, x: Array, axes: Array | None = None) -> Array:
    fold = {"Sum": np.add, "Prod": np.multiply}.get(node.op_type.removeprefix("Reduce"))
    axis = _axes(node, axes)
    if fold is None or (axis is None and node.attr("noop_with_empty_axes", 0)):
        raise _NotFollowed
    return np.asarray(fold.reduce(x, axis=axis, keepdims=bool(node.attr("keepdims", 1))), object)


@_row("CumSum")
def _cumsum(node: Node, x: Array, axis: Array) -> Array:
    if node.attr("exclusive", 0) or node.attr("reverse", 0):
        raise _NotFollowed
    return np.add.accumulate(x, int(_numbers(axis)))


# Conditions.

_PREDICATES = {
    "Equal": operators.eq,
    "Less": operators.lt,
    "LessOrEqual": operators.le,
    "Greater": operators.gt,
    "GreaterOrEqual": operators.ge,
}


def _analyzer(*exprs: SymExpr) -> Analyzer:
    """Return an analyzer with the fact that sizes are not negative."""
    analyzer = Analyzer()
    for e in exprs:
        for v in e.free_vars():
            analyzer.bind(v, 0)
    return analyzer


def _simplified(e: SymExpr) -> SymExpr:
    return _analyzer(e).simplify(e)


def _comparison(kind: str) -> Callable[[Any, Any], bool]:
    def decide(a: Any, b: Any) -> bool:
        condition = _PREDICATES[kind](as_expr(a), as_expr(b))
        constant = condition.constant
        if constant is not None:
            return bool(constant)
        truth = _analyzer(condition).truth(condition)
        if truth is None:
            raise _NotFollowed
        return truth

    return decide


def _predicate(kind: str) -> _Row:
    decide = np.frompyfunc(_comparison(kind), 2, 1)
    return lambda node, a, b: np.asarray(decide(a, b), object)


_ROWS.update({kind: _predicate(kind) for kind in _PREDICATES})


@_row("Where")
def _where(node: Node, condition: Array, a: Array, b: Array) -> Array:
    return np.where(_numbers(condition).astype(bool), a, b)
