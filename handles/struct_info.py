"""Struct info by the names that TVM users know: small views on the types of the relax dialect.

    TensorStructInfo((128, "n"), "float32").type        # !relax.tensor<[128, n], f32>

Two views are equal where their types are. Extents are ints where they are constant and `SymExpr`s elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import FloatAttr, NoneAttr, StringAttr, TupleType
from xdsl.ir import Attribute, SSAValue

from ..diagnostics import DTypeError, ShapeError, TiraxError
from ..dialects import relax
from ..dialects.dtypes import dtype_name, dtype_of
from ..dialects.relax.devices import vdevice_text
from ..dialects.relax.operator import as_dtype
from ..dialects.relax.signatures import BaseCheckResult, base_check, derive_result, erased, static_type
from ..dialects.relax.types import CallableType, ShapeType, TensorType, tuple_type
from ..dialects.sym.analyzer import Analyzer
from ..dialects.sym.expr import SymExpr, Var
from ..ir.struct_info import (
    definable_vars_of,
    expressions_in,
    leaf_types,
    least_common,
    rename_shape_vars,
)
from .array import Array
from .tir.dims import Dim, dim_of, dim_value, prim_type_of
from .tir.prim_expr import PrimExpr, const
from .tir.prim_expr import Var as TirVar
from .types import Type, type_of_attribute


def dtype_text(dtype: Attribute | None) -> str:
    """TVM's name of a dtype, `""` for an unknown one."""
    return "" if dtype is None else dtype_name(dtype)


class StructInfo:
    """The base of struct info views; `type` is the type of the relax dialect."""

    __slots__ = ("type", "value_of")
    type: Attribute
    value_of: SSAValue | None
    """The value of which it is known, where there is one: whose function's its variables are."""
    structural_equal: ClassVar[Callable[[Any, Any], bool]]
    """What `==` is, as in TVM; `handles/equality.py` fills it in."""

    @staticmethod
    def of(t: Attribute, value: SSAValue | None = None) -> StructInfo:
        """Return the view on a type, that of `value` if given. Raises `DTypeError` for a type that is no
        struct info.
        """
        cls = _VIEWS.get(type(t))
        if cls is None:
            raise DTypeError(f"{t} is no struct info")
        view = cls.__new__(cls)
        view.type, view.value_of = t, value
        return view

    @property
    def _owner(self) -> SSAValue | None:
        return getattr(self, "value_of", None)

    def __tirax_script_value__(self) -> Attribute:
        """What it means in TVMScript that captures it."""
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and StructInfo.structural_equal(self, other)

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    def script(self, **options: Any) -> str:
        """Return the struct info as TVMScript; with `verbose_expr=True` its variables are declared before."""
        from ..script.printer.fragment import print_struct_info

        return print_struct_info(self.type, **options)

    def same_as(self, other: StructInfo) -> bool:
        """Equality, by TVM's name for identity: views have no identity of their own."""
        return self.type == other.type

    def is_base_of(self, derived: StructInfo) -> bool:
        """Return whether this covers `derived`, as `struct_info_base_check` says."""
        return base_check(self.type, derived.type) is BaseCheckResult.PASS


class VDevice:
    """A virtual device: a target, a number and a kind of memory; struct info holds it as a text such as `llvm:0`."""

    __slots__ = ("memory_scope", "target", "vdevice_id")

    def __init__(self, target: Any = "llvm", vdevice_id: int = 0, memory_scope: str = "global"):
        self.target = vdevice_text(target if isinstance(target, Mapping) else str(target or "llvm")).partition(":")[0]
        self.vdevice_id = vdevice_id
        self.memory_scope = memory_scope

    @staticmethod
    def of(text: str) -> VDevice:
        """Return the device of a text."""
        kind, _, rest = text.partition(":")
        number, _, scope = rest.partition(":")
        return VDevice(kind, int(number or 0), scope or "global")

    def __str__(self) -> str:
        return vdevice_text(self.target, self.vdevice_id, self.memory_scope)

    __repr__ = __str__

    def __tirax_script_value__(self) -> StringAttr:
        return StringAttr(str(self))

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

    __slots__ = ("_variable",)

    shape_expr: ClassVar[Callable[[Sequence[SymExpr], SSAValue | None], Any]]
    """The handle on a shape; `expr` fills it in."""
    shape_var: ClassVar[Callable[[str, StructInfo], Any]]
    """The handle on a variable of a name; `expr` fills it in."""

    def __init__(
        self,
        shape: Any = None,
        dtype: str | Attribute | None = "float32",
        vdevice: Any = None,
        ndim: int = -1,
        span: object = None,
    ):
        if shape is not None and ndim >= 0:
            raise ShapeError("either the extents of a tensor are given, or their number", found=f"ndim={ndim}")
        known: Any = None if shape is None else _shape_variable(shape) or dims_of(shape)
        if isinstance(known, ShapeType):  # of a variable: what is known of its value, or at least that it is its value
            self._variable = shape
            ndim = known.ndim.data
            known = known.dims if known.dims is not None else cast(Any, shape).name_hint
        self.type = relax.TensorType.of(
            known,
            as_dtype(None if dtype is None else str(dtype) if not isinstance(dtype, Attribute) else dtype),
            None if ndim < 0 else ndim,
            None if vdevice is None else str(vdevice),
        )

    @property
    def _tensor(self) -> relax.TensorType:
        return cast(relax.TensorType, self.type)

    @property
    def shape(self) -> Any:
        """The extents as a `ShapeExpr`, or the variable whose value they are, None where they are unknown."""
        variable = getattr(self, "_variable", None)
        if variable is not None:
            return variable
        dims, name = self._tensor.dims, self._tensor.shape_var
        if name is not None:
            return TensorStructInfo.shape_var(name, ShapeStructInfo(ndim=self.ndim))
        return None if dims is None else TensorStructInfo.shape_expr(dims, self._owner)

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype, `""` where it is unknown."""
        return dtype_text(self._tensor.element)

    @property
    def vdevice(self) -> VDevice | None:
        """The virtual device that the tensor is on, None where none is said; equal to its text, `llvm:0`."""
        v = self._tensor.vdevice
        return VDevice.of(v.data) if isinstance(v, StringAttr) else None


class ShapeStructInfo(_Shaped):
    """A shape value: `ShapeStructInfo((1, "n"))` or `ShapeStructInfo(ndim=2)`."""

    __slots__ = ()

    def __init__(self, values: Iterable[Any] | None = None, ndim: int = -1, span: object = None):
        if values is not None and ndim >= 0:
            raise ShapeError("either the extents of a shape are given, or their number", found=f"ndim={ndim}")
        self.type = relax.ShapeType.of(None if values is None else dims_of(values), None if ndim < 0 else ndim)

    @property
    def values(self) -> list[Dim] | None:
        """The extents, None where they are unknown."""
        dims = cast(relax.ShapeType, self.type).dims
        return None if dims is None else [dim_value(d, self._owner) for d in dims]


class PrimStructInfo(StructInfo):
    """A scalar: `PrimStructInfo("int64")`, or with its value `PrimStructInfo(value="n")`."""

    __slots__ = ()

    def __init__(self, dtype: str | None = None, value: Any = None, span: object = None):
        if dtype is None and value is None:
            raise TiraxError("a scalar's struct info needs a dtype or a value")
        if dtype is not None and not isinstance(dtype, str):
            raise TiraxError("a dtype is a name", expected='"int64", "float32", …', found=repr(cast(object, dtype)))
        if dtype is not None and value is None:
            self.type = relax.PrimType.of(dtype_of(dtype))
        else:
            self.type = prim_type_of(value, None if dtype is None else dtype_of(dtype))

    @property
    def dtype(self) -> str:
        return dtype_name(cast(relax.PrimType, self.type).dtype)

    @property
    def value(self) -> Dim | PrimExpr | None:
        """The value where it is known."""
        t = cast(relax.PrimType, self.type)
        if isinstance(t.value, FloatAttr):
            return const(t.value.value.data, t.dtype)
        if isinstance(t.value, StringAttr):
            return TirVar(t.value.data, t.dtype)
        return None if t.expr is None else dim_value(t.expr, self._owner)


class TupleStructInfo(StructInfo):
    """A tuple: `TupleStructInfo([a, b])`."""

    __slots__ = ()

    def __init__(self, fields: Iterable[StructInfo] = (), span: object = None):
        if not isinstance(cast(object, fields), Iterable):
            raise TiraxError("the fields of a tuple are a sequence of struct info", found=repr(fields))
        self.type = tuple_type(type_of(f) for f in fields)

    @property
    def fields(self) -> list[StructInfo]:
        return [StructInfo.of(t, self._owner) for t in cast(TupleType, self.type).types]


class FuncStructInfo(StructInfo):
    """A function: `FuncStructInfo([a, b], ret, purity=True)`; `FuncStructInfo.opaque_func()` where nothing is known."""

    __slots__ = ()

    def __init__(self, params: Iterable[StructInfo], ret: StructInfo, purity: bool = True, span: object = None):
        self.type = relax.CallableType.of([type_of(p) for p in params], type_of(ret), purity)

    @classmethod
    def opaque_func(cls, *, ret: StructInfo | None = None, purity: bool = False) -> FuncStructInfo:
        """Return a function of which at most the result is known."""
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

    @property
    def derive_func(self) -> None:
        """TVM's hook that infers results: there is none, `ret` says what is known."""


_VIEWS: dict[type[Attribute], type[StructInfo]] = {
    relax.TensorType: TensorStructInfo,
    relax.ShapeType: ShapeStructInfo,
    relax.PrimType: PrimStructInfo,
    relax.ObjectType: ObjectStructInfo,
    TupleType: TupleStructInfo,
    relax.CallableType: FuncStructInfo,
}


def _shape_type(shape: Any) -> Attribute:
    return ShapeType.of(dims_of(shape))


def _shape_variable(shape: Any) -> ShapeType | None:
    """Return the type of a variable that is a shape; None for what is no variable."""
    info = shape.struct_info if hasattr(shape, "name_hint") else None
    return info.type if isinstance(info, StructInfo) and isinstance(info.type, ShapeType) else None


def dims_of(shape: Any) -> list[SymExpr]:
    """Return the extents of a shape given as a sequence, or as a `ShapeExpr`. Raises `ShapeError`."""
    values = getattr(shape, "values", shape)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ShapeError("a shape is a sequence of extents", found=repr(shape))
    return [dim_of(v) for v in cast("Sequence[Any]", values)]


class StructInfoProxy:
    """What stands for struct info that is made when it is asked for."""

    def as_struct_info(self, dict_globals: object = None) -> StructInfo:
        """Return the struct info; `dict_globals` is taken for TVM's sake."""
        raise NotImplementedError


def type_of(sinfo: Any) -> Attribute:
    """Return the type of a struct info: a view, a proxy or a class such as `R.Object` that makes one, or the type
    itself.

    Raises `TiraxError` for anything else.
    """
    if isinstance(sinfo, Attribute):
        return sinfo
    if callable(sinfo) and not isinstance(sinfo, StructInfo):
        sinfo = cast(object, sinfo())
    if isinstance(sinfo, StructInfoProxy):
        sinfo = sinfo.as_struct_info()
    if isinstance(sinfo, StructInfo):
        return sinfo.type
    raise TiraxError(
        "not a struct info", expected="e.g. TensorStructInfo((4,), 'float32')", found=repr(cast(Any, sinfo))
    )


# Questions about struct info: what covers what, what both have in common, which symbolic variables it mentions.


def struct_info_base_check(base: StructInfo, derived: StructInfo) -> BaseCheckResult:
    """Return whether `base` covers `derived`, and if not, how far it is from that.

    As in TVM the parameters of functions are compared in the same direction as their results; the verifier takes them
    the other way, as subtyping has to.
    """
    return base_check(base.type, derived.type)


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """Return the most specific struct info that covers both; that of functions is pure only where both are.

    As in TVM parameters are joined as results are. Branches join functions more carefully: of those with different
    parameters they keep the result alone.
    """
    if isinstance(lhs, FuncStructInfo) and isinstance(rhs, FuncStructInfo):
        p, q = lhs.params, rhs.params
        if p is not None and q is not None and len(p) == len(q):
            params = list(map(struct_info_lca, p, q))
            return FuncStructInfo(params, struct_info_lca(lhs.ret, rhs.ret), lhs.purity and rhs.purity)
    return StructInfo.of(least_common(lhs.type, rhs.type))


def get_static_type(sinfo: StructInfo) -> Type:
    """Return the static type of what has this struct info: extents and values are not in it."""
    return type_of_attribute(type_of(sinfo))


def can_prove_shape_equal(lhs: Any, rhs: Any, ctx: object = None) -> bool:
    """Return whether two shapes (sequences of extents or `ShapeExpr`s) are equal for certain; extents are at
    least 0.
    """
    a, b = dims_of(lhs), dims_of(rhs)
    analyzer = Analyzer()
    return len(a) == len(b) and all(map(analyzer.can_prove_equal, a, b))


def erase_to_well_defined(
    sinfo: StructInfo, shape_var_map: Mapping[Any, Any] | None = None, var_map: Mapping[Any, Any] | None = None
) -> StructInfo:
    """Return the struct info where only the variables of `shape_var_map` are known; they are replaced by its values.

    A shape that mentions another variable falls back to its rank. Keys are symbolic variables or their names. `var_map`
    does the same for variables of Relax whose values shapes are.
    """
    mapping = {cast(Var, dim_of(k)): dim_of(v) for k, v in (shape_var_map or {}).items()}
    shapes: dict[str, Attribute | str | None] = {
        k.name_hint: getattr(v, "name_hint", None) or _shape_type(v) for k, v in (var_map or {}).items()
    }
    return StructInfo.of(erased(rename_shape_vars(type_of(sinfo), shapes), mapping))


def tir_vars_in_struct_info(sinfo: StructInfo) -> Array[Any]:
    """Return the symbolic variables that a struct info mentions, in order, each once."""
    return Array(map(dim_value, dict.fromkeys(v for e in expressions_in(type_of(sinfo)) for v in e.free_vars())))


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> Array[Any]:
    """Return the symbolic variables that a value of this struct info determines: those that are an extent by
    themselves.
    """
    return Array(map(dim_value, definable_vars_of([type_of(sinfo)])))


def collect_non_negative_expressions(sinfo: StructInfo) -> Array[Any]:
    """Return the symbolic expressions that are not negative because they are extents, in order, each once."""
    extents: dict[SymExpr, None] = {}
    for leaf in leaf_types(type_of(sinfo)):
        if isinstance(leaf, TensorType | ShapeType):
            extents |= {e: None for e in leaf.dims or () if e.constant is None}
    return Array(map(dim_value, extents))


def derive_call_ret_struct_info(func_sinfo: StructInfo, call: Any, ctx: object = None) -> StructInfo:
    """Return the struct info of a call of a function of `func_sinfo` with the arguments of `call`, whose callee is
    ignored.

    Where nothing is known of the function, the call's `sinfo_args` say it. Raises `ShapeError` and `DTypeError` for
    arguments that cannot fit, or of which too little is known: what is an object or of any rank has to be cast first.
    """
    func = type_of(func_sinfo)
    if not isinstance(func, CallableType):
        raise DTypeError("only a function can be called", expected="FuncStructInfo", found=func)
    if isinstance(func.params, NoneAttr) and call.sinfo_args:
        declared: list[StructInfo] = call.sinfo_args
        return declared[0] if len(declared) == 1 else StructInfo.of(tuple_type(s.type for s in declared))
    args = [a.struct_info.type for a in call.args]
    result = derive_result("the call", func, args)
    for i, (param, arg) in enumerate(zip(() if isinstance(func.params, NoneAttr) else func.params, args, strict=False)):
        if base_check(static_type(param), static_type(arg)) is BaseCheckResult.FAIL_L1:
            hint = "cast it by a match_cast"
            raise DTypeError(f"too little is known of argument {i} of the call", expected=param, found=arg, hint=hint)
    return StructInfo.of(result)
