"""Replacement of operators by tensor functions other than those of their legalization."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.quick import operations
from ...dialects.relax import OPERATORS
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import new_context
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import insert_before
from ..legalize import LegalizeOps, extent_check

TERule = Callable[[Operator], tuple[Callable[..., Any], list[SSAValue], str] | None]
"""A function from an operator to (te function, operands, name of the tensor function), or None to keep the operator.

If the function returns another shape, a reshape follows.
"""


def call_tensor_functions(
    module: ModuleOp, rules: Mapping[str, TERule], clean: bool = True, checks: bool = False
) -> None:
    """Replace operators by calls of the tensor functions from their rules, in place; `clean` removes unused bindings.

    Operators of unknown shape are kept. Those that need a check at run time are kept, too, unless with `checks`, which
    inserts it.
    """

    calls: dict[Hashable, relax.CallTIROp] = {}

    def rule_for(rule: TERule) -> Callable[[Any, Operator], SSAValue | None]:
        def call(builder: Any, op: Operator) -> SSAValue | None:
            replacement = rule(op) if _is_known(op) and (checks or not op.assumptions()) else None
            if replacement is None:
                return None
            for check in extent_check(op) if checks else ():
                insert_before(op, check)
            function, args, name = replacement
            # Rules may depend on types and names only; which arguments are the same value determines the parameters.
            properties = tuple(sorted(op.properties.items()))
            key = (name, properties, op.results[0].type, *((v.type, args.index(v)) for v in args))
            like = calls.get(key)
            if like is not None:
                value = relax.CallTIROp(like.callee_name, args, like.result.type, like.tir_vars).result
            else:
                value = builder.call_te(function, *args, primfunc_name_hint=name)
                if isinstance(value.owner, relax.CallTIROp) and list(value.owner.args) == args:
                    calls[key] = value.owner
            return _reshaped(builder, value, op)

        return call

    functions = relax_functions(module)
    if any(op.name in rules for func in functions for op in operations(func)):
        others = tuple(name for name in OPERATORS if name not in rules)
        LegalizeOps({name: rule_for(rule) for name, rule in rules.items()}, others).apply(new_context(), module)
    for func in functions if clean else ():
        remove_dead_bindings(func)


def _reshaped(builder: Any, value: SSAValue, op: Operator) -> SSAValue:
    """Reshape a value to the shape of an operator's result."""
    expected = op.results[0].type
    if value.type == expected or not isinstance(expected, TensorType) or expected.dims is None:
        return value
    return builder.emit(OPERATORS["relax.reshape"].make(value, relax.ShapeOp(expected.dims).result))


def _is_known(op: Operator) -> bool:
    types = [v.type for v in (*op.operands, *op.results)]
    return all(isinstance(t, TensorType) and t.dims is not None and t.element for t in types)
