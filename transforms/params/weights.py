"""Parameters that are weights: those after the first `num_input` ones of a function that has this attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.attributes import from_attr
from ...dialects.names import name_of, set_name
from ...ir.locations import location_of
from ...ir.names import NameSupply, variable_names
from ...ir.rewriting.edit import insert_before

NUM_INPUT = "num_input"


def num_input(func: relax.FuncOp) -> int | None:
    """How many parameters are inputs at run time, None where the function does not say.

    Raises `TiraxError` where the attribute is no number of parameters.
    """
    attr = None if func.func_attrs is None else func.func_attrs.data.get(NUM_INPUT)
    if attr is None:
        return None
    number = from_attr(attr)
    if not isinstance(number, int) or not 0 <= number <= len(func.params):
        raise TiraxError(
            f"the attribute {NUM_INPUT} of @{func.sym_name.data} is no number of its parameters",
            location=location_of(func),
            expected=f"0 to {len(func.params)}",
            found=number,
        )
    return number


def set_num_input(func: relax.FuncOp, number: int) -> None:
    """Say how many parameters are inputs at run time."""
    old = DictionaryAttr({}) if func.func_attrs is None else func.func_attrs
    func.func_attrs = DictionaryAttr({**old.data, NUM_INPUT: IntegerAttr(number, i64)})


def add_param(block: Block, t: Attribute, name: str | None, at: int | None = None) -> SSAValue:
    """A new parameter of a function's body, the last one where `at` is not given."""
    param = block.insert_arg(t, len(block.args) if at is None else at)
    set_name(param, name)
    return param


def remove_params(block: Block, params: Sequence[SSAValue]) -> None:
    """Take away parameters that nothing uses."""
    for param in params:
        block.erase_arg(param)  # pyright: ignore[reportArgumentType]


def load_at_uses(func: relax.FuncOp, params: Sequence[SSAValue], load: Callable[[int], Operation]) -> None:
    """Let every use of the parameters be of a binding of its own, `load(position)`, before the user."""
    where = {p: i for i, p in enumerate(params)}
    names = NameSupply(variable_names(func, params))
    for op in list(func.body.block.walk()):
        for i, operand in enumerate(op.operands):
            if operand in where:
                value = insert_before(op, load(where[operand])).results[0]
                set_name(value, names.fresh(name_of(operand) or "param"))
                op.operands[i] = value


def is_of_weights(value: SSAValue) -> bool:
    """Whether a value is computed of weights and constants alone, so that it may be computed ahead of time.

    The weights are those of the function around it; where it has no `num_input`, there are none.
    """
    seen: set[SSAValue] = set()
    stack, has_weight = [value], False
    while stack:
        v = stack.pop()
        if v in seen:
            continue
        seen.add(v)
        if isinstance(v.owner, Block):
            func = v.owner.parent_op()
            number = num_input(func) if isinstance(func, relax.FuncOp) else None
            if number is None or v not in list(v.owner.args)[number:]:
                return False
            has_weight = True
        elif v.owner.regions:
            return False
        else:
            stack.extend(v.owner.operands)
    return has_weight
