"""Weights of models as constants that share the memory of the arrays."""

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
"""The prefixes that torch.export adds to the names of parameters, buffers and constants."""


def constant_over(array: Any, key: str | None = None) -> Constant:
    """Return a constant that shares the memory of a numpy array; `key` is its name in the model.

    Contiguous arrays are not copied: later writes to the array change the constant.
    """
    data = TensorDataAttr.sharing(array, dtype_of(array.dtype.name), key)
    return Constant.on(relax.ConstantOp(data).result)


def bind_weights(mod: IRModule, weights: Arrays | str | os.PathLike[str], function: str = "main") -> IRModule:
    """Return the module with parameters of a function replaced by constant weights, matched by name.

    `weights` are arrays by their names in the model, or a safetensors file, which is memory-mapped. A parameter
    matches a weight whose name, as an identifier, is the parameter's name with or without the prefix of
    torch.export: `p_fc_weight` and `fc_weight` match `fc.weight`. Read-only arrays are not copied. Raises
    `InputError` with all weights that are missing, match no parameter, or have another shape or dtype.
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
