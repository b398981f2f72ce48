"""Questions about struct info: what covers what, what both have in common, which symbolic variables it mentions.

Symbolic variables are `dialects.sym.expr.Var`s; they are found by name, which is scoped to the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, cast

from xdsl.dialects.builtin import NoneAttr, TupleType
from xdsl.ir import Attribute

from ...diagnostics import DTypeError, ShapeError
from ...dialects import relax
from ...dialects.relax.types import CallableType, ObjectType, PrimType, ShapeType, TensorType, tuple_type
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr, Var
from .struct_info import StructInfo, dim_of, dims_of, type_of


class BaseCheckResult(IntEnum):
    """How well one struct info covers another; the lesser, the worse."""

    FAIL_L0 = 0
    """No value can be of both."""
    FAIL_L1 = 1
    """What is known is too little: another rank, dtype or kind is possible."""
    FAIL_L2 = 2
    """Only extents are open: they have to be compared when the program runs."""
    PASS = 3
    """Every value of `derived` is one of `base`."""


_L0, _L1, _L2, _PASS = BaseCheckResult


def struct_info_base_check(base: StructInfo, derived: StructInfo) -> BaseCheckResult:
    """Whether `base` covers `derived`, and if not, how far it is from that.

    As in TVM the parameters of functions are compared in the same direction as their results;
    `base.is_base_of(derived)` takes them the other way, as subtyping has to.
    """
    return base_check(base.type, derived.type)


def base_check(base: Attribute, derived: Attribute) -> BaseCheckResult:
    """`struct_info_base_check` of types."""
    if base == derived or isinstance(base, ObjectType):
        return _PASS
    if type(base) is not type(derived):
        return _L1 if isinstance(derived, ObjectType) else _L0
    check = _CHECKS.get(type(base))
    return _L0 if check is None else check(base, derived)


def _extents(base: Sequence[SymExpr], derived: Sequence[SymExpr]) -> BaseCheckResult:
    """Extents of the same number: equal for certain, different for certain, or open."""
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
    if base.dims is None:
        return _PASS
    return _L2 if derived.dims is None else _extents(base.dims, derived.dims)


def _check_tensor(base: TensorType, derived: TensorType) -> BaseCheckResult:
    if base.element is not None and base.element != derived.element:
        return _L1 if derived.element is None else _L0
    return _check_shaped(base, derived)


def _check_prim(base: PrimType, derived: PrimType) -> BaseCheckResult:
    if base.dtype != derived.dtype:
        return _L0
    if base.expr is None:
        return _PASS
    return _L2 if derived.expr is None else _extents([base.expr], [derived.expr])


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


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """The most specific struct info that covers both.

    Of functions with different parameters only the result is kept, and it is pure only where both are: TVM keeps more,
    which not all of both would be of.
    """
    return StructInfo.of(_lca(lhs.type, rhs.type))


def _lca(a: Attribute, b: Attribute) -> Attribute:
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.types) == len(b.types):
        return tuple_type(_lca(x, y) for x, y in zip(a.types, b.types, strict=True))
    if not (isinstance(a, CallableType) and isinstance(b, CallableType)):
        return relax.least_common_ancestor(a, b)
    if relax.is_base_of(a, b) or relax.is_base_of(b, a):
        return a if relax.is_base_of(a, b) else b
    pure = a.pure and b.pure
    if a.params == b.params:
        params = None if isinstance(a.params, NoneAttr) else a.params.data
        return CallableType.of(params, _lca(a.ret, b.ret), pure)
    return CallableType.of(None, _lca(_result(a), _result(b)), pure)


def _result(t: CallableType) -> Attribute:
    """What a function gives, without what only its parameters determine."""
    own = set(_definable(t.params)) if not isinstance(t.params, NoneAttr) else set[Var]()
    return relax.erase_unbound(t.ret, {v for e in _expressions(t.ret) for v in e.free_vars() if v not in own})


def static_type(t: Attribute) -> Attribute:
    """The type without extents and values: ranks and dtypes stay."""
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


def get_static_type(sinfo: StructInfo) -> StructInfo:
    """The struct info without extents and values: what TVM calls the static type."""
    return StructInfo.of(static_type(type_of(sinfo)))


def can_prove_shape_equal(lhs: Any, rhs: Any, ctx: object = None) -> bool:
    """Whether two shapes (sequences of extents or `ShapeExpr`s) are equal for certain; extents are at least 0."""
    a, b = dims_of(lhs), dims_of(rhs)
    analyzer = Analyzer()
    return len(a) == len(b) and all(map(analyzer.can_prove_equal, a, b))


def erase_to_well_defined(
    sinfo: StructInfo, shape_var_map: Mapping[Any, Any] | None = None, var_map: Mapping[Any, Any] | None = None
) -> StructInfo:
    """The struct info where only the variables of `shape_var_map` are known; they are replaced by its values.

    A shape that mentions another variable falls back to its rank. Keys are symbolic variables or their names. `var_map`
    is accepted for TVM's sake: struct info of tirax mentions no variables of Relax.
    """
    mapping = {cast(Var, dim_of(k)): dim_of(v) for k, v in (shape_var_map or {}).items()}
    return StructInfo.of(erased(type_of(sinfo), mapping))


def erased(t: Attribute, mapping: Mapping[Var, SymExpr]) -> Attribute:
    """The type with the variables of `mapping` replaced, without what mentions others."""
    return relax.substitute_type(relax.erase_unbound(t, set(mapping)), mapping)


# Symbolic variables.


def _fields(t: Attribute) -> Iterable[Attribute]:
    if isinstance(t, TupleType):
        return t.types
    if isinstance(t, CallableType):
        return [*(() if isinstance(t.params, NoneAttr) else t.params), t.ret]
    return ()


def _leaves(t: Attribute) -> Iterator[Attribute]:
    """The types without fields inside of a type, in order."""
    if not isinstance(t, TupleType | CallableType):
        yield t
    for field in _fields(t):
        yield from _leaves(field)


def _expressions(t: Attribute) -> Iterator[SymExpr]:
    for leaf in _leaves(t):
        if isinstance(leaf, TensorType | ShapeType):
            yield from leaf.dims or ()
        elif isinstance(leaf, PrimType) and leaf.expr is not None:
            yield leaf.expr


def tir_vars_in_struct_info(sinfo: StructInfo) -> list[Var]:
    """The symbolic variables that a struct info mentions, in order, each once."""
    return list(dict.fromkeys(v for e in _expressions(type_of(sinfo)) for v in e.free_vars()))


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> list[Var]:
    """The symbolic variables that a value of this struct info determines: those that are an extent by themselves."""
    return _definable([type_of(sinfo)])


def _definable(types: Iterable[Attribute]) -> list[Var]:
    return list(dict.fromkeys(e for t in types for e in _expressions(t) if isinstance(e, Var)))


def collect_non_negative_expressions(sinfo: StructInfo) -> list[SymExpr]:
    """The symbolic expressions that are not negative because they are extents, in order, each once."""
    found: dict[SymExpr, None] = {}
    for leaf in _leaves(type_of(sinfo)):
        if isinstance(leaf, TensorType | ShapeType):
            found |= {e: None for e in leaf.dims or () if e.constant is None}
    return list(found)


# Calls.


def derive_result(what: str, func: CallableType, args: Sequence[Attribute]) -> Attribute:
    """The type of a call of a function of type `func` with arguments of the types `args`; `what` names it in errors.

    The symbolic variables of the function stand for the extents of the arguments; an extent of the result that they do
    not determine is unknown. Raises `ShapeError` for arguments whose number or extents cannot fit, `DTypeError` for
    those that differ otherwise.
    """
    if isinstance(func.params, NoneAttr):
        return func.ret
    if len(func.params) != len(args):
        raise ShapeError(f"{what} has the wrong number of arguments", expected=len(func.params), found=len(args))
    mapping: dict[Var, SymExpr] = {}
    for param, arg in zip(func.params, args, strict=True):
        match_type(param, arg, mapping)
    for i, (param, arg) in enumerate(zip(func.params, args, strict=True)):
        _check_argument(f"argument {i} of {what}", param, arg, mapping)
    return erased(func.ret, mapping)


def _check_argument(what: str, param: Attribute, arg: Attribute, mapping: Mapping[Var, SymExpr]) -> None:
    known = erased(param, mapping)
    if base_check(known, arg) is not _L0:
        return
    # A function's parameters may ask for less than what is passed to the argument: TVM compares ranks of them only.
    error = ShapeError if base_check(static_type(param), static_type(arg)) is not _L0 else DTypeError
    raise error(f"{what} does not fit", expected=relax.substitute_type(param, mapping), found=arg)


def match_type(param: Attribute, arg: Attribute, mapping: dict[Var, SymExpr]) -> None:
    """Bind the variables that are whole extents of `param`, and have no value yet, to those of `arg`."""
    if isinstance(param, TupleType) and isinstance(arg, TupleType):
        for p, a in zip(param.types, arg.types, strict=False):
            match_type(p, a, mapping)
    elif isinstance(param, TensorType | ShapeType) and isinstance(arg, TensorType | ShapeType):
        for p, a in zip(param.dims or (), arg.dims or (), strict=False):
            if isinstance(p, Var):
                mapping.setdefault(p, a)
    elif isinstance(param, PrimType) and isinstance(arg, PrimType) and isinstance(param.expr, Var) and arg.expr:
        mapping.setdefault(param.expr, arg.expr)


def derive_call_ret_struct_info(func_sinfo: StructInfo, call: Any, ctx: object = None) -> StructInfo:
    """The struct info of a call of a function of `func_sinfo` with the arguments of `call`, whose callee is ignored.

    Where nothing is known of the function, the call's `sinfo_args` say it. Raises `ShapeError` and `DTypeError` for
    arguments that cannot fit.
    """
    func = type_of(func_sinfo)
    if not isinstance(func, CallableType):
        raise DTypeError("only a function can be called", expected="FuncStructInfo", found=func)
    if isinstance(func.params, NoneAttr) and call.sinfo_args:
        declared: list[StructInfo] = call.sinfo_args
        return declared[0] if len(declared) == 1 else StructInfo.of(tuple_type(s.type for s in declared))
    return StructInfo.of(derive_result("the call", func, [a.struct_info.type for a in call.args]))


__all__ = [
    "BaseCheckResult",
    "base_check",
    "can_prove_shape_equal",
    "collect_non_negative_expressions",
    "definable_tir_vars_in_struct_info",
    "derive_call_ret_struct_info",
    "derive_result",
    "erase_to_well_defined",
    "erased",
    "get_static_type",
    "match_type",
    "static_type",
    "struct_info_base_check",
    "struct_info_lca",
    "tir_vars_in_struct_info",
]
