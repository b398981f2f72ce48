"""Verification of calls of functions in the module: the callee exists, and its parameters and results match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from xdsl.dialects.builtin import NoneAttr, TupleType
from xdsl.ir import Operation

from ...diagnostics import DTypeError, ShapeError, VerifyError, suggestion
from ...dialects import relax, tir
from ...dialects.relax.signatures import BaseCheckResult, base_check, derive_result
from ..locations import location_of


def _check_tir_call(op: Operation, symbols: Mapping[str, Operation]) -> None:
    assert isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp)
    callee = _callee(op, op.callee_name, symbols, tir.FuncOp, "tir.func")
    if callee is None:
        return
    outputs = len(op.output_types)
    if isinstance(op, relax.CallTIRInplaceOp):
        outputs = sum(i < 0 for i in op.indices)
    count = len(op.call_args) + outputs + (len(op.tir_vars) if op.tir_vars is not None else 0)
    if count != len(callee.params):
        raise VerifyError(
            f"{op.name} @{op.callee_name} has the wrong number of arguments",
            location=location_of(op),
            expected=f"{len(callee.params)} parameters: inputs, outputs, tir_vars",
            found=f"{len(op.call_args)} inputs, {outputs} outputs, {count - len(op.call_args) - outputs} tir_vars",
        )


def _check_relax_call(op: Operation, symbols: Mapping[str, Operation]) -> None:
    assert isinstance(op, relax.CallOp)
    callee: Operation | None = symbols.get(op.callee_name)
    if isinstance(callee, tir.FuncOp):
        _check_effect(op, callee)
    else:
        callee = _callee(op, op.callee_name, symbols, relax.FuncOp, "relax.func")
    count = len(op.call_args) + len(op.tir_vars or ())
    if callee is not None and len(callee.params) != count:
        raise VerifyError(
            f"the call of @{op.callee_name} has the wrong number of arguments",
            location=location_of(op),
            expected=len(callee.params),
            found=count,
        )
    if isinstance(callee, relax.FuncOp):
        _check_types(op, callee)


def _check_types(op: relax.CallOp, callee: relax.FuncOp) -> None:
    try:
        result = derive_result(f"@{op.callee_name}", callee.callable_type, [a.type for a in op.call_args])
    except (ShapeError, DTypeError) as error:
        raise VerifyError(error.message, location=location_of(op), expected=error.expected, found=error.found) from None
    if base_check(op.result.type, result) is BaseCheckResult.FAIL_L0:
        message = f"the call of @{op.callee_name} gives something else"
        raise VerifyError(message, location=location_of(op), expected=result, found=op.result.type)


def _check_reference(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """Check the type that a reference declares for a function called by a loop; the loop's result follows from it."""
    assert isinstance(op, relax.FunctionRefOp)
    name, declared = op.callee.root_reference.data, op.result.type
    if not any(isinstance(use.operation, relax.WhileLoop) for use in op.result.uses):
        return
    callee = _callee(op, name, symbols, relax.FuncOp, "relax.func")
    if callee is None or isinstance(declared.params, NoneAttr):
        return
    actual = callee.callable_type
    try:
        result = derive_result(f"@{name}", actual, list(declared.params))
    except (ShapeError, DTypeError) as error:
        raise VerifyError(error.message, location=location_of(op), expected=error.expected, found=error.found) from None
    if not (relax.is_base_of(declared.ret, result) and actual.pure):
        raise VerifyError(
            f"@{name} is not what a reference says", location=location_of(op), expected=declared, found=actual
        )


def _check_effect(op: relax.CallOp, callee: tir.FuncOp) -> None:
    """Check a call of a tensor function, which writes its arguments: its result type, and its block."""
    expected = TupleType(()) if callee.ret_type is None else relax.PrimType.of(callee.ret_type)
    if not relax.is_base_of(expected, op.result.type):
        raise VerifyError(
            f"the call of the tensor function @{op.callee_name} gives something else",
            location=location_of(op),
            expected=expected,
            found=op.result.type,
            hint="relax.call_tir gives the outputs",
        )
    if callee.buffer_params and isinstance(op.parent_op(), relax.DataflowOp):
        message = f"a call of the tensor function @{op.callee_name} must not stand in a dataflow block: it has effects"
        raise VerifyError(message, location=location_of(op))


_OpT = TypeVar("_OpT", bound=Operation)


def _callee(op: Operation, name: str, symbols: Mapping[str, Operation], kind: type[_OpT], what: str) -> _OpT | None:
    symbol = symbols.get(name)
    if symbol is None:
        raise VerifyError(
            f"{op.name} calls @{name}, which is not in the module",
            location=location_of(op),
            hint=suggestion(name, symbols),
        )
    if isinstance(symbol, kind):
        return symbol
    if isinstance(symbol, tir.FuncOp | relax.FuncOp):
        raise VerifyError(f"{op.name} calls @{name}", location=location_of(op), expected=f"a {what}", found=symbol.name)
    return None


CALL_CHECKS: dict[type[Operation], Callable[[Operation, Mapping[str, Operation]], None]] = {
    relax.CallTIROp: _check_tir_call,
    relax.CallTIRInplaceOp: _check_tir_call,
    relax.CallOp: _check_relax_call,
    relax.FunctionRefOp: _check_reference,
}
"""Checks of calls beyond their own verification, with the functions of the module by name."""
