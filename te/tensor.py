"""Tensors of the tensor-expression language and the operations that define them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from ..diagnostics import ShapeError, TiraxError
from ..dialects.dtypes import dtype_name, dtype_of
from ..dialects.names import set_name
from ..dialects.sym.expr import Const, SymExpr
from ..dialects.tir import BufferType, LoadOp
from ..handles.tir.prim_expr import (
    PrimExpr,
    SizeVar,
    as_sym,
    children,
    const,
    convert,
    from_sym,
    load,
    placeholder_value,
)

if TYPE_CHECKING:
    from .reduction import Reduce
    from .statements import ExternOp

DimLike = int | PrimExpr | SymExpr
_INDEX_TYPE: ContextVar[IntegerType] = ContextVar("index_type", default=i32)
_TAG: ContextVar[str] = ContextVar("tag", default="")


@contextmanager
def index_type(dtype: IntegerType) -> Iterator[None]:
    """Inside, Python integers in shapes and domains are of `dtype` (int32 outside)."""
    token = _INDEX_TYPE.set(dtype)
    try:
        yield
    finally:
        _INDEX_TYPE.reset(token)


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Inside, tensors get `tag`; also a decorator (`@te.tag_scope("dense")`).

    Raises `TiraxError` within another tag scope.
    """
    if _TAG.get():
        raise TiraxError("a tag scope stands in another", expected="one tag", found=f"{tag} in {_TAG.get()}")
    token = _TAG.set(tag)
    try:
        yield
    finally:
        _TAG.reset(token)


def _tag(own: str) -> str:
    """The tag of a tensor that is made now. Raises `TiraxError` for one of its own inside of a tag scope."""
    around = _TAG.get()
    if own and around:
        raise TiraxError("a tensor has a tag already", expected=around, found=own, hint="leave out one of both")
    return own or around


def dim(value: DimLike) -> SymExpr:
    """An extent as a symbolic expression. Raises `TiraxError` where it is computed from data."""
    if isinstance(value, SymExpr):
        return value
    if not isinstance(value, PrimExpr):
        return Const(int(value), _INDEX_TYPE.get())
    expr = as_sym(value)
    for v in expr.free_vars():
        if not isinstance(v.name, str):
            raise TiraxError("an extent depends on a value that is known only at run time", found=str(value))
    return expr


def shape_dims(shape: Any) -> list[SymExpr]:
    """A shape given as one extent or a sequence of them."""
    return [dim(d) for d in (shape if isinstance(shape, list | tuple) else (shape,))]


class IterVar(PrimExpr):
    """An axis: a variable that runs from `min`, over `extent` values."""

    __slots__ = ("extent", "is_reduction", "min", "name")

    def __init__(self, name: str, min_: SymExpr, extent: SymExpr, is_reduction: bool):
        super().__init__(placeholder_value(extent.dtype, name))
        self.name, self.min, self.extent, self.is_reduction = name, min_, extent, is_reduction

    @property
    def var(self) -> PrimExpr:
        return self


def reduce_axis(dom: tuple[DimLike, DimLike], name: str = "rv") -> IterVar:
    """An axis to reduce over, from `dom[0]` up to `dom[1]` (exclusive)."""
    low, high = dim(dom[0]), dim(dom[1])
    return IterVar(name, Const(0, high.dtype) if low.constant == 0 else low, high - low, is_reduction=True)


def var(name: str = "tindex", dtype: str = "int32") -> SizeVar:
    """A symbolic variable, for shapes and as a parameter."""
    return SizeVar(name, dtype)


def size_var(name: str = "size", dtype: str = "int32") -> SizeVar:
    """A symbolic variable that is not negative."""
    return SizeVar(name, dtype)


@dataclass(eq=False)
class PlaceholderOp:
    """An input."""

    name: str
    input_tensors: tuple[Tensor, ...] = ()


@dataclass(eq=False)
class ComputeOp:
    """Tensors defined element by element: `body` over `axis`, a reduction or one value for each output."""

    name: str
    axis: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...] | Reduce
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    input_tensors: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        return () if isinstance(self.body, tuple) else self.body.axes


_TENSORS: WeakValueDictionary[SSAValue, Tensor] = WeakValueDictionary()


class Tensor:
    """A tensor: `A[i, j]` (or `A(i, j)`) is an element; `shape`, `dtype`, `name`, `op`.

    Arithmetic on whole tensors broadcasts (`topi`).
    """

    __slots__ = ("__weakref__", "buffer", "dims", "name", "op", "value_index")

    def __init__(
        self,
        name: str,
        dims: Sequence[SymExpr],
        dtype: Attribute,
        op: PlaceholderOp | ComputeOp | ExternOp,
        index: int = 0,
    ):
        self.name, self.op, self.value_index = name, op, index
        self.dims = tuple(dims)
        self.buffer: SSAValue = placeholder_value(BufferType.of(dims, dtype), None)
        set_name(self.buffer, name)
        _TENSORS[self.buffer] = self

    @property
    def type(self) -> Attribute:
        """The dtype as a type."""
        return self.buffer_type.dtype

    @property
    def buffer_type(self) -> BufferType:
        t = self.buffer.type
        if not isinstance(t, BufferType):
            raise TypeError(f"the tensor {self.name} has no buffer")
        return t

    @property
    def dtype(self) -> str:
        """The dtype by TVM's name."""
        return dtype_name(self.type)

    @property
    def shape(self) -> tuple[PrimExpr, ...]:
        """The extents as expressions."""
        return tuple(from_sym(d) for d in self.dims)

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def __call__(self, *indices: Any) -> PrimExpr:
        """The element at `indices`, one for each dimension. Raises `ShapeError` for another number of them."""
        if len(indices) != len(self.dims):
            raise ShapeError(
                f"the tensor '{self.name}' has {len(self.dims)} dimensions", expected=len(self.dims), found=len(indices)
            )
        exprs = [
            i if isinstance(i, PrimExpr) else const(int(i), d.dtype) for i, d in zip(indices, self.dims, strict=True)
        ]
        return load(self.buffer, exprs)

    def __getitem__(self, indices: Any) -> Any:
        """The element at `indices`; with fewer of them than dimensions a slice that takes the rest."""
        given = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        return self(*given) if len(given) >= len(self.dims) else TensorSlice(self, given)

    def __repr__(self) -> str:
        return f"Tensor(shape=[{', '.join(map(str, self.dims))}], op.name={self.op.name})"


@dataclass(frozen=True, eq=False)
class TensorSlice:
    """A tensor with its first indices given: `A[i]`, where `A[i][j]` is an element."""

    tensor: Tensor
    indices: tuple[Any, ...]

    def __getitem__(self, indices: Any) -> Any:
        more = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        return self.tensor[(*self.indices, *more)]


def _operator(name: str, swapped: bool = False) -> Callable[[Tensor, Any], Any]:
    def apply(self: Tensor, other: Any) -> Any:
        from .. import topi

        build = getattr(topi, name)
        return build(other, self) if swapped else build(self, other)

    return apply


for _symbol, _name in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide")):
    setattr(Tensor, f"__{_symbol}__", _operator(_name))
    setattr(Tensor, f"__r{_symbol}__", _operator(_name, swapped=True))


def placeholder(
    shape: Sequence[DimLike] | DimLike, dtype: str | Attribute | None = None, name: str = "placeholder"
) -> Tensor:
    """An input tensor (float32 where no dtype is given)."""
    dims = shape_dims(shape)
    element = dtype_of(dtype or "float32") if not isinstance(dtype, Attribute) else dtype
    return Tensor(name, dims, element, PlaceholderOp(name))


def compute(
    shape: Sequence[DimLike] | DimLike,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """A tensor of `shape` whose element at (i, j, …) is `fcompute(i, j, …)`: a value or a reduction.

    A tuple of values makes a tuple of tensors. Axes are named by the parameters of `fcompute`, those of `*args` by
    `varargs_names`, else `i0`, `i1`, … Raises `ShapeError` where shape and parameters do not agree.
    """
    dims = shape_dims(shape)
    names = _axis_names(fcompute, len(dims), varargs_names)
    axes = tuple(IterVar(n, Const(0, d.dtype), d, False) for n, d in zip(names, dims, strict=True))
    body = _as_body(fcompute(*axes))
    types = [e.type for e in body] if isinstance(body, tuple) else body.types
    op = ComputeOp(name, axes, body, _tag(tag), dict(attrs or {}))
    suffixes = [""] if len(types) == 1 else [f"_v{i}" for i in range(len(types))]
    outputs = tuple(Tensor(name + s, dims, t, op, i) for i, (s, t) in enumerate(zip(suffixes, types, strict=True)))
    op.outputs = outputs
    op.input_tensors = _inputs(body)
    return outputs[0] if len(outputs) == 1 else outputs


def _axis_names(function: Callable[..., Any], rank: int, varargs_names: Sequence[str] | None) -> list[str]:
    kinds = inspect.Parameter
    parameters = list(inspect.signature(function).parameters.values())
    named = [p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if any(p.kind is kinds.VAR_POSITIONAL for p in parameters) and len(named) <= rank:
        rest = rank - len(named)
        return [*named, *(varargs_names or [f"i{i}" for i in range(rest)])][:rank]
    if not named and rank == 1:
        named = ["i0"]
    if len(named) != rank:
        raise ShapeError(
            "te.compute: the function takes another number of indices", expected=f"{rank} indices", found=len(named)
        )
    return named


def _as_body(value: Any) -> tuple[PrimExpr, ...] | Reduce:
    from .reduction import Reduce

    if isinstance(value, Reduce):
        return value
    if isinstance(value, list | tuple):
        return tuple(_scalar(v) for v in value)
    return (_scalar(value),)


def _scalar(value: Any) -> PrimExpr:
    from .reduction import Reduce

    if isinstance(value, Tensor):
        return value()
    if isinstance(value, Reduce):
        raise TiraxError(
            "te.compute: a reduction among several values", hint="make each a tensor of its own, or use te.comm_reducer"
        )
    return convert(value)


def _inputs(body: tuple[PrimExpr, ...] | Reduce) -> tuple[Tensor, ...]:
    """The tensors that a body reads, in order of first occurrence."""
    roots = body if isinstance(body, tuple) else (*body.sources, *(body.init or ()))
    found: dict[Tensor, None] = {}
    seen: set[SSAValue] = set()
    stack = [e.ssa for e in reversed(roots)]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, LoadOp) and value.owner.buffer in _TENSORS:
            found[_TENSORS[value.owner.buffer]] = None
        stack.extend(reversed(children(value)))
    return tuple(found)
