"""What rows of the table build with: bindings, and what is known of values."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from xdsl.ir import OpResult

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import SymExpr, Var, product
from ...handles.relax.expr import Constant, Expr, ShapeExpr, const
from ..block_builder import BlockBuilder
from ..importing.random_numbers import RandomNumbers
from ..importing.relax_operators import R

Extent = int | SymExpr
Scalar = bool | int | float | SymExpr


class Emitter:
    """Binds expressions in the function that is being built.

    `node` is the node of the graph that is converted, None where there is none; `extent` says what a symbolic size of
    the graph is; `random` has the seeds of what is drawn.
    """

    def __init__(
        self,
        builder: BlockBuilder,
        extent: Callable[[Any], Extent] | None = None,
        random: RandomNumbers | None = None,
    ):
        self.builder = builder
        self.random = random or RandomNumbers(builder)
        self.node: Any = None
        self._extent = extent

    def result_shape(self) -> list[Extent] | None:
        """The extents of the one result, as the traced program has them; None where it says nothing."""
        value: Any = None if self.node is None else self.node.meta.get("val")
        if self._extent is None or not hasattr(value, "shape"):
            return None
        return [self._extent(s) for s in value.shape]

    def new_symbol(self) -> SymExpr | None:
        """The symbol that PyTorch gave the one result, an integer; None where it is no symbol."""
        value: Any = None if self.node is None else self.node.meta.get("val")
        if self._extent is None or type(value).__name__ != "SymInt" or not value.node.expr.is_Symbol:
            return None
        symbol = self._extent(value)
        return symbol if isinstance(symbol, SymExpr) else None

    def fresh_size(self) -> SymExpr:
        """A size that only data says."""
        return Var(self.builder.get_unique_name("size"))

    def is_row_major(self, argument: int) -> bool:
        """Whether a tensor that the node has as an argument lies row major in memory of its own, in PyTorch."""
        value: Any = None if self.node is None else self.node.args[argument].meta.get("val")
        return value is not None and value.is_contiguous() and value.storage_offset() == 0

    def is_used(self, index: int) -> bool:
        """Whether a result of several may be used."""
        if self.node is None:
            return True
        return any(user.target is not operator.getitem or user.args[1] == index for user in self.node.users)

    def emit(self, expr: Any) -> Expr:
        """`expr` bound to a new variable."""
        return self.builder.emit(expr)

    def bound(self, expr: Expr) -> Expr:
        """`expr`, bound unless it is a variable or a leaf."""
        value = expr.ssa
        detached = isinstance(value, OpResult) and value.op.parent is None and not relax.is_inline(value.op)
        return self.builder.emit(expr) if detached else expr

    def tensor(self, value: Any, dtype: str) -> Expr:
        """A scalar as a tensor of rank 0; a tensor converted to `dtype`."""
        if isinstance(value, Expr):
            return cast_to(value, dtype)
        if not isinstance(value, SymExpr):
            return const(value, dtype)
        extent = self.emit(R.shape_to_tensor(ShapeExpr([value])))
        return cast_to(self.emit(R.reshape(extent, ())), dtype)


def tensor_type(x: Expr) -> relax.TensorType:
    """The type of a tensor of known dtype. Raises `UnsupportedError` for anything else."""
    t = x.ssa.type
    if not isinstance(t, relax.TensorType) or t.element is None:
        raise UnsupportedError("the dtype of a tensor is unknown", found=t)
    return t


def dtype_of(x: Expr) -> str:
    """The name of a tensor's dtype."""
    return dtype_name(cast(Any, tensor_type(x).element))


def shape_of(x: Expr) -> list[Extent]:
    """The extents of a tensor, numbers where they are constant. Raises `UnsupportedError` where they are unknown."""
    dims = tensor_type(x).dims
    if dims is None:
        raise UnsupportedError("the shape of a tensor is unknown", found=x.ssa.type)
    return [plain(d) for d in dims]


def rank_of(x: Expr) -> int:
    """The number of a tensor's dimensions."""
    return len(shape_of(x))


def plain(extent: Extent) -> Extent:
    """An extent as a number where it is constant."""
    if isinstance(extent, int) or extent.constant is None:
        return extent
    return extent.constant


def count_of(extents: Iterable[Extent]) -> Extent:
    """The number of elements."""
    return plain(product(extents))


def axis_of(dim: int, rank: int) -> int:
    """A dimension counted from the front; of a scalar as of a vector."""
    return dim % max(rank, 1)


def axes_of(dims: int | Sequence[int] | None, rank: int) -> list[int]:
    """Dimensions counted from the front; all of them for None or none."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return list(range(rank))
    return [axis_of(d, rank) for d in ([dims] if isinstance(dims, int) else dims)]


def cast_to(x: Expr, dtype: str) -> Expr:
    """`x` as `dtype`; itself where it is that."""
    return x if dtype_of(x) == dtype else R.astype(x, dtype=dtype)


def is_float(dtype: str) -> bool:
    """Whether a dtype is one of floating point numbers."""
    return "float" in dtype


def constant_of(x: Expr) -> Any:
    """The contents of a constant as an array of numpy, None for what is none."""
    return x.data if isinstance(x, Constant) else None
