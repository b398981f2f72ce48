"""Handles on tensor functions: `PrimFunc`, `Buffer` and the statements of a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ..dialects import relax, tir
from ..dialects.dtypes import dtype_name, dtype_of
from ..dialects.names import name_of, set_name
from ..dialects.sym import ValueOp
from .prim_expr import Var
from .relax_function import BaseFunc
from .struct_info import Dim, FuncStructInfo, StructInfo, dim_of, dim_value, dims_of


class Buffer:
    """A buffer: a parameter, an allocation, or (`decl_buffer`) one that has no function yet."""

    __slots__ = ("ssa",)

    def __init__(self, value: SSAValue):
        self.ssa = value

    @property
    def type(self) -> tir.BufferType:
        return cast(tir.BufferType, self.ssa.type)

    @property
    def name(self) -> str:
        return name_of(self.ssa) or "buffer"

    @property
    def shape(self) -> list[Dim]:
        return [dim_value(d) for d in self.type.dims]

    @property
    def strides(self) -> list[Dim]:
        """The strides in elements where they are given, else none."""
        return [dim_value(d) for d in self.type.explicit_strides or ()]

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
        return self.type.offset_factor.data

    def scope(self) -> str:
        """The memory that the buffer lies in, `global` by default."""
        return self.type.scope.data

    def same_as(self, other: object) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Buffer) and self.ssa is other.ssa

    def __hash__(self) -> int:
        return hash(self.ssa)

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
    offset_factor: int = 1,
) -> Buffer:
    """A buffer that has no function yet."""
    t = tir.BufferType.of(
        dims_of(shape if isinstance(shape, Sequence) else [shape]),
        dtype_of(dtype),
        strides=dims_of(strides) if strides else None,
        offset=None if elem_offset is None else dim_of(elem_offset),
        scope=scope,
        align=data_alignment,
        offset_factor=offset_factor,
    )
    value = Block(arg_types=[t]).args[0]
    set_name(value, name)
    return Buffer(value)


class Stmt:
    """A statement: a handle on an op. `children` are the statements inside of it."""

    __slots__ = ("op",)

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
        return isinstance(other, Stmt) and self.op is other.op

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"Stmt({self.op.name})"


def statements_of(block: Block) -> list[Stmt]:
    """The statements of a block of ops, without the expressions they use."""
    expressions = (*tir.EXPRESSION_OPS, ValueOp)
    return [Stmt(op) for op in block.ops if not isinstance(op, expressions)]


class Param(Var):
    """A parameter of a tensor function; two handles on the same one are equal, and may be keys of a dictionary."""

    __slots__ = ()

    def __init__(self, value: SSAValue):
        self.value = value

    @property
    def name(self) -> str:
        return name_of(self.value) or ""

    @property
    def dtype(self) -> str:
        """The dtype of a scalar, `handle` for a buffer."""
        return "handle" if isinstance(self.value.type, tir.BufferType | tir.HandleType) else dtype_name(self.value.type)

    def __eq__(self, other: object) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return isinstance(other, Param) and self.value is other.value

    def __ne__(self, other: object) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return not self == other

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class PrimFunc(BaseFunc):
    """A tensor function."""

    @property
    def params(self) -> list[Param]:
        """The parameters; a buffer's is its handle, which `buffer_map` maps to the buffer."""
        return [Param(p) for p in self.op.params]

    @property
    def buffer_map(self) -> dict[Param, Buffer]:
        """The buffers by the parameters that hold them."""
        return {Param(p): Buffer(p) for p in self.op.buffer_params}

    @property
    def handle_names(self) -> list[str]:
        """The names of the parameters as TVM has them: of handles, not of the buffers that are matched to them."""
        names = self.op.handle_names
        if isinstance(names, ArrayAttr):
            return [cast(StringAttr, n).data for n in names]
        return [f"var_{name_of(p)}" if isinstance(p.type, tir.BufferType) else name_of(p) or "" for p in self.op.params]

    @property
    def body(self) -> list[Stmt]:
        """The statements of the body."""
        return statements_of(self.op.body.block)

    @property
    def ret_type(self) -> str:
        """The dtype of a scalar result, `""` where there is none."""
        t = self.op.ret_type
        return "" if t is None else dtype_name(t)

    @property
    def struct_info(self) -> StructInfo:
        """What a caller knows: buffers are tensors, and nothing is returned."""
        params = [_param_info(p) for p in self.op.params]
        return FuncStructInfo(params, StructInfo.of(relax.OBJECT), purity=False)

    def __repr__(self) -> str:
        return f"PrimFunc({self.name})"


def _param_info(param: SSAValue) -> StructInfo:
    t = param.type
    if isinstance(t, tir.BufferType):
        return StructInfo.of(relax.TensorType.of(t.dims, t.dtype))
    return StructInfo.of(relax.OBJECT if isinstance(t, tir.HandleType) else relax.PrimType.of(t))
