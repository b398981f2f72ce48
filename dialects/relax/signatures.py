"""Comparison of the types of Relax values, and the result types of calls.

Symbolic variables are `dialects.sym.expr.Var`s; they are matched by name, which is scoped to the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from xdsl.dialects.builtin import FloatAttr, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute

from ...diagnostics import DTypeError, ShapeError
from ..sym.expr import SymExpr, Var
from .types import (
    CallableType,
    ObjectType,
    PrimType,
    ShapeType,
    TensorType,
    erase_unbound,
    substitute_type,
    tuple_type,
)


class BaseCheckResult(IntEnum):
    """How well one struct info covers another; lower is worse."""

    FAIL_L0 = 0
    """They are disjoint: no value has both types."""
    FAIL_L1 = 1
    """Unknown: another rank, dtype or kind is possible."""
    FAIL_L2 = 2
    """Only extents are unknown: they must be compared at run time."""
    PASS = 3
    """Every value of `derived` is a value of `base`."""


_L0, _L1, _L2, _PASS = BaseCheckResult


def base_check(base: Attribute, derived: Attribute) -> BaseCheckResult:
    """Return whether `base` covers `derived`, and if not, in which way it fails.

    As in TVM, parameters of functions are compared covariantly, like results; `relax.is_base_of` compares them
    contravariantly, as subtyping requires.
    """
    if base == derived or isinstance(base, ObjectType):
        return _PASS
    if type(base) is not type(derived):
        return _L1 if isinstance(derived, ObjectType) else _L0
    check = _CHECKS.get(type(base))
    return _L0 if check is None else check(base, derived)


def _extents(base: Sequence[SymExpr], derived: Sequence[SymExpr]) -> BaseCheckResult:
    """Compare extents of the same number: certainly equal, certainly different, or unknown."""
    result = _PASS
    for a, b in zip(base, derived, strict=True):
        difference = (a - b).constant
        if difference is None:
            result = min(result, _L2)
        elif difference != 0:
            return _L0
    return result


def _check_shaped(base: TensorType | ShapeType, derived: TensorType | ShapeType) -> BaseCheckResult:
    if base.rank is not None:
        if derived.rank is None:
            return _L1
        if base.rank != derived.rank:
            return _L0
    if isinstance(base.shape, NoneAttr) or base.shape == derived.shape:
        return _PASS
    return _L2 if base.dims is None or derived.dims is None else _extents(base.dims, derived.dims)


def _check_tensor(base: TensorType, derived: TensorType) -> BaseCheckResult:
    if isinstance(base.vdevice, StringAttr) and base.vdevice != derived.vdevice:
        return _L0 if isinstance(derived.vdevice, StringAttr) else _L1
    if base.element is not None and base.element != derived.element:
        return _L1 if derived.element is None else _L0
    return _check_shaped(base, derived)


def _check_prim(base: PrimType, derived: PrimType) -> BaseCheckResult:
    if base.dtype != derived.dtype:
        return _L0
    if isinstance(base.value, NoneAttr) or base.value == derived.value:
        return _PASS
    if base.expr is not None and derived.expr is not None:
        return _extents([base.expr], [derived.expr])
    return _L0 if isinstance(base.value, FloatAttr) and isinstance(derived.value, FloatAttr) else _L2


def _check_all(base: Sequence[Attribute], derived: Sequence[Attribute]) -> BaseCheckResult:
    if len(base) != len(derived):
        return _L0
    return min(map(base_check, base, derived), default=_PASS)


def _check_tuple(base: TupleType, derived: TupleType) -> BaseCheckResult:
    return _check_all(base.types.data, derived.types.data)


def _check_callable(base: CallableType, derived: CallableType) -> BaseCheckResult:
    if base.pure and not derived.pure:
        return _L0
    if isinstance(base.params, NoneAttr):
        return base_check(base.ret, derived.ret)
    if isinstance(derived.params, NoneAttr):
        return _L2
    return min(_check_all(base.params.data, derived.params.data), base_check(base.ret, derived.ret))


_CHECKS: dict[type[Attribute], Callable[[Any, Any], BaseCheckResult]] = {
    TensorType: _check_tensor,
    ShapeType: _check_shaped,
    PrimType: _check_prim,
    TupleType: _check_tuple,
    CallableType: _check_callable,
}


def static_type(t: Attribute) -> Attribute:
    """Return the type without extents and values; ranks and dtypes are kept."""
    if isinstance(t, CallableType):
        params = None if isinstance(t.params, NoneAttr) else [static_type(p) for p in t.params]
        return CallableType.of(params, static_type(t.ret), t.pure)
    if isinstance(t, TupleType):
        return tuple_type(static_type(f) for f in t.types)
    if isinstance(t, TensorType):
        return TensorType.of(None, t.element, t.rank)
    if isinstance(t, ShapeType):
        return ShapeType.of(None, t.rank)
    return PrimType.of(t.dtype) if isinstance(t, PrimType) else t


def erased(t: Attribute, mapping: Mapping[Var, SymExpr]) -> Attribute:
    """Return the type with the variables of `mapping` replaced; extents that mention others become unknown."""
    return substitute_type(erase_unbound(t, set(mapping), keeps_shapes=True), mapping)


def derive_result(what: str, func: CallableType, args: Sequence[Attribute]) -> Attribute:
    """Return the result type of calling a function of type `func` with arguments of types `args`; `what` names it in
    errors.

    The function's symbolic variables are bound to the extents of the arguments; an extent of the result that they do
    not determine is unknown. Raises `ShapeError` for arguments whose number or extents cannot match, `DTypeError` for
    other mismatches.
    """
    if isinstance(func.params, NoneAttr):
        return func.ret
    if len(func.params) != len(args):
        raise ShapeError(f"{what} has the wrong number of arguments", expected=len(func.params), found=len(args))
    mapping = matched(func, args)
    for i, (param, arg) in enumerate(zip(func.params, args, strict=True)):
        _check_argument(f"argument {i} of {what}", param, arg, mapping)
    return erased(func.ret, mapping)


def matched(func: CallableType, args: Sequence[Attribute]) -> dict[Var, SymExpr]:
    """Return the values of a function's symbolic variables for arguments of the types `args`."""
    mapping: dict[Var, SymExpr] = {}
    for param, arg in zip(() if isinstance(func.params, NoneAttr) else func.params, args, strict=False):
        match_type(param, arg, mapping)
    return mapping


def _check_argument(what: str, param: Attribute, arg: Attribute, mapping: Mapping[Var, SymExpr]) -> None:
    known = erased(param, mapping)
    if base_check(known, arg) is not _L0:
        return
    # A function's parameters may be less specific than those of the argument: TVM only compares their ranks.
    error = ShapeError if base_check(static_type(param), static_type(arg)) is not _L0 else DTypeError
    raise error(f"{what} does not fit", expected=substitute_type(param, mapping), found=arg)


def match_type(param: Attribute, arg: Attribute, mapping: dict[Var, SymExpr]) -> None:
    """Bind the variables that are extents of `param`, and not bound yet, to those of `arg`."""
    if isinstance(param, TupleType) and isinstance(arg, TupleType):
        for p, a in zip(param.types, arg.types, strict=False):
            match_type(p, a, mapping)
    elif isinstance(param, TensorType | ShapeType) and isinstance(arg, TensorType | ShapeType):
        for p, a in zip(param.dims or (), arg.dims or (), strict=False):
            if isinstance(p, Var):
                mapping.setdefault(p, a)
    elif isinstance(param, PrimType) and isinstance(arg, PrimType) and isinstance(param.expr, Var) and arg.expr:
        mapping.setdefault(param.expr, arg.expr)
