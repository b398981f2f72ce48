"""Handles on the parts of tensor functions: buffers, parameters, statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import ShapeError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr
from ...ir.origins import origin
from ...ir.side_table import SideTable
from ..array import Array
from .dims import Dim, dim_of, dim_value
from .prim_expr import PrimExpr
from .variables import Var

_ADDRESSES: SideTable[SSAValue, PrimExpr | None] = SideTable("address")
"""The data variables that detached buffers were declared with."""
_SOURCES: SideTable[Operation, Operation] = SideTable("statement")
"""Copied statements -> the statements they were copied from."""


class Buffer:
    """A buffer: a parameter, an allocation, or a detached one (`decl_buffer`)."""

    __slots__ = ("ssa",)

    READ: ClassVar = 1
    WRITE: ClassVar = 2
    """Bits of the mask of `access_ptr`."""

    def __init__(self, value: SSAValue):
        self.ssa = value

    @property
    def type(self) -> tir.BufferType:
        return cast(tir.BufferType, self.ssa.type)

    @property
    def name(self) -> str:
        return name_of(self.ssa) or "buffer"

    @property
    def shape(self) -> Array[Dim]:
        return Array(map(dim_value, self.type.dims))

    @property
    def strides(self) -> Array[Dim]:
        """The explicit strides in elements, empty if there are none."""
        return Array(map(dim_value, self.type.explicit_strides or ()))

    @property
    def elem_offset(self) -> Dim:
        offset = self.type.elem_offset
        return 0 if offset is None else dim_value(offset)

    @property
    def dtype(self) -> str:
        return dtype_name(self.type.dtype)

    @property
    def data_alignment(self) -> int:
        return self.type.align.data

    @property
    def offset_factor(self) -> int:
        return self.type.offset_factor.data or 1

    def scope(self) -> str:
        """Return the memory scope of the buffer, `global` by default."""
        return self.type.scope.data

    @property
    def axis_separators(self) -> Array[int]:
        """Axes where a flattened buffer keeps a boundary."""
        return Array(s.data for s in self.type.separators)

    @property
    def data(self) -> PrimExpr:
        """The address of the memory."""
        op = self.ssa.owner
        declared = _ADDRESSES.get(self.ssa, None)
        if declared is not None:
            return declared
        return PrimExpr(op.data if isinstance(op, tir.DeclBufferOp) else tir.BufferDataOp(self.ssa).result)

    # How elements and parts are reached; `buffer_access` fills these in.
    __getitem__: ClassVar[Callable[..., Any]]
    vload: ClassVar[Callable[..., PrimExpr]]
    vstore: ClassVar[Callable[..., Stmt]]
    access_ptr: ClassVar[Callable[..., PrimExpr]]
    offset_of: ClassVar[Callable[..., Array[PrimExpr]]]
    get_flattened_buffer: ClassVar[Callable[..., Buffer]]

    def same_as(self, other: object) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and origin(self.ssa) is origin(other.ssa)

    def __hash__(self) -> int:
        return hash(origin(self.ssa))

    def script(self, **options: Any) -> str:
        """Return the buffer's name in TVMScript, with `verbose_expr=True` after its declaration."""
        from ...script.printer.fragment import print_expression

        return print_expression(self.ssa, **options)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return f"Buffer({self.name}, {self.type})"


def decl_buffer(
    shape: Any,
    dtype: str = "float32",
    name: str = "buffer",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    data_alignment: int = tir.types.DEFAULT_ALIGN,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] = (),
) -> Buffer:
    """Return a detached buffer, at the address `data` if given.

    With `buffer_type="auto_broadcast"`, strides along extents of 1 are 0.

    Raises `ShapeError` for separators that are not increasing axes.
    """
    dims = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape]
    if list(axis_separators) != sorted({int(s) for s in axis_separators if 0 <= int(s) <= len(dims)}):
        raise ShapeError("wrong axis separators", expected=f"increasing, from 0 to {len(dims)}", found=axis_separators)
    t = tir.BufferType.of(
        _extents(dims),
        dtype_of(dtype),
        strides=_extents(strides) if strides else None,
        offset=None if elem_offset is None else _extents([elem_offset])[0],
        scope=scope or "global",
        align=data_alignment,
        offset_factor=offset_factor,
        separators=axis_separators,
        broadcast=buffer_type.startswith("auto"),
    )
    value = Block(arg_types=[t]).args[0]
    set_name(value, name)
    if data is not None:
        _ADDRESSES[value] = data
    return Buffer(value)


def _extents(values: Sequence[Any]) -> list[SymExpr]:
    """Return extents as in tensor functions: numbers are int32."""
    return [Const(v, i32) if isinstance(v, int) else dim_of(v) for v in values]


def note_source(copy: Operation, statement: Operation) -> None:
    """Record that `copy` is a copy of `statement` inside another statement: handles on both are equal."""
    _SOURCES[copy] = _SOURCES.get(statement, statement)


class Stmt:
    """A statement: a handle on an op. `children` are the statements inside it."""

    __slots__ = ("op",)

    operations: ClassVar[Callable[[Any], list[Operation]]]
    """Returns the operations of a statement; set by `stmt`."""

    def __init__(self, op: Operation):
        self.op = op

    @property
    def kind(self) -> str:
        """The op's name, e.g. `tir.for`."""
        return self.op.name

    @property
    def children(self) -> list[Stmt]:
        return [s for region in self.op.regions for block in region.blocks for s in statements_of(block)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stmt) and _SOURCES.get(self.op, self.op) is _SOURCES.get(other.op, other.op)

    def __hash__(self) -> int:
        return hash(_SOURCES.get(self.op, self.op))

    def same_as(self, other: object) -> bool:
        return self == other

    def __getstate__(self) -> Any:
        """Return a copy of its operations, with variables of its own."""
        return self.op.clone()

    def __setstate__(self, state: Any) -> None:
        self.op = state

    def script(self, **options: Any) -> str:
        """Return the statement as TVMScript, after declarations of the values that it uses."""
        from ...script.printer.fragment import print_statements

        return print_statements(self.operations(), **options)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.op.name})"


def statements_of(block: Block) -> list[Stmt]:
    """Return the statements of a block of ops, without the expressions that they use."""
    expressions = (*tir.EXPRESSION_OPS, ValueOp)
    return [Stmt(op) for op in block.ops if not isinstance(op, expressions)]


class Param(Var):
    """A parameter of a tensor function; two handles on the same one are equal and have equal hashes."""

    __slots__ = ()

    def __init__(self, value: SSAValue):
        self.ssa = value

    @property
    def name(self) -> str:
        return name_of(self.ssa) or ""

    @property
    def dtype(self) -> str:
        """The dtype of a scalar, `handle` for a buffer."""
        return "handle" if isinstance(self.ssa.type, tir.BufferType | tir.HandleType) else dtype_name(self.ssa.type)

    def __eq__(self, other: object) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return isinstance(other, Var) and origin(self.ssa) is origin(other.ssa)

    def __ne__(self, other: object) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return not self == other

    def __hash__(self) -> int:
        return hash(origin(self.ssa))

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__
