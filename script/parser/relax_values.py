"""Values in Relax functions: constants, leaves, components of values and their operators."""

from __future__ import annotations

import ast
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, StringAttr, TupleType, f32, f64, i1
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import suggestion
from ...dialects import relax
from ...dialects.dtypes import dtype_name, dtype_of, float_attr, is_float
from ...dialects.relax import OBJECT, OPERATORS, CallableType, PrimType, ShapeType, TensorDataAttr, TensorType
from ...dialects.relax.devices import DEVICE_NAMES, device_of
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, SymExpr, i32
from .attributes import plain_value
from .folding import as_sym, is_constant
from .relax_state import Builder, RelaxParser
from .relax_types import as_dtype, as_struct_info, dims_of
from .values import CallSite, GlobalRef, Imm, Method, Ref, describe


def as_value(p: RelaxParser, value: Any, node: ast.AST) -> SSAValue:
    """Return a value of the script as a Relax value."""
    if isinstance(value, SSAValue):
        return value
    if isinstance(value, tuple | list):
        fields = [as_value(p, v, node) for v in cast("list[Any]", value)]
        return p.emit(relax.TupleOp(fields), node)
    if isinstance(value, str):
        return p.emit(relax.StringOp(value), node)
    if isinstance(value, TensorDataAttr):
        return p.emit(relax.ConstantOp(value), node)
    if isinstance(value, GlobalRef):
        return _function_ref(p, value, node)
    if type(value).__module__ == "numpy":
        site = CallSite(cast(ast.Call, node), "constant", [], {}, p.source)
        return p.emit(constant_of(p, site, value, None), node)
    return prim_value(p, value, node)


def prim_value(p: RelaxParser, value: Any, node: ast.AST) -> SSAValue:
    contents = prim_attr(int(value) if isinstance(value, bool) else value)
    if contents is None:
        raise p.error(node, "this is no Relax value", found=describe(value))
    attr = SymAttr(contents) if isinstance(contents, SymExpr) else contents
    return p.emit(relax.PrimValueOp(attr), node)


def _function_ref(p: RelaxParser, value: GlobalRef, node: ast.AST) -> SSAValue:
    t = p.state.module.callable_type(value.name) or CallableType.of(None, OBJECT)
    return p.emit(relax.FunctionRefOp(value.name, t), node)


def prim_attr(value: Any) -> SymExpr | FloatAttr | None:
    """Return the contents of a prim value, or None if it is not a number."""
    if isinstance(value, Imm) and isinstance(value.value, float):
        return float_attr(value.value, value.dtype)
    if isinstance(value, bool):
        return Const(int(value), i1)
    if isinstance(value, Imm) and value.dtype == i1:
        return Const(int(value.value), i1)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    return as_sym(value)


def _const(p: RelaxParser, site: CallSite) -> SSAValue:
    """Parse `R.const(1.0, "float32")`."""
    value, dtype = site.bind("value dtype=")
    return p.emit(constant_of(p, site, value, as_dtype(p, dtype, site.node)), site.node)


_NAMED_FLOATS = ("inf", "-inf", "nan")
"""Names that the printer writes for floats that have no Python literal."""


def constant_of(p: RelaxParser, site: CallSite, value: Any, dtype: Attribute | None) -> relax.ConstantOp:
    """Return the constant of a number, nested lists of numbers, or an array."""
    import numpy as np

    value = plain_value(value)
    if isinstance(value, str) and value in _NAMED_FLOATS and dtype is not None and is_float(dtype):
        value = float(value)
    if (
        not (is_constant(value) or isinstance(value, np.ndarray | np.generic))
        or value is None
        or isinstance(value, str)
    ):
        raise site.error("a constant must be a number, a list of numbers or an array", found=describe(value))
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        raise site.error("the elements of a constant must be numbers of one shape", found=describe(value))
    if dtype is None:
        dtype = (
            dtype_of(array.dtype.name)
            if isinstance(value, np.ndarray | np.generic)
            else _default_dtype(array.dtype.kind)
        )
    return relax.ConstantOp.of(array, dtype)


def _default_dtype(kind: str) -> Attribute:
    return {"b": i1, "f": f32}.get(kind, i32)


def _shape(p: RelaxParser, site: CallSite) -> SSAValue:
    return p.emit(relax.ShapeOp(dims_of(p, site.bind("value")[0], site.node)), site.node)


def _prim_value(p: RelaxParser, site: CallSite) -> SSAValue:
    value = site.bind("value")[0]
    return prim_value(p, Imm(value, f32) if isinstance(value, float) else value, site.node)


def _string(p: RelaxParser, site: CallSite) -> SSAValue:
    (value,) = site.bind("value")
    if not isinstance(value, str):
        raise site.error("a string is expected", found=describe(value))
    return p.emit(relax.StringOp(value), site.node)


def _dtype(p: RelaxParser, site: CallSite) -> SSAValue:
    return dtype_value(p, site, site.bind("value")[0])


def dtype_value(p: RelaxParser, site: CallSite, value: Any) -> SSAValue:
    dtype = as_dtype(p, value, site.node)
    if dtype is None and value is None:
        raise site.error("a data type is expected")
    return p.emit(relax.DataTypeOp(dtype), site.node)


def _null_value(p: RelaxParser, site: CallSite) -> SSAValue:
    site.bind("")
    return p.emit(relax.NullValueOp(), site.node)


def packed_function(p: RelaxParser, site: CallSite) -> tuple[str, relax.CallableType]:
    """Return the name and the type of `R.ExternFunc("f", R.Callable(…))`."""
    name, sinfo = site.bind("global_symbol struct_info=")
    if not isinstance(name, str):
        raise site.error("the name of a packed function is a string", found=describe(name))
    if sinfo is None:
        return name, relax.CallableType.of(None, relax.OBJECT, pure=False)
    t = as_struct_info(p, sinfo, site.node)
    if not isinstance(t, relax.CallableType):
        raise site.error("a function is expected", expected="R.Callable(…)", found=describe(sinfo))
    return name, t


def _extern(p: RelaxParser, site: CallSite) -> SSAValue:
    return p.emit(relax.ExternFuncOp(*packed_function(p, site)), site.node)


def _device(p: RelaxParser, site: CallSite) -> str:
    """Parse `R.device(device_type=1, index=0)` or `R.device("cpu")`, in the form of an operator's attribute."""
    kind, index = (plain_value(v) for v in site.bind("device_type index="))
    if not isinstance(kind, int | str) or not isinstance(index, int | None):
        raise site.error("a device is a kind and a number", found=f"{describe(kind)}, {describe(index)}")
    return device_of(kind, index)


def tvm_value(target: Ref, site: CallSite) -> Any:
    """Return a device, `tvm.cuda(0)` or `tvm.device("cuda", 0)`, or an operator, `tvm.ir.Op.get("relax.exp")`."""
    first, second = (plain_value(v) for v in site.bind("first= second="))
    if target.path == "ir.Op.get" and isinstance(first, str):
        return OPERATORS.get(first) or Ref("relax", first.removeprefix("relax."))
    if target.path in ("device", "runtime.device") and isinstance(first, str) and isinstance(second, int | None):
        return device_of(first, second)
    if target.path in DEVICE_NAMES and isinstance(first, int | None) and second is None:
        return device_of(target.path, first)
    raise site.error("only functions of R and T can be called in a Relax function")


def _tuple(p: RelaxParser, site: CallSite) -> SSAValue:
    return p.emit(relax.TupleOp([as_value(p, a, site.node) for a in site.args]), site.node)


def attribute_of(p: RelaxParser, value: Any, name: str, node: ast.AST) -> Any:
    if name == "astype" and isinstance(value, SSAValue):
        return Method(value, name)
    if name == "struct_info" and isinstance(value, SSAValue):
        return value.type
    parts = {k: v for k, v in _parts(value).items() if v is not None}
    if name not in parts:
        expected = ", ".join(parts) if isinstance(value, Attribute) else "astype, struct_info"
        raise p.error(node, f"there is no attribute '{name}'", expected=expected, found=describe(value))
    return parts[name]


def _parts(value: Any) -> dict[str, Any]:
    """Return the components of struct info: `shape`, `dtype`, `ndim`, `vdevice` of tensors, `fields` of tuples, …"""
    if isinstance(value, TensorType):
        device = value.vdevice.data if isinstance(value.vdevice, StringAttr) else None
        dtype = None if value.element is None else dtype_name(value.element)
        return {"shape": value.dims, "dtype": dtype, "ndim": _ndim(value), "vdevice": device}
    if isinstance(value, ShapeType):
        return {"values": value.dims, "ndim": _ndim(value)}
    if isinstance(value, PrimType):
        return {"dtype": dtype_name(value.dtype), "value": value.expr}
    if isinstance(value, TupleType):
        return {"fields": tuple(value.types)}
    if not isinstance(value, CallableType):
        return {}
    params = tuple(value.params) if isinstance(value.params, ArrayAttr) else None
    return {"params": params, "ret": value.ret}


def _ndim(value: TensorType | ShapeType) -> int:
    return -1 if value.rank is None else value.rank


def member(p: RelaxParser, name: str, node: ast.AST) -> Any:
    if not p.state.module.has_function(name):
        hint = suggestion(name, p.state.module.function_names())
        raise p.error(node, f"the module has no function '{name}'", hint=hint)
    packed = p.state.module.packed(name)
    if packed is None:
        return GlobalRef(name)
    return p.emit(relax.ExternFuncOp(packed.global_symbol.data, packed.callable_type), node)


def element_of(p: RelaxParser, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Any:
    t = value.type
    index = indices[0] if len(indices) == 1 else None
    if (
        isinstance(t, ShapeType)
        and t.dims is not None
        and isinstance(index, int)
        and -len(t.dims) <= index < len(t.dims)
    ):
        return t.dims[index]
    if not isinstance(t, TupleType) and t != OBJECT:
        raise p.error(node, "only tuples can be indexed in Relax", found=describe(value))
    if not isinstance(index, int):
        raise p.error(node, "the index of a tuple is a constant", found=describe(indices))
    size = len(t.types) if isinstance(t, TupleType) else None
    if size is not None and not -size <= index < size:
        raise p.error(node, "the index is out of range", expected=f"below {size}", found=index)
    if index < 0 and size is not None:
        index += size
    return p.emit(relax.TupleGetItemOp(value, index), node)


def _tuple_get_item(p: RelaxParser, site: CallSite) -> Any:
    """Parse `R.TupleGetItem(x, 0)`, which is `x[0]`."""
    value, index = site.bind("tuple_value index")
    return element_of(p, value, (index,), site.node)


LEAVES: dict[str, Builder] = {
    "TupleGetItem": _tuple_get_item,
    "const": _const,
    **dict.fromkeys(("ShapeExpr", "shape"), _shape),
    "prim_value": _prim_value,
    "str": _string,
    "dtype": _dtype,
    "null_value": _null_value,
    **dict.fromkeys(("ExternFunc", "extern"), _extern),
    "device": _device,
    "tuple": _tuple,
}
"""Functions of `R` that create values other than calls, by name."""
