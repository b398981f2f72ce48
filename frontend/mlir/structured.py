"""linalg's operations, and those of arith and math on tensors, as iterators, index maps and a body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerType,
    Signedness,
    i1,
)
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.xdsl_extras.linalg_named import ELEMENTWISE, NAMED, Named, Term, iterators, operands_of
from ...dialects.xdsl_extras.refused import REASONS
from ...ir.locations import location_of
from .payload import Payload
from .scalars import RULES, Expressions, expression, scalar_type

Indices = tuple[AffineExpr, ...]
Compute = Callable[[Payload, Sequence[SSAValue], Sequence[SSAValue]], Sequence[SSAValue]]
"""(payload, elements of inputs, elements of outputs) -> the new elements of outputs."""


@dataclass(frozen=True)
class Structured:
    """An operation that computes elements of its outputs at each point of its iterators."""

    name: str
    inputs: Sequence[SSAValue]
    outputs: Sequence[SSAValue]
    """The initial values, tensors or memrefs."""
    reductions: Sequence[bool]
    """For each iterator, whether it is one of a reduction."""
    maps: Sequence[Indices]
    """The indices of each input and output."""
    compute: Compute
    updates: bool = True
    """Whether the previous elements of the outputs count."""

    def is_part(self, number: int) -> bool:
        """Return whether an output may have elements that are not computed, and so keep their initial values."""
        indices = self.maps[len(self.inputs) + number]
        return not all(isinstance(i, AffineDimExpr) for i in indices) or len(set(indices)) < len(indices)


def structured(op: Operation) -> Structured | None:
    """Return what an operation computes; None if it is not structured. Raises `UnsupportedError`."""
    for kind, read in _READERS.items():
        if isinstance(op, kind):
            return read(op)
    named = NAMED.get(op.name)
    if named is not None:
        return _named(op, named)
    if op.name in _BY_NAME:
        return _BY_NAME[op.name](op)
    short = op.name.removeprefix("linalg.")
    if op.name.startswith("linalg.") and short in ELEMENTWISE:
        return _elementwise(op, *operands(op), short)
    if op.name in RULES and op.results and hasattr(op.results[0].type, "get_shape"):
        return _on_tensors(op)
    return None


def operands(op: Operation) -> tuple[list[SSAValue], list[SSAValue]]:
    """Return the inputs and outputs of an operation of linalg."""
    segments = op.properties.get("operandSegmentSizes") or op.attributes.get("operandSegmentSizes")
    if not isinstance(segments, DenseArrayBase):
        return list(op.operands[:-1]), list(op.operands[-1:])
    count = int(segments.get_values()[0])
    return list(op.operands[:count]), list(op.operands[count:])


def unsupported(op: Operation, where: str) -> UnsupportedError:
    """Return the error for an operation without a rule, with the reason if there is one."""
    hint = REASONS.get(op.name, "docs/mlir_operations.md lists what is read")
    return UnsupportedError(f"'{op.name}' in {where}", location=location_of(op), hint=hint)


def attribute(op: Operation, name: str) -> Attribute | None:
    """Return an attribute or property."""
    found = op.properties.get(name)
    return op.attributes.get(name) if found is None else found


def integers(value: Attribute | None) -> list[int]:
    """Return the numbers of a dense attribute; none without one."""
    if isinstance(value, DenseArrayBase | DenseIntOrFPElementsAttr):
        return [int(v) for v in cast(Any, value).get_values()]
    return []


def rank(value: SSAValue) -> int:
    """Return the rank of a tensor or memref; that of a scalar is 0."""
    if isinstance(value.type, relax.TensorType):
        return len(value.type.dims or ())
    return len(cast(Any, value.type).get_shape()) if hasattr(value.type, "get_shape") else 0


def element_of(value: SSAValue) -> Attribute:
    """Return the element type of a tensor or memref, or the type of a scalar."""
    if isinstance(value.type, relax.TensorType):
        return value.type.dtype
    return scalar_type(getattr(value.type, "element_type", value.type))


def _dims(numbers: Sequence[int]) -> Indices:
    return tuple(AffineExpr.dimension(d) for d in numbers)


def _body(block: Block) -> Compute:
    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        p.known |= dict(zip(block.args, [*ins, *outs], strict=False))
        return p.run(block)

    return compute


def _generic(op: linalg.GenericOp) -> Structured:
    maps = [tuple(cast(AffineMapAttr, m).data.results) for m in op.indexing_maps]
    kinds = [str(kind.data) for kind in op.iterator_types]
    block = op.body.block
    outs = block.args[len(op.inputs) :]
    reductions = ["parallel" not in kind for kind in kinds]
    updates = any(v.uses for v in outs) or any(reductions)  # a reduction of nothing leaves what was there
    return Structured("generic", list(op.inputs), list(op.outputs), reductions, maps, _body(block), updates)


def _reduce(op: linalg.ReduceOp) -> Structured:
    ins, outs = operands(op)
    removed = set(integers(attribute(op, "dimensions")))
    every = list(range(rank(ins[0])))
    kept = [d for d in every if d not in removed]
    return Structured(
        "reduce",
        ins,
        outs,
        [d in removed for d in every],
        [*(_dims(every) for _ in ins), *(_dims(kept) for _ in outs)],
        _body(op.regions[0].block),
    )


def _moved(op: Operation) -> Structured:
    """`transpose` and `broadcast`: an element of the output is one of the input."""
    ins, outs = operands(op)
    every = list(range(rank(outs[0])))
    if op.name == "linalg.transpose":
        order = integers(attribute(op, "permutation"))
        source = [order.index(d) for d in every]
    else:
        added = set(integers(attribute(op, "dimensions")))
        source = [d for d in every if d not in added]
    maps = [_dims(source), _dims(every)]
    return Structured(op.name[7:], ins, outs, [False] * len(every), maps, lambda p, ins, outs: ins, updates=False)


def _map(op: Operation) -> Structured:
    ins, outs = operands(op)
    every = _dims(range(rank(outs[0])))
    maps = [every for _ in op.operands]
    return Structured("map", ins, outs, [False] * len(every), maps, _body(op.regions[0].block), updates=False)


def _fill(op: Operation) -> Structured:
    ins, outs = operands(op)
    every = _dims(range(rank(outs[0])))
    kind = element_of(outs[0])

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [converted(p, ins[0], kind)]

    return Structured("fill", ins, outs, [False] * len(every), [(), every], compute, updates=False)


def _on_tensors(op: Operation) -> Structured:
    """An operation of arith or math on tensors."""
    every = _dims(range(rank(op.results[0])))
    maps = [every if rank(v) else () for v in (*op.operands, *op.results)]

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return [expression(p, _scalar_form(op), ins)]

    name = op.name.partition(".")[2]
    return Structured(name, list(op.operands), list(op.results), [False] * len(every), maps, compute, updates=False)


def _scalar_form(op: Operation) -> Operation:
    """Return the operation on elements, detached, for what rules read of it: result type and properties."""
    result = getattr(op.results[0].type, "element_type", op.results[0].type)
    return type(op).create(operands=(), result_types=(result,), properties=op.properties)


def converted(e: Expressions, value: SSAValue, target: Attribute, unsigned: bool = False) -> SSAValue:
    """Convert an element as named operations do: integers are signed unless they are `unsigned`."""
    if unsigned and isinstance(value.type, IntegerType) and value.type != target:
        value = e.cast(value, IntegerType(value.type.width.data, Signedness.UNSIGNED))
    return e.cast(e.signed(value) if value.type != target and not unsigned else value, target)


def _named(op: Operation, named: Named) -> Structured:
    ins, outs = operands(op)
    inputs, output = operands_of(named.notation)
    letters, parallel = iterators(inputs, output)
    given = attribute(op, "indexing_maps")
    kind = element_of(outs[0])
    unsigned = named.unsigned or str(attribute(op, "cast")) == "#linalg.type_fn<cast_unsigned>"
    if isinstance(given, ArrayAttr):
        maps = [tuple(cast(AffineMapAttr, m).data.results) for m in cast("ArrayAttr[Attribute]", given)]
    else:
        strides, dilations = (integers(attribute(op, name)) for name in ("strides", "dilations"))
        maps = [_indices(terms, letters, strides, dilations) for terms in (*inputs, output)]

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        values = [converted(p, v, kind, unsigned) for v in ins]
        if named.computes == "product":
            for number, zero in enumerate(values[2:]):
                values[number] = p.binary("sub", values[number], zero)
            return [_sum(p, outs[0], p.binary("and" if kind == i1 else "mul", *values[:2]))]
        if named.computes == "sum":
            return [_sum(p, outs[0], values[0])]
        arith = f"arith.{named.computes}" + ("imumf" if is_float(kind) else "ui" if unsigned else "si")
        return [RULES[arith](p, (outs[0], values[0]), op)]

    return Structured(op.name[7:], ins, outs, [i >= parallel for i in range(len(letters))], maps, compute)


def _sum(p: Payload, total: SSAValue, value: SSAValue) -> SSAValue:
    return p.binary("or" if total.type == i1 else "add", total, value)


def _indices(terms: Sequence[Term], letters: list[str], strides: list[int], dilations: list[int]) -> Indices:
    indices: list[AffineExpr] = []
    windows = 0
    for term in terms:
        position = AffineExpr.dimension(letters.index(term[0]))
        if len(term) > 1:
            stride, dilation = ((numbers[windows] if windows < len(numbers) else 1) for numbers in (strides, dilations))
            windows += 1
            position = position * stride + AffineExpr.dimension(letters.index(term[1])) * dilation
        indices.append(position)
    return tuple(indices)


_FLOAT = {
    "exp": "math.exp", "log": "math.log", "abs": "math.absf", "ceil": "math.ceil", "floor": "math.floor",
    "negf": "arith.negf", "round": "math.round", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt", "tanh": "math.tanh",
    "erf": "math.erf", "add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
    "max": "arith.maximumf", "min": "arith.minimumf", "powf": "math.powf",
}  # fmt: skip
_INTEGER = {
    "abs": "math.absi", "add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "div": "arith.divsi",
    "div_unsigned": "arith.divui", "max": "arith.maxsi", "min": "arith.minsi",
}  # fmt: skip


def _elementwise(op: Operation, ins: list[SSAValue], outs: list[SSAValue], name: str) -> Structured:
    every = _dims(range(rank(outs[0])))
    kind = element_of(outs[0])

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if name == "select":
            return [p.select(ins[0], *(converted(p, v, kind) for v in ins[1:]))]
        values = [converted(p, v, kind, name == "div_unsigned") for v in ins]
        if name == "copy":
            return values
        if name == "square":
            return [p.binary("mul", values[0], values[0])]
        if name == "reciprocal":
            return [p.binary("div", p.const(1, kind), values[0])]
        rule = (_FLOAT if is_float(kind) else _INTEGER).get(name)
        if rule is None:
            raise UnsupportedError(f"'{op.name}' of {kind}", location=location_of(op))
        return [RULES[rule](p, values, op)]

    maps = [every if rank(v) else () for v in (*ins, *outs)]
    return Structured(name, ins, outs, [False] * len(every), maps, compute, updates=False)


def _elementwise_of_kind(op: Operation) -> Structured:
    """`linalg.elementwise`: a kind, and maps that may broadcast and transpose."""
    ins, outs = operands(op)
    name = cast(Any, attribute(op, "kind")).data.data
    if name not in ELEMENTWISE:
        raise UnsupportedError(f"'{op.name}' of the kind {name}", location=location_of(op))
    s = _elementwise(op, ins, outs, name)
    given = attribute(op, "indexing_maps")
    if not isinstance(given, ArrayAttr):
        return s
    maps = [tuple(cast(AffineMapAttr, m).data.results) for m in cast("ArrayAttr[Attribute]", given)]
    return replace(s, maps=maps)


def _contract(op: Operation) -> Structured:
    ins, outs = operands(op)
    maps = [cast(AffineMapAttr, m).data for m in cast("ArrayAttr[Attribute]", attribute(op, "indexing_maps"))]
    kept = {str(index) for index in maps[-1].results}
    kind = element_of(outs[0])

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        a, b = (converted(p, v, kind) for v in ins)
        return [_sum(p, outs[0], p.binary("and" if kind == i1 else "mul", a, b))]

    reductions = [str(AffineExpr.dimension(d)) not in kept for d in range(maps[0].num_dims)]
    return Structured("contract", ins, outs, reductions, [tuple(m.results) for m in maps], compute)


_READERS: dict[type[Operation], Callable[[Any], Structured]] = {
    linalg.GenericOp: _generic,
    linalg.ReduceOp: _reduce,
    linalg.FillOp: _fill,
}
_BY_NAME: dict[str, Callable[[Operation], Structured]] = {
    "linalg.transpose": _moved,
    "linalg.broadcast": _moved,
    "linalg.map": _map,
    "linalg.contract": _contract,
    "linalg.elementwise": _elementwise_of_kind,
}
