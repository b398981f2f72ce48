"""Tensors of the tensor-expression language, and the operations that define them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from xdsl.ir import Attribute, SSAValue

from ..diagnostics import ShapeError, TiraxError
from ..dialects.dtypes import dtype_name, dtype_of
from ..dialects.names import set_name
from ..dialects.sym.expr import Const, SymExpr
from ..dialects.tir import BufferType, LoadOp
from ..handles.tir.expr_trees import children
from ..handles.tir.placeholders import placeholder_value
from ..handles.tir.prim_expr import PrimExpr, const, convert, from_sym, load
from .axis import DimLike, IterVar, shape_dims
from .reduction import Reduce

_TAG: ContextVar[str] = ContextVar("tag", default="")


class NestedTagError(TiraxError, ValueError):
    """A tag scope stands in another one."""


@contextmanager
def tag_scope(tag: str) -> Iterator[None]:
    """Give tensors `tag` inside the context; also a decorator (`@te.tag_scope("dense")`).

    Raises `NestedTagError` inside another tag scope.
    """
    if _TAG.get():
        raise NestedTagError("a tag scope stands in another", expected="one tag", found=f"{tag} in {_TAG.get()}")
    token = _TAG.set(tag)
    try:
        yield
    finally:
        _TAG.reset(token)


def _tag(own: str) -> str:
    """Return the tag of a new tensor. Raises `TiraxError` for an explicit tag inside a tag scope."""
    around = _TAG.get()
    if own and around:
        raise TiraxError("a tensor has a tag already", expected=around, found=own, hint="leave out one of both")
    return own or around


@dataclass(eq=False)
class PlaceholderOp:
    """An input tensor."""

    name: str
    input_tensors: tuple[Tensor, ...] = ()


@dataclass(eq=False)
class ComputeOp:
    """Tensors defined element by element: `body` over `axis`, which is a reduction or one value for each output."""

    name: str
    axis: tuple[IterVar, ...]
    body: tuple[PrimExpr, ...] | Reduce
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    input_tensors: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()

    def output(self, index: int) -> Tensor:
        """Return output number `index`."""
        return self.outputs[index]

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        return () if isinstance(self.body, tuple) else self.body.axes


@dataclass(eq=False)
class ExternOp:
    """Tensors filled by `body`, which gets a `te.extern_body.Statements`, in the block `name`.

    The body may read `input_tensors` and its own tensors. The placeholders are the buffers for both in a tensor
    function; those in `at_offsets` may begin at any offset of their memory.
    """

    name: str
    input_tensors: tuple[Tensor, ...]
    body: Callable[[Any], None]
    outputs: tuple[Tensor, ...] = ()
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    input_placeholders: tuple[Any, ...] = ()
    output_placeholders: tuple[Any, ...] = ()
    at_offsets: tuple[Tensor, ...] = ()


@dataclass(eq=False)
class ScanOp:
    """Tensors whose rows are computed from the rows before: the first ones by `init`, the others by `update`.

    The `state` placeholders represent the tensors themselves in `update`.
    """

    name: str
    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state_placeholder: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...] = ()
    tag: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: tuple[Tensor, ...] = ()

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return (*self.init, *self.update)

    def output(self, index: int) -> Tensor:
        """Return output number `index`."""
        return self.outputs[index]


_TENSORS: WeakValueDictionary[SSAValue, Tensor] = WeakValueDictionary()


class Tensor:
    """A tensor: `A[i, j]` (or `A(i, j)`) is an element; `shape`, `dtype`, `name`, `op`.

    Arithmetic on tensors broadcasts (`topi`).
    """

    __slots__ = ("__weakref__", "buffer", "dims", "name", "op", "value_index")

    def __init__(
        self,
        name: str,
        dims: Sequence[SymExpr],
        dtype: Attribute,
        op: PlaceholderOp | ComputeOp | ExternOp | ScanOp,
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
        """The dtype by its TVM name."""
        return dtype_name(self.type)

    @property
    def shape(self) -> tuple[PrimExpr, ...]:
        """The extents as expressions."""
        return tuple(from_sym(d) for d in self.dims)

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def __call__(self, *indices: Any) -> PrimExpr:
        """Return the element at `indices`, one for each dimension. Raises `ShapeError` for another number."""
        if len(indices) != len(self.dims):
            raise ShapeError(
                f"the tensor '{self.name}' has {len(self.dims)} dimensions", expected=len(self.dims), found=len(indices)
            )
        exprs = [
            i if isinstance(i, PrimExpr) else const(int(i), d.dtype) for i, d in zip(indices, self.dims, strict=True)
        ]
        return load(self.buffer, exprs)

    def __getitem__(self, indices: Any) -> Any:
        """Return the element at `indices`, or a slice that expects the remaining indices."""
        index = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        return self(*index) if len(index) >= len(self.dims) else TensorSlice(self, index)

    def __repr__(self) -> str:
        return f"Tensor(shape=[{', '.join(map(str, self.dims))}], op.name={self.op.name})"


@dataclass(frozen=True, eq=False)
class TensorSlice:
    """A tensor with some leading indices fixed: `A[i]`, where `A[i][j]` is an element."""

    tensor: Tensor
    indices: tuple[Any, ...]

    def __getitem__(self, indices: Any) -> Any:
        more = tuple(indices) if isinstance(indices, tuple | list) else (indices,)
        return self.tensor[(*self.indices, *more)]


class _OfTensors(type):
    def __instancecheck__(cls, instance: object) -> bool:
        owner = instance.ssa.owner if isinstance(instance, PrimExpr) else None
        return isinstance(owner, LoadOp) and owner.buffer in _TENSORS


class ProducerLoad(metaclass=_OfTensors):
    """An element of a tensor: `ProducerLoad(A, [i, j])` is `A[i, j]`.

    Without indices, the only element of a scalar tensor.
    """

    def __new__(cls, producer: Tensor, indices: Sequence[Any], span: object = None) -> Any:
        return producer(*indices)


def placeholder(
    shape: Sequence[DimLike] | DimLike, dtype: str | Attribute | None = None, name: str = "placeholder"
) -> Tensor:
    """Return an input tensor (float32 by default)."""
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
    """Return a tensor of `shape` whose element at (i, j, …) is `fcompute(i, j, …)`: a value or a reduction.

    A tuple of values defines a tuple of tensors. Axes are named after the parameters of `fcompute`, those of `*args`
    after `varargs_names`, otherwise `i0`, `i1`, … Raises `ShapeError` if the shape and the parameters do not agree.
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


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return tensors of the shapes of `state_placeholder` with the first rows `init` and the later rows `update`.

    In `update` the placeholders represent the rows computed so far. Like TVM's, the result is only a description:
    `create_prim_func` rejects it. Raises `ShapeError` if the three differ in number, rank, dtype or shape.
    """
    first, rest, states = ((t,) if isinstance(t, Tensor) else tuple(t) for t in (init, update, state_placeholder))
    if not len(first) == len(rest) == len(states):
        raise ShapeError("te.scan: as many beginnings, updates and states are needed", found=[len(first), len(rest)])
    for tensors in zip(first, rest, states, strict=True):
        if len({(t.dims[1:], t.type) for t in tensors}) != 1 or rest[0].dims[0] != states[0].dims[0]:
            raise ShapeError("te.scan: beginning, update and state are of one shape, but for rows", found=tensors)
    op = ScanOp(name, first, rest, states, tuple(inputs or ()), _tag(tag), dict(attrs or {}))
    suffixes = [""] if len(states) == 1 else [f"_v{i}" for i in range(len(states))]
    named = enumerate(zip(suffixes, states, strict=True))
    op.outputs = tuple(Tensor(name + suffix, state.dims, state.type, op, i) for i, (suffix, state) in named)
    return op.outputs[0] if len(states) == 1 else list(op.outputs)


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
    if isinstance(value, Reduce):
        return value
    if isinstance(value, list | tuple):
        return tuple(_scalar(v) for v in value)
    return (_scalar(value),)


def _scalar(value: Any) -> PrimExpr:
    if isinstance(value, Tensor):
        return value()
    if isinstance(value, Reduce):
        raise TiraxError(
            "te.compute: a reduction among several values", hint="make each a tensor of its own, or use te.comm_reducer"
        )
    return convert(value)


def _inputs(body: tuple[PrimExpr, ...] | Reduce) -> tuple[Tensor, ...]:
    """Return the tensors that a body reads, in order of first occurrence."""
    roots = body if isinstance(body, tuple) else (*body.sources, *(body.init or ()))
    tensors: dict[Tensor, None] = {}
    seen: set[SSAValue] = set()
    stack = [e.ssa for e in reversed(roots)]
    while stack:
        value = stack.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value.owner, LoadOp) and value.owner.buffer in _TENSORS:
            tensors[_TENSORS[value.owner.buffer]] = None
        stack.extend(reversed(children(value)))
    return tuple(tensors)
