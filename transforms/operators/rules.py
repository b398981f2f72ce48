"""Rewriting bindings by rules on single operators: what small passes on operators are made of.

A rule is a function `(op, emit) -> value or None`: the value that stands for the result of `op` from now on, made by
`emit(name, *args, **attrs)` before it, or None to leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.attributes import PyValue
from ...dialects.dtypes import numpy_dtype
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType, is_base_of
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, insert_before
from ..bindings.normalize import name_bindings

Array = np.ndarray[Any, Any]
Emit = Callable[..., SSAValue]
Rule = Callable[[Operator, Emit], SSAValue | None]


def apply_rules(module: ModuleOp, rules: Mapping[str, Rule], among: Sequence[relax.FuncOp] | None = None) -> bool:
    """Rewrite the bindings of operators that have a rule, in order of definition, in place, each once.

    In the functions `among`, or all. What nothing uses afterwards is removed in those that changed; whether any did.
    """
    any_changed = False
    for func in relax_functions(module) if among is None else among:
        changed = False
        for block in binding_blocks(func):
            for op in list(block.ops):
                rule = rules.get(op.name)
                if rule is not None and isinstance(op, Operator):
                    changed |= _apply(rule, op)
        if changed:
            remove_dead_bindings(func)
            name_bindings(func)
        any_changed |= changed
    return any_changed


def _apply(rule: Rule, op: Operator) -> bool:
    made: set[Operation] = set()
    value = rule(op, emitter(op, made))
    if value is None:
        return False
    result = op.results[0]
    if value.type != result.type:
        new = _as_type(value, result.type)
        made.add(new)
        value = place(op, new)
    if value.owner in made or name_of(value) is None:
        set_name(value, name_of(result))
    result.replace_all_uses_with(value)
    erase(op)
    return True


def emitter(anchor: Operation, made: set[Operation] | None = None) -> Emit:
    """`emit(name, *args, **attrs)` that puts operators before `anchor`, and adds them to `made`.

    Arguments may be leaves that stand nowhere yet.
    """

    def emit(name: str, *args: SSAValue | Sequence[SSAValue], **attrs: PyValue) -> SSAValue:
        new = relax.OPERATORS[f"relax.{name}"].make(*args, **attrs)
        for operand in new.operands:  # a leaf that was made for it
            if isinstance(operand.owner, Operation) and operand.owner.parent is None:
                place(anchor, operand.owner)
        if made is not None:
            made.add(new)
        return place(anchor, new)

    return emit


def place(anchor: Operation, new: Operation) -> SSAValue:
    """The value of an op that is put before `anchor`."""
    return insert_before(anchor, new).results[0]


def producer(value: SSAValue, name: str) -> Operator | None:
    """The operator called `name` that gives a value, None where another op does."""
    owner = value.owner
    return owner if isinstance(owner, Operator) and owner.name == f"relax.{name}" else None


def constant_array(value: SSAValue) -> Array | None:
    """The elements of a constant, or of one that is converted or whose dimensions are permuted; None for all else."""
    if isinstance(value.owner, relax.ConstantOp):
        return value.owner.value.numpy()
    for name, change in _CHANGES.items():
        op = producer(value, name)
        array = None if op is None else constant_array(op.operands[0])
        if op is not None and array is not None:
            return change(array, op)
    return None


def _converted(array: Array, op: Operator) -> Array:
    element = cast(TensorType, op.results[0].type).element
    assert element is not None
    return array.astype(numpy_dtype(element))


_CHANGES: dict[str, Callable[[Array, Operator], Array]] = {
    "astype": _converted,
    "permute_dims": lambda array, op: array.transpose(op.attr("axes")),
}


def _as_type(value: SSAValue, wanted: Attribute) -> Operation:
    """A binding of `value` as one of type `wanted`: checked where inference cannot show that they agree."""
    kind = relax.BindOp if is_base_of(wanted, value.type) else relax.MatchCastOp
    return kind(value, wanted)
