"""The operations of functions on tensors: a rule for each, from the operation to values of the graph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import cf, func, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax, tir
from ...dialects.dtypes import numpy_dtype
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr
from ...ir.locations import location_of
from .graph import Dims, Filled, Graph
from .payload import Payload, loaded
from .scalars import RULES, scalar_type
from .sizes import kept_dimensions, size_of
from .structured import attribute, element_of, expression, integers, structured, unsupported

Rule = Callable[[Graph, Any], None]


rules: dict[str, Rule] = {}
"""Further rules, of whole dialects: their files add them."""


def import_block(graph: Graph, block: Block) -> list[SSAValue]:
    """Translate the operations of a block; return the operands of its terminator."""
    for op in block.ops:
        if isinstance(op, func.ReturnOp | scf.YieldOp):
            return list(op.operands)
        import_operation(graph, op)
    return []


def import_operation(graph: Graph, op: Operation) -> None:
    """Translate an operation. Raises `UnsupportedError` for one without a rule."""
    rule = RULES_OF_TENSORS.get(op.name) or rules.get(op.name)
    if rule is not None:
        rule(graph, op)
        return
    if _is_size(graph, op):
        return
    s = structured(op)
    if s is not None:
        graph.run(s, op, op.results)
    elif op.name in RULES:
        _scalar(graph, op)
    else:
        raise unsupported(op, "a function on tensors")


def _is_size(graph: Graph, op: Operation) -> bool:
    """Compute a result of sizes, if it is one."""
    known = [graph.values.get(v) for v in op.operands]
    sizes = [Const(v.value.data) if isinstance(v, IntegerAttr) else v for v in known]
    if not sizes or not all(isinstance(s, SymExpr) for s in sizes):
        return False
    result = size_of(op, cast("list[SymExpr]", sizes))
    if result is None:
        return False
    graph.values[op.results[0]] = result
    return True


def _scalar(graph: Graph, op: Operation) -> None:
    """A scalar that is computed from data: a tensor of rank 0."""

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [expression(p, op, p.values(op.operands))]

    graph.values[op.results[0]] = graph.pointwise(
        op.name.partition(".")[2], (), scalar_type(op.results[0].type, op), compute
    )


def _constant(graph: Graph, op: Operation) -> None:
    value = attribute(op, "values" if op.name == "tosa.const" else "value")
    if isinstance(value, IntegerAttr | FloatAttr):
        graph.values[op.results[0]] = value
        return
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise UnsupportedError(f"the constant {str(value)[:60]}", location=location_of(op), expected="dense<…>")
    kind = cast("TensorType[Attribute]", value.type)
    dtype = scalar_type(kind.element_type, op)
    shape = kind.get_shape()
    if value.is_splat():
        content = IntegerAttr if isinstance(dtype, type(i64)) else FloatAttr
        number = value.get_values()[0]
        graph.values[op.results[0]] = Filled([Const(d) for d in shape], dtype, cast(Any, content)(number, dtype))
        return
    array = np.array(value.get_values(), numpy_dtype(dtype)).reshape(shape)
    graph.values[op.results[0]] = graph.add(relax.ConstantOp.of(array, dtype))


def _dim(graph: Graph, op: tensor.DimOp) -> None:
    graph.values[op.result] = graph.dims(op.source)[graph.size(op.index).constant or 0]


def declared(graph: Graph, type: Attribute, dynamic: Sequence[SSAValue]) -> list[SymExpr]:
    """Return the sizes of a type, whose unknown ones are values."""
    rest = iter(dynamic)
    return [
        graph.size(next(rest)) if d == DYNAMIC_INDEX else Const(d)
        for d in cast("TensorType[Attribute]", type).get_shape()
    ]


def _empty(graph: Graph, op: Operation) -> None:
    result = op.results[0]
    graph.values[result] = Filled(declared(graph, result.type, op.operands), element_of(result), None)


def _alloc_tensor(graph: Graph, op: Operation) -> None:
    """Without content, or a copy of another tensor."""
    dynamic, copied, _ = integers(attribute(op, "operandSegmentSizes"))
    result = op.results[0]
    if copied:
        graph.values[result] = graph.values[op.operands[dynamic]]
    else:
        graph.values[result] = Filled(declared(graph, result.type, op.operands[:dynamic]), element_of(result), None)


def _splat(graph: Graph, op: Operation) -> None:
    result, value = op.results[0], op.operands[0]
    known = graph.values.get(value)
    dims = declared(graph, result.type, op.operands[1:])
    if isinstance(known, IntegerAttr | FloatAttr):
        graph.values[result] = Filled(dims, element_of(result), known)
    else:
        graph.values[result] = graph.pointwise("splat", dims, element_of(result), lambda p, i, o: [p.value(value)])


def _cast(graph: Graph, op: Operation) -> None:
    """A cast to a type that says more is checked; one to a type that says less says nothing here."""
    source, result = op.operands[0], op.results[0]
    dims = graph.dims(source)
    shape = cast("TensorType[Attribute]", result.type).get_shape()
    expected = [d if n == DYNAMIC_INDEX else Const(n) for n, d in zip(shape, dims, strict=True)]
    graph.values[result] = graph.values[source]
    if expected != list(dims):
        value = graph.tensor(source)
        graph.values[result] = graph.add(relax.MatchCastOp(value, relax.TensorType.of(expected, element_of(result))))


def reshaped(graph: Graph, op: Operation, value: SSAValue, dims: Sequence[SymExpr]) -> None:
    """Let the result of an operation be a tensor with other sizes."""
    shape = graph.add(relax.ShapeOp(dims))
    graph.values[op.results[0]] = graph.operator("reshape", value, shape)


def _groups(op: Operation) -> list[list[int]]:
    groups = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", attribute(op, "reassociation"))
    return [[axis.value.data for axis in group] for group in groups]


def _collapse(graph: Graph, op: Operation) -> None:
    dims = graph.dims(op.operands[0])
    shape = [math.prod((dims[a] for a in group), start=Const(1)) for group in _groups(op)]
    reshaped(graph, op, graph.tensor(op.operands[0]), shape)


def _expand(graph: Graph, op: Operation) -> None:
    shape = cast("TensorType[Attribute]", op.results[0].type).get_shape()
    given = integers(attribute(op, "static_output_shape"))
    values = iter(op.operands[1:])
    dims: list[SymExpr | None] = [None if d == DYNAMIC_INDEX else Const(d) for d in shape]
    if given:
        dims = [d if n == DYNAMIC_INDEX else Const(n) for n, d in zip(given, dims, strict=True)]
        dims = [graph.size(next(values)) if n == DYNAMIC_INDEX else d for n, d in zip(given, dims, strict=True)]
    for group, whole in zip(_groups(op), graph.dims(op.operands[0]), strict=True):
        open_ones = [a for a in group if dims[a] is None]
        if len(open_ones) == 1:
            dims[open_ones[0]] = whole // math.prod((d for a in group if (d := dims[a]) is not None), start=Const(1))
    if None in dims:
        raise UnsupportedError("several unknown sizes of one dimension", location=location_of(op))
    reshaped(graph, op, graph.tensor(op.operands[0]), cast("list[SymExpr]", dims))


def _offsets(graph: Graph, op: Operation, first: int) -> tuple[list[SSAValue | SymExpr], Dims, list[SymExpr]]:
    """Return the offsets, sizes and strides of a slice; operands from `first` on are those that are not static."""
    rest = iter(op.operands[first:])

    def numbers(name: str) -> list[Any]:
        static = integers(attribute(op, f"static_{name}"))
        return [next(rest) if n == DYNAMIC_INDEX else Const(n) for n in static]

    offsets = numbers("offsets")
    sizes = [n if isinstance(n, SymExpr) else graph.size(n) for n in numbers("sizes")]
    strides = [n if isinstance(n, SymExpr) else graph.size(n) for n in numbers("strides")]
    return offsets, sizes, strides


def index_of(p: Payload, value: SSAValue | SymExpr) -> SSAValue:
    if isinstance(value, SymExpr):
        return p.const(value.constant, i64) if value.constant is not None else p.add(ValueOp(value))
    return p.value(value)


def _extract_slice(graph: Graph, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    offsets, sizes, strides = _offsets(graph, op, 1)
    kept = kept_dimensions(op, result.type)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        places: list[SSAValue] = []
        for axis, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
            place = index_of(p, offset)
            if axis in kept:
                step = p.binary("mul", p.iters[kept.index(axis)], index_of(p, stride))
                place = p.binary("add", place, step)
            places.append(place)
        return [p.add(tir.LoadOp(p.value(source), places))]

    dims = [sizes[a] for a in kept]
    graph.values[result] = graph.pointwise("extract_slice", dims, element_of(result), compute)


Side = Callable[[Payload], SSAValue]


def either(p: Payload, inside: SSAValue, then: Side, other: Side) -> SSAValue:
    """Return the value of one of two sides; the other one is not evaluated."""

    sides: list[Region] = []
    for side in (then, other):
        block = Block()
        block.add_op(tir.YieldOp(side(Payload(block, p.iters, p.outer, p.known))))
        sides.append(Region(block))
    return p.add(tir.IfThenElseOp(inside, *sides))


def within(p: Payload, index: SSAValue, low: SSAValue, size: SSAValue, stride: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return whether an index is one of a slice, and its position in it."""
    distance = p.binary("sub", index, low)
    position = p.binary("floordiv", distance, stride)
    zero = p.const(0, i64)
    whole = p.binary("eq", p.binary("floormod", distance, stride), zero)
    inside = p.binary("and", p.binary("ge", distance, zero), p.binary("lt", position, size))
    return p.binary("and", inside, whole), position


def _insert_slice(graph: Graph, op: Operation) -> None:
    source, target, result = op.operands[0], op.operands[1], op.results[0]
    offsets, sizes, strides = _offsets(graph, op, 2)
    kept = kept_dimensions(op, source.type)

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        inside = p.const(1, i1)
        places: list[SSAValue] = []
        for axis, index in enumerate(p.iters):
            numbers = (index_of(p, offsets[axis]), index_of(p, sizes[axis]), index_of(p, strides[axis]))
            hit, position = within(p, index, *numbers)
            inside = p.binary("and", inside, hit)
            places += [position] if axis in kept else []
        p.values((source, target))

        def new(q: Payload) -> SSAValue:
            return q.add(tir.LoadOp(q.value(source), places))

        def old(q: Payload) -> SSAValue:
            return q.add(tir.LoadOp(q.value(target), list(p.iters)))

        return [either(p, inside, new, old)]

    graph.values[result] = graph.pointwise("insert_slice", graph.dims(target), element_of(result), compute)


def _pad(graph: Graph, op: tensor.PadOp) -> None:
    source, result = op.source, op.result
    rest = iter((*op.low, *op.high))
    low, high = (
        [graph.size(next(rest)) if n == DYNAMIC_INDEX else Const(n) for n in integers(attribute(op, f"static_{side}"))]
        for side in ("low", "high")
    )
    sizes = graph.dims(source)
    dims = [a + n + b for a, n, b in zip(low, sizes, high, strict=True)]
    body = op.region.block

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        inside = p.const(1, i1)
        places: list[SSAValue] = []
        for axis, index in enumerate(p.iters):
            hit, position = within(p, index, index_of(p, low[axis]), index_of(p, sizes[axis]), p.const(1, i64))
            inside = p.binary("and", inside, hit)
            places.append(position)

        def around(q: Payload) -> SSAValue:
            q.known |= dict(zip(body.args, q.iters, strict=True))
            return q.run(body)[0]

        return [either(p, inside, lambda q: q.add(tir.LoadOp(q.value(source), places)), around)]

    graph.values[result] = graph.pointwise("pad", dims, element_of(result), compute)


def _generate(graph: Graph, op: Operation) -> None:
    result, body = op.results[0], op.regions[0].block

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        p.known |= dict(zip(body.args, p.iters, strict=True))
        return p.run(body)

    dims = declared(graph, result.type, op.operands)
    graph.values[result] = graph.pointwise("generate", dims, element_of(result), compute)


def _extract(graph: Graph, op: tensor.ExtractOp) -> None:
    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [loaded(p, op)]

    graph.values[op.result] = graph.pointwise("extract", (), element_of(op.result), compute)


def _from_elements(graph: Graph, op: Operation) -> None:
    result = op.results[0]
    shape = cast("TensorType[Attribute]", result.type).get_shape()

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        place = p.const(0, i64)
        for index, extent in zip(p.iters, shape, strict=False):
            place = p.binary("add", p.binary("mul", place, p.const(extent, i64)), index)
        values = p.values(op.operands)
        chosen = values[-1]
        for number, value in reversed(list(enumerate(values[:-1]))):
            chosen = p.select(p.binary("eq", place, p.const(number, i64)), value, chosen)
        return [chosen]

    graph.values[result] = graph.pointwise("from_elements", [Const(d) for d in shape], element_of(result), compute)


def _concat(graph: Graph, op: Operation) -> None:
    axis = cast("IntegerAttr", attribute(op, "dim")).value.data
    parts = graph.add(relax.TupleOp([graph.tensor(v) for v in op.operands]))
    graph.values[op.results[0]] = graph.operator("concat", parts, axis=axis)


def _assert(graph: Graph, op: cf.AssertOp) -> None:
    known = graph.values.get(op.arg)
    if isinstance(known, IntegerAttr) and known.value.data:
        return
    raise UnsupportedError(
        f"an assertion that is not known to hold: {op.msg.data}",
        location=location_of(op),
        hint="sizes are checked when the function is called",
    )


def _if(graph: Graph, op: scf.IfOp) -> None:
    known = graph.values.get(op.cond)
    if isinstance(known, IntegerAttr):
        region = op.true_region if known.value.data else op.false_region
        results = import_block(graph, region.block)
        graph.values |= {r: graph.values[v] for r, v in zip(op.results, results, strict=True)}
        return
    result = graph.branch(graph.tensor(op.cond), [lambda r=r: import_block(graph, r.block) for r in op.regions])
    graph.values |= dict(zip(op.results, result, strict=True))


RULES_OF_TENSORS: dict[str, Rule] = {
    "arith.constant": _constant,
    "tosa.const": _constant,
    "tensor.dim": _dim,
    "tensor.empty": _empty,
    "bufferization.alloc_tensor": _alloc_tensor,
    "tensor.splat": _splat,
    "tensor.cast": _cast,
    "tensor.collapse_shape": _collapse,
    "tensor.expand_shape": _expand,
    "tensor.extract_slice": _extract_slice,
    "tensor.insert_slice": _insert_slice,
    "tensor.pad": _pad,
    "tensor.generate": _generate,
    "tensor.extract": _extract,
    "tensor.from_elements": _from_elements,
    "tensor.concat": _concat,
    "cf.assert": _assert,
    "scf.if": _if,
}
"""operation -> its translation. Structured operations and scalars have none: `structured.py` and `scalars.py` do."""
