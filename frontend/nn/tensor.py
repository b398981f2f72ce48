"""Values of a model under construction: tensors, parameters, objects and effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...diagnostics import DTypeError, ShapeError, TiraxError
from ...dialects.dtypes import dtype_of
from ...handles.relax.calls import binary, call_operator, to_expr
from ...handles.relax.expr import Expr, ShapeExpr, TupleGetItem, Var, const
from ...handles.struct_info import ObjectStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from ...handles.tir.dims import Dim
from ..block_builder import BlockBuilder

if TYPE_CHECKING:
    from ...runtime import NDArray

_default_dtype = ["float32"]


def get_default_dtype() -> str:
    """Return the default dtype of parameters."""
    return _default_dtype[-1]


def set_default_dtype(dtype: str) -> None:
    """Set the default dtype of parameters. Raises `DTypeError` for an invalid dtype."""
    dtype_of(dtype)
    _default_dtype[-1] = dtype


def _operator(name: str, result: str | None = None, swapped: bool = False) -> Callable[[Tensor, Any], Tensor]:
    def apply(self: Tensor, other: Any) -> Tensor:
        operands = (other, self) if swapped else (self, other)
        return emit_binary(name, *operands, result or name)

    apply.__doc__ = f"`op.{name}`{' with the operands exchanged' if swapped else ''}."
    return apply


class Tensor:
    """A tensor of the model under construction. Operators emit bindings into the exported function."""

    def __init__(self, *, _expr: Expr):
        self._expr: Expr = _expr

    @property
    def expr_handle(self) -> Expr:
        """The underlying Relax expression."""
        return self._expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """Return a constant tensor."""
        return Tensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: int | float, dtype: str) -> Tensor:
        """Return a constant of rank 0."""
        return Tensor(_expr=const(data, dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """Return a variable with a struct info."""
        return Tensor(_expr=Var(name, struct_info))

    @staticmethod
    def placeholder(shape: Sequence[Any], dtype: str, name: str = "tensor") -> Tensor:
        """Return a variable with a shape and dtype, for example to describe the result of `op.extern`."""
        return Tensor.from_struct_info(TensorStructInfo(shape, dtype), name)

    @property
    def _info(self) -> TensorStructInfo:
        return cast(TensorStructInfo, self._expr.struct_info)

    @property
    def shape(self) -> list[Dim]:
        """The extents. Raises `ShapeError` if they are unknown."""
        shape = cast("ShapeExpr | None", self._info.shape)
        if shape is None:
            raise ShapeError("the shape of the tensor is not known", found=self._info)
        return shape.values

    @property
    def ndim(self) -> int:
        return self._info.ndim

    @property
    def dtype(self) -> str:
        return self._info.dtype

    def __repr__(self) -> str:
        shape = "None" if self._info.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f'Tensor({shape}, "{self.dtype}")'

    __add__ = _operator("add")
    __radd__ = _operator("add")
    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", swapped=True)
    __mul__ = _operator("multiply", "mul")
    __rmul__ = _operator("multiply", "mul")
    __truediv__ = _operator("divide")
    __rtruediv__ = _operator("divide", swapped=True)
    __matmul__ = _operator("matmul")
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    maximum = _operator("maximum")
    minimum = _operator("minimum")

    def __neg__(self) -> Tensor:
        return emit("negative", self, name="neg")

    def astype(self, dtype: str) -> Tensor:
        """Return the tensor converted to `dtype`."""
        return self if self.dtype == dtype else emit("astype", self, dtype, name="astype")

    def reshape(self, *shape: Any) -> Tensor:
        """Return the tensor in another shape."""
        dims = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return emit("reshape", self, tuple(dims), name="reshape")

    def permute_dims(self, *axes: Any) -> Tensor:
        """Permute the dimensions, or reverse them if no axes are passed."""
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return permute_dims(self, list(order) or None)

    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Repeat each element `repeats` times along `axis` (None: of the flattened tensor)."""
        return emit("repeat", self, repeats=repeats, axis=axis, name="repeat")


class Parameter(Tensor):
    """A parameter of a module: `Parameter((128, 784), "float32")`; `data` holds its contents, if any."""

    def __init__(self, shape: Sequence[Any], dtype: str | None = None):
        super().__init__(_expr=Var("param", TensorStructInfo(tuple(shape), dtype or get_default_dtype())))
        self._data: NDArray | None = None
        self.attrs: dict[str, Any] = {}
        """What programs note about it."""
        self.lacks_contents_as: str | None = None
        """Its name in a function that would need its contents as constants, where it has none."""

    @property
    def expr_handle(self) -> Expr:
        """The underlying Relax expression. Raises `TiraxError` in a function that cannot have it."""
        if self.lacks_contents_as is not None:
            raise TiraxError(
                f"the parameter {self.lacks_contents_as} has no contents",
                hint='load_state_dict first, or param_mode="plain" or "packed"',
            )
        return self._expr

    @property
    def data(self) -> NDArray | None:
        """The contents, or None if there are none."""
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        from ...runtime import array

        contents = None if value is None else array(value)
        if contents is not None and not _fits(self.shape, contents.shape):
            raise ShapeError("contents do not fit the parameter", expected=self.shape, found=list(contents.shape))
        if contents is not None and str(contents.dtype) != self.dtype:
            contents = array(contents, dtype=self.dtype)
        self._data = contents

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of a parameter without contents. Raises `TiraxError` if it has contents."""
        if dtype is None:
            return
        if self._data is not None:
            raise TiraxError("the parameter has contents already", hint="change the dtype before loading them")
        self._expr = Var("param", TensorStructInfo(self.shape, dtype))


def _fits(dims: Sequence[Dim], extents: Sequence[int]) -> bool:
    return len(dims) == len(extents) and all(
        not isinstance(w, int) or w == f for w, f in zip(dims, extents, strict=True)
    )


class Object:
    """A value other than a tensor, such as the state of a cache: the `op.wrap_nested` result of a packed function."""

    def __init__(self, *, _expr: Expr, _name: str):
        if not isinstance(_expr.struct_info, ObjectStructInfo):
            raise DTypeError("not an object", expected="struct info Object", found=_expr.struct_info)
        self._expr: Expr = _expr if isinstance(_expr, Var) else current_builder().emit(_expr, _name)

    @property
    def expr_handle(self) -> Expr:
        """The underlying Relax expression."""
        return self._expr


class Effect:
    """A state passed through the functions of a model, as an additional argument and result.

    During export the state is a variable: `create` makes the argument, `set_state` assigns the state, and
    `finalize` returns its final value. `emit_init` builds its initial value in the function
    `_initialize_effect`.
    """

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[Var]:
        """Emit the initial value of the state into the current function, and return it."""
        raise NotImplementedError

    def create(self, name_hint: str) -> list[Var]:
        """Return new variables for the state, the arguments of a function."""
        raise NotImplementedError

    def set_state(self, state_vars: Sequence[Expr]) -> None:
        """Set the current state."""
        raise NotImplementedError

    def finalize(self) -> list[Expr]:
        """Return the final state and clear it, at the end of a function."""
        raise NotImplementedError

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the state, if it has one."""


def current_builder() -> BlockBuilder:
    """Return the builder of the exported function. Raises `TiraxError` outside of an export."""
    builder = BlockBuilder.current()
    if builder is None:
        raise TiraxError("operators of nn emit into a function", hint="they are called while a module is exported")
    return builder


def wrap_nested(expr: Any, name: str) -> Any:
    """Bind an expression to a variable called like `name`, and return a `Tensor`, an `Object`, or a tuple of them.

    A variable is returned as it is. Raises `TiraxError` outside of an export, and `DTypeError` for other
    values.
    """
    builder = current_builder()
    value = to_expr(expr)
    bound = value if isinstance(value, Var) else builder.emit(value, name)
    return _wrap(bound, bound.struct_info, name)


def _wrap(bound: Var, info: StructInfo, name: str) -> Any:
    if isinstance(info, TupleStructInfo):
        return tuple(wrap_nested(TupleGetItem(bound, i), f"{name}_{i}") for i in range(len(info.fields)))
    if isinstance(info, TensorStructInfo):
        return Tensor(_expr=bound)
    if isinstance(info, ObjectStructInfo):
        return Object(_expr=bound, _name=name)
    raise DTypeError(f"the result of {name} is neither tensor nor object", found=info)


def unwrap(value: Any) -> Any:
    """Return the expression of a `Tensor` or `Object`, also in lists and tuples; other values are unchanged."""
    if isinstance(value, Tensor | Object):
        return value.expr_handle
    if isinstance(value, tuple | list):
        return [unwrap(v) for v in cast(Iterable[Any], value)]
    return value


def emit(operator: str, *args: Any, name: str, **attrs: Any) -> Any:
    """Bind a call of the Relax operator `relax.<operator>` to a variable called like `name`."""
    call = call_operator(f"relax.{operator}", *map(unwrap, args), **{k: unwrap(v) for k, v in attrs.items()})
    return wrap_nested(call, name)


def emit_binary(operator: str, a: Any, b: Any, name: str) -> Tensor:
    """Like `emit`, for a binary operator; either operand may be a number."""
    return wrap_nested(binary(operator, unwrap(a), unwrap(b)), name)


def permute_dims(x: Tensor, axes: Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Permute the dimensions of x, or reverse them if `axes` is None."""
    if name is None:
        hint = x.expr_handle.name_hint if isinstance(x.expr_handle, Var) else ""
        name = hint.replace("linear", "matmul") if "linear" in hint else "permute_dims"
    return emit("permute_dims", x, axes, name=name)
