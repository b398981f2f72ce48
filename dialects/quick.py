"""What xDSL does for every operation that is made or replaced, written out: large functions have ten thousands of them.

`make` is `cls.create`, `fill` is `Operation.__init__` and `replace_uses` is `SSAValue.replace_all_uses_with`, in a
third of the time: a new operation has no operands yet that were to be let go of, the defaults of its class are looked
up once, and the operands of a user are replaced without views on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue, Use
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
    """An operation without regions and successors, as `cls.create` makes it."""
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
    """Initialise an operation without regions and successors, as `Operation.__init__` does."""
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
    op.results = SSAValues([OpResult(type, op, index) for index, type in enumerate(result_types)])
    own_properties, own_attributes = _defaults(type(op))
    op.properties = {**own_properties, **properties}
    op.attributes = {**own_attributes, **attributes}
    op.location = location


@cache
def _defaults(cls: type[Operation]) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """The properties and attributes that operations of a class have where nothing else is said."""
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


def replace_uses(old: SSAValue, new: SSAValue) -> None:
    """Let `new` stand wherever `old` does; a name that `new` lacks is that of `old`."""
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
