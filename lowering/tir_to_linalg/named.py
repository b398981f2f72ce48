"""The named operation of linalg that a `linalg.generic` is: a fill, a copy, a transposition, a product, a window.

Products and windows are rows of `NAMED`, whose notation has to fit the maps, and whose computation the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, TensorType, i32, i64
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr

from ...dialects.xdsl_extras.linalg_extras import OPERATIONS
from ...dialects.xdsl_extras.linalg_named import NAMED, Named, Term, iterators, operands_of

_CLASSES = {op.name: op for op in OPERATIONS}
_WIDENINGS = (arith.ExtFOp, arith.ExtSIOp)
_SUMS = (arith.AddfOp, arith.AddiOp)
_COMPUTES: Mapping[tuple[str, bool], tuple[type[Operation], ...]] = {
    ("product", False): (arith.MulfOp, arith.MuliOp),
    ("max", False): (arith.MaximumfOp, arith.MaxSIOp),
    ("max", True): (arith.MaxUIOp,),
    ("min", False): (arith.MinimumfOp, arith.MinSIOp),
    ("min", True): (arith.MinUIOp,),
    ("sum", False): _SUMS,
}


def named_form(op: linalg.GenericOp) -> Operation | None:
    """Return the named operation that computes the same; None if there is none."""
    return _fill(op) or _moved(op) or _of_table(op)


def _indices(op: linalg.GenericOp) -> list[tuple[AffineExpr, ...]]:
    return [m.data.results for m in op.indexing_maps]


def _is_identity(op: linalg.GenericOp, indices: Sequence[AffineExpr]) -> bool:
    return list(indices) == [AffineExpr.dimension(d) for d in range(len(op.iterator_types))]


def _fill(op: linalg.GenericOp) -> Operation | None:
    body = op.body.block
    if op.inputs or len(op.outputs) != 1 or len(list(body.ops)) != 1:
        return None
    value = cast(Operation, body.last_op).operands[0]
    indices = _indices(op)[0]
    if value in body.args or set(map(str, indices)) != {f"d{d}" for d in range(len(op.iterator_types))}:
        return None
    if len(indices) != len(op.iterator_types):
        return None
    return linalg.FillOp([value], [op.outputs[0]], [])


def _moved(op: linalg.GenericOp) -> Operation | None:
    """A copy or a transposition: an element is one of the input."""
    body = op.body.block
    if len(op.inputs) != 1 or len(op.outputs) != 1 or len(list(body.ops)) != 1:
        return None
    source, target = _indices(op)
    if cast(Operation, body.last_op).operands[0] is not body.args[0] or not _is_identity(op, target):
        return None
    if _is_identity(op, source):
        return _made("linalg.copy", op, (0,), {})
    if sorted(map(str, source)) != sorted(map(str, target)):
        return None
    order = [list(source).index(index) for index in target]
    return linalg.TransposeOp(op.inputs[0], op.outputs[0], DenseArrayBase.from_list(i64, order))


def _made(name: str, op: linalg.GenericOp, order: Sequence[int], properties: Mapping[str, Attribute]) -> Operation:
    """Return the named operation with the inputs in this order, and with the region that its pretty form leaves out."""
    inputs = [op.inputs[i] for i in order]
    old = op.body.block
    block = Block(arg_types=[old.args[i].type for i in (*order, *range(len(order), len(old.args)))])
    for new, i in zip(block.args, (*order, *range(len(order), len(old.args))), strict=True):
        old.args[i].replace_all_uses_with(new)
    for inner in list(old.ops):
        inner.detach()
        block.add_op(inner)
    sizes = DenseArrayBase.from_list(i32, [len(inputs), len(op.outputs)])
    return _CLASSES[name].create(
        operands=[*inputs, *op.outputs],
        properties={**properties, "operandSegmentSizes": sizes},
        regions=[Region(block)],
    )


def _of_table(op: linalg.GenericOp) -> Operation | None:
    body = op.body.block
    if len(op.inputs) != 2 or len(op.outputs) != 1:
        return None
    for name, named in NAMED.items():
        inputs, _ = operands_of(named.notation)
        used = _computed(body, named)
        if used is None or len(inputs) != 2:
            continue
        for order in permutations((0, 1)) if used == 2 else [(0, 1)]:
            match = _Match.of(op, named, order)
            if match is not None:
                return _made(name, op, order, match.attributes())
    return None


def _computed(body: Block, named: Named) -> int | None:
    """Return how many inputs the body combines with the output as `named` does; None for another computation."""
    wide: dict[Operation | Block, SSAValue] = {
        o: o.operands[0] for o in body.ops if isinstance(o, _WIDENINGS) and o.operands[0] in body.args[:-1]
    }
    rest = [o for o in body.ops if o not in wide and not isinstance(o, linalg.YieldOp)]
    total, out = rest[-1] if rest else None, body.args[-1]
    yielded = cast(Operation, body.last_op).operands[0]
    if total is None or yielded.owner is not total or len(total.operands) != 2 or out not in total.operands:
        return None

    def plain(value: SSAValue) -> SSAValue:
        return wide.get(value.owner, value)

    other, kind = next((v for v in total.operands if v is not out), out), _COMPUTES[named.computes, named.unsigned]
    if named.computes != "product":
        return 1 if len(rest) == 1 and isinstance(total, kind) and plain(other) is body.args[0] else None
    if len(rest) != 2 or not isinstance(total, _SUMS) or not isinstance(rest[0], kind) or other.owner is not rest[0]:
        return None
    return 2 if {plain(v) for v in rest[0].operands} == {body.args[0], body.args[1]} else None


@dataclass
class _Match:
    """The iterators of a notation: the position of each letter, and the factors of windows, in order."""

    letters: dict[str, int] = field(default_factory=dict[str, int])
    strides: list[int] = field(default_factory=list[int])
    dilations: list[int] = field(default_factory=list[int])

    @classmethod
    def of(cls, op: linalg.GenericOp, named: Named, order: Sequence[int]) -> _Match | None:
        """Match the maps of an operation, whose inputs are taken in this order."""
        inputs, output = operands_of(named.notation)
        letters, parallel = iterators(inputs, output)
        maps = _indices(op)
        kinds = [kind.data is IteratorType.REDUCTION for kind in op.iterator_types]
        match = cls()
        rows = [(output, maps[2]), (inputs[1], maps[order[1]]), (inputs[0], maps[order[0]])]
        if len(letters) != len(kinds) or any(len(terms) != len(indices) for terms, indices in rows):
            return None
        if not all(match._takes(t, i) for terms, indices in rows for t, i in zip(terms, indices, strict=True)):
            return None
        if sorted(match.letters.values()) != list(range(len(kinds))):
            return None
        reductions = {match.letters[letter] for letter in letters[parallel:]}
        return match if all((d in reductions) == kind for d, kind in enumerate(kinds)) else None

    def _takes(self, term: Term, index: AffineExpr) -> bool:
        if len(term) == 1:
            return isinstance(index, AffineDimExpr) and self.letters.setdefault(term[0], index.position) == (
                index.position
            )
        factors = _linear(index)
        places = [self.letters.get(letter) for letter in term[:2]]
        if factors is None or None in places or set(factors) != set(places):
            return False
        stride, dilation = (factors[cast(int, place)] for place in places)
        if len(term) == 3:
            return stride == dilation == 1
        self.strides.append(stride)
        self.dilations.append(dilation)
        return stride > 0 and dilation > 0

    def attributes(self) -> dict[str, Attribute]:
        if not self.strides:
            return {}
        kind = TensorType(i64, [len(self.strides)])
        return {
            "strides": DenseIntOrFPElementsAttr.from_list(kind, self.strides),
            "dilations": DenseIntOrFPElementsAttr.from_list(kind, self.dilations),
        }


def _linear(index: AffineExpr) -> dict[int, int] | None:
    """Return the factor of each iterator; None for an index that is no such sum."""
    if isinstance(index, AffineDimExpr):
        return {index.position: 1}
    if not isinstance(index, AffineBinaryOpExpr):
        return None
    if index.kind is AffineBinaryOpKind.Mul and isinstance(index.rhs, AffineConstantExpr):
        inner = _linear(index.lhs)
        return None if inner is None else {d: f * index.rhs.value for d, f in inner.items()}
    sides = [_linear(index.lhs), _linear(index.rhs)]
    if index.kind is not AffineBinaryOpKind.Add or None in sides:
        return None
    first, second = cast("list[dict[int, int]]", sides)
    return None if first.keys() & second.keys() else {**first, **second}
