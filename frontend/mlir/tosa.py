"""tosa's operations: a row for each, as structured operations and reshapes of Relax."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

from ...diagnostics import UnsupportedError
from ...dialects import relax, tir
from ...dialects.dtypes import is_float
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.xdsl_extras.linalg_named import iterators, operands_of
from ...ir.locations import location_of
from .graph import Dims, Filled, Graph
from .payload import Payload
from .scalars import RULES, compare_floats, compare_integers
from .structured import Compute, Structured, attribute, element_of, rank
from .tensors import Rule, either, index_of, reshaped, within

_FLOAT = {
    "abs": "math.absf", "ceil": "math.ceil", "cos": "math.cos", "erf": "math.erf", "exp": "math.exp",
    "floor": "math.floor", "log": "math.log", "negate": "arith.negf", "rsqrt": "math.rsqrt", "sin": "math.sin",
    "tanh": "math.tanh", "add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "pow": "math.powf",
    "maximum": "arith.maximumf", "minimum": "arith.minimumf",
}  # fmt: skip
_INTEGER = {
    "abs": "math.absi", "clz": "math.ctlz", "add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli",
    "maximum": "arith.maxsi", "minimum": "arith.minsi", "bitwise_and": "arith.andi", "bitwise_or": "arith.ori",
    "bitwise_xor": "arith.xori", "logical_and": "arith.andi", "logical_or": "arith.ori",
    "logical_xor": "arith.xori", "logical_left_shift": "arith.shli", "logical_right_shift": "arith.shrui",
    "arithmetic_right_shift": "arith.shrsi", "intdiv": "arith.divsi",
}  # fmt: skip
_PREDICATES = {"equal": "eq", "greater": "gt", "greater_equal": "ge"}


def _element(p: Payload, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    """Return the element of an elementwise operation."""
    name, kind = op.name.removeprefix("tosa."), values[0].type
    if name in _PREDICATES:
        compare = compare_floats if is_float(kind) else compare_integers
        prefix = "o" if is_float(kind) else "" if name == "equal" else "s"
        return compare(p, prefix + _PREDICATES[name], *values)
    if name in _OWN:
        return _OWN[name](p, op, values)
    if name == "negate" and not is_float(kind):
        return p.binary("sub", p.const(0, kind), values[0])
    rule = (_FLOAT if is_float(kind) else _INTEGER).get(name)
    if rule is None:
        raise UnsupportedError(f"'{op.name}' of {kind}", location=location_of(op))
    return RULES[rule](p, values, op)


def _cast(p: Payload, value: SSAValue, target: Attribute) -> SSAValue:
    """Floats are rounded to the nearest integer, halves to the even one, and kept within its range."""
    if not is_float(value.type) or is_float(target) or target == i1:
        return p.cast(value, target)
    bits = cast("IntegerType[int]", target).width.data - 1
    rounded = p.call("nearbyint", value)
    low, high = p.const(-(2.0**bits), value.type), p.const(2.0**bits, value.type)
    inside = p.cast(p.binary("max", p.binary("min", rounded, high), low), target)
    top = p.const(2**bits - 1, target)
    return p.select(p.binary("ge", rounded, high), top, inside)


def _clamp(p: Payload, op: Operation, value: SSAValue) -> SSAValue:
    low, high = (attribute(op, name) for name in ("min_val", "max_val"))
    if not isinstance(low, IntegerAttr | FloatAttr) or not isinstance(high, IntegerAttr | FloatAttr):
        raise UnsupportedError("'tosa.clamp' without min_val and max_val", location=location_of(op))
    bounds = [p.const(cast(Any, bound).value.data, value.type) for bound in (low, high)]
    return p.binary("min", p.binary("max", value, bounds[0]), bounds[1])


_OWN: dict[str, Callable[[Payload, Operation, Sequence[SSAValue]], SSAValue]] = {
    "select": lambda p, op, values: p.select(*values),
    "reciprocal": lambda p, op, values: p.binary("div", p.const(1, values[0].type), values[0]),
    "sigmoid": lambda p, op, values: p.call("sigmoid", values[0]),
    "logical_not": lambda p, op, values: p.no(values[0]),
    "bitwise_not": lambda p, op, values: p.call("bitwise_xor", values[0], p.const(-1, values[0].type)),
    "cast": lambda p, op, values: _cast(p, values[0], element_of(op.results[0])),
    "clamp": lambda p, op, values: _clamp(p, op, values[0]),
}


def _elementwise(graph: Graph, op: Operation) -> None:
    ins = list(op.operands)
    if op.name == "tosa.mul" and len(ins) == 3:
        _no_shift(graph, op)
        ins = ins[:2]
    if op.name == "tosa.negate":
        ins = ins[:1]
    shapes = [graph.dims(v) for v in ins]
    dims = [_broadcast(sizes) for sizes in zip(*shapes, strict=True)]
    maps = [
        tuple(
            AffineConstantExpr(0) if own.constant == 1 and whole.constant != 1 else AffineExpr.dimension(axis)
            for axis, (own, whole) in enumerate(zip(shape, dims, strict=True))
        )
        for shape in shapes
    ]
    every = tuple(AffineExpr.dimension(axis) for axis in range(len(dims)))

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [_element(p, op, ins)]

    _call(graph, op, op.name[5:], ins, maps, dims, every, [False] * len(dims), compute)


def _broadcast(sizes: Sequence[SymExpr]) -> SymExpr:
    return next((size for size in sizes if size.constant != 1), sizes[0])


def _no_shift(graph: Graph, op: Operation) -> None:
    shift = graph.values[op.operands[2]]
    if not isinstance(shift, Filled) or (shift.value is not None and shift.value.value.data != 0):
        raise UnsupportedError("'tosa.mul' with a shift", location=location_of(op))


def _call(
    graph: Graph,
    op: Operation,
    name: str,
    ins: Sequence[SSAValue],
    maps: Sequence[tuple[AffineExpr, ...]],
    extents: Dims,
    output: tuple[AffineExpr, ...],
    reductions: Sequence[bool],
    compute: Compute,
    start: IntegerAttr | FloatAttr | None = None,
) -> None:
    """Call a structured operation whose output begins with `start`."""
    result = op.results[0]
    dims = [extents[i] for i in range(len(extents)) if not reductions[i]]
    s = Structured(name, list(ins), [result], reductions, [*maps, output], compute, updates=start is not None)
    if start is not None:
        graph.values[result] = Filled(dims, element_of(result), start)
    (value,) = graph.call(s, extents, [(dims, element_of(result))], [result] if start is not None else [])
    graph.values[result] = value


# operation -> (rule of the elements, its first value: of floats, of integers)
_REDUCTIONS: dict[str, tuple[str, str, float, int | None]] = {
    "reduce_sum": ("arith.addf", "arith.addi", 0.0, 0),
    "reduce_product": ("arith.mulf", "arith.muli", 1.0, 1),
    "reduce_max": ("arith.maximumf", "arith.maxsi", float("-inf"), None),
    "reduce_min": ("arith.minimumf", "arith.minsi", float("inf"), None),
    "reduce_all": ("", "arith.andi", 1.0, 1),
    "reduce_any": ("", "arith.ori", 0.0, 0),
}


def _rule(name: str, kind: Attribute) -> str:
    of_floats, of_integers, _, _ = _REDUCTIONS[name]
    return of_floats if is_float(kind) else of_integers


def _first(name: str, kind: Attribute) -> IntegerAttr | FloatAttr:
    _, _, of_floats, of_integers = _REDUCTIONS[name]
    if is_float(kind):
        return FloatAttr(of_floats, cast(Any, kind))
    if of_integers is None:
        bits = cast("IntegerType[int]", kind).width.data
        of_integers = -(1 << (bits - 1)) if name == "reduce_max" else (1 << (bits - 1)) - 1
    return IntegerAttr(of_integers, cast(Any, kind))


def _axis(op: Operation) -> int:
    return cast("IntegerAttr", attribute(op, "axis")).value.data


def _reduce(graph: Graph, op: Operation) -> None:
    """The axis that is reduced stays, with extent 1."""
    source, axis = op.operands[0], _axis(op)
    name, kind = op.name[5:], element_of(source)
    dims = graph.dims(source)
    rule = _rule(name, kind)
    every = tuple(AffineExpr.dimension(d) for d in range(len(dims)))
    kept = tuple(d for number, d in enumerate(every) if number != axis)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [RULES[rule](p, (outs[0], ins[0]), op)]

    reductions = [number == axis for number in range(len(dims))]
    _call(graph, op, name, [source], [every], dims, kept, reductions, compute, _first(name, kind))
    whole = graph.tensor(op.results[0])
    reshaped(graph, op, whole, [Const(1) if number == axis else d for number, d in enumerate(dims)])


def _argmax(graph: Graph, op: Operation) -> None:
    value = graph.operator("argmax", graph.tensor(op.operands[0]), axis=_axis(op))
    kind = element_of(op.results[0])
    if cast(relax.TensorType, value.type).dtype != kind:
        value = graph.operator("astype", value, dtype=kind)
    graph.values[op.results[0]] = value


def numbers(graph: Graph, op: Operation, position: int, name: str) -> list[int]:
    """Return the numbers of an operand that is a constant, or of the attribute that it was before."""
    given = attribute(op, name)
    source = op.operands[position].owner if position < len(op.operands) else None
    if given is None and isinstance(source, Operation):
        given = attribute(source, "values")
    if isinstance(given, DenseArrayBase | DenseIntOrFPElementsAttr):
        return [int(v) for v in cast(Any, given).get_values()]
    raise UnsupportedError(f"'{op.name}' with a computed {name}", location=location_of(op), expected="a constant")


def _reshape(graph: Graph, op: Operation) -> None:
    shape = numbers(graph, op, 1, "new_shape")
    dims = [Const(n) if n >= 0 else None for n in shape]
    if None in dims:
        whole = math.prod(graph.dims(op.operands[0]), start=Const(1))
        rest = math.prod((d for d in dims if d is not None), start=Const(1))
        dims = [whole // rest if d is None else d for d in dims]
    reshaped(graph, op, graph.tensor(op.operands[0]), cast("list[SymExpr]", dims))


def _transpose(graph: Graph, op: Operation) -> None:
    order = numbers(graph, op, 1, "perms")
    graph.values[op.results[0]] = graph.operator("permute_dims", graph.tensor(op.operands[0]), axes=order)


def _concat(graph: Graph, op: Operation) -> None:
    parts = graph.add(relax.TupleOp([graph.tensor(v) for v in op.operands]))
    graph.values[op.results[0]] = graph.operator("concat", parts, axis=_axis(op))


def _tile(graph: Graph, op: Operation) -> None:
    graph.values[op.results[0]] = graph.operator(
        "tile", graph.tensor(op.operands[0]), repeats=numbers(graph, op, 1, "multiples")
    )


def _reverse(graph: Graph, op: Operation) -> None:
    graph.values[op.results[0]] = graph.operator("flip", graph.tensor(op.operands[0]), axis=_axis(op))


def _slice(graph: Graph, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    starts = numbers(graph, op, 1, "start")
    sizes = [Const(n) for n in numbers(graph, op, 2, "size")]

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        places = [p.binary("add", i, p.const(first, i64)) for i, first in zip(p.iters, starts, strict=False)]
        return [p.add(tir.LoadOp(p.value(source), places))]

    graph.values[result] = graph.pointwise("slice", sizes, element_of(result), compute)


def padded(
    graph: Graph, source: SSAValue, around: Sequence[tuple[int, int]], content: Attribute | SSAValue
) -> SSAValue:
    """Return a tensor with elements added around it: a number, or the only element of a tensor."""
    kind, sizes = element_of(source), graph.dims(source)
    dims = [size + low + high for size, (low, high) in zip(sizes, around, strict=True)]

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        inside = p.const(1, i1)
        places: list[SSAValue] = []
        for axis, index in enumerate(p.iters[: len(dims)]):
            low, one = p.const(around[axis][0], i64), p.const(1, i64)
            hit, position = within(p, index, low, index_of(p, sizes[axis]), one)
            inside = p.binary("and", inside, hit)
            places.append(position)

        def other(q: Payload) -> SSAValue:
            if isinstance(content, SSAValue):
                return q.add(tir.LoadOp(q.value(content), [q.const(0, i64)] * rank(content)))
            return q.const(cast(Any, content).value.data, kind)

        p.value(source)
        return [either(p, inside, lambda q: q.add(tir.LoadOp(q.value(source), places)), other)]

    return graph.pointwise("pad", dims, kind, compute)


def _pad(graph: Graph, op: Operation) -> None:
    flat = numbers(graph, op, 1, "padding")
    around = list(zip(flat[::2], flat[1::2], strict=True))
    kind = element_of(op.results[0])
    zero = FloatAttr(0.0, cast(Any, kind)) if is_float(kind) else IntegerAttr(0, cast(Any, kind))
    content = op.operands[2] if len(op.operands) > 2 else zero
    graph.values[op.results[0]] = padded(graph, op.operands[0], around, content)


def _gather(graph: Graph, op: Operation) -> None:
    values, indices = op.operands
    sizes, places = graph.dims(values), graph.dims(indices)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        n, w, c = p.iters
        row = p.cast(p.add(tir.LoadOp(p.value(indices), [n, w])), i64)
        return [p.add(tir.LoadOp(p.value(values), [n, row, c]))]

    dims = (sizes[0], places[1], sizes[2])
    graph.values[op.results[0]] = graph.pointwise("gather", dims, element_of(op.results[0]), compute)


def zero_points(graph: Graph, op: Operation, first: int) -> list[IntegerAttr | FloatAttr | None]:
    """Return the zero points of the first two operands, None for 0."""
    found: list[IntegerAttr | FloatAttr | None] = []
    for value in op.operands[first : first + 2]:
        known = graph.values[value]
        if not isinstance(known, Filled) or known.value is None:
            raise UnsupportedError(f"'{op.name}' with a computed zero point", location=location_of(op))
        found.append(known.value if known.value.value.data else None)
    return found or [None, None]


def product_of(
    graph: Graph,
    op: Operation,
    notation: str,
    ins: Sequence[SSAValue],
    shapes: Sequence[Dims],
    zeros: Sequence[IntegerAttr | FloatAttr | None],
    out_sizes: dict[str, SymExpr],
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
) -> None:
    """Sum products, as linalg's notation has them."""
    inputs, output = operands_of(notation)
    letters, parallel = iterators(inputs, output)
    sizes = dict(out_sizes)
    for terms, shape in zip(inputs, shapes, strict=True):
        for term, size in zip(terms, shape, strict=True):
            if len(term) == 1:
                sizes.setdefault(term[0], size)
    kind = element_of(op.results[0])
    total = i32 if not is_float(kind) else kind

    def index(term: Sequence[str], window: int) -> AffineExpr:
        at = AffineExpr.dimension(letters.index(term[0]))
        if len(term) == 1:
            return at
        return at * strides[window] + AffineExpr.dimension(letters.index(term[1])) * dilations[window]

    def indices(terms: Sequence[Sequence[str]]) -> tuple[AffineExpr, ...]:
        windows = [number for number, term in enumerate(terms) if len(term) > 1]
        return tuple(index(t, windows.index(n) if n in windows else 0) for n, t in enumerate(terms))

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        factors = [p.cast(v, kind) for v in ins]
        for number, zero in enumerate(zeros):
            if zero is not None:
                factors[number] = p.binary("sub", factors[number], p.const(cast(Any, zero).value.data, kind))
        return [p.binary("add", outs[0], p.binary("mul", *factors))]

    start = FloatAttr(0.0, cast(Any, kind)) if is_float(total) else IntegerAttr(0, cast(Any, kind))
    reductions = [number >= parallel for number in range(len(letters))]
    extents = [sizes[letter] for letter in letters]
    name = op.name[5:]
    _call(graph, op, name, ins, [indices(t) for t in inputs], extents, indices(output), reductions, compute, start)


def _matmul(graph: Graph, op: Operation) -> None:
    ins = op.operands[:2]
    shapes = [graph.dims(v) for v in ins]
    product_of(graph, op, "bmk, bkn -> bmn", ins, shapes, zero_points(graph, op, 2), {})


def _windows(op: Operation, names: Sequence[str]) -> list[list[int]]:
    return [listed(attribute(op, name), op, name) for name in names]


def listed(value: Attribute | None, op: Operation, name: str) -> list[int]:
    if isinstance(value, DenseArrayBase):
        return [int(v) for v in cast(Any, value).get_values()]
    if isinstance(value, ArrayAttr):
        return [cast("IntegerAttr", v).value.data for v in cast("ArrayAttr[Attribute]", value)]
    raise UnsupportedError(f"'{op.name}' without {name}", location=location_of(op))


def _extent(size: SymExpr, kernel: SymExpr, stride: int, dilation: int = 1) -> SymExpr:
    return (size - 1 - (kernel - 1) * dilation) // stride + 1


def _conv(graph: Graph, op: Operation) -> None:
    """A convolution, and its bias."""
    notation, letters = _CONVOLUTIONS[op.name]
    source, weight, bias = op.operands[:3]
    pad, strides, dilations = _windows(op, ("pad", "stride", "dilation"))
    zeros = zero_points(graph, op, 3)
    around = [(0, 0), *zip(pad[::2], pad[1::2], strict=True), (0, 0)]
    kind = element_of(source)
    zero = zeros[0] or (FloatAttr(0.0, cast(Any, kind)) if is_float(kind) else IntegerAttr(0, cast(Any, kind)))
    image = graph.own(padded(graph, source, around, zero)) if any(pad) else source
    sizes, kernel = graph.dims(image), graph.dims(weight)
    first = 1 if op.name != "tosa.depthwise_conv2d" else 0
    outs = {
        letter: _extent(sizes[axis + 1], kernel[axis + first], strides[axis], dilations[axis])
        for axis, letter in enumerate(letters)
    }
    shapes = (sizes, kernel)
    product_of(graph, op, notation, (image, weight), shapes, zeros, outs, strides, dilations)
    if op.name == "tosa.depthwise_conv2d":
        dims = graph.dims(op.results[0])
        reshaped(graph, op, graph.tensor(op.results[0]), [*dims[:3], dims[3] * dims[4]])
    add_bias(graph, op, bias)


def add_bias(graph: Graph, op: Operation, bias: SSAValue) -> None:
    result, kind = graph.tensor(op.results[0]), element_of(op.results[0])
    known = graph.values[bias]
    if isinstance(known, Filled) and known.value is not None and known.value.value.data == 0:
        return
    value = graph.tensor(bias)
    if cast(relax.TensorType, value.type).dtype != kind:
        value = graph.operator("astype", value, dtype=kind)
    graph.values[op.results[0]] = graph.operator("add", result, value)


_CONVOLUTIONS = {
    "tosa.conv2d": ("n(h+y)(w+x)c, fyxc -> nhwf", "hw"),
    "tosa.conv3d": ("n(d+z)(h+y)(w+x)c, fzyxc -> ndhwf", "dhw"),
    "tosa.depthwise_conv2d": ("n(h+y)(w+x)c, yxcm -> nhwcm", "hw"),
}


def _max_pool(graph: Graph, op: Operation) -> None:
    _pool(graph, op, "reduce_max")


def _avg_pool(graph: Graph, op: Operation) -> None:
    """The mean of the elements within the image: padding does not count."""
    source, result = op.operands[0], op.results[0]
    if not is_float(element_of(source)):
        raise UnsupportedError("'tosa.avg_pool2d' of integers", location=location_of(op))
    kernel, strides, pad = _windows(op, ("kernel", "stride", "pad"))
    sizes = graph.dims(source)
    _pool(graph, op, "reduce_sum")
    total, dims = graph.own(graph.tensor(result)), graph.dims(result)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count = p.const(1, i64)
        for axis in range(2):
            at = p.binary("mul", p.iters[axis + 1], p.const(strides[axis], i64))
            low = p.binary("sub", at, p.const(pad[2 * axis], i64))
            end = p.binary("min", p.binary("add", low, p.const(kernel[axis], i64)), index_of(p, sizes[axis + 1]))
            count = p.binary("mul", count, p.binary("sub", end, p.binary("max", low, p.const(0, i64))))
        value = p.add(tir.LoadOp(p.value(total), list(p.iters)))
        return [p.binary("div", value, p.cast(count, value.type))]

    graph.values[result] = graph.pointwise("mean", dims, element_of(result), compute)


def _pool(graph: Graph, op: Operation, name: str) -> None:
    source = op.operands[0]
    kernel, strides, pad = _windows(op, ("kernel", "stride", "pad"))
    kind = element_of(source)
    start = _first(name, kind)
    around = [(0, 0), (pad[0], pad[1]), (pad[2], pad[3]), (0, 0)]
    image = graph.own(padded(graph, source, around, start)) if any(pad) else source
    n, h, w, c = graph.dims(image)
    out = [_extent(size, Const(k), s) for size, k, s in zip((h, w), kernel, strides, strict=True)]
    extents = [n, *out, c, Const(kernel[0]), Const(kernel[1])]
    d = [AffineExpr.dimension(number) for number in range(6)]
    rule = _rule(name, kind)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [RULES[rule](p, (outs[0], ins[0]), op)]

    places = (d[0], d[1] * strides[0] + d[4], d[2] * strides[1] + d[5], d[3])
    reductions = [False] * 4 + [True] * 2
    _call(graph, op, op.name[5:], [image], [places], extents, tuple(d[:4]), reductions, compute, start)


def _identity(graph: Graph, op: Operation) -> None:
    graph.values |= {r: graph.values[v] for r, v in zip(op.results, op.operands, strict=True)}


def _nothing(graph: Graph, op: Operation) -> None:
    """A constant shape is read where it is used."""


_ELEMENTWISE = (*_FLOAT, *_INTEGER, *_PREDICATES, *_OWN)
TOSA: dict[str, Rule] = {
    **{f"tosa.{name}": _elementwise for name in _ELEMENTWISE},
    **{f"tosa.{name}": _reduce for name in _REDUCTIONS},
    **dict.fromkeys(_CONVOLUTIONS, cast(Callable[[Graph, Any], None], _conv)),
    "tosa.argmax": _argmax,
    "tosa.reshape": _reshape,
    "tosa.transpose": _transpose,
    "tosa.concat": _concat,
    "tosa.tile": _tile,
    "tosa.reverse": _reverse,
    "tosa.slice": _slice,
    "tosa.pad": _pad,
    "tosa.gather": _gather,
    "tosa.matmul": _matmul,
    "tosa.max_pool2d": _max_pool,
    "tosa.avg_pool2d": _avg_pool,
    "tosa.identity": _identity,
    "tosa.const_shape": _nothing,
}
"""operation -> its translation."""
