"""The builder interface of the converters: bindings, and queries of values."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from xdsl.ir import OpResult

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr, Var, as_expr, product
from ...handles.relax.expr import Constant, Expr, PrimValue, ShapeExpr, const
from ...handles.struct_info import TensorStructInfo
from ..block_builder import BlockBuilder
from ..importing.random_numbers import RandomNumbers
from ..importing.relax_operators import R

Extent = int | SymExpr
Scalar = bool | int | float | SymExpr


class Sizes(Protocol):
    """The symbols of a graph (`Symbols`)."""

    def extent(self, size: Any) -> Extent:
        """Return the extent of a symbolic number of the graph."""
        ...

    def define(self, number: Any, extent: Extent) -> None:
        """Bind a symbol of the graph to an extent."""
        ...


class Emitter:
    """Binds expressions in the current function.

    `node` is the converted node of the graph, or None; `symbols` are those of the graph; `random` provides seeds.
    """

    def __init__(
        self,
        builder: BlockBuilder,
        symbols: Sizes | None = None,
        random: RandomNumbers | None = None,
    ):
        self.builder = builder
        self.random = random or RandomNumbers(builder)
        self.node: Any = None
        self._symbols = symbols
        self._extent = None if symbols is None else symbols.extent

    def result_shape(self) -> list[Extent] | None:
        """Return the traced extents of the single result, or None if they are unknown."""
        value: Any = None if self.node is None else self.node.meta.get("val")
        if self._extent is None or not hasattr(value, "shape"):
            return None
        return [self._extent(s) for s in value.shape]

    def traced_shape(self, index: int) -> list[Extent] | None:
        """Return the traced extents of one of several results, or None if they are unknown."""
        values: Any = None if self.node is None else self.node.meta.get("val")
        if self._extent is None or values is None:
            return None
        return [self._extent(s) for s in values[index].shape]

    def matched(self, x: Expr, shape: Sequence[Extent] | None) -> Expr:
        """Return a tensor of known rank with these extents, which the run checks, or new symbolic sizes."""
        extents = [self.fresh_size() for _ in range(tensor_type(x).rank or 0)] if shape is None else shape
        if tensor_type(x).dims == tuple(map(as_expr, extents)):
            return x
        return self.builder.match_cast(self.bound(x), TensorStructInfo(extents, dtype_of(x)))

    def as_traced(self, x: Any) -> Any:
        """Return a result with its traced extents if it has none, or if they define new symbols."""
        t = x.ssa.type if isinstance(x, Expr) else None
        shape = self.result_shape() if isinstance(t, relax.TensorType) else None
        if shape is None or not isinstance(t, relax.TensorType) or t.element is None or t.rank != len(shape):
            return x
        if dtype_of(x) == "float64" and str(self.node.meta["val"].dtype) == "torch.float32":
            x = cast_to(x, "float32")  # a number of float64 that item() reads does not promote
        return self.matched(x, shape) if t.dims is None or self.node.meta.get("unbacked_bindings") else self.bound(x)

    def new_symbol(self) -> SymExpr | None:
        """Return the symbol that PyTorch assigned to the single integer result, or None if it is not a symbol."""
        value: Any = None if self.node is None else self.node.meta.get("val")
        if self._extent is None or type(value).__name__ != "SymInt" or not value.node.expr.is_Symbol:
            return None
        symbol = self._extent(value)
        return symbol if isinstance(symbol, SymExpr) else None

    def traced_number(self) -> int | None:
        """Return the single integer result if PyTorch traced it as one number, which the graph asserts, or None."""
        value: Any = None if self.node is None else self.node.meta.get("val")
        number = value.node.expr if type(value).__name__ == "SymInt" else value
        return int(number) if isinstance(number, int) or getattr(number, "is_Integer", False) else None

    def may_be_negative(self) -> bool:
        """Return whether PyTorch knows of no reason why the single integer result is a size."""
        value: Any = self.node.meta["val"]
        return value.node.shape_env.bound_sympy(value.node.expr).lower < 0

    def define_result(self, extent: Extent) -> Extent:
        """Bind the symbol of the single integer result to an extent, and return the extent."""
        if self._symbols is not None:
            self._symbols.define(self.node.meta["val"], extent)
        return extent

    def fresh_size(self) -> SymExpr:
        """Return a new data-dependent size."""
        return Var(self.builder.get_unique_name("size"))

    def is_row_major(self, argument: int) -> bool:
        """Return whether a tensor argument of the node is row-major with storage of its own in PyTorch."""
        value: Any = None if self.node is None else self.node.args[argument].meta.get("val")
        return value is not None and value.is_contiguous() and value.storage_offset() == 0

    def is_used(self, index: int) -> bool:
        """Return whether one of several results may be used."""
        if self.node is None:
            return True
        users: Any = self.node.users
        return any(u.target is not operator.getitem or (u.args[1] == index and bool(u.users)) for u in users)

    def emit(self, expr: Any) -> Expr:
        """Bind `expr` to a new variable."""
        return self.builder.emit(expr)

    def bound(self, expr: Expr) -> Expr:
        """Bind `expr` unless it is a variable or a leaf."""
        value = expr.ssa
        detached = isinstance(value, OpResult) and value.op.parent is None and not relax.is_inline(value.op)
        return self.builder.emit(expr) if detached else expr

    def tensor(self, value: Any, dtype: str) -> Expr:
        """Return a scalar as a tensor of rank 0, or a tensor converted to `dtype`."""
        if isinstance(value, Expr):
            return cast_to(value, dtype)
        if not isinstance(value, SymExpr):
            return const(value, dtype)
        extent = self.emit(R.shape_to_tensor(ShapeExpr([value])))
        return cast_to(self.emit(R.reshape(extent, ())), dtype)

    def counted(self, count: Extent, dtype: str = "int64") -> Expr:
        """Return 0, 1, … up to count, exclusive."""
        if isinstance(count, int):
            return const(np.arange(count), dtype)
        return self.emit(R.arange(PrimValue(0), PrimValue(count), PrimValue(1), dtype=dtype))


def tensor_type(x: Expr) -> relax.TensorType:
    """Return the type of a tensor of known dtype. Raises `UnsupportedError` for anything else."""
    t = x.ssa.type
    if not isinstance(t, relax.TensorType) or t.element is None:
        raise UnsupportedError("the dtype of a tensor is unknown", found=t)
    return t


def dtype_of(x: Expr) -> str:
    """Return the name of a tensor's dtype."""
    return dtype_name(cast(Any, tensor_type(x).element))


def shape_of(x: Expr) -> list[Extent]:
    """Return the extents of a tensor, as numbers if constant. Raises `UnsupportedError` if they are unknown."""
    dims = tensor_type(x).dims
    if dims is None:
        raise UnsupportedError("the shape of a tensor is unknown", found=x.ssa.type)
    return [plain(d) for d in dims]


def rank_of(x: Expr) -> int:
    """Return the rank of a tensor."""
    return len(shape_of(x))


def plain(extent: Extent) -> Extent:
    """Return an extent as a number if it is constant."""
    if isinstance(extent, int) or extent.constant is None:
        return extent
    return extent.constant


def count_of(extents: Iterable[Extent]) -> Extent:
    """Return the number of elements."""
    return plain(product(extents))


def axis_of(dim: int, rank: int) -> int:
    """Return a dimension counted from the front; a scalar counts as a vector."""
    return dim % max(rank, 1)


def axes_of(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """Return dimensions counted from the front; all of them if `dims` is None or empty."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(rank))
    return [axis_of(d, rank) for d in ([dims] if isinstance(dims, int) else dims)]


def cast_to(x: Expr, dtype: str) -> Expr:
    """Convert `x` to `dtype`, or return it unchanged if it has that dtype."""
    return x if dtype_of(x) == dtype else R.astype(x, dtype=dtype)


def is_float(dtype: str) -> bool:
    """Return whether a dtype is a floating-point type."""
    return "float" in dtype


def constant_of(x: Expr) -> Any:
    """Return the contents of a constant as a numpy array, or None for other expressions."""
    return x.data if isinstance(x, Constant) else None
