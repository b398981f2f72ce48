"""Lowering of Relax operators to calls of tensor functions.

    %y = relax.add %a, %b : T   ->   %y = relax.call_tir @add(%a, %b) : T     and     tir.func private @add(…) {…}

Functions are visited in the order of their names, which determines which function is `add` and which `add1`.
Structurally equal functions are shared.
"""

# pyright: reportUnusedImport=false
# Rule files are imported for their registrations.

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ...diagnostics import DTypeError, ShapeError, TiraxError, unknown_name
from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.relax.operator import OPERATORS, Operator
from ...dialects.relax.registered import LEGALIZE, RESET, own_function, registered
from ...dialects.relax.types import is_base_of
from ...dialects.sym.expr import SymExpr, Var
from ...ir.alike import Alike
from ...ir.locations import location_of
from ...ir.names import NameSupply, fresh_suffix, function_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before, replace_op
from ...ir.rewriting.infer import infer_users
from ...te.emit import TECall, call_te
from ..fusion.pattern import ATTRIBUTE, OpPattern
from . import (  # noqa: F401
    base,
    elementwise,
    factorization,
    fft,
    grad,
    layout,
    linear_algebra,
    manipulation,
    normalization,
    rows,
    scan,
    windows,
)
from .broadcast_unknown_extents import fill_operands
from .groups import join_in_groups
from .legalize_rules import BUILDERS, Emit, LegalizeRule, known_shape, rule_of
from .on_handles import rule_on_handles
from .requirements import extent_check
from .tvm_forms import FORMS, UNCHECKED, constant_of, target_forms, write_as_tvm

CustomRule = Callable[["LegalizeBuilder", Operator], Any]
"""`(builder, operator) -> value`: builds a replacement; returns None (or the operator's own result) to keep it."""


@dataclass(frozen=True)
class LegalizeOps(Pass):
    """Replace Relax operators by calls of tensor functions.

    `customize_legalize_map` maps operator names to rules with priority over the built-in ones; their results are
    legalized again. Operators in `skip_ops` and those of unknown shape are kept. `enable_warning` warns of operators
    without a rule. `tvm_forms` writes operators as TVM does if that differs for infinities and NaN, or in rounding
    (list in `tvm_forms.py`); some operators have a special rule for a `target` (`target_forms.py`).

    A subclass may have further rules in `OWN_FORMS`, change the tensors that a rule computes by `finished`, and leave
    out the checks of extents at run time.
    """

    name: ClassVar[str] = "legalize-ops"
    customize_legalize_map: Mapping[str, Any] | None = None
    skip_ops: tuple[str, ...] = ()
    enable_warning: bool = False
    tvm_forms: bool = False
    target: str = ""
    OWN_FORMS: ClassVar[Mapping[str, LegalizeRule]] = {}
    CHECKED: ClassVar[bool] = True

    def finished(self, result: Any) -> Any:
        """Return the tensors that a rule computes, changed as a whole."""
        return result

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        legalizer = _Legalizer(op, self)
        functions = [f for f in op.body.block.ops if isinstance(f, relax.FuncOp)]
        for func in sorted(functions, key=lambda f: f.sym_name.data):
            legalizer.function(func)


@dataclass
class _Memo:
    """The result of an operator, for operators of equal kind and types; `kept` are the operands that the call takes."""

    properties: dict[str, Attribute]
    kept: list[int]

    def call_for(self, op: Operator) -> relax.CallTIROp:
        """Return the same call with another operator's operands."""
        return relax.CallTIROp.create(
            operands=[op.operands[i] for i in self.kept],
            result_types=[op.result_type],
            properties=self.properties,
        )


@dataclass
class LegalizeBuilder:
    """The builder of a custom rule: inserts everything before the operator that is replaced."""

    legalizer: _Legalizer
    anchor: Operation
    emitted: list[Operation] = field(default_factory=list[Operation])

    @property
    def tvm_forms(self) -> bool:
        """Whether operators are written as TVM does."""
        return self.legalizer.tvm_forms

    def emit(self, op: Operation) -> SSAValue:
        """Insert a detached op and the detached ops that it uses, and return its first result.

        A call of a packed function becomes a pure call, as the operator was pure.
        """
        for value in op.operands:
            if isinstance(value, OpResult) and value.op.parent is None:
                self.emit(value.op)
        if op.parent is None:
            op = _pure(op) if getattr(self.anchor, "PURE", True) else op
            insert_before(self.anchor, op)
            self.emitted.append(op)
        return op.results[0]

    def call_te(self, te_func: Callable[..., Any], *args: Any, **kwargs: Any) -> SSAValue:
        """Build a tensor function and return the value of its call; `primfunc_name_hint` names it."""
        return self.call(call_te(te_func, *args, **kwargs))

    emit_te = call_te

    def call(self, call: TECall) -> SSAValue:
        """Return the value of a call of an existing tensor function."""
        for op in call.setup:
            self.emit(op)
        return self.emit(call.call_op(self.add_function(call.func)))

    def add_function(self, func: tir.FuncOp) -> str:
        """Add a tensor function to the module unless a structurally equal one exists, and return its name."""
        return self.legalizer.add_function(func)

    def fresh_vars(self, count: int) -> list[SymExpr]:
        """Return symbolic variables that are new in the function."""
        func = self.anchor.parent_op()
        while func is not None and not isinstance(func, relax.FuncOp):
            func = func.parent_op()
        return self.legalizer.fresh_vars(cast(relax.FuncOp, func), count)


class _Legalizer:
    """Legalizer of the functions of one module."""

    def __init__(self, module: ModuleOp, options: LegalizeOps):
        self.module = module
        self.custom: dict[str, CustomRule] = dict(options.customize_legalize_map or {})
        self.skipped = set(options.skip_ops)
        self.warn = options.enable_warning
        forms = FORMS if options.tvm_forms else target_forms(options.target)
        self.forms: Mapping[str, LegalizeRule] = {**forms, **options.OWN_FORMS}
        self.tvm_forms, self.finished, self.checked = options.tvm_forms, options.finished, options.CHECKED
        for known in (self.custom, self.skipped):
            for name in known:
                if name not in OPERATORS:
                    raise unknown_name("operator", name, OPERATORS)
        self.names = NameSupply(function_names(module))
        self.variables: dict[relax.FuncOp, set[str]] = {}
        self.memo: dict[Hashable, _Memo] = {}
        self.first = module.body.block.first_op

    @cached_property
    def alike(self) -> Alike:
        """The private tensor functions by structure."""
        deduplicator = Alike()
        for f in self.module.body.block.ops:
            if isinstance(f, tir.FuncOp) and f.private:
                deduplicator.first_of(f)
        return deduplicator

    def add_function(self, func: tir.FuncOp) -> str:
        """Return the name of `func` in the module, or that of a structurally equal private function."""
        first = cast(tir.FuncOp, self.alike.first_of(func))
        if first is func:
            func.sym_name = StringAttr(self.names.fresh(func.sym_name.data))
            if self.first is None:
                self.module.body.block.add_op(func)
            else:
                self.module.body.block.insert_op_before(func, self.first)
        return first.sym_name.data

    def fresh_vars(self, func: relax.FuncOp, count: int) -> list[SymExpr]:
        """Return symbolic variables `s`, `s_1`, … that are new in a function."""
        taken = self.variables.get(func)
        if taken is None:
            values = [
                v for op in operations(func) for v in (*op.results, *(a for r in op.regions for a in r.block.args))
            ]
            variables = relax.free_symbolic_vars(v.type for v in values)
            taken = self.variables[func] = {str(v.name) for v in variables}
        return [Var(fresh_suffix("s", taken)) for _ in range(count)]

    def function(self, func: relax.FuncOp) -> None:
        """Legalize the operators of a function, including its branches and local functions."""
        pending = [op for op in operations(func) if isinstance(op, Operator)][::-1]
        while pending:
            op = pending.pop()
            if op.name not in self.skipped:
                emitted = self.operator(op)
                pending.extend(e for e in reversed(emitted) if isinstance(e, Operator))

    def operator(self, op: Operator) -> Sequence[Operation]:
        """Legalize one operator, and return the operations of a custom rule, which are legalized next."""
        if registered(op.name, LEGALIZE) is RESET and op.name not in self.custom:
            return ()
        own_rule = own_function(op.name, LEGALIZE)
        by_program = None if own_rule is None else rule_on_handles(own_rule)
        custom = self.custom.get(op.name) or by_program or BUILDERS.get(op.name)
        if custom is not None:
            return self._customized(op, custom)
        constant = constant_of(op) if self.tvm_forms and known_shape(op.result_type) else None
        if constant is not None:
            replace_op(op, constant)
            return ()
        key = _memo_key(op)
        known = self.memo.get(key)
        if known is not None:
            replace_op(op, known.call_for(op))
            return ()
        rule = self.forms.get(op.name) or rule_of(op)
        if rule is None:
            if self.warn:
                warnings.warn(f"no legalization of {op.name}", stacklevel=2)
        elif replacement := self._as_others(op):
            return replacement
        elif known_shape(op.result_type) and all(known_shape(v.type) for v in op.operands):
            emit = rule(op)
            if emit is not None:
                self._emit(op, emit, key)
        return ()

    def _as_others(self, op: Operator) -> Sequence[Operation]:
        """Return the operators that replace an operator before its rule applies; usually none."""
        filled = fill_operands(op)
        return [*filled, op] if filled else () if self.tvm_forms else join_in_groups(op)

    def _customized(self, op: Operator, custom: CustomRule) -> Sequence[Operation]:
        for check in extent_check(op) if custom is BUILDERS.get(op.name) else ():
            insert_before(op, check)
        builder = LegalizeBuilder(self, op)
        built: object = custom(builder, op)
        if built is None or built is op or built is op.results[0]:
            return ()
        if not isinstance(built, SSAValue | Operation):
            raise TiraxError(
                f"the custom rule of {op.name} must give a value", expected="an SSA value", found=type(built).__name__
            )
        value = built.results[0] if isinstance(built, Operation) else cast(SSAValue, built)
        if isinstance(value.owner, Operation) and value.owner.parent is None:
            value = builder.emit(value.owner)
        replace_op(op, value, renamed=value.owner in builder.emitted)
        infer_users((use.operation for use in value.uses), is_base_of)
        # An operator of the same kind would match the same rule forever.
        return [e for e in builder.emitted if e.name != op.name]

    def _emit(self, op: Operator, emit: Emit, key: Hashable) -> None:
        """Replace an operator by the call of its tensor function; others with the same `key` share the function."""
        if emit.opaque:
            key = _opaque_key(op)
            if key in self.memo:
                replace_op(op, self.memo[key].call_for(op))
                return
        needed = () if self.tvm_forms and op.name in UNCHECKED else extent_check(op)
        checks = needed if self.checked else ()
        call = _called(op, emit, self.finished)
        if self.tvm_forms:
            write_as_tvm(call.func, op.name)
        _check_result(op, call.out_type, certain=not needed)
        callee = self.add_function(call.func)
        for before in (*checks, *emit.setup, *call.setup):
            insert_before(op, before)
        new = relax.CallTIROp(callee, call.args, op.result_type, call.tir_vars or None)
        kept = _positions(op, call)
        if kept is not None and not checks:
            self.memo[key] = _Memo(dict(new.properties), kept)
        replace_op(op, new)


def _pure(op: Operation) -> Operation:
    """Return a call of a packed function that replaces a pure operator as a pure call."""
    if not isinstance(op, relax.CallPackedOp):
        return op
    pure = relax.CallPurePackedOp(op.func.data, op.args, op.result_type, op.call_attrs)
    set_name(pure.result, name_of(op.result))
    op.result.replace_all_uses_with(pure.result)
    op.erase()
    return pure


def _called(op: Operator, emit: Emit, finished: Callable[[Any], Any]) -> TECall:
    """Return the call of an operator's tensor function; errors name the operator."""

    def function(*args: Any, **options: Any) -> Any:
        return finished(emit.function(*args, **options))

    opaque = {"primfunc_opaque": True, "primfunc_attrs": {ATTRIBUTE: int(OpPattern.OPAQUE)}} if emit.opaque else {}
    try:
        return call_te(function, *emit.args, primfunc_name_hint=emit.name, **opaque, **emit.options)
    except TiraxError as error:
        if error.location is None:
            error.location = location_of(op)
            error.message = f"{op.name} has no tensor function: {error.message}"
        raise


def _check_result(op: Operator, computed: Attribute, certain: bool) -> None:
    """Raise `DTypeError` or `ShapeError` if an operator's tensor function does not return the inferred type.

    `certain` means that no assumption on extents is left to run time: then the extents must be equal for all sizes.
    """
    hint = f"`compute` and `infer_struct_info` of {op.name} must agree"
    message = f"the tensor function of {op.name} does not give what the operator infers"
    expected, found = _tensor_types(op.result_type), _tensor_types(computed)
    if len(expected) != len(found):
        raise ShapeError(message, location=location_of(op), expected=op.result_type, found=computed, hint=hint)
    for inferred, actual in zip(expected, found, strict=True):
        kind = _mismatch(inferred, actual, certain)
        if kind is not None:
            raise kind(message, location=location_of(op), expected=inferred, found=actual, hint=hint)


def _tensor_types(t: Attribute) -> list[relax.TensorType]:
    """Return the tensors of a type, including those in tuples, in order."""
    if isinstance(t, TupleType):
        return [inner for each in t.types for inner in _tensor_types(each)]
    return [t] if isinstance(t, relax.TensorType) else []


def _mismatch(inferred: relax.TensorType, actual: relax.TensorType, certain: bool) -> type[TiraxError] | None:
    """Return the error class for two incompatible tensor types, or None if they are compatible."""
    if inferred.element is not None and inferred.element != actual.element:
        return DTypeError
    if inferred.dims is None or actual.dims is None:
        return None
    pairs = zip(inferred.dims, actual.dims, strict=False)
    return (
        ShapeError if len(inferred.dims) != len(actual.dims) or any(_differ(a - b, certain) for a, b in pairs) else None
    )


def _differ(difference: SymExpr, certain: bool) -> bool:
    """Return whether two extents with this difference are unequal: always, or for some sizes if `certain`."""
    if difference.constant is not None or not certain:
        return bool(difference.constant)
    sizes = {str(v.name): 3 + 2 * i for i, v in enumerate(difference.free_vars())}
    return difference.evaluate(sizes) != 0


def _memo_key(op: Operator) -> Hashable:
    """Return a key: operators with equal keys share a function; names of operands only name its parameters."""
    groups = tuple(None if a is None else len(a) if isinstance(a, tuple) else 1 for a in op.args)
    first = _first_positions(op)
    operands = tuple((first[v], *_operand_key(v)) for v in op.operands)
    return (op.name, tuple(sorted(op.properties.items())), groups, operands, op.result_type)


def _opaque_key(op: Operator) -> Hashable:
    """Return a `_memo_key` that depends only on which extents are equal."""
    numbers: dict[SymExpr, int] = {}
    first = _first_positions(op)
    operands = [(first[v], t.dtype, t.vdevice) for v in op.operands for t in _tensor_types(v.type)]
    dims = [d for v in op.operands for t in _tensor_types(v.type) for d in t.dims or ()]
    extents = [d if d.constant is not None else numbers.setdefault(d, len(numbers)) for d in dims]
    return (op.name, tuple(sorted(op.properties.items())), tuple(operands), tuple(extents))


def _operand_key(value: SSAValue) -> tuple[Attribute, Attribute | None]:
    """Return the type, and the value if rules may inline it."""
    owner = value.owner
    if isinstance(owner, relax.ConstantOp) and not owner.value.data.shape:
        return value.type, owner.value
    if isinstance(owner, relax.PrimValueOp):
        return value.type, owner.value
    return value.type, None


def _first_positions(op: Operation) -> dict[SSAValue, int]:
    """Return the first position of each operand."""
    out: dict[SSAValue, int] = {}
    for i, value in enumerate(op.operands):
        out.setdefault(value, i)
    return out


def _positions(op: Operator, call: TECall) -> list[int] | None:
    """Return the positions of the operands that the call takes; None if an argument is not an operand."""
    first = _first_positions(op)
    return [first[v] for v in call.args] if all(v in first for v in call.args) else None
