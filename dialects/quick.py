"""Fast versions of what xDSL does for every operation that is created, visited or replaced: large functions have ten
thousands of them.

`make` is `cls.create`, `fill` is `Operation.__init__`, `clone` is `Operation.clone`, `operations` is a list of
`Operation.walk` and `replace_uses` is `SSAValue.replace_all_uses_with`, in a third of the time: a new operation has no
previous operands to release, the defaults of its class are cached, there are no nested generators, and the operands of
a user are replaced without creating views on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef

# pyright: reportPrivateUsage=false

OpT = TypeVar("OpT", bound=Operation)
_NOTHING: Mapping[str, Attribute] = {}
_Defaults = tuple[tuple[str, Attribute], ...]


def make(
    cls: type[OpT],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr = UNKNOWN_LOC,
) -> OpT:
    """Return an operation without regions and successors, like `cls.create`."""
    op = cls.__new__(cls)
    fill(op, operands, result_types, properties, attributes, location)
    return op


def fill(
    op: Operation,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = _NOTHING,
    attributes: Mapping[str, Attribute] = _NOTHING,
    location: LocationAttr = UNKNOWN_LOC,
) -> None:
    """Initialize an operation without regions and successors, like `Operation.__init__`."""
    _use(op, operands)
    op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(result_types)])
    own_properties, own_attributes = _defaults(type(op))
    op.properties = {**own_properties, **properties}
    op.attributes = {**own_attributes, **attributes}
    op.location = location


def _use(op: Operation, operands: Sequence[SSAValue]) -> None:
    """Set the operands of an operation that has none."""
    op._operands = SSAValues(operands)
    uses: list[Use] = []
    for index, operand in enumerate(op._operands):
        use = Use(op, index)
        following = use._next_use = operand.first_use
        if following is not None:
            following._prev_use = use
        operand.first_use = use
        uses.append(use)
    op._operand_uses = tuple(uses)


@cache
def _defaults(cls: type[Operation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Return the default properties and attributes of operations of a class."""
    if not issubclass(cls, IRDLOperation):
        return {}, {}
    definition = cls.get_irdl_definition()
    properties, attributes = (
        {
            name: each.default_value
            for name, each in definitions.items()
            if not isinstance(each, OptionalDef) and each.default_value is not None
        }
        for definitions in (definition.properties, definition.attributes)
    )
    return properties, attributes


def clone(op: OpT, values: dict[SSAValue, SSAValue] | None = None) -> OpT:
    """Return a deep copy of an operation, with operands replaced by `values`, to which all copied values are added."""
    copier = _Copier({} if values is None else values)
    new = copier.operation(op)
    copier.connect()
    return new


class _Copier:
    def __init__(self, values: dict[SSAValue, SSAValue]):
        self.values = values
        self.blocks: dict[Block, Block] = {}
        self.copies: list[tuple[Operation, Operation]] = []

    def operation(self, op: OpT) -> OpT:
        """Return a copy without operands and successors."""
        new = make(type(op), (), [r._type for r in op.results], op.properties, op.attributes, op.location)
        self._stand_for(op.results, new.results)
        self.copies.append((op, new))
        if op.regions:
            new.regions = tuple([self._region(region, new) for region in op.regions])
        return new

    def _region(self, region: Region, parent: Operation) -> Region:
        blocks = list(region.blocks)
        copies = [Block() for _ in blocks]
        new = Region(copies)
        new.parent = parent
        self.blocks.update(zip(blocks, copies, strict=True))
        for block, copied in zip(blocks, copies, strict=True):
            args = [BlockArgument(arg._type, copied, index, arg.location) for index, arg in enumerate(block._args)]
            copied._args = tuple(args)
            self._stand_for(block._args, args)
            self._fill(block, copied)
        return new

    def _fill(self, block: Block, new: Block) -> None:
        op, last = block._first_op, None
        while op is not None:
            copied = self.operation(op)
            copied.parent, copied._prev_op = new, last
            if last is None:
                new._first_op = copied
            else:
                last._next_op = copied
            op, last = op._next_op, copied
        new._last_op = last

    def _stand_for(self, old: Iterable[SSAValue], new: Iterable[SSAValue]) -> None:
        for value, copied in zip(old, new, strict=True):
            self.values[value] = copied
            copied._name = value._name

    def connect(self) -> None:
        """Set the operands and successors of the copies; a value may be used before its definition is copied."""
        values, blocks = self.values, self.blocks
        for op, new in self.copies:
            if op._operands:
                _use(new, [values.get(v, v) for v in op._operands])
            if op._successors:
                new.successors = [blocks.get(b, b) for b in op._successors]


def operations(root: Operation) -> list[Operation]:
    """Return a list of `root` and all operations inside it, in pre-order."""
    ops = [root]
    if root.regions:
        _collect(root, ops)
    return ops


def _collect(op: Operation, out: list[Operation]) -> None:
    for region in op.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                out.append(inner)
                if inner.regions:
                    _collect(inner, out)
                inner = inner._next_op
            block = block._next_block


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """Replace all uses of `old` by `new`; if `new` has no name, it gets that of `old`."""
    if old is new:
        return
    use, latest = old.first_use, new.first_use
    while use is not None:
        user, index, following = use._operation, use._index, use._next_use
        user._operands = SSAValues([new if i == index else v for i, v in enumerate(user._operands)])
        use._prev_use, use._next_use = None, latest
        if latest is not None:
            latest._prev_use = use
        latest, use = use, following
    old.first_use, new.first_use = None, latest
    if new.name_hint is None and old.name_hint is not None:
        new.name_hint = old.name_hint
