"""Well-formedness of modules and functions by TVM's rules: all problems at once, each with its location and rule.

    well_formed(mod)             True if there are none
    well_formed_problems(mod)    the list of them
    check_well_formed(mod)       raises the first, the others in its notes

`ill_formed` holds the rules. One walk over each function, linear in its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TupleType, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError, suggestion
from ...dialects import relax, tir
from ...dialects.attributes import from_attr
from ...dialects.names import name_of
from ...dialects.relax.registered import normal_form
from ...dialects.relax.signatures import BaseCheckResult, base_check
from ...dialects.sym.expr import Var
from ..functions.lookup import callee_names, is_impure_call, symbol_of
from ..functions.symbolic_vars import defined_in, mentioned_in
from ..locations import location_of
from . import ill_formed
from .as_written import as_written
from .ill_formed import STRUCT_INFO_RULES, IllFormedError
from .verify import check_dominance, verify_module
from .well_formed_calls import check_call, check_call_tir, check_call_value, check_inplace

_Function = relax.FuncOp | relax.ClosureOp
_FORCE_PURE = "relax.force_pure"


def well_formed(obj: Any, check_struct_info: bool = True) -> bool:
    """Return whether a module or a single function is well formed; `well_formed_problems` returns the reasons if not.

    Without `check_struct_info`, the rules about struct info (`STRUCT_INFO_RULES`) are skipped.
    """
    return not well_formed_problems(obj, check_struct_info)


def check_well_formed(obj: Any, check_struct_info: bool = True) -> None:
    """Raise the first problem (an `IllFormedError` of the rule's class), with the others in its notes."""
    problems = well_formed_problems(obj, check_struct_info)
    if problems:
        first, *others = problems
        first.notes = (*first.notes, *(f"{p.rule}: {p.message}" for p in others))
        raise first


def well_formed_problems(obj: Any, check_struct_info: bool = True) -> list[IllFormedError]:
    """Return all problems of a module, or of a function (with its callees if it is in a module).

    `obj` is the operation or a view of it.
    """
    op = obj if isinstance(obj, Operation) else obj.op
    module = op if isinstance(op, ModuleOp) else op.parent_op()
    refused = _refusal(op) if check_struct_info else None
    problems = _Problems(check_struct_info, check_operators=refused is not None)
    symbols = _symbols(module) if isinstance(module, ModuleOp) else {}
    if isinstance(op, ModuleOp):
        _check_names(op, problems)
        for child in op.body.block.ops:
            if isinstance(child, relax.FuncOp):
                _Checker(child, symbols, problems).check()
    else:
        _Checker(op, symbols, problems, known_module=bool(symbols)).check()
    return problems.items or [problem for problem in [refused] if problem is not None]


class _Problems:
    """The problems reported so far."""

    def __init__(self, check_struct_info: bool, check_operators: bool):
        self.items: list[IllFormedError] = []
        self.check_struct_info = check_struct_info
        self.check_operators = check_operators
        """False where their verifiers have passed, which infer what they give."""
        self.function: str | None = None

    def add(self, rule: type[IllFormedError], op: Operation, message: str, **details: Any) -> None:
        """Report a problem at the location of `op`."""
        if rule.rule in STRUCT_INFO_RULES and not self.check_struct_info:
            return
        location = location_of(op)
        notes = [] if location is not None or op.regions or op.parent is None else [f"in: {op}"]
        problem = rule(message, location=location, notes=notes, **details)
        problem.function = self.function
        self.items.append(problem)


def _script_name(op: Operation) -> str:
    """Return the name of an operation in TVMScript, which the rules refer to."""
    return f"R.{op.script_name}" if isinstance(op, relax.Operator) else op.name


def _symbols(module: ModuleOp) -> dict[str, Operation]:
    return {name: op for op in module.body.block.ops if (name := symbol_of(op)) is not None}


def _check_names(module: ModuleOp, problems: _Problems) -> None:
    seen: set[str] = set()
    for op in module.body.block.ops:
        name = symbol_of(op)
        if name is None:
            continue
        problems.function = name
        if name in seen:
            problems.add(ill_formed.DuplicateFunction, op, f"there are two functions called '{name}'")
        seen.add(name)
        if isinstance(op, relax.FuncOp | tir.FuncOp):
            _check_symbol(op, name, problems)


def _check_symbol(op: relax.FuncOp | tir.FuncOp, name: str, problems: _Problems) -> None:
    symbol = None if op.func_attrs is None else op.func_attrs.data.get("global_symbol")
    if symbol is None:
        return
    if op.private:
        message = f"the private function '{name}' has a global_symbol"
        problems.add(ill_formed.GlobalSymbolOnPrivate, op, message, hint="make it public or remove the attribute")
    elif symbol != StringAttr(name) and isinstance(op, relax.FuncOp):
        message = f"the global_symbol of the function '{name}' is another name"
        problems.add(ill_formed.GlobalSymbolMismatch, op, message, expected=name, found=from_attr(symbol))


def _refusal(op: Operation) -> IllFormedError | None:
    """Return the first error of the operations' verifiers."""
    try:
        if isinstance(op, ModuleOp):
            verify_module(op)
            check_dominance(op)
        else:
            op.verify()
    except (TiraxError, VerifyException) as error:
        problem = ill_formed.OperationRefused(str(getattr(error, "message", error)), location=location_of(op))
        if isinstance(error, TiraxError):
            problem.location = error.location
            problem.expected, problem.found, problem.hint = error.expected, error.found, error.hint
            problem.notes = error.notes
        return problem
    return None


@dataclass(frozen=True)
class _Where:
    """The facts at a program point: the known symbolic variables, and the allowed effects of calls."""

    symbols: frozenset[Var]
    pure: bool
    in_dataflow: bool = False


class _Checker:
    """Checker of a function: one walk, with a set of the visible values."""

    def __init__(
        self, func: Operation, symbols: Mapping[str, Operation], problems: _Problems, known_module: bool = True
    ):
        self._func = func
        self._symbols = symbols
        self._problems = problems
        self._known_module = known_module
        self._visible: set[SSAValue] = set()

    def check(self) -> None:
        """Report all problems of the function."""
        func = self._func
        self._problems.function = symbol_of(func)
        assert isinstance(func, relax.FuncOp | relax.ClosureOp)
        self._check_function(func, frozenset())

    def _add(self, rule: type[IllFormedError], op: Operation, message: str, **details: Any) -> None:
        self._problems.add(rule, op, message, **details)

    def _check_function(self, func: _Function, outer: frozenset[Var]) -> None:
        block = func.body.block
        known = outer | frozenset(defined_in(func))
        name = symbol_of(func) or name_of(func.results[0]) or "a local function"
        for arg in block.args:
            self._check_value(func, arg, f"the parameter '{name_of(arg)}' of '{name}'", known)
        forced = bool(_attr(func, _FORCE_PURE))
        if forced and func.impure is not None:
            message = f"'{name}' has the attribute {_FORCE_PURE} and is not declared to be pure"
            self._add(ill_formed.ForcePureOnImpure, func, message)
        self._check_block(block, _Where(known, func.impure is None and not forced), relax.ReturnOp)
        last = block.last_op
        if isinstance(last, relax.ReturnOp):
            self._check_covers(func, f"the result of '{name}'", func.ret_type, last.value.type)

    def _check_block(self, block: Block, where: _Where, terminator: type[Operation]) -> None:
        """Check the ops of a block, whose values are visible only in it."""
        added: list[SSAValue] = list(block.args)
        self._visible.update(added)
        for op in block.ops:
            casts = _casts(op)
            after = replace(where, symbols=where.symbols.union(casts)) if casts else where
            self._check_op(op, where, after.symbols)
            where = after
            added.extend(op.results)
            self._visible.update(op.results)
        if not isinstance(block.last_op, terminator):
            owner = block.parent_op()
            assert owner is not None
            message = f"{owner.name} does not end with {terminator.name}"
            self._add(ill_formed.MissingResult, owner, message)
        self._visible.difference_update(added)

    def _check_op(self, op: Operation, where: _Where, known: frozenset[Var]) -> None:
        """Check an op and its regions; `known` are the symbolic variables that its results may mention."""
        for operand in op.operands:
            if operand not in self._visible:
                self._undefined(op, operand)
        for result in op.results:
            self._check_value(op, result, f"the result of {op.name}", known)
        self._check_symbolic(op, mentioned_in(op), known)
        self._check_effects(op, where)
        self._check_callees(op)
        if isinstance(op, relax.Operator):
            self._check_operator(op)
        self._check_as_written(op, known)
        check = _OP_CHECKS.get(type(op))
        if check is not None:
            check(self, op)
        if isinstance(op, relax.ClosureOp):
            self._visible.add(op.result)
            self._check_function(op, where.symbols)
        elif isinstance(op, relax.DataflowOp):
            self._check_block(op.body.block, replace(where, in_dataflow=True), relax.OutputOp)
        elif isinstance(op, relax.IfOp):
            for region in (op.then_region, op.else_region):
                self._check_block(region.block, where, relax.YieldOp)

    def _check_as_written(self, op: Operation, known: frozenset[Var]) -> None:
        memory = as_written(op)
        if memory is None:
            return
        for rule, message in memory.broken:
            self._add(rule, op, message)
        if memory.declared is not None:
            self._check_symbolic(op, relax.free_symbolic_vars([memory.declared]), known)
            self._check_annotation(op, memory.declared)

    def _check_annotation(self, op: Operation, declared: Attribute) -> None:
        """Report an annotation of a call that certainly does not hold."""
        inferred = op.results[0].type
        if isinstance(op, relax.Operator) and base_check(declared, inferred) is BaseCheckResult.FAIL_L0:
            self._add(ill_formed.StructInfoNotBase, op, f"the result of {op.name}", expected=inferred, found=declared)

    # Variables.

    def _undefined(self, op: Operation, operand: SSAValue) -> None:
        owner = operand.owner
        name = name_of(operand) or f"operand {list(op.operands).index(operand)}"
        rule, what = self._why_undefined(op, owner)
        self._add(rule, op, f"{op.name} uses '{name}' {what}")

    def _why_undefined(self, op: Operation, owner: Operation | Block) -> tuple[type[IllFormedError], str]:
        if isinstance(owner, Operation) and owner.parent is None:
            if isinstance(owner, relax.Operator | relax.CallBase):
                return ill_formed.NestedCall, "which is a call that is not bound to a variable"
            return ill_formed.UndefinedVariable, "which is not defined"
        block = owner if isinstance(owner, Block) else owner.parent
        around = owner.parent_op()
        if around is None or block is None:
            return ill_formed.UndefinedVariable, "which is not defined"
        if not (self._func is around or self._func.is_ancestor(around)):
            return ill_formed.VariableOfAnotherFunction, "which belongs to another function"
        if block.is_ancestor(op):
            return ill_formed.UsedBeforeDefinition, "before it is defined"
        if isinstance(around, relax.DataflowOp):
            return ill_formed.DataflowVariableOutside, "outside of the dataflow block, which does not output it"
        return ill_formed.VariableOutOfScope, f"outside of the {around.name} that binds it"

    # Struct info.

    def _check_value(self, op: Operation, value: SSAValue, what: str, known: frozenset[Var]) -> None:
        t = value.type
        if not isinstance(t, relax.STRUCT_INFO):
            self._add(ill_formed.StructInfoMissing, op, f"{what} has no struct info", found=t)
        elif isinstance(value.owner, Block):
            self._check_symbolic(op, relax.free_symbolic_vars([t]), known)
        if any(v.dtype != i64 for v in _extents_vars(t)):
            self._add(ill_formed.SymbolicVariableDType, op, f"extents of {what}", expected="int64", found=t)

    def _check_symbolic(self, op: Operation, used: Iterable[Var], known: frozenset[Var]) -> None:
        names = [str(v) for v in used if v not in known]
        if names:
            self._add(
                ill_formed.UndefinedSymbolicVariable,
                op,
                f"nothing determines the symbolic variable{'s' if len(names) > 1 else ''} {', '.join(names)}",
                hint="an extent of a parameter, or of a match_cast before, must be the variable by itself",
            )

    def _check_covers(self, op: Operation, what: str, declared: Attribute, inferred: Attribute) -> None:
        if not relax.is_base_of(declared, inferred):
            self._add(ill_formed.StructInfoNotBase, op, what, expected=inferred, found=declared)

    def _check_operator(self, op: relax.Operator) -> None:
        if normal_form(op) is not op.results[0]:
            message = f"{_script_name(op)} is not in the normal form that is registered for it"
            self._add(ill_formed.OperatorArguments, op, message, hint="relax.transform.Normalize brings it there")
        if self._problems.check_operators:
            self._check_inference(op)

    def _check_inference(self, op: relax.Operator) -> None:
        try:
            inferred = op.inferred()
            op.check_operands()
        except TiraxError as error:
            details = {"expected": error.expected, "found": error.found, "hint": error.hint}
            self._add(ill_formed.OperatorArguments, op, error.message, **details)
            return
        except VerifyException as error:
            self._add(ill_formed.OperatorArguments, op, str(error))
            return
        self._check_covers(op, f"the result of {op.name}", op.result_type, inferred)

    # Effects and calls.

    def _check_effects(self, op: Operation, where: _Where) -> None:
        if where.in_dataflow and isinstance(op, relax.IfOp | relax.DataflowOp):
            self._add(ill_formed.ControlFlowInDataflow, op, f"{op.name} is in a dataflow block")
        if not is_impure_call(op, self._symbols):
            return
        if where.in_dataflow:
            message = f"{_script_name(op)} may have effects and is in a dataflow block"
            self._add(ill_formed.ImpureCallInDataflow, op, message)
        elif where.pure:
            message = f"{_script_name(op)} may have effects and is in a function that is declared to be pure"
            hint = "declare the function with R.function(pure=False), or the call to be pure (call_pure_packed)"
            self._add(ill_formed.ImpureCallInPureFunction, op, message, hint=hint)

    def _check_callees(self, op: Operation) -> None:
        if not self._known_module or not isinstance(op, _CALLS_BY_SYMBOL):
            return
        for name in callee_names(op):
            if name not in self._symbols:
                hint = suggestion(name, self._symbols)
                self._add(ill_formed.UnknownFunction, op, f"{op.name}: no function '{name}' in the module", hint=hint)

    def check_call_tir(self, op: relax.CallTIROp) -> None:
        for f in check_call_tir(op, self._symbols):
            self._add(f.rule, op, f.message, **f.details)

    def check_call_tir_inplace(self, op: relax.CallTIRInplaceOp) -> None:
        for f in (*check_call_tir(op, self._symbols), *check_inplace(op)):
            self._add(f.rule, op, f.message, **f.details)

    def check_call(self, op: relax.CallOp) -> None:
        for f in check_call(op, self._symbols):
            self._add(f.rule, op, f.message, **f.details)

    def check_call_value(self, op: relax.CallValueOp) -> None:
        for f in check_call_value(op):
            self._add(f.rule, op, f.message, **f.details)

    def check_if(self, op: relax.IfOp) -> None:
        t = op.cond.type
        tensor = isinstance(t, relax.TensorType) and t.rank in (None, 0) and t.element in (None, i1)
        if not (tensor or t == relax.OBJECT or (isinstance(t, relax.PrimType) and t.dtype == i1)):
            self._add(ill_formed.ConditionNotBool, op, "a condition", expected="a bool scalar", found=t)
        for region in (op.then_region, op.else_region):
            last = region.block.last_op
            if isinstance(last, relax.YieldOp):
                self._check_covers(op, "the result of a branch", op.result.type, last.value.type)

    def check_bind(self, op: relax.BindOp) -> None:
        self._check_covers(op, "the result of a binding", op.result.type, op.value.type)

    def check_cast(self, op: relax.MatchCastOp) -> None:
        self._verify_as(ill_formed.ImpossibleCast, op)

    def check_field(self, op: relax.TupleGetItemOp) -> None:
        self._verify_as(ill_formed.TupleIndex, op)

    def _verify_as(self, rule: type[IllFormedError], op: relax.MatchCastOp | relax.TupleGetItemOp) -> None:
        try:
            op.verify_()
        except VerifyException as error:
            self._add(rule, op, str(error))


_CALLS_BY_SYMBOL = (relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallOp, relax.FunctionRefOp)
_OP_CHECKS: dict[type[Operation], Callable[[_Checker, Any], None]] = {
    relax.CallTIROp: _Checker.check_call_tir,
    relax.CallTIRInplaceOp: _Checker.check_call_tir_inplace,
    relax.CallOp: _Checker.check_call,
    relax.CallValueOp: _Checker.check_call_value,
    relax.IfOp: _Checker.check_if,
    relax.BindOp: _Checker.check_bind,
    relax.MatchCastOp: _Checker.check_cast,
    relax.TupleGetItemOp: _Checker.check_field,
}


def _casts(op: Operation) -> list[Var]:
    """Return the symbolic variables that a match_cast, or the match_casts of a dataflow block, define."""
    if isinstance(op, relax.DataflowOp):
        return [v for inner in op.body.block.ops for v in _casts(inner)]
    return defined_in(op) if isinstance(op, relax.MatchCastOp) else []


def _attr(func: _Function, name: str) -> Any:
    attrs = func.func_attrs
    return from_attr(attrs.data.get(name)) if isinstance(attrs, DictionaryAttr) else None


def _extents_vars(t: Attribute) -> Iterable[Var]:
    """Return the variables in extents of tensors and shapes."""
    if isinstance(t, TupleType):
        return [v for f in t.types for v in _extents_vars(f)]
    return relax.free_symbolic_vars([t]) if isinstance(t, relax.TensorType | relax.ShapeType) else ()
