"""Legalization rules in TVM's form: `(builder, call) -> expression` on handles, an operator's `FLegalize`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects.names import set_name
from ...dialects.relax import BindOp, MatchCastOp
from ...dialects.relax.operator import OPERATORS, Operator
from ...dialects.relax.registered import LEGALIZE
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import FuncOp
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, GlobalVar, bound_expr, expr_of
from ...handles.relax.registered import register_op_attr
from ...handles.struct_info import StructInfo, type_of
from ...handles.tir.prim_func import PrimFunc
from ...te.emit import TECall
from .legalize_rules import BUILDERS, RULES, Builder, known_shape, rule_of

Legalize = Callable[[Any, Call], Expr | None]
"""`(builder, call) -> expression`, with a builder like `RuleBuilder`; None keeps the call."""


class RuleBuilder:
    """The builder of TVM's rules, a subset of `BlockBuilder`: inserts everything before the call that is replaced."""

    def __init__(self, builder: Builder):
        self.inner = builder

    def emit(self, expr: Any, name_hint: str = "") -> Expr:
        """Bind an expression and return the variable."""
        value = self.inner.emit(_operation(to_expr(expr)))
        if name_hint:
            set_name(value, name_hint)
        return expr_of(value)

    def call_te(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Expr:
        """Return a call of the tensor function that `func` describes."""
        return expr_of(self.inner.call_te(func, *(_deep(a, Expr, self._value) for a in args), **kwargs))

    emit_te = call_te

    def add_func(self, func: PrimFunc, func_name: str) -> GlobalVar:
        """Add a tensor function to the module, under this name or a similar new one; a private one only once."""
        return GlobalVar(self.inner.add_function(func.op))

    def match_cast(self, value: Any, struct_info: Any, name_hint: str = "") -> Expr:
        """Check at run time that a value has the struct info `struct_info`."""
        return self.emit(bound_expr(MatchCastOp(self._value(value), type_of(struct_info))), name_hint)

    def normalize(self, expr: Any) -> Expr:
        """Return the expression unchanged: its struct info is inferred at construction."""
        return to_expr(expr)

    def lookup_binding(self, var: Expr) -> Expr | None:
        """Return the value that a variable is bound to, or None for a parameter."""
        owner = var.ssa.owner
        return bound_expr(owner) if isinstance(owner, Operation) else None

    def _value(self, value: Any) -> SSAValue:
        operand = to_expr(value).ssa
        if isinstance(operand, OpResult) and operand.op.parent is None:
            return self.inner.emit(operand.op)
        return operand


def _operation(expr: Expr) -> Operation:
    """Return the operation that defines the value; an existing value is bound again."""
    value = expr.ssa
    return value.op if isinstance(value, OpResult) and value.op.parent is None else BindOp(value)


def _deep(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Apply `change` to each `kind` in a value, also inside lists and tuples."""
    if type(value) in (list, tuple):
        return type(value)(_deep(v, kind, change) for v in value)
    return change(value) if isinstance(value, kind) else value


def rule_on_handles(legalize: Legalize) -> Callable[[Builder, Operator], SSAValue | None]:
    """Convert a rule in TVM's form to one for `LegalizeOps`."""

    def rule(builder: Builder, op: Operator) -> SSAValue | None:
        built = legalize(RuleBuilder(builder), Call.on(op.results[0]))
        return None if built is None else to_expr(built).ssa

    return rule


class _OnHandles:
    """A `BlockBuilder` with the interface of this package's rules."""

    def __init__(self, builder: Any):
        self._builder = builder

    @property
    def tvm_forms(self) -> bool:
        """Whether operators are written as TVM does: they are, as TVM's programs call these rules."""
        return True

    def emit(self, op: Operation) -> SSAValue:
        """Insert a detached op, and return its first result."""
        return to_expr(self._builder.emit(bound_expr(op))).ssa

    def call_te(self, te_func: Callable[..., Any], *args: Any, **kwargs: Any) -> SSAValue:
        """Build a tensor function and return the value of its call."""
        return to_expr(self._builder.call_te(te_func, *(_deep(a, SSAValue, expr_of) for a in args), **kwargs)).ssa

    def call(self, call: TECall) -> SSAValue:
        """Return the value of a call of an existing tensor function."""
        for op in call.setup:
            self.emit(op)
        return self.emit(call.call_op(self.add_function(call.func)))

    def add_function(self, func: FuncOp) -> str:
        """Add a tensor function to the module, and return its name."""
        name: str = self._builder.add_func(PrimFunc.on(func), func.sym_name.data).name_hint
        return name

    def fresh_vars(self, count: int) -> list[SymExpr]:
        """Return symbolic variables with new names."""
        return [Var(self._builder.get_unique_name("s")) for _ in range(count)]


@dataclass(frozen=True)
class OwnRule:
    """The `FLegalize` of an operator with a rule in this package."""

    operator: str

    def __call__(self, builder: Any, call: Call) -> Expr:
        """Apply the rule to a call with a `BlockBuilder` or `RuleBuilder`; return the call if it must be kept."""
        op = call.op_handle
        if not isinstance(op, Operator):
            return call
        inner: Builder = builder.inner if isinstance(builder, RuleBuilder) else _OnHandles(builder)
        direct = BUILDERS.get(op.name)
        result = _by_table(inner, op) if direct is None else direct(inner, op)
        return call if result is None else expr_of(result)


def _by_table(builder: Builder, op: Operator) -> SSAValue | None:
    rule = rule_of(op)
    known = all(known_shape(v.type) for v in (*op.operands, *op.results))
    emit = rule(op) if rule is not None and known else None
    if emit is None:
        return None
    for before in emit.setup:
        builder.emit(before)
    return builder.call_te(emit.function, *emit.args, primfunc_name_hint=emit.name, **emit.options)


def own_rule(name: str) -> OwnRule | None:
    """Return this package's rule for an operator, or None."""
    cls = OPERATORS.get(name)
    known = cls is not None and (name in BUILDERS or name in RULES or cls.brings("compute"))
    return OwnRule(name) if known else None


def register_legalize(op_name: str, legal_func: Legalize | None = None) -> Any:
    """Register `legal_func(builder, call)` as the rule of an operator; a decorator without it.

    Raises `TiraxError` if another rule is registered and has not been reset.
    """
    return register_op_attr(op_name, LEGALIZE, legal_func)


def has_known_shape_value(sinfo: StructInfo) -> bool:
    """Return whether all shapes in a struct info are known."""
    return known_shape(type_of(sinfo))


__all__ = [
    "Legalize", "OwnRule", "RuleBuilder", "has_known_shape_value", "own_rule",
    "register_legalize", "rule_on_handles",
]  # fmt: skip
