"""Relax expressions with TVM's names: small handles on SSA values and operations. There is no second IR.

The result of an op in a function is a `Var` at its uses and a `Call` (or `Tuple`, `If`, …) at its binding; leaves
without a name are `Constant`, `ShapeExpr` and so on. `expr_of(value)` returns the former, `bound_expr(op)` the latter.

An expression built outside of a function (`Var("x", …)`, `R.add(x, y)`) is a detached op, which a `BlockBuilder`
places. A handle on something that a rewrite has removed raises `StaleHandleError` when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from xdsl.dialects.builtin import FloatAttr, TupleType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from ...diagnostics import DTypeError, ShapeError, TiraxError
from ...dialects import relax
from ...dialects.dtypes import dtype_of, float_attr
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import VariableBlock
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, SymExpr
from ...dialects.tir import ConstOp
from ...runtime.ndarray import as_ndarray
from ...runtime.torch_tensors import is_tensor
from ..base_func import StaleHandleError
from ..struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo, dims_of, type_of
from ..tir.dims import Dim, dim_of, dim_value
from ..tir.prim_expr import PrimExpr
from ..tir.prim_expr import const as prim_const
from ..types import Type, type_of_attribute
from .operators import Operators

if TYPE_CHECKING:
    from ...runtime import NDArray


class Expr(Operators):
    """Base of handles on expressions. `ssa` is the SSA value (detached if the handle is not placed in any IR)."""

    __slots__ = ("_placed", "_value")
    _value: SSAValue | None
    _placed: bool

    call_view: ClassVar[type[Expr]]
    """The class of calls; set by `call`."""

    @classmethod
    def on(cls, value: SSAValue) -> Self:
        """Return a handle of this class on an SSA value."""
        view = cls.__new__(cls)
        view.point_at(value)
        return view

    def point_at(self, value: SSAValue) -> None:
        """Redirect the handle to another SSA value: a builder does so when it places a detached expression."""
        self._value = value
        self._placed = False

    def _make(self) -> SSAValue:
        raise TiraxError(f"a {type(self).__name__} is not a value")

    def __tirax_script_value__(self) -> Any:
        """Return the meaning of the expression when TVMScript captures it: leaves and detached expressions are
        values.
        """
        value = self._value or self._make()
        owner = value.owner
        detached = isinstance(owner, Operation) and owner.parent is None and not owner.regions
        return value if detached or isinstance(owner, relax.LEAVES) else self

    @property
    def ssa(self) -> SSAValue:
        """The SSA value. Raises `StaleHandleError` if a rewrite has removed it."""
        value = self._value
        if value is None:
            value = self._value = self._make()
        if isinstance(value, OpResult):
            if value.op.parent is not None:
                self._placed = True
            elif self._placed:
                raise _stale(value)
        elif isinstance(value, BlockArgument) and not _is_argument(value):
            raise _stale(value)
        return value

    @property
    def op_handle(self) -> Operation:
        """The xDSL operation that defines the value. Raises `TiraxError` for a parameter."""
        value = self.ssa
        if not isinstance(value, OpResult):
            raise TiraxError(f"no operation gives the parameter {name_of(value)}")
        return value.op

    @property
    def struct_info(self) -> StructInfo:
        """The struct info of the value."""
        return StructInfo.of(self.ssa.type, self.ssa)

    @property
    def checked_type(self) -> Type:
        """The static type."""
        return type_of_attribute(self.struct_info.type)

    @property
    def struct_info_(self) -> StructInfo | None:
        """The struct info, or None of a variable that was made without one, and of what is made of it."""
        return self.struct_info

    @property
    def _checked_type_(self) -> Type | None:
        info = self.struct_info_
        return None if info is None else type_of_attribute(info.type)

    def same_as(self, other: object) -> bool:
        """Return whether `other` is a handle on the same value."""
        return self == other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expr) or _kind(self) is not _kind(other):
            return False
        return self is other or canonical(self.ssa) is canonical(other.ssa)

    def __hash__(self) -> int:
        return hash((_kind(self), canonical(self.ssa)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({name_of(self.ssa) or self.ssa.type})"

    def script(self, **options: Any) -> str:
        """Return the expression as TVMScript, with `verbose_expr` after declarations of its variables."""
        from ...script.printer.relax_fragment import print_relax_expression

        return print_relax_expression(self.op_handle, **options)

    def __len__(self) -> int:
        return len(self._field_types())

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> Expr:
        count = len(self._field_types())
        if not -count <= index < count:
            raise IndexError(f"Tuple index out of range: {index} of {count}")
        return TupleGetItem(self, index % count)

    def __iter__(self) -> Iterator[Expr]:
        return (self[i] for i in range(len(self)))

    def _field_types(self) -> Sequence[Attribute]:
        t = self.ssa.type
        if not isinstance(t, TupleType):
            raise DTypeError("only a tuple has fields", expected="a tuple", found=t)
        return t.types.data


def _stale(value: SSAValue) -> StaleHandleError:
    name = name_of(value)
    what = f"'{name}'" if name else f"a value of {value.type}"
    return StaleHandleError(
        f"the handle on {what} no longer points at anything",
        hint="a rewrite removed it: get the handle again from the function that the rewrite gave",
    )


def _is_argument(value: BlockArgument) -> bool:
    args = value.block.args
    return value.index < len(args) and args[value.index] is value


def canonical(value: SSAValue) -> SSAValue:
    """Return the canonical value of a variable: an output of a dataflow block and the inner value of the same
    name are one variable.
    """
    if isinstance(value, OpResult) and isinstance(value.op, relax.DataflowOp):
        inner = value.op.output_op.values_[value.index]
        if _is_bound_in(inner, value.op) and name_of(inner) == name_of(value):
            return inner
    return value


def _is_bound_in(value: SSAValue, dataflow: relax.DataflowOp) -> bool:
    return isinstance(value, OpResult) and value.op.parent is dataflow.body.first_block


def _item(items: Sequence[Any], index: Any, kind: type[Expr]) -> Any:
    """Return an element, or a slice. Raises `IndexError`, in TVM's words."""
    if isinstance(index, int) and not -len(items) <= index < len(items):
        raise IndexError(f"{kind.__name__} index out of range: {index} of {len(items)}")
    return items[index]


class Id:
    """The identity of a variable, TVM's `var.vid`."""

    __slots__ = ("key", "name_hint")

    def __init__(self, key: SSAValue, name_hint: str):
        self.key = key
        self.name_hint = name_hint

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Id) and self.key is other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Var(Expr):
    """A variable: `Var("x", TensorStructInfo((4,), "float32"))` creates a parameter that has no function yet."""

    __slots__ = ("_untyped",)

    def __init__(self, name_hint: str | Id, struct_info: Any = None, span: object = None):
        self._untyped = struct_info is None
        t = relax.OBJECT if struct_info is None else type_of(struct_info)
        self.point_at(VariableBlock(arg_types=[t]).args[0])
        set_name(self.ssa, name_hint.name_hint if isinstance(name_hint, Id) else name_hint)

    @property
    def name_hint(self) -> str:
        return name_of(self.ssa) or "_"

    @property
    def struct_info_(self) -> StructInfo | None:
        return None if getattr(self, "_untyped", False) and self.ssa.type == relax.OBJECT else self.struct_info

    @property
    def vid(self) -> Id:
        return Id(canonical(self.ssa), self.name_hint)

    def script(self, **options: Any) -> str:
        """Return its name, with `verbose_expr` after its declaration."""
        from ...script.printer.relax_fragment import print_relax_expression

        return print_relax_expression(self.ssa, **options) if options else self.name_hint

    def __repr__(self) -> str:
        return self.name_hint


class DataflowVar(Var):
    """A variable that is local to its dataflow block."""

    __slots__ = ()


class GlobalVar(Expr):
    """A function of a module, by its name; as a value, a reference to it."""

    __slots__ = ("_callable", "name_hint")

    def __init__(self, name_hint: str, type_annot: relax.CallableType | None = None):
        self.name_hint = name_hint
        self._callable = type_annot
        self._value = None
        self._placed = False

    @classmethod
    def on(cls, value: SSAValue) -> Self:
        ref = cast(relax.FunctionRefOp, cast(OpResult, value).op)
        return cls(ref.callee.root_reference.data, cast(relax.CallableType, value.type))

    def _make(self) -> SSAValue:
        t = self._callable or relax.CallableType.of(None, relax.OBJECT, pure=False)
        return relax.FunctionRefOp(self.name_hint, t).result

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalVar) and other.name_hint == self.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)

    def script(self, **options: Any) -> str:
        """Return `I.GlobalVar("f")`."""
        return repr(self)

    def __repr__(self) -> str:
        return f'I.GlobalVar("{self.name_hint}")'


class Constant(Expr):
    """A constant tensor; `.data.numpy()` returns its contents."""

    __slots__ = ()

    def __init__(self, data: Any, struct_info: Any = None, span: object = None):
        self.point_at(const(data, struct_info).ssa)

    @property
    def data(self) -> NDArray:
        """The contents as a runtime array (a copy)."""
        from ...runtime import array

        return array(cast(relax.ConstantOp, self.op_handle).value.numpy())


class ShapeExpr(Expr):
    """A shape value: `ShapeExpr([1, "n"])`; a sequence of ints and symbolic expressions."""

    __slots__ = ("_dims", "_owner")

    def __init__(self, values: Iterable[Any], span: object = None):
        self._dims = tuple(dims_of(values))
        self._owner: SSAValue | None = None
        self._value = None
        self._placed = False

    @classmethod
    def on(cls, value: SSAValue) -> Self:
        view = super().on(value)
        view._dims = tuple(d.data for d in cast(relax.ShapeOp, cast(OpResult, value).op).values_)
        view._owner = value
        return view

    @classmethod
    def of_value(cls, dims: Sequence[SymExpr], value: SSAValue | None) -> Self:
        """Return the shape of a value: its variables belong to the value's function."""
        shape = cls(dims)
        shape._owner = value
        return shape

    def _make(self) -> SSAValue:
        return relax.ShapeOp(self._dims).result

    @property
    def struct_info(self) -> StructInfo:
        return ShapeStructInfo(self._dims)

    @property
    def values(self) -> list[Dim]:
        return [dim_value(d, self._owner) for d in self._dims]

    def __len__(self) -> int:
        return len(self._dims)

    def __getitem__(self, index: Any) -> Any:
        return _item(self.values, index, ShapeExpr)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __eq__(self, other: object) -> bool:
        values = getattr(other, "values", other)
        return isinstance(values, list | tuple) and self.values == list(cast("Sequence[object]", values))

    def __hash__(self) -> int:
        return hash(self._dims)

    def __repr__(self) -> str:
        return f"R.shape({self.values})"


class PrimValue(Expr):
    """A scalar known at compile time, possibly symbolic: `PrimValue("n + 1")`. A float of Python is a float32 and a
    bool an int64, as in TVM; numpy's have their own types.
    """

    __slots__ = ()

    def __init__(self, value: Any, span: object = None):
        constant = value.ssa.owner if isinstance(value, PrimExpr) else None
        if isinstance(constant, ConstOp) and isinstance(constant.value, FloatAttr):
            self.point_at(relax.PrimValueOp(constant.value).result)
            return
        kind = getattr(getattr(value, "dtype", None), "kind", "f" if type(value) is float else "")
        if kind == "f":  # a float, or numpy's of any precision
            dtype = "float32" if type(value) is float else str(cast(Any, value).dtype.name)
            self.point_at(relax.PrimValueOp(float_attr(float(value), dtype_of(dtype))).result)
        elif kind == "b":
            self.point_at(relax.PrimValueOp(Const(int(value), i1)).result)
        else:
            self.point_at(relax.PrimValueOp(dim_of(int(value) if isinstance(value, bool) else value)).result)

    @property
    def value(self) -> Dim | PrimExpr:
        """The scalar: an int, a float constant or a symbolic expression."""
        attr = cast(relax.PrimValueOp, self.op_handle).value
        return dim_value(attr.data) if isinstance(attr, SymAttr) else prim_const(attr.value.data, attr.type)


class StringImm(Expr):
    """A string."""

    __slots__ = ()

    def __init__(self, value: str, span: object = None):
        self.point_at(relax.StringOp(value).result)

    @property
    def value(self) -> str:
        return cast(relax.StringOp, self.op_handle).value.data


class DataTypeImm(Expr):
    """A data type as a value."""

    __slots__ = ()

    def __init__(self, value: str, span: object = None):
        self.point_at(relax.DataTypeOp(None if value in ("", "void") else dtype_of(value)).result)

    @property
    def value(self) -> str:
        """TVM's name of the data type."""
        return cast(relax.DataTypeOp, self.op_handle).text


class NullValue(Expr):
    """The null object."""

    __slots__ = ()

    def __init__(self) -> None:
        self.point_at(relax.NullValueOp().result)


class ExternFunc(Expr):
    """A packed function, by its name: a value, or a member of a module."""

    __slots__ = ()
    private: ClassVar[bool] = False

    def __init__(self, global_symbol: str, struct_info: Any = None, span: object = None):
        t = None if struct_info is None else type_of(struct_info)
        self.point_at(relax.ExternFuncOp(global_symbol, cast("relax.CallableType | None", t)).result)

    @property
    def global_symbol(self) -> str:
        return cast(relax.ExternFuncOp, self.op_handle).global_symbol.data


class Tuple(Expr):
    """A tuple: `Tuple([a, b])`; `fields` are its elements."""

    __slots__ = ("fields",)

    build_field: ClassVar[Callable[[Any], Expr]]
    """Converts a value to an expression; set by `calls`."""

    def __init__(self, fields: Iterable[Any], span: object = None):
        self.fields: list[Expr] = [Tuple.build_field(f) for f in fields]
        self._value = None
        self._placed = False

    @classmethod
    def on(cls, value: SSAValue) -> Self:
        view = super().on(value)
        view.fields = [expr_of(v) for v in cast(OpResult, value).op.operands]
        return view

    def _make(self) -> SSAValue:
        return relax.TupleOp([f.ssa for f in self.fields]).result

    @property
    def struct_info(self) -> StructInfo:
        return TupleStructInfo([f.struct_info for f in self.fields])

    @property
    def struct_info_(self) -> StructInfo | None:
        return None if any(f.struct_info_ is None for f in self.fields) else self.struct_info

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, index: int) -> Expr:
        return _item(self.fields, index, Tuple)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tuple) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(tuple(self.fields))


class TupleGetItem(Expr):
    """A field of a tuple."""

    __slots__ = ()

    def __init__(self, tuple_value: Expr, index: int, span: object = None):
        self.point_at(relax.TupleGetItemOp(tuple_value.ssa, index).result)

    @property
    def tuple_value(self) -> Expr:
        return expr_of(cast(relax.TupleGetItemOp, self.op_handle).tuple_)

    @property
    def index(self) -> int:
        return cast(relax.TupleGetItemOp, self.op_handle).index.data


VIEWS: dict[type[Operation], type[Expr]] = {
    relax.ConstantOp: Constant,
    relax.ShapeOp: ShapeExpr,
    relax.PrimValueOp: PrimValue,
    relax.StringOp: StringImm,
    relax.DataTypeOp: DataTypeImm,
    relax.NullValueOp: NullValue,
    relax.ExternFuncOp: ExternFunc,
    relax.TupleOp: Tuple,
    relax.TupleGetItemOp: TupleGetItem,
    relax.FunctionRefOp: GlobalVar,
}


def expr_of(value: SSAValue) -> Expr:
    """Return the handle on a value at its uses: a variable, or an unnamed leaf or tuple."""
    if type(value) is not OpResult:  # isinstance is slow for xDSL's classes, and this is called very often
        return Var.on(value)
    op = value.op
    if op.parent is None or relax.is_inline(op):
        return bound_expr(op)
    around = op.parent_op()
    if not isinstance(around, relax.DataflowOp):
        return Var.on(value)
    return (Var if _is_output(value, around) else DataflowVar).on(value)


def _is_output(value: OpResult, dataflow: relax.DataflowOp) -> bool:
    """Return whether an output of the dataflow block has the name of this inner value."""
    last = cast(Block, value.op.parent).last_op
    if type(last) is not relax.OutputOp:
        return False
    # A block has few outputs, a value may have thousands of uses.
    return any(
        inner is value and name_of(dataflow.results[i]) == name_of(value) for i, inner in enumerate(last.operands)
    )


@cache
def _view_of(kind: type[Operation]) -> type[Expr] | None:
    """Return the handle class for an op class, or None if it depends on more than the class."""
    return Expr.call_view if issubclass(kind, relax.Operator | relax.CallBase) else VIEWS.get(kind)


def bound_expr(op: Operation) -> Expr:
    """Return the handle on an op at its binding: a `Call`, `Tuple`, `If`, `Function`, …"""
    view = _view_of(type(op))
    if view is not None:
        return view.on(op.results[0])
    if isinstance(op, relax.BindOp | relax.MatchCastOp):
        return expr_of(op.value)
    raise TiraxError(f"{op.name} is no Relax expression")


def _kind(expr: Expr) -> type[Expr]:
    return Var if isinstance(expr, Var) else type(expr)


_DEFAULT_DTYPES = {"int64": "int32", "float64": "float32"}


def const(value: Any, dtype: Any = None) -> Constant:
    """Return a constant tensor from a number, an array or anything that numpy converts.

    Without a dtype, 64-bit floats become float32 and 64-bit integers int32, as in TVM; `dtype` may be struct info,
    which must match. Raises `ShapeError`, `DTypeError`, and the errors of `runtime.from_dlpack`.
    """
    import numpy as np

    array = as_ndarray(value) if is_tensor(value) else np.asarray(value)
    if isinstance(dtype, TensorStructInfo):
        _check_shape(array.shape, dtype)
        dtype = dtype.dtype or None
    if dtype is None:
        name = str(array.dtype)
        dtype = _DEFAULT_DTYPES.get(name, name)
    element = dtype if isinstance(dtype, Attribute) else dtype_of(str(dtype))
    return Constant.on(relax.ConstantOp.of(array, element).result)


def _check_shape(shape: tuple[int, ...], info: TensorStructInfo) -> None:
    if info.shape is not None and info.shape.values != list(shape):
        raise ShapeError("the contents of a constant do not fit", expected=info.shape.values, found=list(shape))


TensorStructInfo.shape_expr = ShapeExpr.of_value

TensorStructInfo.shape_var = Var

__all__ = [
    "Constant",
    "DataTypeImm",
    "DataflowVar",
    "Expr",
    "ExternFunc",
    "GlobalVar",
    "Id",
    "NullValue",
    "PrimValue",
    "ShapeExpr",
    "StringImm",
    "Tuple",
    "TupleGetItem",
    "Var",
    "bound_expr",
    "canonical",
    "const",
    "expr_of",
]
