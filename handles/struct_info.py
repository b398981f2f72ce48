"""Struct info under TVM's names: small views on the types of the relax dialect.

    TensorStructInfo((128, "n"), "float32").type        # !relax.tensor<[128, n], f32>

Two views are equal if their types are. Constant extents are ints, others `SymExpr`s.
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
from ..dialects.relax.types import CallableType, NamedShape, ShapeType, TensorType, dims_attr, tuple_type
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
from .tir.variables import Var as TirVar
from .types import Type, type_of_attribute


def dtype_text(dtype: Attribute | None) -> str:
    """Return TVM's name of a dtype, `""` if it is unknown."""
    return "" if dtype is None else dtype_name(dtype)


class StructInfo:
    """The base of struct info views; `type` is the type of the relax dialect."""

    __slots__ = ("type", "value_of")
    type: Attribute
    value_of: SSAValue | None
    """The value that it describes, if any: its variables belong to the value's function."""
    structural_equal: ClassVar[Callable[[Any, Any], bool]]
    """The implementation of `==`, as in TVM; set by `handles/equality.py`."""

    @staticmethod
    def of(t: Attribute, value: SSAValue | None = None) -> StructInfo:
        """Return the view on a type, that of `value` if given. Raises `DTypeError` if the type is not struct info."""
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
        """Return its type, for TVMScript that captures it."""
        return self.type

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructInfo) and StructInfo.structural_equal(self, other)

    def __hash__(self) -> int:
        return hash(self.type)

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    def script(self, **options: Any) -> str:
        """Return the struct info as TVMScript; with `verbose_expr=True` after declarations of its variables."""
        from ..script.printer.fragment import print_struct_info

        return print_struct_info(self.type, **options)

    def same_as(self, other: StructInfo) -> bool:
        """Return whether both are equal, under TVM's name for identity: views have no identity of their own."""
        return self.type == other.type

    def is_base_of(self, derived: StructInfo) -> bool:
        """Return whether this covers `derived`; see `struct_info_base_check`."""
        return base_check(self.type, derived.type) is BaseCheckResult.PASS


class VDevice:
    """A virtual device: a target, an index and a memory scope; struct info stores it as text such as `llvm:0`."""

    __slots__ = ("memory_scope", "target", "vdevice_id")

    def __init__(self, target: Any = None, vdevice_id: int = 0, memory_scope: str = "global"):
        self.target = vdevice_text(target if isinstance(target, Mapping) else str(target or "llvm")).partition(":")[0]
        self.vdevice_id = vdevice_id
        self.memory_scope = memory_scope

    @staticmethod
    def of(text: str) -> VDevice:
        """Parse a device."""
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
        """The rank, or -1 if it is unknown."""
        return cast("relax.TensorType | relax.ShapeType", self.type).ndim.data


class TensorStructInfo(_Shaped):
    """A tensor: `TensorStructInfo((128, "n"), "float32")`, or only its rank: `TensorStructInfo(ndim=2)`."""

    __slots__ = ("_variable",)

    shape_expr: ClassVar[Callable[[Sequence[SymExpr], SSAValue | None], Any]]
    """Creates the handle on a shape; set by `expr`."""
    shape_var: ClassVar[Callable[[str, StructInfo], Any]]
    """Creates the handle on a variable; set by `expr`."""

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
        element = as_dtype(dtype if dtype is None or isinstance(dtype, Attribute) else str(dtype))
        device = NoneAttr() if vdevice is None else StringAttr(str(vdevice))
        known: Any = None if shape is None else _shape_variable(shape) or dims_of(shape)
        if isinstance(known, ShapeType):  # of a variable: the extents of its value if known, else the variable itself
            self._variable = shape
            ndim = known.ndim.data
            name = cast(Any, shape).name_hint
            if known.dims is not None:
                named = NamedShape(StringAttr(name), dims_attr(known.dims))
                self.type = TensorType(named, known.ndim, element or NoneAttr(), device)
                return
            known = name
        self.type = relax.TensorType.of(
            known,
            element,
            None if ndim < 0 else ndim,
            None if vdevice is None else str(vdevice),
        )

    @property
    def _tensor(self) -> relax.TensorType:
        return cast(relax.TensorType, self.type)

    @property
    def shape(self) -> Any:
        """The extents as a `ShapeExpr`, or the shape variable; None if they are unknown."""
        variable = getattr(self, "_variable", None)
        if variable is not None:
            return variable
        dims, name = self._tensor.extents, self._tensor.shape_var
        if name is not None:
            return TensorStructInfo.shape_var(name, ShapeStructInfo(dims, self.ndim if dims is None else -1))
        return None if dims is None else TensorStructInfo.shape_expr(dims, self._owner)

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype, `""` if it is unknown."""
        return dtype_text(self._tensor.element)

    @property
    def vdevice(self) -> VDevice | None:
        """The virtual device of the tensor, or None if unspecified; equal to its text, `llvm:0`."""
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
        """The extents, or None if they are unknown."""
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
        """The value if it is known, else None."""
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
    """A function: `FuncStructInfo([a, b], ret, purity=True)`; `FuncStructInfo.opaque_func()` for an unknown
    signature.
    """

    __slots__ = ()

    def __init__(self, params: Iterable[StructInfo], ret: StructInfo, purity: bool = True, span: object = None):
        self.type = relax.CallableType.of([type_of(p) for p in params], type_of(ret), purity)

    @classmethod
    def opaque_func(
        cls, *, ret: StructInfo | None = None, derive_func: object = None, purity: bool = False
    ) -> FuncStructInfo:
        """Return a function with unknown parameters and, at most, a known result.

        Raises `TiraxError` for a function that derives the result: it is `ret`.
        """
        if derive_func is not None:
            raise TiraxError("the result of a function is not derived by a function", expected="ret", found=derive_func)
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
        """TVM's hook that derives the result: always None, as `ret` is used."""


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
    """Return the type of a variable that is a shape; None for other values."""
    info = shape.struct_info if hasattr(shape, "name_hint") else None
    return info.type if isinstance(info, StructInfo) and isinstance(info.type, ShapeType) else None


def dims_of(shape: Any) -> list[SymExpr]:
    """Return the extents of a shape that is a sequence or a `ShapeExpr`. Raises `ShapeError`."""
    values = getattr(shape, "values", shape)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ShapeError("a shape is a sequence of extents", found=repr(shape))
    return [dim_of(v) for v in cast("Sequence[Any]", values)]


class StructInfoProxy:
    """A placeholder for struct info that is created on demand."""

    def as_struct_info(self, dict_globals: object = None) -> StructInfo:
        """Return the struct info; `dict_globals` is accepted for compatibility with TVM."""
        raise NotImplementedError


def type_of(sinfo: Any) -> Attribute:
    """Return the type of a struct info: a view, a proxy, a class such as `R.Object`, or the type itself.

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
    """Return whether `base` covers `derived`, and if not, in which way it fails.

    As in TVM, parameters of functions are compared covariantly, like results; the verifier compares them
    contravariantly, as subtyping requires.
    """
    return base_check(base.type, derived.type)


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """Return the most specific struct info that covers both; a function is only pure if both are.

    As in TVM, parameters are joined like results. Branches join functions more conservatively: with different
    parameters they only keep the result.
    """
    if isinstance(lhs, FuncStructInfo) and isinstance(rhs, FuncStructInfo):
        p, q = lhs.params, rhs.params
        if p is not None and q is not None and len(p) == len(q):
            params = list(map(struct_info_lca, p, q))
            return FuncStructInfo(params, struct_info_lca(lhs.ret, rhs.ret), lhs.purity and rhs.purity)
    return StructInfo.of(least_common(lhs.type, rhs.type))


def get_static_type(sinfo: StructInfo) -> Type:
    """Return the static type for struct info, which omits extents and values."""
    return type_of_attribute(type_of(sinfo))


def can_prove_shape_equal(lhs: Any, rhs: Any, ctx: object = None) -> bool:
    """Return whether two shapes (sequences of extents or `ShapeExpr`s) are provably equal; extents are nonnegative."""
    a, b = dims_of(lhs), dims_of(rhs)
    analyzer = Analyzer()
    return len(a) == len(b) and all(map(analyzer.can_prove_equal, a, b))


def erase_to_well_defined(
    sinfo: StructInfo, shape_var_map: Mapping[Any, Any] | None = None, var_map: Mapping[Any, Any] | None = None
) -> StructInfo:
    """Return the struct info when only the variables of `shape_var_map` are known, with their values substituted.

    A shape that mentions another variable falls back to its rank. Keys are symbolic variables or their names. `var_map`
    does the same for Relax variables whose values are shapes.
    """
    mapping = {cast(Var, dim_of(k)): dim_of(v) for k, v in (shape_var_map or {}).items()}
    shapes: dict[str, Attribute | str | None] = {
        k.name_hint: getattr(v, "name_hint", None) or _shape_type(v) for k, v in (var_map or {}).items()
    }
    return StructInfo.of(erased(rename_shape_vars(type_of(sinfo), shapes), mapping))


def tir_vars_in_struct_info(sinfo: StructInfo) -> Array[Any]:
    """Return the distinct symbolic variables that a struct info mentions, in order."""
    return Array(map(dim_value, dict.fromkeys(v for e in expressions_in(type_of(sinfo)) for v in e.free_vars())))


def definable_tir_vars_in_struct_info(sinfo: StructInfo) -> Array[Any]:
    """Return the symbolic variables that a value of this struct info defines: those that are an extent on their own."""
    return Array(map(dim_value, definable_vars_of([type_of(sinfo)])))


def collect_non_negative_expressions(sinfo: StructInfo) -> Array[Any]:
    """Return the distinct symbolic expressions that are nonnegative because they are extents, in order."""
    extents: dict[SymExpr, None] = {}
    for leaf in leaf_types(type_of(sinfo)):
        if isinstance(leaf, TensorType | ShapeType):
            extents |= {e: None for e in leaf.dims or () if e.constant is None}
    return Array(map(dim_value, extents))


def derive_call_ret_struct_info(func_sinfo: StructInfo, call: Any, ctx: object = None) -> StructInfo:
    """Return the struct info of a call of a function of `func_sinfo` with the arguments of `call`, whose callee is
    ignored.

    If the function's signature is unknown, the call's `sinfo_args` are used. Raises `ShapeError` and `DTypeError` for
    arguments that cannot match or are too vague: an object or a tensor of unknown rank must be cast first.
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
