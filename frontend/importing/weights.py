"""Weights of models as constants, over the memory that they lie in already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...dialects import relax
from ...dialects.dtypes import dtype_of
from ...dialects.relax.data import TensorDataAttr
from ...handles.module import IRModule
from ...handles.relax.expr import Constant, Var
from ...runtime.safetensors import read_weights
from .errors import InputError
from .names import sanitized

Arrays = Mapping[str, np.ndarray[Any, Any]]
_PREFIXES = ("p_", "b_", "c_")
"""What torch.export puts before the names of parameters, buffers and constants."""


def constant_over(array: Any, key: str | None = None) -> Constant:
    """A constant with the contents of an array of numpy, which the model calls `key`.

    Nothing is copied of what is contiguous: who writes into the array later changes the constant.
    """
    data = TensorDataAttr.sharing(array, dtype_of(array.dtype.name), key)
    return Constant.on(relax.ConstantOp(data).result)


def bind_weights(mod: IRModule, weights: Arrays | str | os.PathLike[str], function: str = "main") -> IRModule:
    """The module with weights as constants in the place of parameters of a function, bound by name.

    `weights` are arrays by the names that the model has for them, or a file of the safetensors format, which is mapped
    into memory and not read. A parameter is that of a weight whose name as an identifier it has, with what
    torch.export puts before it or without: `p_fc_weight` and `fc_weight` are `fc.weight`'s. Read-only arrays are not
    copied. Raises `InputError` with all weights that are missing, belong to no parameter, or do not fit theirs.
    """
    arrays = weights if isinstance(weights, Mapping) else read_weights(weights)
    params = {p.name_hint: p for p in mod[function].params}
    bound = {_param_of(key, params): array for key, array in arrays.items()}
    problems = [f"weight '{key}' belongs to no parameter" for key in arrays if _param_of(key, params) is None]
    first = mod[function].attrs["num_input"] if "num_input" in mod[function].attrs else len(params)
    problems += [f"parameter '{name}' has no weight" for name in list(params)[first:] if name not in bound]
    problems += [p for name, array in bound.items() if name is not None and (p := _mismatch(params[name], array))]
    if problems:
        raise InputError(f"weights do not fit the function {function}", notes=problems)
    attrs = mod[function].attrs
    bare = mod[function].without_attr("params") if "params" in attrs else mod[function]
    result = mod.clone()
    result[function] = bare.bind_params({name: array for name, array in bound.items() if name is not None})
    return result


def _param_of(key: str, params: Mapping[str, Var]) -> str | None:
    name = sanitized(key)
    return next((n for n in (key, name, *(p + name for p in _PREFIXES)) if n in params), None)


def _mismatch(param: Var, array: np.ndarray[Any, Any]) -> str | None:
    info: Any = param.struct_info
    shape, dtype = list(array.shape), array.dtype.name
    fits = info.dtype == dtype and (info.shape is None or list(info.shape.values) == shape)
    expected = f"{info.dtype} {info.shape.values if info.shape is not None else '…'}"
    return None if fits else f"parameter '{param.name_hint}' is {expected}, its weight {dtype} {shape}"
