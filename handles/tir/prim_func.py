"""Handles on tensor functions: `PrimFunc`, `Buffer` and the statements of a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import relax, tir
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr
from ..relax.function import BaseFunc
from ..relax.struct_info import Dim, FuncStructInfo, StructInfo, dim_of, dim_value
from .prim_expr import PrimExpr, Var


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

    @property
    def axis_separators(self) -> list[int]:
        """Axes where a flattened buffer keeps a boundary."""
        return [s.data for s in self.type.separators]

    @property
    def data(self) -> PrimExpr:
        """The address of the memory."""
        return PrimExpr(tir.BufferDataOp(self.ssa).result)

    def __getitem__(self, indices: Any) -> Any:
        """An element, a vector where the last index is a slice of known length, else a part (`BufferRegion`)."""
        from .buffer_access import element_or_region

        return element_or_region(self, indices)

    def vload(self, begin: Any, dtype: str | None = None) -> PrimExpr:
        """Elements from `begin` on as a vector of `dtype`; one element without."""
        from .buffer_access import vector_load

        return vector_load(self, begin, dtype)

    def vstore(self, begin: Any, value: Any) -> Stmt:
        """The statement that stores a vector, or one element, at `begin`."""
        from .buffer_access import vector_store

        return vector_store(self, begin, value)

    def access_ptr(
        self, access_mask: str | int, ptr_type: str = "handle", content_lanes: int = 1, offset: Any = 0,
        extent: Any = None,
    ) -> PrimExpr:  # fmt: skip
        """The address of a part, for reading (`r`), writing (`w`) or both, from `offset` on."""
        from .buffer_access import access_ptr

        return access_ptr(self, access_mask, content_lanes, offset, extent)

    def offset_of(self, indices: Sequence[Any]) -> list[PrimExpr]:
        """Where an element lies in the memory, in elements."""
        from .buffer_access import offset_of

        return [offset_of(self, indices)]

    def get_flattened_buffer(self) -> Buffer:
        """A buffer of one dimension over the same memory."""
        from .buffer_access import flattened

        return flattened(self)

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
    axis_separators: Sequence[int] = (),
) -> Buffer:
    """A buffer that has no function yet."""
    t = tir.BufferType.of(
        _extents(shape if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape]),
        dtype_of(dtype),
        strides=_extents(strides) if strides else None,
        offset=None if elem_offset is None else _extents([elem_offset])[0],
        scope=scope,
        align=data_alignment,
        offset_factor=offset_factor,
        separators=axis_separators,
    )
    value = Block(arg_types=[t]).args[0]
    set_name(value, name)
    return Buffer(value)


def _extents(values: Sequence[Any]) -> list[SymExpr]:
    """Extents as tensor functions have them: numbers are int32."""
    return [Const(v, i32) if isinstance(v, int) else dim_of(v) for v in values]


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

    def same_as(self, other: object) -> bool:
        return self == other

    def script(self, **options: Any) -> str:
        """The statement as TVMScript, after what it takes from elsewhere."""
        from ...script.printer.fragment import print_statements
        from .statements import operations_of

        return print_statements(operations_of(self), **options)

    def __str__(self) -> str:
        return self.script()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.op.name})"


def statements_of(block: Block) -> list[Stmt]:
    """The statements of a block of ops, without the expressions they use."""
    expressions = (*tir.EXPRESSION_OPS, ValueOp)
    return [Stmt(op) for op in block.ops if not isinstance(op, expressions)]


class Param(Var):
    """A parameter of a tensor function; two handles on the same one are equal, and may be keys of a dictionary."""

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
        return isinstance(other, Param) and self.ssa is other.ssa

    def __ne__(self, other: object) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        return not self == other

    def __hash__(self) -> int:
        return hash(self.ssa)

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class PrimFunc(BaseFunc):
    """A tensor function.

    `PrimFunc([a, n], body, buffer_map={a: buffer})` makes one that belongs to no module yet. A parameter may be a
    buffer itself.
    """

    def __init__(
        self,
        params: Sequence[Any],
        body: Stmt,
        ret_type: str | None = None,
        buffer_map: Mapping[Any, Buffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        from .construct import made_function

        self._op = made_function(params, body, ret_type, buffer_map or {}, attrs or {})

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
    def body(self) -> Stmt:
        """What the function does: its root block, where it has blocks, else the statement in it, or the sequence."""
        from .statements import body_of, has_root_block, stmt_of

        block = self.op.body.block
        return stmt_of(self.op) if has_root_block(list(block.ops)) else body_of(block)

    def with_body(self, new_body: Stmt, span: object = None) -> PrimFunc:
        """The function with another body, a copy of `new_body`; it belongs to no module yet."""
        from .construct import with_body

        return with_body(self, new_body)

    def specialize(self, param_map: Mapping[Any, Any]) -> PrimFunc:
        """The function for some parameters: scalars by expressions, which drops them, buffers by such of other shapes.

        Raises `TiraxError` for what is no parameter, and `ShapeError` where a buffer does not fit the parameter.
        """
        from .construct import specialized

        return specialized(self, param_map)

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
