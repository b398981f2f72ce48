"""The types of legalization rules, and the table of them."""

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
    """A tensor function with its arguments, and the name of the `tir.func` to build from it.

    `setup` are detached ops that define some of the arguments and are inserted before the call. An `opaque` function
    has its own variables for extents of the arguments, and is not fused.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    setup: Sequence[Operation] = ()
    opaque: bool = False


LegalizeRule = Callable[[Operator], Emit | None]
"""A function from an operator to what computes it; None if the operator must be kept."""


class Builder(Protocol):
    """The builder of rules that create other Relax operations."""

    @property
    def tvm_forms(self) -> bool:
        """Whether operators are written as TVM does."""
        ...

    def emit(self, op: Operation) -> SSAValue:
        """Insert a detached op before the operator, and return its first result."""
        ...

    def call_te(self, te_func: Callable[..., Any], *args: Any, **kwargs: Any) -> SSAValue:
        """Build a tensor function and return the value of its call; `primfunc_name_hint` names it."""
        ...

    def call(self, call: TECall) -> SSAValue:
        """Return the value of a call of an existing tensor function."""
        ...

    def add_function(self, func: tir.FuncOp) -> str:
        """Add a tensor function to the module unless a structurally equal one exists, and return its name."""
        ...

    def fresh_vars(self, count: int) -> list[SymExpr]:
        """Return symbolic variables that are new in the function."""
        ...


BUILDERS: Table[Callable[[Builder, Operator], SSAValue | None]] = Table("legalization into operators of")
"""Rules of operators that become other Relax operations, by name: `(builder, op) -> value`; None keeps the operator."""

RULES: Table[LegalizeRule] = Table("legalization rule")
"""The rules by operator name."""


rule = RULES.row
"""Register the decorated function as the rule of an operator, by name."""


def rule_of(op: Operator) -> LegalizeRule | None:
    """Return the rule of an operator from the table, else from the operator's class."""
    rule = RULES.get(op.name)
    return _computed if rule is None and op.brings("compute") else rule


def _computed(op: Operator) -> Emit:
    """relax.acme.f(x, …) -> f(x, …) by the operator's own `compute`; an absent optional operand is None."""
    return Emit(op.compute, tuple(op.args), op.name.rpartition(".")[2])


def known_shape(t: Attribute) -> bool:
    """Return whether every tensor in `t` has a known shape and dtype."""
    if isinstance(t, TupleType):
        return all(map(known_shape, t.types))
    return not isinstance(t, relax.TensorType) or (t.dims is not None and t.element is not None)


def constant_scalar(value: SSAValue) -> PrimExpr | None:
    """Return the number in a constant tensor of rank 0, or None for other values."""
    owner = value.owner
    if not isinstance(owner, relax.ConstantOp):
        return None
    number = owner.value.scalar
    return None if number is None else const(number, owner.value.data.dtype)


def scalar_or_value(value: SSAValue) -> PrimExpr | SSAValue:
    """Return a constant of rank 0 as a number to inline, and other values unchanged."""
    number = constant_scalar(value)
    return value if number is None else number


def result_tensor(op: Operator) -> relax.TensorType:
    """Return the type of the result, which must be a tensor."""
    t = op.result_type
    if not isinstance(t, relax.TensorType):
        raise TypeError(f"{op.name} gives {t}")
    return t


def result_dims(op: Operator) -> list[SymExpr]:
    """Return the shape of the result, which must be known."""
    return list(result_tensor(op).dims or ())


def operand(op: Operator, name: str) -> SSAValue:
    """Return the operand `name`, which must be a single value."""
    value = cast("SSAValue | None", getattr(op, name))
    if value is None:
        raise TypeError(f"{op.name} has no operand {name}")
    return value
