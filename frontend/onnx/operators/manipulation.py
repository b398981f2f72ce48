"""Operators that change the shape of a tensor or rearrange its elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from ....dialects.sym.expr import Product, SymExpr, as_expr, floordiv, offset_of, product, terms_of
from ....handles.relax.expr import Expr, PrimValue, TupleGetItem
from ..node import Node
from ..table import converter
from ..values import Dims, Output, Value, as_value, op


@converter("Reshape")
def reshape(node: Node, x: Value, shape: Value | None = None) -> Expr:
    if shape is not None and shape.elements is None:
        return op("reshape", x, tuple(node.extents(_without_wildcards(node, x, shape))))
    target = list(node.attr("shape") if shape is None else node.extents(shape))
    return op("reshape", x, tuple(reshaped(node, x.dims, [as_expr(e) for e in target])))


def _without_wildcards(node: Node, x: Value, shape: Value) -> Value:
    """Return a shape computed at run time with 0 and -1 resolved."""
    count = shape.sizes[0]
    target: Output = shape
    if not node.attr("allowzero", 0):
        own = Value.known([*x.dims, *[0] * count][:count])
        target = node.emit(op("where", op("equal", shape, 0), own, shape))
    wild = op("equal", target, -1)
    rest = op("prod", op("where", wild, 1, target))
    left = op("floor_divide", Value.known(product(x.dims)), op("maximum", rest, 1))
    return Value(node.emit(op("where", wild, left, target)))


def reshaped(node: Node, dims: Dims, target: list[SymExpr]) -> list[SymExpr]:
    """Return the extents of a reshape: 0 copies that of x unless the node allows zero extents, and -1 is inferred."""
    if not node.attr("allowzero", 0):
        target = [dims[i] if e.constant == 0 and i < len(dims) else e for i, e in enumerate(target)]
    wild = [i for i, e in enumerate(target) if e.constant == -1]
    if len(wild) > 1 or (wild and any(e.constant == 0 for e in target)):
        raise node.error("the shape does not say what is left for -1", found=[str(e) for e in target])
    for i in wild:
        target[i] = quotient(dims, [e for e in target if e.constant != -1])
    return target


def quotient(dims: Iterable[SymExpr], rest: Iterable[SymExpr]) -> SymExpr:
    """Return the product of `dims` divided by that of `rest`, cancelling common factors: symbolic sizes may be 0."""
    above, below = _factors(dims), _factors(rest)
    common = above & below
    over, under = (product((above - common).elements()), product((below - common).elements()))
    return over if under.constant == 1 else floordiv(over, under)


def _factors(extents: Iterable[SymExpr]) -> Counter[SymExpr]:
    """Return the factors of a product, with numbers decomposed into primes."""
    factors: Counter[SymExpr] = Counter()
    for extent in extents:
        coefficient = 1
        terms = terms_of(extent)
        if extent.constant is not None:
            coefficient, rest = extent.constant, ()
        elif len(terms) == 1 and offset_of(extent) == 0:
            coefficient, rest = terms[0][1], (terms[0][0],)
        else:
            rest = (extent,)
        factors.update(f for e in rest for f in (e.atoms if isinstance(e, Product) else (e,)))
        factors.update(as_expr(p) for p in _primes(coefficient))
    return factors


def _primes(number: int) -> Iterator[int]:
    if number < 2:
        yield from () if number == 1 else (number,)
        return
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            yield divisor
            number //= divisor
        divisor += 1
    if number > 1:
        yield number


@converter("Flatten")
def flatten(node: Node, x: Value) -> Expr:
    axis = node.attr("axis")
    axis = axis + x.rank if axis < 0 else axis
    return op("reshape", x, (product(x.dims[:axis]), product(x.dims[axis:])))


@converter("Transpose")
def transpose(node: Node, x: Value) -> Expr:
    return op("permute_dims", x, axes=node.attr("perm"))


@converter("Unsqueeze")
def unsqueeze(node: Node, x: Value, axes: Value | None = None) -> Expr:
    return op("expand_dims", x, axis=node.ints("axes", axes))


@converter("Squeeze")
def squeeze(node: Node, x: Value, axes: Value | None = None) -> Expr:
    return op("squeeze", x, axis=node.ints("axes", axes))


@converter("Concat")
def concat(node: Node, first: Value, *others: Value) -> Output:
    return op("concat", [first, *others], axis=node.attr("axis")) if others else first


@converter("Split")
def split(node: Node, x: Value, sizes: Value | None = None) -> Any:
    """Split into parts of these sizes, or of equal size, where the last one may be smaller."""
    axis = node.attr("axis")
    extents = node.ints("split", sizes)
    if extents is None:
        count = node.attr("num_outputs") or len(node.outputs)
        extent = x.dims[axis].constant
        if extent is None:
            return _parts(op("split", x, indices_or_sections=count, axis=axis), count)
        each = -(-extent // count)
        extents = [each] * (count - 1) + [extent - each * (count - 1)]
    if x.dims[axis].constant is not None and sum(extents) != x.dims[axis].constant:
        raise node.error("the sizes are not those of the dimension", expected=str(x.dims[axis]), found=extents)
    if len(extents) == 1:
        return x
    edges = list(accumulate(extents))[:-1]
    return _parts(op("split", x, indices_or_sections=edges, axis=axis), len(extents))


def _parts(parts: Expr, count: int) -> tuple[Expr, ...]:
    return tuple(TupleGetItem(parts, i) for i in range(count))


_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


@converter("Pad")
def pad(
    node: Node, x: Value, pads: Value | None = None, value: Value | None = None, axes: Value | None = None
) -> Output:
    """Pad x, with the amounts before all dimensions first; negative amounts crop."""
    mode = _PAD_MODES[node.attr("mode")]
    widths = node.attr("pads") if pads is None else pads.elements
    if widths is None:
        assert pads is not None
        raise node.not_constant(pads, "the number of elements around it")
    where = node.ints("axes", axes) or list(range(x.rank))
    before, after = [as_expr(0)] * x.rank, [as_expr(0)] * x.rank
    for i, axis in enumerate(where):
        before[axis], after[axis] = as_expr(widths[i]), as_expr(widths[len(where) + i])
    fill = Value.constant(node.attr("value", 0.0), x.dtype) if value is None else value
    return _padded(node, x, before, after, mode, fill)


def _padded(node: Node, x: Value, before: list[SymExpr], after: list[SymExpr], mode: str, fill: Value) -> Output:
    numbers = [(b.constant, a.constant) for b, a in zip(before, after, strict=True)]
    known = all(b is not None and a is not None for b, a in numbers)
    result: Output = x
    if known and (mode != "constant" or fill.array is not None):
        cut = [(max(-(b or 0), 0), max(-(a or 0), 0)) for b, a in numbers]
        if any(c != (0, 0) for c in cut):
            begin, end = [b for b, _ in cut], [d - a for d, (_, a) in zip(x.dims, cut, strict=True)]
            result = op("strided_slice", x, list(range(x.rank)), begin, [PrimValue(e) for e in end])
        widths = [max(w or 0, 0) for pair in numbers for w in pair]
        pad_value = 0 if fill.array is None else fill.array.reshape(-1)[0].item()
        return (
            op("nn.pad", result, pad_width=widths, pad_mode=mode, pad_value=float(pad_value)) if any(widths) else result
        )
    if mode != "constant":
        raise node.unsupported("the elements around it are computed when the program runs")
    scalar = op("reshape", fill, ())
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        dims = list(as_value(result).dims)
        parts = [op("full", [*dims[:axis], n, *dims[axis + 1 :]], scalar, dtype=x.dtype) for n in (b, a)]
        if b.constant != 0 or a.constant != 0:
            result = op("concat", [parts[0], result, parts[1]], axis=axis)
    return result


@converter("Expand")
def expand(node: Node, x: Value, shape: Value) -> Expr:
    """Broadcast x and the target shape: an extent of 1 in the target keeps that of x."""
    count = len(shape.elements) if shape.elements is not None else shape.sizes[0]
    own = [*[as_expr(1)] * (count - x.rank), *x.dims]
    if shape.elements is None:
        first = [Value.constant([1] * (x.rank - count), "int64")] if x.rank > count else []
        target = as_value(op("concat", [*first, shape], axis=0) if first else shape)
        merged = op("where", op("equal", target, 1), Value.known(own), target)
        return op("broadcast_to", x, tuple(node.extents(Value(node.emit(merged)))))
    target = [as_expr(1)] * (x.rank - count) + shape.elements
    return op("broadcast_to", x, tuple(a if b.constant == 1 else b for a, b in zip(own, target, strict=True)))


@converter("Tile")
def tile(node: Node, x: Value, repeats: Value) -> Expr:
    return op("tile", x, repeats=node.ints("repeats", repeats))
