"""Tensor expressions: tensors defined element by element, and the tensor functions built from them.

A = te.placeholder((n, 128), name="A")
B = te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")
func = te.create_prim_func([A, B])
"""

from __future__ import annotations

from ..handles.tir.index_map import IndexMap
from ..handles.tir.limits import infinity, max_value, min_value
from ..handles.tir.math_functions import (
    abs_,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    floor,
    isfinite,
    isinf,
    isnan,
    log,
    log2,
    log10,
    nearbyint,
    power,
    round_,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
)
from ..handles.tir.prim_expr import (
    PrimExpr,
    Select,
    all_of,
    any_of,
    cast,
    const,
    div,
    floordiv,
    floormod,
    if_then_else,
    truncdiv,
    truncmod,
)
from ..handles.tir.variables import SizeVar, Var
from . import broadcast as broadcast
from .axis import IterVar, reduce_axis, size_var, thread_axis, var
from .create import create_prim_func
from .extern_body import Statements
from .foreign import call_packed, extern, extern_primfunc
from .functions import atan2, fmod, indexdiv, indexmod, logaddexp, popcount
from .reduction import Reduce, comm_reducer, max, min, prod, sum
from .reduction import Reducer as CommReducer
from .tensor import (
    ComputeOp,
    ExternOp,
    PlaceholderOp,
    ScanOp,
    Tensor,
    TensorSlice,
    compute,
    placeholder,
    scan,
    tag_scope,
)

AXIS_SEPARATOR = IndexMap.AXIS_SEPARATOR
abs, round, all, any = abs_, round_, all_of, any_of
for _name in ("abs", "round", "all", "any"):  # names for scripts, which differ from those of the functions
    vars(globals()[_name])["__tirax_script_dialect__"] = f"tir.{_name}"

__all__ = [
    "AXIS_SEPARATOR", "CommReducer", "ComputeOp", "ExternOp", "IterVar", "PlaceholderOp", "PrimExpr", "Reduce",
    "ScanOp", "Select", "SizeVar", "Statements", "Tensor", "TensorSlice", "Var", "abs", "acos", "acosh", "all", "any",
    "asin", "asinh", "atan", "atan2", "atanh", "call_packed", "cast", "ceil", "comm_reducer", "compute", "const", "cos",
    "cosh", "create_prim_func", "div", "erf", "exp", "extern", "extern_primfunc", "floor", "floordiv",
    "floormod", "fmod", "if_then_else", "indexdiv", "indexmod", "infinity", "isfinite", "isinf", "isnan", "log",
    "log10", "log2", "logaddexp", "max", "max_value", "min", "min_value", "nearbyint", "placeholder",
    "popcount", "power", "prod", "reduce_axis", "round", "rsqrt", "scan", "sigmoid", "sin", "sinh", "size_var", "sqrt",
    "sum", "tag_scope", "tan", "tanh", "thread_axis", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip
