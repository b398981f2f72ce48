"""`tvm.script.relax`, usually imported as `R`.

In scripts these names are interpreted by the parser and never called. Elsewhere, `R.Tensor(...)` returns
struct info, and `R.multiply(x, R.const(2, "float32"))` builds a call, for example as the result of a
rewriter.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...dialects.relax.devices import device_of
from ...handles.relax.calls import (
    call_builtin_with_ctx,
    call_dps_packed,
    call_inplace_packed,
    call_packed,
    call_pure_packed,
    call_tir,
    call_tir_inplace,
    call_tir_with_grad,
    invoke_closure,
    invoke_pure_closure,
    operator_attribute,
    operators_in,
)
from ...handles.relax.expr import DataTypeImm, Expr, NullValue, PrimValue, ShapeExpr, StringImm, TupleGetItem, const
from ...handles.relax.expr import ExternFunc as ExternFunc
from ...handles.relax.expr import Tuple as TupleExpr
from ...handles.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    type_of,
)
from ..handles.from_script import function_decorator, parsed_class
from ..handles.relax_script_builder import (
    arg,
    dataflow,
    emit,
    emit_match_cast,
    emit_var_binding,
    func_attr,
    func_name,
    func_ret_struct_info,
    func_ret_value,
    output,
)
from ..relax.op import image, nn
from .parser.relax.entry import Object

if TYPE_CHECKING:
    from ..relax._operators import *  # noqa: F403  # pyright: ignore[reportMissingModuleSource]

__tirax_script_dialect__ = "relax"

function = function_decorator("relax")


def rewriter(rewriter_mod: type) -> Any:
    """Return the rewriter defined by a class with two functions, `pattern` and `replacement`."""
    from ...transforms.dpl import PatternMatchingRewriter

    return PatternMatchingRewriter.from_module(parsed_class(rewriter_mod))


def Tensor(  # noqa: N802 (TVM's name)
    shape: Any = None, dtype: builtins.str | None = None, vdevice: Any = None, ndim: int = -1
) -> TensorStructInfo:
    """Return the struct info of a tensor; `R.Tensor("float32", ndim=2)` too."""
    if isinstance(shape, builtins.str) and dtype is None:
        shape, dtype = None, shape
    return TensorStructInfo(shape, dtype, vdevice, ndim=ndim)


def Tuple(*fields: Any) -> TupleStructInfo:  # noqa: N802 (TVM's name)
    """Return the struct info of a tuple."""
    fields_ = fields[0] if len(fields) == 1 and isinstance(fields[0], list | builtins.tuple) else fields
    return TupleStructInfo([StructInfo.of(type_of(f)) for f in fields_])


def Shape(values: Sequence[Any] | None = None, ndim: int = -1) -> ShapeStructInfo:  # noqa: N802 (TVM's name)
    """Return the struct info of a shape."""
    return ShapeStructInfo(values, ndim)


def Prim(dtype: builtins.str | None = None, value: Any = None) -> PrimStructInfo:  # noqa: N802 (TVM's name)
    """Return the struct info of a scalar."""
    return PrimStructInfo(dtype, value)


def Callable(  # noqa: N802 (TVM's name)
    params: Any = None, ret: Any = None, purity: bool | None = None
) -> FuncStructInfo:
    """Return the struct info of a function."""
    result = None if ret is None else StructInfo.of(type_of(ret))
    if params is None:
        return FuncStructInfo.opaque_func(ret=result, purity=bool(purity))
    param_list = params if isinstance(params, list | builtins.tuple) else [params]
    infos = [StructInfo.of(type_of(p)) for p in param_list]
    return FuncStructInfo(infos, result or ObjectStructInfo(), purity is not False)


def shape(value: Sequence[Any]) -> ShapeExpr:
    """Return a shape value."""
    return ShapeExpr(value)


def prim_value(value: Any) -> PrimValue:
    """Return a scalar value."""
    return PrimValue(value)


def str(value: Any) -> StringImm:
    """Return a string value."""
    return StringImm(value)


def dtype(value: Any) -> DataTypeImm:
    """Return a data type as a value."""
    return DataTypeImm(value)


def device(device_type: int | builtins.str, index: int | None = None) -> builtins.str:
    """Return a device in the form that operators take, from the number or name of its type."""
    return device_of(device_type, index)


def null_value() -> NullValue:
    """Return a null object."""
    return NullValue()


def tuple(*fields: Any) -> Expr:
    """Return a tuple value."""
    return TupleExpr(fields)


_DEVICES = frozenset(("cpu", "cuda", "gpu", "metal", "opencl", "rocm", "vulkan", "webgpu"))


def __getattr__(name: Any) -> Any:
    if name in _DEVICES:
        return getattr(import_module("...nd", __name__), name)
    if name == "TupleGetItem":
        return TupleGetItem
    return operator_attribute(__name__, "relax.", name)


def __dir__() -> list[Any]:
    return sorted([*__all__, *operators_in("relax.")])


__all__ = [
    "Callable", "Object", "Prim", "Shape", "Tensor", "Tuple", "call_dps_packed", "call_inplace_packed",
    "arg", "call_builtin_with_ctx", "call_packed", "call_pure_packed", "call_tir", "call_tir_inplace",
    "call_tir_with_grad", "const", "dataflow", "device", "dtype", "emit", "emit_match_cast", "emit_var_binding",
    "func_attr", "func_name", "func_ret_struct_info",
    "func_ret_value", "function", "image", "invoke_closure", "invoke_pure_closure", "nn", "null_value", "output",
    "prim_value", "rewriter", "shape", "str", "tuple",
]  # fmt: skip
