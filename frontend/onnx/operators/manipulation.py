"""Operators that change the shape of a tensor or rearrange its elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from ....dialects.sym.expr import Product, SymExpr, as_expr, floordiv, offset_of, product, terms_of
from ....handles.relax.expr import Expr, PrimValue, TupleGetItem
from ....handles.struct_info import TensorStructInfo
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
    if sizes is not None and (sizes.elements is None or any(e.constant is None for e in sizes.elements)):
        return _cut(node, x, axis, node.extents(sizes))
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


def _cut(node: Node, x: Value, axis: int, extents: list[SymExpr]) -> tuple[Expr, ...]:
    """Return the parts of these symbolic sizes; the run checks that they are those of the dimension."""
    edges = list(accumulate(extents, initial=as_expr(0)))
    edges[-1] = x.dims[axis]
    place = axis % x.rank
    parts: list[Expr] = []
    for extent, begin, end in zip(extents, edges, edges[1:], strict=False):
        part = node.emit(op("strided_slice", x, [axis], [PrimValue(begin)], [PrimValue(end)]))
        dims = [extent if i == place else d for i, d in enumerate(x.dims)]
        parts.append(node.graph.builder.match_cast(part, TensorStructInfo(dims, x.dtype)))
    return tuple(parts)


def _parts(parts: Expr, count: int) -> tuple[Expr, ...]:
    return tuple(TupleGetItem(parts, i) for i in range(count))


_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


@converter("Pad")
def pad(
    node: Node, x: Value, pads: Value | None = None, value: Value | None = None, axes: Value | None = None
) -> Output:
    """Pad x, with the amounts before all dimensions first; negative amounts crop."""
    mode = _PAD_MODES[node.attr("mode")]
    where = node.ints("axes", axes) or list(range(x.rank))
    widths = node.attr("pads") if pads is None else pads.elements
    if widths is None:
        assert pads is not None
        x, widths = _cropped(node, x, [a % x.rank for a in where], pads)
    before, after = [as_expr(0)] * x.rank, [as_expr(0)] * x.rank
    for i, axis in enumerate(where):
        before[axis], after[axis] = as_expr(widths[i]), as_expr(widths[len(where) + i])
    fill = Value.constant(node.attr("value", 0.0), x.dtype) if value is None else value
    return _padded(node, x, before, after, mode, fill)


def _cropped(node: Node, x: Value, axes: list[int], pads: Value) -> tuple[Value, list[SymExpr]]:
    """Return x without what negative amounts of the run crop, and the other amounts as sizes."""
    cut = Value(node.emit(op("maximum", op("negative", pads), 0)))
    each: list[Output] = [op("strided_slice", cut, [0], [i], [i + 1]) for i in range(2 * len(axes))]
    first: list[Output] = [Value.known([0])] * x.rank
    last: list[Output] = [Value.known([d]) for d in x.dims]
    for i, axis in enumerate(axes):
        first[axis], last[axis] = each[i], op("subtract", last[axis], each[len(axes) + i])
    bounds = [op("concat", edge, axis=0) for edge in (first, last)]
    inner = node.with_extents(op("dynamic_strided_slice", x, *bounds, Value.known([1] * x.rank)))
    return Value(inner), node.extents(Value(node.emit(op("maximum", pads, 0))))


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
        for axis, (b, a) in enumerate(zip(before, after, strict=True)):
            if b.constant != 0 or a.constant != 0:
                places = _mirrored(mode, as_value(result).dims[axis], b, a)
                result = node.emit(op("take", result, places, axis=axis))
        return result
    scalar = op("reshape", fill, ())
    for axis, (b, a) in enumerate(zip(before, after, strict=True)):
        dims = list(as_value(result).dims)
        parts = [op("full", [*dims[:axis], n, *dims[axis + 1 :]], scalar, dtype=x.dtype) for n in (b, a)]
        if b.constant != 0 or a.constant != 0:
            result = op("concat", [parts[0], result, parts[1]], axis=axis)
    return result


def _mirrored(mode: str, extent: SymExpr, before: SymExpr, after: SymExpr) -> Expr:
    """Return the positions of the elements of a padded dimension: repeated, reflected or from its other end."""
    place = op("arange", PrimValue(-before), PrimValue(extent + after), PrimValue(1), dtype="int64")
    last = Value.known(extent - 1)
    if mode == "replicate":
        return op("minimum", op("maximum", place, 0), last)
    if mode == "circular":
        return op("floor_mod", place, Value.known(extent))
    period = op("maximum", op("multiply", last, 2), 1)
    turn = op("floor_mod", place, period)
    return op("where", op("greater", turn, last), op("subtract", period, turn), turn)


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
    counts = node.extents(repeats)
    if all(c.constant is not None for c in counts):
        return op("tile", x, repeats=[c.constant for c in counts])
    between = [extent for d in x.dims for extent in (as_expr(1), d)]
    wide = [extent for pair in zip(counts, x.dims, strict=True) for extent in pair]
    spread = op("broadcast_to", op("reshape", x, tuple(between)), tuple(wide))
    return op("reshape", spread, tuple(c * d for c, d in zip(counts, x.dims, strict=True)))
