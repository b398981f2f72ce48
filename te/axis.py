"""Extents and axes of tensor expressions: symbolic sizes, and the variables that iterate over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from xdsl.dialects.builtin import IntegerType, i32

from ..diagnostics import TiraxError
from ..dialects.sym.expr import Const, SymExpr
from ..handles.array import Array
from ..handles.tir.domains import IterVar as Thread
from ..handles.tir.domains import Range
from ..handles.tir.placeholders import placeholder_value, with_names
from ..handles.tir.prim_expr import PrimExpr, as_sym
from ..handles.tir.variables import SizeVar, Var

DimLike = int | PrimExpr | SymExpr
_INDEX_TYPE: ContextVar[IntegerType] = ContextVar("index_type", default=i32)


@contextmanager
def index_type(dtype: IntegerType) -> Iterator[None]:
    """Give Python integers in shapes and domains the type `dtype` inside the context (int32 outside)."""
    token = _INDEX_TYPE.set(dtype)
    try:
        yield
    finally:
        _INDEX_TYPE.reset(token)


def dim(value: DimLike) -> SymExpr:
    """Return an extent as a symbolic expression. Raises `TiraxError` if it is computed from data."""
    if isinstance(value, SymExpr):
        return value
    if not isinstance(value, PrimExpr):
        return Const(int(value), _INDEX_TYPE.get())
    expr = with_names(as_sym(value))
    for v in expr.free_vars():
        if not isinstance(v.name, str):
            raise TiraxError("an extent depends on a value that is known only at run time", found=str(value))
    return expr


def shape_dims(shape: Any) -> list[SymExpr]:
    """Return the extents of a shape, which is one extent or a sequence of them."""
    return [dim(d) for d in (shape if isinstance(shape, Array | list | tuple) else (shape,))]


class IterVar(PrimExpr):
    """An axis: a variable that starts at `min` and takes `extent` values."""

    __slots__ = ("extent", "is_reduction", "min", "name")

    def __init__(self, name: str, min_: SymExpr, extent: SymExpr, is_reduction: bool):
        super().__init__(placeholder_value(extent.dtype, name))
        self.name, self.min, self.extent, self.is_reduction = name, min_, extent, is_reduction

    @property
    def var(self) -> PrimExpr:
        return self


def reduce_axis(dom: tuple[DimLike, DimLike] | Range, name: str = "rv") -> IterVar:
    """Return an axis to reduce over: a `Range`, or the half-open interval from `dom[0]` to `dom[1]`."""
    if isinstance(dom, Range):
        return IterVar(name, dim(dom.min), dim(dom.extent), is_reduction=True)
    low, high = dim(dom[0]), dim(dom[1])
    return IterVar(name, Const(0, high.dtype) if low.constant == 0 else low, high - low, is_reduction=True)


def thread_axis(
    dom: Range | tuple[Any, Any] | str | None = None, tag: str = "", name: str = "", span: object = None
) -> Thread:
    """Return the iterator over the threads of a tag: `thread_axis("threadIdx.x")`, or with a domain before the tag.

    Raises `TiraxError` without a tag.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise TiraxError("a thread axis has a tag", expected="thread_axis('threadIdx.x')")
    return Thread(Range(*dom) if isinstance(dom, tuple) else dom, Var(name or tag), Thread.ThreadIndex, tag)


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """Return a variable that may be negative; in shapes and as a parameter it is the symbolic variable of that name."""
    return Var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32") -> SizeVar:
    """Return a symbolic variable that is not negative."""
    return SizeVar(name, dtype)
