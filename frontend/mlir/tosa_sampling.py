"""tosa's operations that scale integers, look them up, resample images, or write at indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, Signedness, StringAttr, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import is_float
from ...dialects.sym.expr import SymExpr
from ...ir.locations import location_of
from .graph import Graph
from .kernels import statements_of
from .payload import Payload
from .structured import attribute, element_of, rank
from .tensors import Rule, either, index_of, within
from .tosa import add_bias, listed, numbers, product_of, zero_points


def _flag(op: Operation, name: str) -> bool:
    value = attribute(op, name)
    return isinstance(value, IntegerAttr) and bool(value.value.data)


def _word(op: Operation, name: str) -> str:
    """Return an enumerated attribute, which is a word, a string, or an attribute of tosa."""
    value = attribute(op, name)
    data = getattr(value, "data", "")
    return str(data.data if isinstance(data, StringAttr) else data)


def _wide(p: Payload, value: SSAValue, unsigned: bool) -> SSAValue:
    """Return an integer as i64."""
    if unsigned:
        width = cast("IntegerType[int]", value.type).width.data
        value = p.cast(value, IntegerType(width, Signedness.UNSIGNED))
    return p.cast(value, i64)


def _only(p: Payload, value: SSAValue) -> SSAValue:
    """Return the element of a tensor that has one."""
    return p.add(tir.LoadOp(p.value(value), [p.const(0, i64)] * rank(value)))


def _scaled(p: Payload, op: Operation, value: SSAValue, multiplier: SSAValue, shift: SSAValue) -> SSAValue:
    """`value * multiplier / 2 ** shift`, rounded: up where it is half, or twice in the mode for it."""
    zero, one = p.const(0, i64), p.const(1, i64)
    shift = p.cast(shift, i64)
    half = p.call("shift_left", one, p.binary("sub", shift, one))
    if _word(op, "rounding_mode") == "DOUBLE_ROUND" or _flag(op, "double_round"):
        more = p.const(1 << 30, i64)
        signed = p.select(p.binary("ge", value, zero), more, p.binary("sub", zero, more))
        half = p.binary("add", half, p.select(p.binary("gt", shift, p.const(31, i64)), signed, zero))
    product = p.binary("mul", value, p.cast(multiplier, i64))
    return p.call("shift_right", p.binary("add", product, half), shift)


def _rescale(graph: Graph, op: Operation) -> None:
    source, multiplier, shift, zero_in, zero_out = op.operands
    kind = cast("IntegerType[int]", element_of(op.results[0]))
    bits, unsigned = kind.width.data, _flag(op, "output_unsigned")
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    channel = _flag(op, "per_channel")

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        at = [p.iters[rank(source) - 1] if channel else p.const(0, i64)]
        factors = [p.add(tir.LoadOp(p.value(v), at)) for v in (multiplier, shift)]
        value = _wide(p, p.add(tir.LoadOp(p.value(source), list(p.iters)[: rank(source)])), _flag(op, "input_unsigned"))
        value = p.binary("sub", value, _wide(p, _only(p, zero_in), _flag(op, "input_unsigned")))
        value = p.binary("add", _scaled(p, op, value, *factors), _wide(p, _only(p, zero_out), unsigned))
        return [p.cast(p.binary("min", p.binary("max", value, p.const(low, i64)), p.const(high, i64)), kind)]

    graph.values[op.results[0]] = graph.pointwise("rescale", graph.dims(source), kind, compute)


def _table(graph: Graph, op: Operation) -> None:
    """i8: an element of the table; i16: between two of them, in 7 more bits."""
    source, table = op.operands
    kind = element_of(source)
    if str(kind) not in ("i8", "i16"):
        raise UnsupportedError(f"'{op.name}' of {kind}", location=location_of(op), expected="i8 or i16")

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        value = p.cast(p.add(tir.LoadOp(p.value(source), list(p.iters)[: rank(source)])), i64)
        if str(kind) == "i8":
            return [p.add(tir.LoadOp(p.value(table), [p.binary("add", value, p.const(128, i64))]))]
        moved = p.binary("add", value, p.const(1 << 15, i64))
        place = p.binary("floordiv", moved, p.const(128, i64))
        rest = p.cast(p.binary("floormod", moved, p.const(128, i64)), i32)
        base, after = (
            p.cast(p.add(tir.LoadOp(p.value(table), [p.binary("add", place, p.const(n, i64))])), i32) for n in (0, 1)
        )
        slope = p.binary("mul", p.binary("sub", after, base), rest)
        return [p.binary("add", p.binary("mul", base, p.const(128, i32)), slope)]

    graph.values[op.results[0]] = graph.pointwise("table", graph.dims(source), element_of(op.results[0]), compute)


def _sampled(p: Payload, index: SSAValue, scale: Sequence[int], offset: int) -> tuple[SSAValue, SSAValue]:
    """Return the place of an element of the result in the source, and its rest in parts of `scale[0]`."""
    at = p.binary("add", p.binary("mul", index, p.const(scale[1], i64)), p.const(offset, i64))
    parts = p.const(scale[0], i64)
    return p.binary("floordiv", at, parts), p.binary("floormod", at, parts)


def _resize(graph: Graph, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    scale, offset, border = (numbers(graph, op, n + 1, name) for n, name in enumerate(("scale", "offset", "border")))
    n, h, w, c = graph.dims(source)
    kind, mode = element_of(result), _word(op, "mode")
    if mode not in ("BILINEAR", "NEAREST_NEIGHBOR", "NEAREST"):
        raise UnsupportedError(f"'{op.name}' in the mode '{mode}'", location=location_of(op))
    sizes = (h, w)
    out = [((size - 1) * scale[2 * a] - offset[a] + border[a]) // scale[2 * a + 1] + 1 for a, size in enumerate(sizes)]

    def within_image(p: Payload, place: SSAValue, axis: int) -> SSAValue:
        last = p.binary("sub", index_of(p, sizes[axis]), p.const(1, i64))
        return p.binary("min", p.binary("max", place, p.const(0, i64)), last)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        batch, y, x, channel = list(p.iters)[:4]
        found = [_sampled(p, index, scale[2 * a : 2 * a + 2], offset[a]) for a, index in enumerate((y, x))]

        def pixel(places: Sequence[SSAValue]) -> SSAValue:
            inside = [within_image(p, place, axis) for axis, place in enumerate(places)]
            return p.cast(p.add(tir.LoadOp(p.value(source), [batch, *inside, channel])), kind)

        if mode != "BILINEAR":
            places: list[SSAValue] = []
            for axis, (place, rest) in enumerate(found):
                up = p.binary("ge", p.binary("mul", rest, p.const(2, i64)), p.const(scale[2 * axis], i64))
                places.append(p.binary("add", place, p.cast(up, i64)))
            return [pixel(places)]
        return [_between(p, found, scale, kind, pixel)]

    graph.values[result] = graph.pointwise("resize", [n, *out, c], kind, compute)


def _between(p: Payload, found: Any, scale: Sequence[int], kind: Attribute, pixel: Any) -> SSAValue:
    """Return four pixels weighted by their distances; of integers, times the scales."""
    one = p.const(1, i64)
    weights: list[tuple[SSAValue, SSAValue]] = []
    for axis, (_, rest) in enumerate(found):
        parts = p.const(scale[2 * axis], i64)
        far, near = p.cast(rest, kind), p.cast(p.binary("sub", parts, rest), kind)
        if is_float(kind):
            whole = p.cast(parts, kind)
            far = p.binary("div", far, whole)
            near = p.binary("sub", p.const(1, kind), far)
        weights.append((near, far))
    total: SSAValue | None = None
    for dy in (0, 1):
        for dx in (0, 1):
            places = [
                p.binary("add", place, one) if step else place for (place, _), step in zip(found, (dy, dx), strict=True)
            ]
            weight = p.binary("mul", weights[0][dy], weights[1][dx])
            part = p.binary("mul", pixel(places), weight)
            total = part if total is None else p.binary("add", total, part)
    assert total is not None
    return total


def _scatter(graph: Graph, op: Operation) -> None:
    statements_of(graph, [op], op.results, "scatter")


def _transpose_conv(graph: Graph, op: Operation) -> None:
    """A convolution of the image with gaps between its elements, by the reversed kernel."""
    source, weight, bias = op.operands[:3]
    pad, strides = listed(attribute(op, "out_pad"), op, "out_pad"), listed(attribute(op, "stride"), op, "stride")
    zeros = zero_points(graph, op, 3)
    kind = element_of(source)
    zero = zeros[0] or (FloatAttr(0.0, cast(Any, kind)) if is_float(kind) else IntegerAttr(0, cast(Any, kind)))
    n, h, w, c = graph.dims(source)
    f, ky, kx, _ = graph.dims(weight)
    out: list[SymExpr] = [
        (size - 1) * strides[a] + pad[2 * a] + pad[2 * a + 1] + kernel
        for a, (size, kernel) in enumerate(((h, ky), (w, kx)))
    ]
    low = [kernel - 1 + pad[2 * a] for a, kernel in enumerate((ky, kx))]

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        batch, y, x, channel = list(p.iters)[:4]
        inside, places = p.const(1, i1), list[SSAValue]()
        for axis, (index, size) in enumerate(((y, h), (x, w))):
            hit, position = within(p, index, index_of(p, low[axis]), index_of(p, size), p.const(strides[axis], i64))
            inside = p.binary("and", inside, hit)
            places.append(position)
        p.value(source)
        return [
            either(
                p,
                inside,
                lambda q: q.add(tir.LoadOp(q.value(source), [batch, *places, channel])),
                lambda q: q.const(cast(Any, zero).value.data, kind),
            )
        ]

    wide = [size + kernel - 1 for size, kernel in zip(out, (ky, kx), strict=True)]
    image = graph.own(graph.pointwise("spread", [n, *wide, c], kind, compute))
    flipped = graph.operator("flip", graph.operator("flip", graph.tensor(weight), axis=1), axis=2)
    kernel = graph.own(flipped)
    sizes = {"n": n, "h": out[0], "w": out[1], "f": f}
    shapes = (graph.dims(image), graph.dims(kernel))
    notation = "n(h+y)(w+x)c, fyxc -> nhwf"
    product_of(graph, op, notation, (image, kernel), shapes, zeros, sizes, (1, 1), (1, 1))
    add_bias(graph, op, bias)


TOSA_SAMPLING: dict[str, Rule] = {
    "tosa.rescale": _rescale,
    "tosa.table": _table,
    "tosa.resize": _resize,
    "tosa.scatter": _scatter,
    "tosa.transpose_conv2d": _transpose_conv,
}
"""operation -> its translation."""
