"""The rules of well-formedness: one diagnostic for each rule, and the table of them.

`RULES` maps the name of a rule to its diagnostic, whose docstring states the rule. `UNWRITABLE` names the rules of TVM
that a tirax module cannot violate, with the reasons.
"""

from __future__ import annotations

from typing import ClassVar

from ...diagnostics import VerifyError


class IllFormedError(VerifyError):
    """A violated rule of well-formedness; `function` is the function that contains the violation."""

    rule: ClassVar[str] = ""
    function: str | None = None


class UndefinedVariable(IllFormedError):
    """Every used variable is defined."""

    rule = "undefined-variable"


class VariableDefinedTwice(IllFormedError):
    """A variable is bound once."""

    rule = "variable-defined-twice"


class UsedBeforeDefinition(IllFormedError):
    """A variable is defined before it is used."""

    rule = "used-before-definition"


class VariableOutOfScope(IllFormedError):
    """A variable bound in a branch or a local function is used only there."""

    rule = "variable-out-of-scope"


class DataflowVariableOutside(IllFormedError):
    """A variable bound in a dataflow block is used outside only if the block outputs it."""

    rule = "dataflow-variable-outside"


class VariableOfAnotherFunction(IllFormedError):
    """Functions share no parameters or variables."""

    rule = "variable-of-another-function"


class NestedCall(IllFormedError):
    """Arguments are variables, constants and other leaves (normal form): a nested call is bound first."""

    rule = "nested-call"


class UndefinedSymbolicVariable(IllFormedError):
    """A symbolic variable is an extent on its own in a parameter or match_cast before an expression uses it."""

    rule = "undefined-symbolic-variable"


class SymbolicVariableDType(IllFormedError):
    """Extents of Relax are int64."""

    rule = "symbolic-variable-dtype"


class MissingResult(IllFormedError):
    """A function or a branch ends with its result, a dataflow block with its outputs."""

    rule = "missing-result"


class ControlFlowInDataflow(IllFormedError):
    """A dataflow block contains no branches and no other dataflow blocks."""

    rule = "control-flow-in-dataflow"


class ImpureCallInDataflow(IllFormedError):
    """Calls in a dataflow block are pure."""

    rule = "impure-call-in-dataflow"


class ImpureCallInPureFunction(IllFormedError):
    """Calls in a pure function are pure, unless its attribute `relax.force_pure` declares them harmless."""

    rule = "impure-call-in-pure-function"


class ForcePureOnImpure(IllFormedError):
    """Only a function declared pure has the attribute `relax.force_pure`."""

    rule = "force-pure-on-impure"


class DuplicateFunction(IllFormedError):
    """Names of functions are unique in a module."""

    rule = "duplicate-function"


class GlobalSymbolMismatch(IllFormedError):
    """The attribute `global_symbol` of a function is its name in the module."""

    rule = "global-symbol-mismatch"


class GlobalSymbolOnPrivate(IllFormedError):
    """A private function has no attribute `global_symbol`."""

    rule = "global-symbol-on-private"


class UnknownFunction(IllFormedError):
    """Every called or referenced function is in the module."""

    rule = "unknown-function"


class WrongKindOfFunction(IllFormedError):
    """`call_tir` calls a tensor function, an ordinary call a Relax function."""

    rule = "wrong-kind-of-function"


class CallArity(IllFormedError):
    """A call has one argument per parameter of its callee: for `call_tir` inputs, outputs and `tir_vars`."""

    rule = "call-arity"


class CallArguments(IllFormedError):
    """Arguments and outputs of a call are compatible with the struct info of its callee's parameters."""

    rule = "call-arguments"


class InplaceOutput(IllFormedError):
    """An output of `call_tir_inplace` has the shape and dtype of the input that it overwrites; no two share one."""

    rule = "inplace-output"


class StructInfoMissing(IllFormedError):
    """Every value has struct info."""

    rule = "struct-info-missing"


class StructInfoNotBase(IllFormedError):
    """The declared struct info covers the inferred one."""

    rule = "struct-info-not-base"


class OperatorArguments(IllFormedError):
    """The arguments and attributes of an operator are valid, and it is in its registered normal form."""

    rule = "operator-arguments"


class ImpossibleCast(IllFormedError):
    """A match_cast can succeed."""

    rule = "impossible-cast"


class TupleIndex(IllFormedError):
    """A tuple index is less than the number of fields."""

    rule = "tuple-index"


class ConditionNotBool(IllFormedError):
    """The condition of a branch is a bool scalar."""

    rule = "condition-not-bool"


class OperationRefused(IllFormedError):
    """All other checks of the operations' verifiers pass."""

    rule = "operation-refused"


_ALL: tuple[type[IllFormedError], ...] = (
    UndefinedVariable,
    VariableDefinedTwice,
    UsedBeforeDefinition,
    VariableOutOfScope,
    DataflowVariableOutside,
    VariableOfAnotherFunction,
    NestedCall,
    UndefinedSymbolicVariable,
    SymbolicVariableDType,
    MissingResult,
    ControlFlowInDataflow,
    ImpureCallInDataflow,
    ImpureCallInPureFunction,
    ForcePureOnImpure,
    DuplicateFunction,
    GlobalSymbolMismatch,
    GlobalSymbolOnPrivate,
    UnknownFunction,
    WrongKindOfFunction,
    CallArity,
    CallArguments,
    InplaceOutput,
    StructInfoMissing,
    StructInfoNotBase,
    OperatorArguments,
    ImpossibleCast,
    TupleIndex,
    ConditionNotBool,
    OperationRefused,
)
RULES: dict[str, type[IllFormedError]] = {cls.rule: cls for cls in _ALL}
"""The rules by name, each with its diagnostic."""

STRUCT_INFO_RULES = frozenset(
    cls.rule
    for cls in (
        SymbolicVariableDType,
        CallArguments,
        InplaceOutput,
        StructInfoMissing,
        StructInfoNotBase,
        OperatorArguments,
        ImpossibleCast,
        TupleIndex,
        ConditionNotBool,
        OperationRefused,
    )
)
"""Rules that are skipped if `check_struct_info` is False."""

UNWRITABLE: dict[str, str] = {
    "functions share a symbolic variable": "the name of a symbolic variable is scoped to its function",
    "a symbolic variable is defined twice": "a further extent with its name is compared",
    "a function is called by an expression": "the callee of a call is a name or an SSA value",
}
"""Rules of TVM that no tirax module can violate, each with the reason."""
