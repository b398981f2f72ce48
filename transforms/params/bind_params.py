"""Make parameters constants."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...diagnostics import DTypeError, ShapeError, TiraxError, unknown_name
from ...dialects import relax
from ...dialects.dtypes import dtype_of, numpy_dtype
from ...dialects.names import name_of
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.functions.lookup import relax_functions
from ...ir.passes.transform import Pass
from ...ir.verification.verify import location_of
from .bind_symbolic_vars import bind_symbols


@dataclass(frozen=True, init=False)
class BindParams(Pass):
    """Bind parameters of the Relax function `func_name` to arrays; they leave the signature.

    From Python: `BindParams("main", {"w0": array, …})`, a key being a parameter's name or its handle, a value anything
    that numpy takes as an array. In text: `file`, an `.npz` file whose arrays are named by parameters. Symbolic
    variables that the arrays' shapes determine are replaced everywhere in the function.

    Raises `NameLookupError` for a name that is no parameter, `ShapeError` and `DTypeError` for arrays that do not fit.
    """

    name = "bind-params"
    func_name: str = "main"
    file: str | None = None
    params: Mapping[Any, Any] = field(init=False, default_factory=dict[Any, Any], compare=False)

    def __init__(self, func_name: str = "main", params: Mapping[Any, Any] | None = None, *, file: str | None = None):
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "file", file)
        object.__setattr__(self, "params", dict(params or {}))

    def arrays(self) -> dict[str, Any]:
        """The arrays by parameter name, those of the file included."""
        return _from_file(self.file) | {_param_name(k): v for k, v in self.params.items()}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        (func,) = relax_functions(op, self.func_name)
        bind_parameters(func, self.arrays())


def _from_file(path: str | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("a single array")
        with archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise TiraxError(f"cannot read parameters from '{path}'", found=error, hint="an .npz file of arrays") from error


def _param_name(key: Any) -> str:
    if isinstance(key, str):
        return key
    name = getattr(key, "name_hint", None)
    if not isinstance(name, str):
        raise TiraxError("a parameter is given by its name or its handle", found=type(key).__name__)
    return name


def bind_parameters(func: relax.FuncOp, arrays: Mapping[str, Any]) -> None:
    """Bind parameters by name, in place."""
    params = {name_of(p) or "": p for p in func.params}
    for name in arrays:
        if name not in params:
            raise unknown_name(f"parameter of @{func.sym_name.data}", name, params, location_of(func))
    contents = {name: _as_data(name, params[name], value) for name, value in arrays.items()}
    symbols: dict[str, SymExpr] = {}
    for name, data in contents.items():
        _bind_dims(name, params[name], data, symbols)
    bind_symbols(func, symbols)
    block = func.body.block
    for name, data in contents.items():
        for use in list(params[name].uses):
            constant = relax.ConstantOp(data)
            user = use.operation
            assert user.parent is not None
            user.parent.insert_op_before(constant, user)
            user.operands[use.index] = constant.result
        block.erase_arg(params[name])  # pyright: ignore[reportArgumentType]


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
    return relax.TensorDataAttr.from_numpy(array, dtype)


def _as_array(value: Any) -> Any:
    """An array of anything that has one: arrays, constants of Relax (by their data), tensors by DLPack."""
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


def _bind_dims(name: str, param: SSAValue, data: relax.TensorDataAttr, symbols: dict[str, SymExpr]) -> None:
    assert isinstance(param.type, relax.TensorType)
    for axis, (dim, extent) in enumerate(zip(param.type.dims or (), data.data.shape, strict=False)):
        if isinstance(dim, Var):
            bound = symbols.setdefault(str(dim.name), Const(extent, dim.dtype))
        else:
            bound = dim.substitute({v: symbols[str(v.name)] for v in dim.free_vars() if v.name in symbols})
        if bound.constant not in (None, extent):
            raise ShapeError(
                f"the array for parameter '{name}' has the wrong extent in dimension {axis}",
                expected=f"{bound.constant} ({dim})" if bound is not dim else str(dim),
                found=extent,
            )
