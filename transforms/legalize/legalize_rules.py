"""What a rule of legalization is, and the table of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import SymExpr
from ...handles.tir.prim_expr import PrimExpr, const
from ...tables import Table
from ...te.emit import TECall


@dataclass(frozen=True)
class Emit:
    """A tensor function with its arguments, and the name of the `tir.func` that it becomes.

    `setup` are detached ops that give some of the arguments and stand before the call. An `opaque` function has
    variables of its own for extents of the arguments, and is fused with nothing.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    setup: Sequence[Operation] = ()
    opaque: bool = False


LegalizeRule = Callable[[Operator], Emit | None]
"""From an operator to what computes it; None where the operator has to stay."""


class Builder(Protocol):
    """What a rule that makes other Relax operations builds with."""

    def emit(self, op: Operation) -> SSAValue:
        """Insert a detached op in front of the operator; its first result."""
        ...

    def call_te(self, te_func: Callable[..., Any], *args: Any, **kwargs: Any) -> SSAValue:
        """The call of a tensor function that is made here; `primfunc_name_hint` names it."""
        ...

    def call(self, call: TECall) -> SSAValue:
        """The call of a tensor function that was made before."""
        ...

    def add_function(self, func: tir.FuncOp) -> str:
        """The name of a tensor function in the module, which it joins unless one of the same structure is there."""
        ...

    def fresh_vars(self, count: int) -> list[SymExpr]:
        """Symbolic variables that the function does not have yet."""
        ...


BUILDERS: Table[Callable[[Builder, Operator], SSAValue | None]] = Table("legalization into operators of")
"""Rules of operators that become other Relax operations, by name: `(builder, op) -> value`; None leaves it as it is."""

RULES: Table[LegalizeRule] = Table("legalization rule")
"""The rule of each operator, by the operator's name."""


rule = RULES.row
"""The decorator of a rule, with the names of its operators."""


def rule_of(op: Operator) -> LegalizeRule | None:
    """The rule of an operator: that of the table, else what the operator's class itself brings."""
    rule = RULES.get(op.name)
    return _computed if rule is None and op.brings("compute") else rule


def _computed(op: Operator) -> Emit:
    """relax.acme.f(x, …) -> f(x, …) by the operator's own `compute`; an absent optional operand is None."""
    return Emit(op.compute, tuple(op.args), op.name.rpartition(".")[2])


def known_shape(t: Attribute) -> bool:
    """Whether every tensor in `t` has a known shape and dtype."""
    if isinstance(t, TupleType):
        return all(map(known_shape, t.types))
    return not isinstance(t, relax.TensorType) or (t.dims is not None and t.element is not None)


def constant_scalar(value: SSAValue) -> PrimExpr | None:
    """A constant tensor of rank 0 as a number, None for other values."""
    owner = value.owner
    if not isinstance(owner, relax.ConstantOp):
        return None
    number = owner.value.scalar
    return None if number is None else const(number, owner.value.data.dtype)


def scalar_or_value(value: SSAValue) -> PrimExpr | SSAValue:
    """A constant of rank 0 as a number that is written into the function; other values as they are."""
    number = constant_scalar(value)
    return value if number is None else number


def result_tensor(op: Operator) -> relax.TensorType:
    """The result's type, which is a tensor."""
    t = op.result_type
    if not isinstance(t, relax.TensorType):
        raise TypeError(f"{op.name} gives {t}")
    return t


def result_dims(op: Operator) -> list[SymExpr]:
    """The result's shape, which is known."""
    return list(result_tensor(op).dims or ())


def operand(op: Operator, name: str) -> SSAValue:
    """The operand `name`, which is one value."""
    value = cast("SSAValue | None", getattr(op, name))
    if value is None:
        raise TypeError(f"{op.name} has no operand {name}")
    return value
