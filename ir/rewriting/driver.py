"""The way through the bindings of Relax functions that rewrites share: a pass is rules by the name of an operation.

A rule is a function `(op, emit) -> value or None`: the value that stands for the result of `op` from now on, of what
`emit` puts before it, or None to leave it. What is not a rule on single bindings is a function that changes a Relax
function, and says whether it did. The walk, places, names, and what nothing uses any more are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.attributes import PyValue
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.relax.types import is_base_of
from ...dialects.sym.expr import ExprLike
from ..functions.lookup import relax_functions
from ..names import NameSupply, name_bindings
from .dead_bindings import remove_dead_bindings
from .edit import insert_before, replace_op


class Emit:
    """Puts operations before an `anchor`, at its place in the source; names of variables come from `names`."""

    def __init__(self, anchor: Operation, names: NameSupply | None = None):
        self.anchor = anchor
        self.names = names or NameSupply()
        self.emitted: set[Operation] = set()

    def __call__(self, name: str, *args: SSAValue | Sequence[SSAValue], **attrs: PyValue) -> SSAValue:
        """The value of a new operator; arguments may be leaves that stand nowhere yet."""
        new = relax.OPERATORS[f"relax.{name}"].make(*args, **attrs)
        for operand in new.operands:
            if isinstance(operand.owner, Operation) and operand.owner.parent is None:
                self.put(operand.owner)
        return self.put(new)

    def put(self, op: Operation) -> SSAValue:
        """The value of a new op; a binding gets its name from what it stands for, or at the end."""
        self.emitted.add(insert_before(self.anchor, op))
        return op.results[0]

    def named(self, base: str, op: Operation) -> SSAValue:
        """The value of a new op, its name `base` or one made of it; `_` is for what is there for its effect."""
        set_name(self.put(op), self.names.fresh(base))
        return op.results[0]

    def constant(self, array: ArrayLike, dtype: Attribute) -> SSAValue:
        """A constant tensor with the contents of `array`, converted to `dtype`, without a name."""
        return self.put(relax.ConstantOp.of(array, dtype))

    def shape(self, dims: Iterable[ExprLike]) -> SSAValue:
        """A shape without a name."""
        return self.put(relax.ShapeOp(dims))

    def dtype(self, dtype: Attribute) -> SSAValue:
        """A data type without a name."""
        return self.put(relax.DataTypeOp(dtype))

    def integer(self, value: ExprLike) -> SSAValue:
        """A number without a name."""
        return self.put(relax.PrimValueOp(value))

    def string(self, text: str) -> SSAValue:
        """A string without a name."""
        return self.put(relax.StringOp(text))


OpRule = Callable[[Any, Emit], SSAValue | None]


def rewrite_functions(
    module: ModuleOp, change: Callable[[relax.FuncOp], bool], among: Sequence[relax.FuncOp] | None = None
) -> bool:
    """Change the Relax functions of a module, or those `among` them, in place; whether any of them did.

    Where one did, bindings that nothing uses are removed, and those without a name get one.
    """
    changed = [func for func in (relax_functions(module) if among is None else among) if change(func)]
    for func in changed:
        remove_dead_bindings(func)
        name_bindings(func)
    return bool(changed)


def apply_rules(module: ModuleOp, rules: Mapping[str, OpRule], among: Sequence[relax.FuncOp] | None = None) -> bool:
    """Rewrite the bindings that have a rule, in order of definition, in place, each once; whether any was.

    In the functions `among`, or all; those that changed are left without bindings that nothing uses.
    """
    return rewrite_functions(module, lambda func: apply_to(func, rules), among)


def apply_to(root: Operation, rules: Mapping[str, OpRule], names: NameSupply | None = None) -> bool:
    """Rewrite what has a rule below `root` and leave all else, also what nothing uses; whether anything was."""
    changed = False
    for op in operations(root):
        rule = rules.get(op.name)
        if rule is not None and op.parent is not None:
            changed |= _apply(rule, op, Emit(op, names))
    return changed


def _apply(rule: OpRule, op: Operation, emit: Emit) -> bool:
    value, result = rule(op, emit), op.results[0]
    if value is None:
        return False
    if value.type != result.type:  # where inference cannot show that they agree, that is checked
        kind = relax.BindOp if is_base_of(result.type, value.type) else relax.MatchCastOp
        value = emit.put(kind(value, result.type))
    replace_op(op, value, renamed=value.owner in emit.emitted or name_of(value) is None)
    return True
