"""The rewrite driver for bindings of Relax functions: a pass is a set of rules by operation name.

A rule is a function `(op, emit) -> value or None`: it returns the value that replaces the result of `op`, built from
operations that `emit` inserts before it, or None for no change. Rewrites beyond single bindings are functions that
change a Relax function and return whether they did. The driver handles the walk, source locations, names, and the
removal of unused bindings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import UnsupportedError, unknown_name
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
    """Builder of operations before an `anchor`, with its source location; names of variables come from `names`."""

    def __init__(self, anchor: Operation, names: NameSupply | None = None):
        self.anchor = anchor
        self.names = names or NameSupply()
        self.emitted: set[Operation] = set()

    def __call__(self, name: str, *args: SSAValue | Sequence[SSAValue] | float, **attrs: PyValue) -> SSAValue:
        """Add an operator and return its value.

        Arguments may be detached leaves, and Python's numbers beside a tensor: these become constants of rank 0 and of
        its dtype. Raises `NameLookupError` for an unknown operator, and `UnsupportedError` for a number without a
        tensor.
        """
        operator = relax.OPERATORS.get(f"relax.{name}")
        if operator is None:
            raise unknown_name("operator", name, (known.removeprefix("relax.") for known in relax.OPERATORS))
        new = operator.make(*(self._number(name, a, args) if isinstance(a, int | float) else a for a in args), **attrs)
        for operand in new.operands:
            if isinstance(operand.owner, Operation) and operand.owner.parent is None:
                self.put(operand.owner)
        return self.put(new)

    def _number(self, name: str, value: float, args: Sequence[Any]) -> SSAValue:
        """Return a number as a constant of the dtype of the first tensor among the arguments."""
        types = (a.type for a in args if isinstance(a, SSAValue))
        dtype = next((t.element for t in types if isinstance(t, relax.TensorType) and t.element is not None), None)
        if dtype is None:
            hint = "make it with emit.constant(value, dtype), emit.integer(value) or emit.shape(dims)"
            raise UnsupportedError(f"the number {value} as an argument of '{name}' without a tensor", hint=hint)
        return self.constant(value, dtype)

    def put(self, op: Operation) -> SSAValue:
        """Insert an op and return its value; a binding is named after the value it replaces, or at the end."""
        self.emitted.add(insert_before(self.anchor, op))
        return op.results[0]

    def named(self, base: str, op: Operation) -> SSAValue:
        """Insert an op named `base`, made unique, and return its value; `_` marks ops with effects only."""
        set_name(self.put(op), self.names.fresh(base))
        return op.results[0]

    def constant(self, array: ArrayLike, dtype: Attribute) -> SSAValue:
        """Return an unnamed constant tensor with the contents of `array`, converted to `dtype`."""
        return self.put(relax.ConstantOp.of(array, dtype))

    def shape(self, dims: Iterable[ExprLike]) -> SSAValue:
        """Return an unnamed shape."""
        return self.put(relax.ShapeOp(dims))

    def dtype(self, dtype: Attribute) -> SSAValue:
        """Return an unnamed data type."""
        return self.put(relax.DataTypeOp(dtype))

    def integer(self, value: ExprLike) -> SSAValue:
        """Return an unnamed number."""
        return self.put(relax.PrimValueOp(value))

    def string(self, text: str) -> SSAValue:
        """Return an unnamed string."""
        return self.put(relax.StringOp(text))


OpRule = Callable[[Any, Emit], SSAValue | None]


def rewrite_functions(
    module: ModuleOp, change: Callable[[relax.FuncOp], bool], among: Sequence[relax.FuncOp] | None = None
) -> bool:
    """Change the Relax functions of a module, or those `among` them, in place; return whether any changed.

    In changed functions, unused bindings are removed and unnamed ones are named.
    """
    changed = [func for func in (relax_functions(module) if among is None else among) if change(func)]
    for func in changed:
        remove_dead_bindings(func)
        name_bindings(func)
    return bool(changed)


def apply_rules(module: ModuleOp, rules: Mapping[str, OpRule], among: Sequence[relax.FuncOp] | None = None) -> bool:
    """Rewrite each binding that has a rule once, in order of definition, in place; return whether any changed.

    Applies to the functions `among`, or to all; unused bindings are removed from changed functions.
    """
    return rewrite_functions(module, lambda func: apply_to(func, rules), among)


def apply_to(root: Operation, rules: Mapping[str, OpRule], names: NameSupply | None = None) -> bool:
    """Rewrite the ops with a rule below `root`, and keep unused ops; return whether anything changed."""
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
    if value.type != result.type:  # check at run time if inference cannot show that they agree
        kind = relax.BindOp if is_base_of(result.type, value.type) else relax.MatchCastOp
        value = emit.put(kind(value, result.type))
    replace_op(op, value, renamed=value.owner in emit.emitted or name_of(value) is None)
    return True
