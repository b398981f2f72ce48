"""Struct info by the names that TVM users know: small views on the types of the relax dialect.

    TensorStructInfo((128, "n"), "float32").type        # !relax.tensor<[128, n], f32>

Two views are equal where their types are. Extents are ints where they are constant and `SymExpr`s elsewhere.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import DTypeError, ShapeError, TiraxError
from ...dialects import relax
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of
from ...dialects.relax.operator import as_dtype
from ...dialects.sym.expr import Const, SymExpr, Var, as_expr
from ...ir.python_text import python_tree
from ..tir.prim_expr import PrimExpr, as_sym

Dim = int | SymExpr

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def dim_of(value: Any) -> SymExpr:
    """An extent as a symbolic expression: an int, text such as `"n + 1"`, a `SymExpr` or a scalar TIR expression.

    Raises `ShapeError` for anything else.
    """
    if isinstance(value, SymExpr):
        return value
    if isinstance(value, str):
        return _parse_dim(value)
    if isinstance(value, bool):
        raise ShapeError("an extent is an integer", found=value)
    if isinstance(value, PrimExpr):
        expr = as_sym(value)
        return expr.substitute({v: named_var(v) for v in expr.free_vars()})
    if not hasattr(value, "__index__"):
        raise ShapeError("an extent is an integer or a symbolic expression", found=type(value).__name__)
    return Const(operator.index(value))


def _parse_dim(text: str) -> SymExpr:
    try:
        return as_expr(_fold(python_tree(text.strip(), mode="eval").body))
    except (SyntaxError, KeyError) as error:
        hint = "extents are integers, names and + - * // % of them"
        raise ShapeError(f"'{text}' is no symbolic extent", hint=hint) from error


def _fold(node: ast.expr) -> SymExpr | int:
    if isinstance(node, ast.Name):
        return Var(node.id)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_fold(node.left), _fold(node.right))
    raise KeyError(type(node).__name__)


def named_var(var: Var) -> Var:
    """The variable by its name, also where it stands for an SSA value (`tir.Var("n", "int64")`)."""
    if isinstance(var.name, str):
        return var
    return Var(name_of(var.name) or "n", var.dtype)


def dim_value(expr: SymExpr) -> Dim:
    """An extent as users read it: an int where it is constant."""
    return expr if expr.constant is None else expr.constant


def dtype_text(dtype: Attribute | None) -> str:
    """TVM's name of a dtype, `""` for an unknown one."""
    return "" if dtype is None else dtype_name(dtype)


class StructInfo:
    """The base of struct info views; `type` is the type of the relax dialect."""

    __slots__ = ("type",)
    type: Attribute

    @staticmethod
    def of(t: Attribute) -> StructInfo:
        """The view on a type. Raises `DTypeError` for a type that is no struct info."""
        cls = _VIEWS.get(type(t))
        if cls is None:
            raise DTypeError(f"{t} is no struct info")
        view = cls.__new__(cls)
        view.type = t
        return view

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and self.type == other.type

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    def same_as(self, other: StructInfo) -> bool:
        """Equality, by TVM's name for identity: views have no identity of their own."""
        return self == other

    def is_base_of(self, derived: StructInfo) -> bool:
        """Whether every value of `derived` is for certain one of this."""
        return relax.is_base_of(self.type, derived.type)


class VDevice:
    """A virtual device: a target, a number and a kind of memory; struct info holds it as a text such as `llvm:0`."""

    __slots__ = ("memory_scope", "target", "vdevice_id")

    def __init__(self, target: Any = "llvm", vdevice_id: int = 0, memory_scope: str = "global"):
        self.target = str(target).split(" ")[0]
        self.vdevice_id = vdevice_id
        self.memory_scope = memory_scope

    def __str__(self) -> str:
        scope = "" if self.memory_scope == "global" else f":{self.memory_scope}"
        return f"{self.target}:{self.vdevice_id}{scope}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VDevice | str) and str(other) == str(self)

    def __hash__(self) -> int:
        return hash(str(self))


class ObjectStructInfo(StructInfo):
    """Any value."""

    __slots__ = ()

    def __init__(self, span: object = None):
        self.type = relax.OBJECT


class _Shaped(StructInfo):
    __slots__ = ()

    @property
    def ndim(self) -> int:
        """The rank, -1 where it is unknown."""
        return cast("relax.TensorType | relax.ShapeType", self.type).ndim.data


class TensorStructInfo(_Shaped):
    """A tensor: `TensorStructInfo((128, "n"), "float32")`; only the rank known: `TensorStructInfo(ndim=2)`."""

    __slots__ = ()

    def __init__(
        self,
        shape: Iterable[Any] | Any = None,
        dtype: str | Attribute | None = "float32",
        vdevice: Any = None,
        ndim: int = -1,
        span: object = None,
    ):
        dims = None if shape is None else dims_of(shape)
        self.type = relax.TensorType.of(
            dims,
            as_dtype(None if dtype is None else str(dtype) if not isinstance(dtype, Attribute) else dtype),
            None if ndim < 0 else ndim,
            None if vdevice is None else str(vdevice),
        )

    @property
    def _tensor(self) -> relax.TensorType:
        return cast(relax.TensorType, self.type)

    @property
    def shape(self) -> Any:
        """The extents as a `ShapeExpr`, None where they are unknown."""
        from .expr import ShapeExpr

        dims = self._tensor.dims
        return None if dims is None else ShapeExpr(dims)

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype, `""` where it is unknown."""
        return dtype_text(self._tensor.element)

    @property
    def vdevice(self) -> str | None:
        v = self._tensor.vdevice
        return v.data if isinstance(v, StringAttr) else None


class ShapeStructInfo(_Shaped):
    """A shape value: `ShapeStructInfo((1, "n"))` or `ShapeStructInfo(ndim=2)`."""

    __slots__ = ()

    def __init__(self, values: Iterable[Any] | None = None, ndim: int = -1, span: object = None):
        self.type = relax.ShapeType.of(None if values is None else dims_of(values), None if ndim < 0 else ndim)

    @property
    def values(self) -> list[Dim] | None:
        """The extents, None where they are unknown."""
        dims = cast(relax.ShapeType, self.type).dims
        return None if dims is None else [dim_value(d) for d in dims]


class PrimStructInfo(StructInfo):
    """A scalar: `PrimStructInfo("int64")`, or with its value `PrimStructInfo(value="n")`."""

    __slots__ = ()

    def __init__(self, dtype: str | None = None, value: Any = None, span: object = None):
        if dtype is None and value is None:
            raise TiraxError("a scalar's struct info needs a dtype or a value")
        expr = None if value is None else dim_of(value)
        self.type = relax.PrimType.of(dtype_of(dtype) if dtype is not None else cast(SymExpr, expr).dtype, expr)

    @property
    def dtype(self) -> str:
        return dtype_name(cast(relax.PrimType, self.type).dtype)

    @property
    def value(self) -> Dim | None:
        """The value where it is known."""
        expr = cast(relax.PrimType, self.type).expr
        return None if expr is None else dim_value(expr)


class TupleStructInfo(StructInfo):
    """A tuple: `TupleStructInfo([a, b])`."""

    __slots__ = ()

    def __init__(self, fields: Iterable[StructInfo] = (), span: object = None):
        self.type = tuple_type(type_of(f) for f in fields)

    @property
    def fields(self) -> list[StructInfo]:
        return [StructInfo.of(t) for t in cast(TupleType, self.type).types]


class FuncStructInfo(StructInfo):
    """A function: `FuncStructInfo([a, b], ret, purity=True)`; `FuncStructInfo.opaque_func()` where nothing is known."""

    __slots__ = ()

    def __init__(self, params: Iterable[StructInfo], ret: StructInfo, purity: bool = True, span: object = None):
        self.type = relax.CallableType.of([type_of(p) for p in params], type_of(ret), purity)

    @classmethod
    def opaque_func(cls, *, ret: StructInfo | None = None, purity: bool = False) -> FuncStructInfo:
        """A function of which at most the result is known."""
        view = cls.__new__(cls)
        view.type = relax.CallableType.of(None, None if ret is None else ret.type, purity)
        return view

    @property
    def _callable(self) -> relax.CallableType:
        return cast(relax.CallableType, self.type)

    @property
    def params(self) -> list[StructInfo] | None:
        params = self._callable.params
        return None if isinstance(params, NoneAttr) else [StructInfo.of(p) for p in params]

    @property
    def ret(self) -> StructInfo:
        return StructInfo.of(self._callable.ret)

    @property
    def purity(self) -> bool:
        return self._callable.pure


_VIEWS: dict[type[Attribute], type[StructInfo]] = {
    relax.TensorType: TensorStructInfo,
    relax.ShapeType: ShapeStructInfo,
    relax.PrimType: PrimStructInfo,
    relax.ObjectType: ObjectStructInfo,
    TupleType: TupleStructInfo,
    relax.CallableType: FuncStructInfo,
}


def dims_of(shape: Any) -> list[SymExpr]:
    """The extents of a shape given as a sequence, or as a `ShapeExpr`. Raises `ShapeError`."""
    values = getattr(shape, "values", shape)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ShapeError("a shape is a sequence of extents", found=repr(shape))
    return [dim_of(v) for v in cast("Sequence[Any]", values)]


def tuple_type(fields: Iterable[Attribute]) -> TupleType:
    """The type of a tuple."""
    return TupleType(cast("tuple[Any, ...]", tuple(fields)))


def type_of(sinfo: Any) -> Attribute:
    """The type of a struct info: a view, a class such as `R.Object` that makes one, or the type itself.

    Raises `TiraxError` for anything else.
    """
    if isinstance(sinfo, Attribute):
        return sinfo
    if callable(sinfo) and not isinstance(sinfo, StructInfo):
        sinfo = cast(object, sinfo())
    if isinstance(sinfo, StructInfo):
        return sinfo.type
    raise TiraxError(
        "not a struct info", expected="e.g. TensorStructInfo((4,), 'float32')", found=repr(cast(Any, sinfo))
    )


def struct_info_of(value: SSAValue) -> StructInfo:
    """The struct info of an SSA value."""
    return StructInfo.of(value.type)
