"""Weights of models as constants, over the memory that they lie in already."""

from __future__ import annotations

from typing import Any

from ...dialects import relax
from ...dialects.dtypes import dtype_of
from ...dialects.relax.data import TensorDataAttr
from ...handles.relax.expr import Constant


def constant_over(array: Any, key: str | None = None) -> Constant:
    """A constant with the contents of an array of numpy, which the model calls `key`.

    Nothing is copied of what is contiguous: who writes into the array later changes the constant.
    """
    data = TensorDataAttr.sharing(array, dtype_of(array.dtype.name), key)
    return Constant.on(relax.ConstantOp(data).result)
