"""Binding of symbolic variables and parameters of Relax functions to known values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import DTypeError, ShapeError, TiraxError, unknown_name
from ...dialects import relax
from ...dialects.dtypes import dtype_of, numpy_dtype
from ...dialects.names import name_of
from ...dialects.relax.types import erase_unbound, is_base_of
from ...dialects.sym.expr import Const, SymExpr, Var, as_expr
from ..locations import location_of
from .infer import infer_users, refine_struct_info
from .substitute import substitute_symbols


def symbol_name(key: Any) -> str:
    """Return the name of a variable, which is a string or a handle with a name."""
    if isinstance(key, str):
        return key
    name = getattr(key, "name", None) or getattr(key, "name_hint", None)
    if not isinstance(name, str):
        raise TiraxError("a symbolic variable is given by its name or its handle", found=type(key).__name__)
    return name


def _expr(value: Any) -> SymExpr:
    if isinstance(value, int | SymExpr):
        return as_expr(value)
    convert = getattr(value, "as_sym", None)
    if convert is None:
        raise TiraxError("the value of a symbolic variable is an integer or an expression", found=type(value).__name__)
    return convert()


def bind_symbols(funcs: Sequence[relax.FuncOp], values: Mapping[Any, Any]) -> None:
    """Replace symbolic variables, given by name or handle, by integers or expressions, in place.

    A name refers to the variable in each function that has it, a handle to that of the function whose shapes it comes
    from. Raises `NameLookupError` for a name that is not a variable of any of the functions, and `TiraxError` for a
    handle from none of them if several have a variable of its name.
    """
    of_function = {f: {str(v.name) for v in function_symbols(f)} for f in funcs}
    exprs: dict[relax.FuncOp, dict[str, SymExpr]] = {f: {} for f in funcs}
    for key, value in values.items():
        name = symbol_name(key)
        having = [f for f in funcs if name in of_function[f]]
        if not having:
            raise unknown_name("symbolic variable", name, set[str]().union(*of_function.values()))
        for func in _functions_of_key(key, having):
            exprs[func][name] = _expr(value)
    for func, mapping in exprs.items():
        if mapping:
            _bind_symbols_of(func, mapping)


def _functions_of_key(key: Any, funcs: list[relax.FuncOp]) -> list[relax.FuncOp]:
    """Return the functions whose variable a name or handle refers to."""
    value: SSAValue | None = getattr(key, "owner", None)
    own = None if value is None else _function_of(value)
    if own is None or len(funcs) == 1:
        return funcs
    owners = [f for f in funcs if f.sym_name == own.sym_name]
    if not owners:
        searched = ", ".join(f"@{f.sym_name.data}" for f in funcs)
        raise TiraxError(
            f"the symbolic variable '{symbol_name(key)}' is of none of the functions",
            found=f"variables of its name in {searched}",
            hint="name the function: func_name=…",
        )
    return owners


def _function_of(value: SSAValue) -> relax.FuncOp | None:
    """Return the outermost function around a value."""
    function, op = None, value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while op is not None:
        function = op if isinstance(op, relax.FuncOp) else function
        op = op.parent_op()
    return function


def function_symbols(func: relax.FuncOp) -> list[Var]:
    """Return the symbolic variables of a Relax function's parameters and bindings."""
    types = [p.type for p in func.params] + [r.type for op in func.walk() for r in op.results]
    return relax.free_symbolic_vars(types)


def _bind_symbols_of(func: relax.FuncOp, values: Mapping[str, SymExpr]) -> None:
    """Replace variables by name everywhere in the function, in place, and refine struct info."""
    mapping = {v: values[str(v.name)] for v in function_symbols(func) if v.name in values}
    substitute_symbols(func, mapping)
    refine_struct_info(func)


# Parameters.


def _param_name(key: Any) -> str:
    if isinstance(key, str):
        return key
    name = getattr(key, "name_hint", None)
    if not isinstance(name, str):
        raise TiraxError("a parameter is given by its name or its handle", found=type(key).__name__)
    return name


def bind_parameters(func: relax.FuncOp, arrays: Mapping[Any, Any]) -> None:
    """Bind parameters, by name or handle, to arrays, shapes or scalars, in place, and refine struct info.

    Raises `NameLookupError` for an unknown parameter, and `ShapeError` and `DTypeError` for values that do not fit.
    """
    arrays = {_param_name(key): value for key, value in arrays.items()}
    params = {name_of(p) or "": p for p in func.params}
    for name in arrays:
        if name not in params:
            raise unknown_name(f"parameter of @{func.sym_name.data}", name, params, location_of(func))
    contents = {name: _as_leaf(name, params[name], value) for name, value in arrays.items()}
    symbols: dict[str, SymExpr] = {}
    for name, leaf in contents.items():
        _bind_dims(name, params[name].type, leaf, symbols)
    _bind_symbols_of(func, symbols)
    for name, leaf in contents.items():
        _replace_by_leaf(params[name], leaf)
        func.body.block.erase_arg(params[name])  # pyright: ignore[reportArgumentType]
    actual = func.return_op.value.type
    if is_base_of(func.ret_type, actual):
        func.ret_type = erase_unbound(actual, set(relax.free_symbolic_vars(p.type for p in func.params)))


def _replace_by_leaf(param: SSAValue, leaf: Operation) -> None:
    """Insert a copy of a leaf before each use of a parameter, and infer struct info again."""
    users: list[Operation] = []
    for use in list(param.uses):
        copy, user = leaf.clone(), use.operation
        assert user.parent is not None
        user.parent.insert_op_before(copy, user)
        user.operands[use.index] = copy.results[0]
        users.append(user)
    infer_users(users, is_base_of)


def _as_leaf(name: str, param: SSAValue, value: Any) -> Operation:
    """Return the leaf that replaces a parameter: a constant, a shape or a scalar."""
    owner = getattr(value, "ssa", None)
    leaf = owner.owner if isinstance(owner, SSAValue) else None
    if isinstance(leaf, relax.ShapeOp | relax.PrimValueOp):
        if type(param.type) is not type(leaf.result.type):
            raise TiraxError(f"parameter '{name}' cannot be bound to this", expected=param.type, found=leaf.result.type)
        return leaf
    data = _as_data(name, param, value).data
    return relax.ConstantOp(relax.TensorDataAttr(replace(data, key=data.key or name)))


def _as_data(name: str, param: SSAValue, value: Any) -> relax.TensorDataAttr:
    t = param.type
    if not isinstance(t, relax.TensorType):
        raise TiraxError(f"parameter '{name}' cannot be bound to an array", expected="a tensor parameter", found=t)
    array = _as_array(value)
    dtype = dtype_of(array.dtype.name)
    if t.element is not None and array.dtype != numpy_dtype(t.element):
        raise DTypeError(f"the array for parameter '{name}' has the wrong dtype", expected=t.element, found=dtype)
    if t.rank is not None and array.ndim != t.rank:
        raise ShapeError(f"the array for parameter '{name}' has the wrong rank", expected=t.rank, found=array.ndim)
    # Share read-only arrays, such as mapped files.
    share = relax.TensorDataAttr.sharing if not array.flags.writeable else relax.TensorDataAttr.from_numpy
    return relax.TensorDataAttr(replace(share(array, dtype).data, key=name))


def _as_array(value: Any) -> Any:
    """Convert arrays, Relax constants (by their data) and DLPack tensors to an array."""
    value = getattr(value, "data", value) if type(value).__name__ == "Constant" else value
    if isinstance(value, np.ndarray):
        return cast("np.ndarray[Any, Any]", value)
    if hasattr(value, "numpy"):
        return np.asarray(value.numpy())
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError as error:
        raise TiraxError("this is no array", found=error) from error


def _extents(t: Attribute) -> Sequence[SymExpr]:
    """Return the known extents of a tensor or shape, or the known value of a scalar."""
    if isinstance(t, relax.TensorType | relax.ShapeType):
        return t.dims or ()
    return (t.expr,) if isinstance(t, relax.PrimType) and t.expr is not None else ()


def _bind_dims(name: str, param: Attribute, leaf: Operation, symbols: dict[str, SymExpr]) -> None:
    actual = leaf.results[0].type
    if (
        isinstance(param, relax.ShapeType)
        and isinstance(actual, relax.ShapeType)
        and param.rank not in (None, actual.rank)
    ):
        raise ShapeError(f"the shape for parameter '{name}' has the wrong rank", expected=param.rank, found=actual.rank)
    for axis, (dim, value) in enumerate(zip(_extents(param), _extents(actual), strict=False)):
        extent = value.constant
        if isinstance(dim, Var):
            bound = symbols.setdefault(str(dim.name), value if extent is None else Const(extent, dim.dtype))
        else:
            bound = dim.substitute({v: symbols[str(v.name)] for v in dim.free_vars() if v.name in symbols})
        if bound.constant not in (None, extent):
            raise ShapeError(
                f"the value for parameter '{name}' has the wrong extent in dimension {axis}",
                expected=f"{bound.constant} ({dim})" if bound is not dim else str(dim),
                found=extent,
            )
