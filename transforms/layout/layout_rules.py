"""Propagation of layouts through operators: one row of `RULES` for each operator (or family).

A rule gets the current layouts of the operands, and returns those that the operator needs, its new attributes, and the
layout of the result. Layouts are written in letters of the original order: `ABCD` is an unchanged tensor of rank 4,
`ACDB` has its second dimension last, `ABCD4b` has it in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.elementwise import BINARY, UNARY
from ...dialects.relax.operator import Operator
from ...dialects.relax.reduction import REDUCTIONS
from ...dialects.sym.data_layout import Axis, DataLayout

Desired = Mapping[str, Sequence[str]]
"""The desired layouts of an operator's data, kernel and result (default: that of the data), by operator."""
Attrs = Mapping[str, Any]


class Operand(NamedTuple):
    """A tensor operand: its original struct info, and its current layout."""

    type: relax.TensorType
    layout: DataLayout

    @property
    def rank(self) -> int:
        return len(self.layout.dims)


@dataclass(frozen=True)
class Plan:
    """The layouts of operands (None: original) and results, and changed attributes.

    `scalars` are new values for arguments that are tuples of prim values.
    """

    inputs: Sequence[DataLayout | None]
    outputs: Sequence[DataLayout | None]
    attrs: Attrs = field(default_factory=dict[str, Any])


LayoutRule = Callable[[Operator, Sequence[Operand], Desired], Plan | None]
"""`(operator, tensor operands, desired layouts)` -> the plan; None if all operands must have their original layouts."""


def follow(source: DataLayout, rank: int) -> DataLayout:
    """Return the layout of a tensor of `rank` to which a tensor in layout `source` broadcasts: new dimensions lead."""
    more = rank - len(source.dims)
    initial = DataLayout.initial(rank)
    names = dict(zip(sorted(source.dims), initial.dims[more:], strict=True))
    moved = [Axis(_like(names[a.primal], a.letter), a.factor) for a in source.axes]
    return DataLayout((*initial.axes[:more], *moved))


def _like(letter: str, model: str) -> str:
    return letter if model.isupper() else letter.lower()


def without(layout: DataLayout, letters: Sequence[str]) -> DataLayout:
    """Return the layout after removing dimensions, in letters of the new order."""
    kept = [a for a in layout.axes if a.primal not in letters]
    primals = sorted({a.primal for a in kept})
    names = dict(zip(primals, DataLayout.initial(len(primals)).dims, strict=True))
    return DataLayout(tuple(Axis(_like(names[a.primal], a.letter), a.factor) for a in kept))


def _letters(operand: Operand, axes: int | Sequence[int] | None) -> list[str]:
    """Return the letters of the original axes; None selects all of them."""
    chosen = range(operand.rank) if axes is None else [axes] if isinstance(axes, int) else axes
    return [sorted(operand.layout.dims)[a] for a in chosen]


def _is_cut(operand: Operand, axes: int | Sequence[int] | None) -> bool:
    """Return whether one of the axes is blocked."""
    return any(operand.layout.block(c) is not None for c in _letters(operand, axes))


def _places(operand: Operand, axes: int | Sequence[int] | None) -> list[int]:
    """Return the current positions of original axes."""
    return [operand.layout.index(c) for c in _letters(operand, axes)]


def elementwise(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """f(x): the layout of x."""
    return Plan([operands[0].layout], [operands[0].layout])


def dropout(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """The result and the mask have the layout of x."""
    return Plan([operands[0].layout], [operands[0].layout] * 2)


def broadcast(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """f(x1, x2): the operand of lower rank determines the layout (the first one if equal), the other follows.

    No scalars.
    """
    low, high = sorted(operands, key=lambda o: o.rank)
    if low.rank == 0:
        layouts = [None if o is low else high.layout for o in operands]
        return Plan(layouts, [high.layout])
    layout = follow(low.layout, high.rank)
    return Plan([low.layout if o is low else layout for o in operands], [layout])


def agreeing(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """f(x1, x2, x3): the operands' layout, if all have the same."""
    first = operands[0].layout
    return Plan([first] * len(operands), [first]) if all(o.layout == first for o in operands) else None


def convolution(op: Operator, operands: Sequence[Operand], desired: Desired) -> Plan | None:
    """The desired layouts, else those of data and kernel."""
    desired_layouts = desired.get(op.name)
    data, kernel = operands
    initial = DataLayout.initial(data.rank)
    own = {n: DataLayout.parse(op.attr(n)) for n in ("data_layout", "kernel_layout", "out_layout")}
    if not all(layout.is_plain for layout in own.values()):
        return None
    if desired_layouts is None:
        inputs, result = [data.layout, kernel.layout], data.layout
    else:
        named = [DataLayout.parse(w) for w in desired_layouts]
        named = named if len(named) > 2 else [*named, named[0]]
        inputs = [n.renamed(_sorted_like(n, own[a]), initial) for n, a in zip(named[:2], list(own)[:2], strict=True)]
        result = named[2].renamed(_sorted_like(named[2], own["out_layout"]), initial)
    layouts = [*inputs, result]
    names = zip(own.items(), layouts, strict=True)
    attrs = {name: str(layout.renamed(initial, before)) for (name, before), layout in names}
    return Plan(inputs, [result], attrs)


def _sorted_like(layout: DataLayout, model: DataLayout) -> DataLayout:
    if sorted(layout.dims) != sorted(model.dims):
        layout.map_to(model)  # raises
    return model


def pooling(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """The layout of the data, if it was not blocked originally."""
    data = operands[0]
    if not DataLayout.parse(op.attr("layout")).is_plain:
        return None
    initial = DataLayout.initial(data.rank)
    names = [n for n in ("layout", "out_layout") if n in op.ATTR_SPECS]
    attrs = {n: str(data.layout.renamed(initial, DataLayout.parse(op.attr(n) or op.attr("layout")))) for n in names}
    others = [None] * (len(operands) - 1)
    return Plan([data.layout, *others], [data.layout], attrs)


def resizing(op: Operator, operands: Sequence[Operand], desired: Desired) -> Plan | None:
    """The desired layout, else that of the data; not blocked."""
    layouts = desired.get(op.name)
    if layouts is None:
        return pooling(op, operands, desired)
    own, initial = DataLayout.parse(op.attr("layout")), DataLayout.initial(operands[0].rank)
    layout = DataLayout.parse(layouts[0])
    if not (own.is_plain and layout.is_plain):
        return None
    moved = layout.renamed(_sorted_like(layout, own), initial)
    return Plan([moved], [moved], {"layout": str(moved.renamed(initial, own))})


def along(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """f(x, axis): all operands have the layout of the first one."""
    axis, first = op.attr("axis"), operands[0]
    if axis is None:
        return None
    return Plan([first.layout] * len(operands), [first.layout], {"axis": _places(first, axis)[0]})


def channels(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """f(x, parameters of the dimension `axis`): the layout of x; further results are like the parameters."""
    first = operands[0]
    results = len(op.result_type.types) if isinstance(op.result_type, TupleType) else 1
    attrs = {"axis": _places(first, op.attr("axis"))[0]}
    return Plan([first.layout, *[None] * (len(operands) - 1)], [first.layout, *[None] * (results - 1)], attrs)


def take(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """take(x, indices, axis): the layout of x, if the indices are a vector."""
    return channels(op, operands, _) if op.attr("axis") is not None and operands[1].type.rank == 1 else None


def group_norm(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """group_norm, instance_norm: the layout of x; parameters belong to its channels."""
    first = operands[0]
    attrs = {"channel_axis": _places(first, op.attr("channel_axis"))[0], "axes": _places(first, op.attr("axes"))}
    return Plan([first.layout, None, None], [first.layout], attrs)


def normalized(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """layer_norm, rms_norm: the layout of x, if the parameters' dimensions are still in order."""
    first = operands[0]
    normalized_axes: list[int] = list(range(first.rank)) if op.attr("axes") is None else op.attr("axes")
    before, axes = [a % first.rank for a in normalized_axes], _places(first, normalized_axes)
    in_order = sorted(range(len(axes)), key=axes.__getitem__) == sorted(range(len(axes)), key=before.__getitem__)
    if not in_order or _is_cut(first, normalized_axes):
        return None
    return Plan([first.layout, *[None] * (len(operands) - 1)], [first.layout], {"axes": axes})


def reduction(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """sum(x, axis): the layout of x; remaining dimensions keep their order.

    Both parts of a blocked dimension are removed.
    """
    first, axes = operands[0], op.attr("axis")
    letters = _letters(first, axes)
    if op.attr("keepdims") and _is_cut(first, axes):
        return None
    places = [i for i, a in enumerate(first.layout.axes) if a.primal in letters]
    result = first.layout if op.attr("keepdims") else without(first.layout, letters)
    return Plan([first.layout], [result], {"axis": places})


def concatenation(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """All operands have the layout of the first one: blocks are concatenated."""
    return along(op, operands, _)


def split(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """Each part has the layout of x; along a blocked dimension the parts consist of full blocks."""
    first, axis, sections = operands[0], op.attr("axis"), op.attr("indices_or_sections")
    layouts = [first.layout] * (len(op.result_type.types) if isinstance(op.result_type, TupleType) else 1)
    attrs: dict[str, Any] = {"axis": _places(first, axis)[0]}
    block = first.layout.block(_letters(first, axis)[0])
    if block is not None:
        cuts = _in_blocks(first, cast(int, axis), sections, block)
        if cuts is None:
            return None
        attrs["indices_or_sections"] = cuts
    return Plan([first.layout], layouts, attrs)


def _in_blocks(operand: Operand, axis: int, sections: int | Sequence[int], block: int) -> int | list[int] | None:
    """Return the positions to split a dimension at, in blocks; None if one is inside a block."""
    if not isinstance(sections, int):
        return None if any(cut % block for cut in sections) else [cut // block for cut in sections]
    extent = None if operand.type.dims is None else operand.type.dims[axis].constant
    return None if extent is None or extent % (sections * block) else sections


def squeeze(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """Remaining dimensions keep their order."""
    first, axes = operands[0], op.attr("axis")
    if axes is None:
        if first.type.dims is None:
            return None
        axes = [i for i, d in enumerate(first.type.dims) if d.constant == 1]
    result = without(first.layout, _letters(first, axes))
    return Plan([first.layout], [result], {"axis": sorted(_places(first, axes))})


def expand_dims(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """New dimensions have their original positions, the others keep their order between them."""
    first = operands[0]
    rank = first.rank + len(op.attr("axis"))
    new = [a % rank for a in op.attr("axis")]
    initial = DataLayout.initial(rank).dims
    names = dict(zip(sorted(first.layout.dims), (c for i, c in enumerate(initial) if i not in new), strict=True))
    rest = iter(names[a.letter] for a in first.layout.axes)
    result = DataLayout(tuple(Axis(initial[i] if i in new else next(rest)) for i in range(rank)))
    return Plan([first.layout], [result], {"axis": op.attr("axis")})


def permute_dims(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """The result has its original layout: the axes are mapped to the layout of x."""
    first = operands[0]
    axes = op.attr("axes") or list(range(first.rank))[::-1]
    return Plan([first.layout], [None], {"axes": _places(first, axes)})


def tile(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """Repeats are permuted like the dimensions; not supported if there are more of them than dimensions."""
    first, repeats = operands[0], op.attr("repeats")
    counts = [repeats] if isinstance(repeats, int) else list(repeats)
    if len(counts) > first.rank:
        return None
    counts = [1] * (first.rank - len(counts)) + counts
    moved = [counts[sorted(first.layout.dims).index(a.letter)] for a in first.layout.axes]
    return Plan([first.layout], [first.layout], {"repeats": moved})


def pad(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan:
    """Widths are permuted like the dimensions."""
    first, widths = operands[0], op.attr("pad_width")
    pairs = [widths[2 * i : 2 * i + 2] for i in (sorted(first.layout.dims).index(a.letter) for a in first.layout.axes)]
    return Plan([first.layout], [first.layout], {"pad_width": [width for pair in pairs for width in pair]})


def strided_slice(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """The layout of x; the axes are prim values, which `axes*` of the plan replaces."""
    first = operands[0]
    axes = [_constant(v) for v in cast("Sequence[SSAValue]", op.args[1])]
    known = [a for a in axes if a is not None]
    if len(known) < len(axes):
        return None
    return Plan([first.layout], [first.layout], {"axes*": _places(first, known)})


def _constant(value: SSAValue) -> int | None:
    """Return the integer of a prim value."""
    t = value.type
    return t.expr.constant if isinstance(t, relax.PrimType) and t.expr is not None else None


def scatter_nd(op: Operator, operands: Sequence[Operand], _: Desired) -> Plan | None:
    """The layout of data, if the indexed dimensions still come first; updates follow."""
    data, indices, updates = operands
    depth = indices.type.dims[-1].constant if indices.type.dims else None
    more = updates.rank - data.rank
    if depth is None or more < 0 or indices.rank - 1 != more + depth:
        return None
    if list(data.layout.dims[:depth]) != sorted(data.layout.dims)[:depth]:
        return None
    return Plan([data.layout, None, follow(data.layout, updates.rank)], [data.layout])


CARRY_BLOCKS: frozenset[LayoutRule] = frozenset(
    (elementwise, broadcast, agreeing, convolution, pooling, reduction, normalized, concatenation, split)
)
"""Rules that support blocked tensors, where a dimension has two positions."""

RULES: dict[str, LayoutRule] = {
    **{cls.name: elementwise for cls in UNARY.values()},
    "relax.astype": elementwise,
    "relax.nn.dropout": dropout,
    **{cls.name: broadcast for cls in BINARY.values()},
    "relax.ewise_fma": agreeing,
    "relax.where": agreeing,
    **{f"relax.nn.conv{n}d{suffix}": convolution for n in (1, 2, 3) for suffix in ("", "_transpose")},
    **{f"relax.nn.{kind}_pool{n}d": pooling for n in (1, 2, 3) for kind in ("max", "avg", "adaptive_avg")},
    "relax.image.resize2d": resizing,
    **{cls.name: reduction for cls in REDUCTIONS.values()},
    "relax.nn.softmax": along,
    "relax.quantize": channels,
    "relax.dequantize": channels,
    "relax.nn.pad": pad,
    "relax.nn.batch_norm": channels,
    "relax.nn.prelu": channels,
    "relax.nn.group_norm": group_norm,
    "relax.nn.instance_norm": group_norm,
    "relax.nn.layer_norm": normalized,
    "relax.nn.rms_norm": normalized,
    "relax.concat": concatenation,
    "relax.split": split,
    "relax.squeeze": squeeze,
    "relax.expand_dims": expand_dims,
    "relax.permute_dims": permute_dims,
    "relax.repeat": along,
    "relax.flip": along,
    "relax.tile": tile,
    "relax.strided_slice": strided_slice,
    "relax.gather_elements": along,
    "relax.scatter_elements": along,
    "relax.scatter_nd": scatter_nd,
}
"""Operators that propagate layouts. All others get and return original layouts."""

MORE_RULES: dict[str, LayoutRule] = {
    **RULES,
    "relax.clip": elementwise,
    "relax.nn.leakyrelu": elementwise,
    "relax.nn.softplus": elementwise,
    "relax.nn.log_softmax": along,
    "relax.take": take,
}
"""`RULES`, and operators that could propagate layouts but do not in `ConvertLayout`, which follows TVM."""
