"""Rules of well-formedness for calls of functions in the module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, IntegerType
from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...dialects.relax.signatures import BaseCheckResult, base_check, derive_result, erased, match_type
from ...dialects.relax.types import tuple_type
from ...dialects.sym.expr import SymExpr, Var
from . import ill_formed
from .ill_formed import IllFormedError


@dataclass(frozen=True)
class Finding:
    """A violated rule: the message, and further arguments of `TiraxError`."""

    rule: type[IllFormedError]
    message: str
    details: dict[str, Any] = field(default_factory=dict[str, Any])


def finding(rule: type[IllFormedError], message: str, **details: Any) -> Finding:
    """Return a finding; `expected`, `found` and `hint` are passed by keyword."""
    return Finding(rule, message, details)


TIRCall = relax.CallTIROp | relax.CallTIRInplaceOp
_TIRCallee = relax.CallTIROp | relax.CallTIRInplaceOp | relax.CallOp


def check_call_tir(op: TIRCall, symbols: Mapping[str, Operation]) -> Iterator[Finding]:
    """Check the number and the types of the arguments of a call of a tensor function."""
    callee = symbols.get(op.callee_name)
    if callee is None:
        return
    if not isinstance(callee, tir.FuncOp):
        what = f"{op.name} calls @{op.callee_name}"
        yield finding(ill_formed.WrongKindOfFunction, what, expected="a tensor function", found=callee.name)
        return
    yield from _check_tir_signature(op, callee, _outputs(op))


def _check_tir_signature(op: _TIRCallee, callee: tir.FuncOp, outputs: list[Attribute]) -> Iterator[Finding]:
    """Check the number and the types of inputs, outputs and `tir_vars`."""
    tir_vars = [] if op.tir_vars is None else [d.data for d in op.tir_vars]
    count = len(op.call_args) + len(outputs) + len(tir_vars)
    if count != len(callee.params):
        yield finding(
            ill_formed.CallArity,
            f"{op.name} @{op.callee_name} has the wrong number of arguments",
            expected=f"{len(callee.params)} parameters: inputs, outputs, tir_vars",
            found=f"{len(op.call_args)} inputs, {len(outputs)} outputs, {len(tir_vars)} tir_vars",
        )
        return
    yield from _check_tensors(op, callee, [*(a.type for a in op.call_args), *outputs], tir_vars)


def _outputs(op: TIRCall) -> list[Attribute]:
    """Return the outputs that are passed as separate arguments."""
    if isinstance(op, relax.CallTIROp):
        return op.output_types
    return [t for t, i in zip(op.output_types, op.indices, strict=True) if i < 0]


def _param_type(t: Attribute) -> Attribute | None:
    """Return the type of a tensor function's parameter as struct info; None if any value fits."""
    if isinstance(t, tir.BufferType):
        return relax.TensorType.of(t.dims, t.dtype)
    return None if isinstance(t, tir.HandleType) else relax.PrimType.of(t)


def _check_tensors(
    op: _TIRCallee, callee: tir.FuncOp, args: list[Attribute], tir_vars: list[SymExpr]
) -> Iterator[Finding]:
    mapping: dict[Var, SymExpr] = {}
    for param, value in zip(callee.params[len(args) :], tir_vars, strict=True):
        name = name_of(param)
        if name is not None and isinstance(param.type, IntegerType):
            mapping[Var(name, cast("IntegerType[int]", param.type))] = value
    param_types = [_param_type(p.type) for p in callee.params[: len(args)]]
    for param, arg in zip(param_types, args, strict=True):
        if param is not None:
            match_type(param, arg, mapping)
    inputs = len(op.call_args)
    for i, (param, arg) in enumerate(zip(param_types, args, strict=True)):
        if param is None or base_check(erased(param, mapping), arg) is not BaseCheckResult.FAIL_L0:
            continue
        which = f"argument {i}" if i < inputs else f"output {i - inputs}"
        expected = relax.substitute_type(param, mapping)
        yield finding(ill_formed.CallArguments, f"{which} of {op.name} @{op.callee_name}", expected=expected, found=arg)


def check_inplace(op: relax.CallTIRInplaceOp) -> Iterator[Finding]:
    """Check that outputs match the inputs they overwrite."""
    taken: set[int] = set()
    for i, (index, out) in enumerate(zip(op.indices, op.output_types, strict=False)):
        if not 0 <= index < len(op.call_args):
            continue
        arg = op.call_args[index].type
        if base_check(out, arg) is BaseCheckResult.FAIL_L0:
            message = f"output {i} of {op.name} @{op.callee_name} is written into argument {index}"
            yield finding(ill_formed.InplaceOutput, message, expected=arg, found=out)
        if index in taken:
            message = f"{op.name} @{op.callee_name} writes two outputs into argument {index}"
            yield finding(ill_formed.InplaceOutput, message)
        taken.add(index)


def check_call(op: relax.CallOp, symbols: Mapping[str, Operation]) -> Iterator[Finding]:
    """Check a call of a function by name: its kind, arguments and result. A tensor function writes its arguments."""
    callee = symbols.get(op.callee_name)
    if isinstance(callee, relax.FuncOp):
        yield from _check_signature(op, f"@{op.callee_name}", callee.callable_type)
    elif isinstance(callee, tir.FuncOp) and op.result.type in (tuple_type(()), _scalar_of(callee)):
        yield from _check_tir_signature(op, callee, [])
    elif isinstance(callee, tir.FuncOp):
        what = f"relax.call calls @{op.callee_name} and takes its result"
        hint = "relax.call_tir gives what a tensor function writes"
        yield finding(ill_formed.WrongKindOfFunction, what, expected="a Relax function", found=callee.name, hint=hint)


def _scalar_of(func: tir.FuncOp) -> Attribute | None:
    """Return the scalar result of a tensor function as struct info."""
    return relax.PrimType.of(func.ret_type) if isinstance(func.ret_type, IntegerType | AnyFloat) else None


def check_call_value(op: relax.CallValueOp) -> Iterator[Finding]:
    """Check the arguments and the result of a call of a callable value."""
    if isinstance(op.func.type, relax.CallableType):
        yield from _check_signature(op, name_of(op.func) or "a function", op.func.type)


def _check_signature(
    op: relax.CallOp | relax.CallValueOp, name: str, signature: relax.CallableType
) -> Iterator[Finding]:
    params = signature.params
    what = f"the call of {name}"
    if isinstance(params, ArrayAttr) and len(params) != len(op.call_args):
        message = f"{what} has the wrong number of arguments"
        yield finding(ill_formed.CallArity, message, expected=len(params), found=len(op.call_args))
        return
    try:
        result = derive_result(what, signature, [a.type for a in op.call_args])
    except TiraxError as error:
        yield finding(ill_formed.CallArguments, error.message, expected=error.expected, found=error.found)
        return
    if base_check(op.result.type, result) is BaseCheckResult.FAIL_L0:
        yield finding(ill_formed.StructInfoNotBase, f"the result of {what}", expected=result, found=op.result.type)
