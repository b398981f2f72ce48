"""Convert convolutions to given layouts, with as few transpositions as the rules allow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import ShapeError, TiraxError, unknown_name
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import Arg, Operator
from ...dialects.relax.types import is_base_of
from ...dialects.sym import IndexMapAttr
from ...dialects.sym.data_layout import DataLayout
from ...handles.relax.expr import bound_expr
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.names import name_bindings
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, insert_before
from .layout_rules import CARRY_BLOCKS, RULES, Desired, LayoutRule, Operand, Plan, convolution, resizing

Layouts = DataLayout | tuple["Layouts", ...] | None
"""The layout of a value: of a tensor, or of the fields of a tuple; None for the original layout."""
Callback = Callable[[Any], Mapping[str, Sequence[str]] | None]
"""`layout_cb(call) -> {operator: layouts}`"""


@dataclass(frozen=True, init=False)
class ConvertLayout(Pass):
    """Convert operators to desired layouts; surrounding operators follow according to `rules`.

    y = conv2d(x, w)  ->  y = permute_dims(conv2d(permute_dims(x), permute_dims(w), data_layout="NHWC", …))

    `desired_layouts` lists for a convolution the layouts of data, kernel and result (default: that of the data), for
    `image.resize2d` that of the data: `{"relax.nn.conv2d": ["NHWC", "OHWI"]}`. `layout_cb(call)` returns such a
    dictionary for one call, and overrides `desired_layouts`. Only dataflow blocks change; their inputs and outputs keep
    their layouts.

    A blocked layout, `NCHW4c`, requires extents that are certainly divisible by the blocks. Element-wise operators,
    convolutions and pools propagate it.

    In text, `operators` and `layouts` correspond: `convert-layout{operators="relax.nn.conv2d" layouts="NHWC OHWI"}`.

    Raises `NameLookupError` for an unknown operator and `ShapeError` for layouts that it cannot have.
    """

    name: ClassVar[str] = "convert-layout"
    operators: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    desired_layouts: Mapping[str, Sequence[str]] = field(init=False, default_factory=dict[str, Sequence[str]])
    layout_cb: Callback | None = field(init=False, default=None)

    def __init__(
        self,
        desired_layouts: Mapping[str, Sequence[str]] | None = None,
        layout_cb: Callback | None = None,
        *,
        operators: tuple[str, ...] = (),
        layouts: tuple[str, ...] = (),
    ):
        if len(operators) != len(layouts):
            message = "convert-layout: as many layouts as operators"
            raise TiraxError(message, expected=len(operators), found=len(layouts))
        texts = zip(operators, layouts, strict=True)
        desired = {n: list(names) for n, names in (desired_layouts or {}).items()} | {n: t.split() for n, t in texts}
        object.__setattr__(self, "operators", tuple(desired))
        object.__setattr__(self, "layouts", tuple(" ".join(names) for names in desired.values()))
        object.__setattr__(self, "desired_layouts", desired)
        object.__setattr__(self, "layout_cb", layout_cb)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        desired, callback = _checked(self.desired_layouts), self.layout_cb
        for func in relax_functions(op):
            convert_function(func, lambda op: desired if callback is None else _layouts_of_callback(callback, op))


def convert_function(
    func: relax.FuncOp, choose: Callable[[Operator], Desired], rules: Mapping[str, LayoutRule] = RULES
) -> None:
    """Convert the operators of one function to the layouts that `choose` returns for each convolution, in place."""
    blocks = [b for b in binding_blocks(func) if isinstance(b.parent_op(), relax.DataflowOp)]
    for block in blocks:
        _Converter(choose, rules).block(list(block.ops))
    if blocks:
        remove_dead_bindings(func)
        name_bindings(func)


def _checked(desired: Desired) -> Desired:
    """Return the layouts; raises if a name is not an operator with layouts, or a layout does not match its rank."""
    known = {n: cls for n, cls in relax.OPERATORS.items() if RULES.get(n) in (convolution, resizing)}
    for name, layouts in desired.items():
        cls = known.get(name)
        if cls is None:
            raise unknown_name("operator with layouts", name, known)
        attrs = ("data_layout", "kernel_layout", "out_layout") if RULES[name] is convolution else ("layout",)
        if not min(len(attrs), 2) <= len(layouts) <= len(attrs):
            kinds, counts = ("data, kernel and result", "2 or 3") if len(attrs) > 1 else ("data", "1")
            raise ShapeError(f"{name}: layouts are of {kinds}", expected=counts, found=list(layouts))
        for text, attr in zip(layouts, attrs, strict=False):
            own = DataLayout.parse(cls.ATTR_SPECS[attr].default)
            if sorted(_parsed(name, text).dims) != sorted(own.dims):
                raise ShapeError(f"{name}: not a layout of its {attr}", expected=f"the letters of {own}", found=text)
    return desired


def _layouts_of_callback(callback: Callback, op: Operator) -> Desired:
    return _checked(callback(bound_expr(op)) or {}) if RULES.get(op.name) in (convolution, resizing) else {}


def _parsed(name: str, text: str) -> DataLayout:
    try:
        return DataLayout.parse(text)
    except ShapeError as error:
        raise ShapeError(f"{name}: {error.message}", expected=error.expected, found=text) from error


class _Converter:
    """Rewriter of the bindings of one dataflow block, in order, in place."""

    def __init__(self, choose: Callable[[Operator], Desired], rules: Mapping[str, LayoutRule]):
        self.choose = choose
        self.rules = rules
        self.moved: dict[SSAValue, tuple[SSAValue, Layouts]] = {}
        """What stands in another layout: the value, and the layout."""
        self.replaced: list[Operation] = []

    def block(self, ops: Sequence[Operation]) -> None:
        for op in ops:
            if isinstance(op, Operator):
                self._operator(op)
            elif isinstance(op, relax.BindOp | relax.TupleOp | relax.TupleGetItemOp):
                self._structure(op)
            elif isinstance(op, relax.MatchCastOp) and self._cast_type(op) is not None:
                self._match_cast(op)
            else:
                self._restore(op)
        for op in reversed(self.replaced):
            erase(op)

    # Bindings

    def _operator(self, op: Operator) -> None:
        op = self._spread(op)
        plan = self._plan(op)
        changes = plan is not None and (plan.attrs or any(plan.inputs) or any(plan.outputs))
        if plan is None or not changes or self._is_as_before(op, plan):
            self._restore(op)
            return
        values = iter([*plan.inputs, *[None] * len(op.operands)])
        args = [self._argument(op, arg, values) for arg in op.args]
        names = [n.rstrip("*?") for n in op.ARG_NAMES]
        for key, axes in plan.attrs.items():
            if key.endswith("*"):
                place = names.index(key.rstrip("*"))
                args[place] = [self._put(op, relax.PrimValueOp(a)) for a in axes]
        attrs = {n: op.attr(n) for n in op.ATTR_SPECS}
        attrs |= {n: v for n, v in plan.attrs.items() if not n.endswith("*")}
        new = type(op).make(*args, **{n: v for n, v in attrs.items() if v is not None})
        outputs = plan.outputs
        result: Layouts = tuple(outputs) if isinstance(op.result_type, TupleType) else outputs[0]
        self._replace(op, new, result)

    def _spread(self, op: Operator) -> Operator:
        """Rewrite `concat(t)` of a tuple whose fields have new layouts to `concat(t[0], t[1], …)`."""
        values = op.operands
        if len(values) != 1 or op.ARG_NAMES[0][-1] != "*" or values[0] not in self.moved:
            return op
        fields: list[SSAValue] = []
        for i in range(len(cast(TupleType, values[0].type).types)):
            fields.append(self._put(op, relax.TupleGetItemOp(values[0], i)))
        new = type(op).make(fields, **{n: op.attr(n) for n in op.ATTR_SPECS})
        set_name(self._put(op, new), name_of(op.results[0]))
        op.results[0].replace_all_uses_with(new.results[0])
        for item in fields:
            self._structure(cast(relax.TupleGetItemOp, item.owner))
        self.replaced.append(op)
        return new

    def _match_cast(self, op: relax.MatchCastOp) -> None:
        """Convert the cast of a transposed tensor to a transposed shape."""
        value, layout = self.moved[op.value]
        cast_type = self._cast_type(op)
        assert cast_type is not None
        self._replace(op, relax.MatchCastOp(value, cast_type), layout)

    def _cast_type(self, op: relax.MatchCastOp) -> relax.TensorType | None:
        """Return the type of a cast in the current layout; None if it was not moved, or the shape is unknown."""
        moved, t = self.moved.get(op.value), op.result.type
        if moved is None or not isinstance(moved[1], DataLayout) or not moved[1].is_plain:
            return None
        if not isinstance(t, relax.TensorType) or t.dims is None or len(t.dims) != len(moved[1]):
            return None
        places = DataLayout.initial(len(t.dims)).order(moved[1])
        return relax.TensorType.of([t.dims[p] for p in places], t.element)

    def _is_as_before(self, op: Operator, plan: Plan) -> bool:
        """Return whether the plan changes nothing."""
        initial = all(p is None or p == DataLayout.initial(len(p.dims)) for p in (*plan.inputs, *plan.outputs))
        return initial and all(op.attr(n) == v for n, v in plan.attrs.items()) and not self._touches(op)

    def _touches(self, op: Operation) -> bool:
        return any(v in self.moved for v in op.operands)

    def _plan(self, op: Operator) -> Plan | None:
        rule = self.rules.get(op.name)
        operands = self._operands(op)
        if rule is None or not operands:
            return None
        plan = rule(op, operands, self.choose(op))
        if plan is None or self._fits(op, operands, plan):
            cut = any(not o.layout.is_plain for o in operands)
            return None if cut and rule not in CARRY_BLOCKS else plan
        return self._unblocked(op, operands) if rule is convolution else None

    def _operands(self, op: Operator) -> list[Operand]:
        """Return the tensor operands of the operator; empty if the rank of one is unknown."""
        operands: list[Operand] = []
        for value in op.operands:
            if isinstance(value.type, relax.TensorType):
                if value.type.rank is None:
                    return []
                operands.append(Operand(value.type, self._layout(value, value.type.rank)))
        others = op.operands[: len(operands)]
        return operands if all(isinstance(v.type, relax.TensorType) for v in others) else []

    def _layout(self, value: SSAValue, rank: int) -> DataLayout:
        moved = self.moved.get(value)
        return moved[1] if moved is not None and isinstance(moved[1], DataLayout) else DataLayout.initial(rank)

    def _fits(self, op: Operator, operands: Sequence[Operand], plan: Plan) -> bool:
        """Return whether the extents are divisible by the blocks."""
        planned = zip(operands, plan.inputs, strict=False)
        types = op.result_type.types if isinstance(op.result_type, TupleType) else [op.result_type]
        pairs = [*((o.type, p) for o, p in planned), *zip(types, plan.outputs, strict=True)]
        return all(p is None or p.is_plain or _divides(t, p) for t, p in pairs)

    def _unblocked(self, op: Operator, operands: Sequence[Operand]) -> Plan | None:
        """Return the plan of a convolution with indivisible extents: the operands' layouts, if not blocked."""
        plan = convolution(op, operands, {})
        return plan if plan is not None and all(p is None or p.is_plain for p in plan.inputs) else None

    def _structure(self, op: relax.BindOp | relax.TupleOp | relax.TupleGetItemOp) -> None:
        """Propagate layouts through aliases, tuples and their fields."""
        if not self._touches(op):
            return
        values = [self.moved.get(v, (v, None)) for v in op.operands]
        layouts = [layout for _, layout in values]
        if isinstance(op, relax.TupleOp):
            self._replace(op, relax.TupleOp([v for v, _ in values]), tuple(layouts))
            return
        value, layout = values[0]
        if isinstance(op, relax.TupleGetItemOp):
            place = op.index.data
            self._replace(op, relax.TupleGetItemOp(value, place), layout[place] if isinstance(layout, tuple) else None)
        else:
            self._replace(op, relax.BindOp(value), layout)

    def _replace(self, op: Operation, new: Operation, layout: Layouts) -> None:
        """Replace `op` by `new`; its users are visited later and look up the result."""
        old = op.results[0]
        self._put(op, new)
        self.replaced.append(op)
        set_name(new.results[0], name_of(old))
        if _is_initial(layout) and new.results[0].type == old.type:
            old.replace_all_uses_with(new.results[0])
        else:
            self.moved[old] = (new.results[0], layout)

    @staticmethod
    def _put(anchor: Operation, new: Operation) -> SSAValue:
        return insert_before(anchor, new).results[0]

    # Layouts

    def _restore(self, op: Operation) -> None:
        """Give an op, and those in its regions, operands in their original layouts."""
        for user in op.walk():
            for i, value in enumerate(user.operands):
                if value in self.moved:
                    user.operands[i] = back = self._initial(op, value)
                    if isinstance(op, relax.OutputOp) and back is not self.moved[value][0]:
                        self._pass_name(value, back)

    def _pass_name(self, value: SSAValue, back: SSAValue) -> None:
        """Name the output of the block after `value`, which has this name in it."""
        set_name(self.moved[value][0], None)
        set_name(back, name_of(value))

    def _argument(self, anchor: Operation, arg: Arg, layouts: Any) -> Arg:
        if arg is None:
            return None
        if isinstance(arg, SSAValue):
            return self._in_layout(anchor, arg, next(layouts))
        return [self._in_layout(anchor, v, next(layouts)) for v in arg]

    def _in_layout(self, anchor: Operation, value: SSAValue, layout: DataLayout | None) -> SSAValue:
        """Return a tensor in a layout, transposed before `anchor` if necessary."""
        if layout is None or not isinstance(value.type, relax.TensorType):
            return self._initial(anchor, value) if value in self.moved else value
        tensor, _ = self.moved.get(value, (value, None))
        return self._transposed(anchor, tensor, self._layout(value, len(layout.dims)), layout)

    def _transposed(self, anchor: Operation, value: SSAValue, have: DataLayout, want: DataLayout) -> SSAValue:
        if have == want:
            return value
        if have.is_plain and want.is_plain:
            return self._put(anchor, relax.OPERATORS["relax.permute_dims"].make(value, axes=have.order(want)))
        mapping = IndexMapAttr(have.map_to(want))
        return self._put(anchor, relax.OPERATORS["relax.layout_transform"].make(value, index_map=mapping))

    def _initial(self, anchor: Operation, value: SSAValue) -> SSAValue:
        """Return a moved value in its original layout."""
        moved, layout = self.moved[value]
        back = self._back(anchor, moved, layout, value.type)
        if back.type == value.type:
            return back
        kind = relax.BindOp if is_base_of(value.type, back.type) else relax.MatchCastOp
        return self._put(anchor, kind(back, value.type))

    def _back(self, anchor: Operation, value: SSAValue, layout: Layouts, original: Attribute) -> SSAValue:
        if isinstance(layout, tuple) and isinstance(original, TupleType):
            if _is_initial(layout):
                return value
            parts = value.owner.fields_ if isinstance(value.owner, relax.TupleOp) else None
            fields: list[SSAValue] = []
            for i, (part, t) in enumerate(zip(layout, original.types, strict=True)):
                item = self._put(anchor, relax.TupleGetItemOp(value, i)) if parts is None else parts[i]
                fields.append(self._back(anchor, item, part, t))
            return self._put(anchor, relax.TupleOp(fields))
        if not isinstance(layout, DataLayout):
            return value
        return self._transposed(anchor, value, layout, DataLayout.initial(len(layout.dims)))


def _divides(t: Attribute, layout: DataLayout) -> bool:
    return isinstance(t, relax.TensorType) and t.dims is not None and layout.divides(t.dims)


def _is_initial(layout: Layouts) -> bool:
    if isinstance(layout, tuple):
        return all(map(_is_initial, layout))
    return layout is None or layout == DataLayout.initial(len(layout.dims))
