"""Parameters that are weights: those after the first `num_input` ones, in functions with this attribute."""

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
    """Return the number of parameters that are inputs at run time, or None without the attribute.

    Raises `TiraxError` if the attribute is not a valid number of parameters.
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
    """Set the number of parameters that are inputs at run time."""
    old = DictionaryAttr({}) if func.func_attrs is None else func.func_attrs
    func.func_attrs = DictionaryAttr({**old.data, NUM_INPUT: IntegerAttr(number, i64)})


def add_param(block: Block, t: Attribute, name: str | None, at: int | None = None) -> SSAValue:
    """Add a parameter to a function's body, by default as the last one, and return it."""
    param = block.insert_arg(t, len(block.args) if at is None else at)
    set_name(param, name)
    return param


def remove_params(block: Block, params: Sequence[SSAValue]) -> None:
    """Remove unused parameters."""
    for param in params:
        block.erase_arg(param)  # pyright: ignore[reportArgumentType]


def load_at_uses(func: relax.FuncOp, params: Sequence[SSAValue], load: Callable[[int], Operation]) -> None:
    """Replace every use of the parameters by a separate binding, `load(position)`, before the user."""
    where = {p: i for i, p in enumerate(params)}
    names = NameSupply(variable_names(func, params))
    for op in list(func.body.block.walk()):
        for i, operand in enumerate(op.operands):
            if operand in where:
                value = insert_before(op, load(where[operand])).results[0]
                set_name(value, names.fresh(name_of(operand) or "param"))
                op.operands[i] = value


def is_of_weights(value: SSAValue) -> bool:
    """Return whether a value depends only on weights and constants, so that it may be computed ahead of time.

    The weights are those of the enclosing function; without `num_input` it has none.
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
