"""Buffer extents, regions, accesses such as `A[i, j]`, and attributes of buffers in a prim_func."""

from __future__ import annotations

import ast
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, i1
from xdsl.ir import BlockArgument, SSAValue

from ...diagnostics import suggestion
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const, SymExpr, Var, i32
from ...ir.rewriting.edit import set_type
from .folding import as_sym
from .tir_state import TirParser
from .tir_values import dims_of_buffer, index_of, span, type_of
from .values import Access, Imm, Method, Slice, describe

_BUFFER_ATTRIBUTES = "data, dtype, shape, strides, elem_offset, access_ptr, vload, vstore"


_BUFFER_ATTRIBUTES = "data, dtype, shape, strides, elem_offset, access_ptr, vload, vstore"


def dims_of(p: TirParser, value: Any, node: ast.AST) -> list[SymExpr]:
    """Return the dimensions of a shape; ints are int32 as in TVM."""
    items = cast("list[Any]", list(value)) if isinstance(value, tuple | list) else [value]
    return [dim_of(p, v, node) for v in items]


def dim_of(p: TirParser, value: Any, node: ast.AST) -> SymExpr:
    dim = as_sym(value, default=i32)
    if dim is None and isinstance(value, Imm) and isinstance(value.dtype, IntegerType) and value.dtype != i1:
        dim = Const(int(value.value), value.dtype)  # of another type than indices: a number only
    if dim is None:
        raise p.error(node, "an extent must be an integer over constants and symbolic variables", found=describe(value))
    return dim


def pair_of(extent: Any) -> tuple[Any, Any]:
    """Return the two elements of `(low, high)`; for any other value the value and None."""
    if isinstance(extent, tuple | list):
        pair = cast("tuple[Any, ...]", extent)
        if len(pair) == 2:
            return pair[0], pair[1]
    return extent, None


def as_buffer(p: TirParser, value: Any, node: ast.AST, what: str = "argument") -> SSAValue:
    if not (isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType)):
        raise p.error(node, f"{what} must be a buffer", found=describe(value))
    return value


def element_of(p: TirParser, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Access:
    """Return `A[i, j]`, which becomes a load, a region or the target of a store depending on the context."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        handle = p.state.handles.get(value.index) if isinstance(value, BlockArgument) else None
        if handle == node.value.id and value.owner is p.state.entry and name_of(value) not in (None, handle):
            raise p.error(node, "a handle has no elements", expected=f"elements of '{name_of(value)}'")
    t = value.type
    if not isinstance(t, tir.BufferType):
        raise p.error(node, "only buffers can be indexed", found=describe(value))
    if len(indices) != t.rank:
        raise p.error(
            node, "wrong number of indices", expected=f"{t.rank}, for a buffer of rank {t.rank}", found=len(indices)
        )
    return Access(value, indices, node)


def region_of(
    p: TirParser, value: Any, node: ast.AST, *, widened: bool = False
) -> tuple[SSAValue, list[SSAValue], list[SymExpr]]:
    """Return the buffer, first indices and extents of a region in `T.reads`, `T.writes` or `T.match_buffer`.

    Extents must not depend on loops. If the region may be `widened`, such an extent becomes the full dimension;
    otherwise it is an error.
    """
    if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
        value = Access(value, (Slice(None, None, None),) * value.type.rank, node)
    if not isinstance(value, Access):
        raise p.error(node, "a region of a buffer is expected", expected="A[i, 0:4]", found=describe(value))
    starts: list[SSAValue] = []
    extents: list[SymExpr] = []
    for index, dim in zip(value.indices, dims_of_buffer(value.buffer), strict=True):
        if isinstance(index, Slice):
            start, extent = span(p, index, dim, value.node)
        else:
            start = index_of(p, index, dim, value.node)
            extent = Const(1, cast(IntegerType, start.type))
        extent = extent.substitute({Var(value, v.dtype): v for v, value in p.state.scalars.items()})
        depends = any(not isinstance(v.name, str) for v in extent.free_vars())
        if depends and widened:
            start, extent = span(p, Slice(None, None, None), dim, value.node)
        elif depends:
            raise p.error(value.node, "the extent of a region must not depend on loops", found=str(extent))
        starts.append(start)
        extents.append(extent)
    return value.buffer, starts, extents


def attribute_of(p: TirParser, value: Any, name: str, node: ast.AST) -> Any:
    if isinstance(value, SSAValue) and isinstance(value.type, tir.BufferType):
        return _buffer_attribute(p, value, value.type, name, node)
    if name == "astype":
        return Method(value, name)
    if name == "dtype":
        return dtype_name(type_of(p, value, node))
    raise p.error(node, f"there is no attribute '{name}'", expected="astype or dtype", found=describe(value))


def address(p: TirParser, buffer: SSAValue, node: ast.AST) -> SSAValue:
    """Return `A.data`: the pointer that the buffer is declared at, or else an op that reads the buffer's address."""
    owner = buffer.owner
    return owner.data if isinstance(owner, tir.DeclBufferOp) else p.emit(tir.BufferDataOp(buffer), node)


def offset_in_memory(buffer: SSAValue) -> SymExpr | None:
    """Return the offset of a buffer; what may be at any multiple of a number gets a variable for it."""
    t = cast(tir.BufferType, buffer.type)
    if t.elem_offset is None and t.offset_factor.data:
        width = t.dims[0].dtype if t.dims else i32
        t = t.replaced(offset=SymAttr(Var(f"{name_of(buffer) or 'buffer'}_elem_offset", width)))
        set_type(buffer, t)
    return t.elem_offset


def _buffer_attribute(p: TirParser, buffer: SSAValue, t: tir.BufferType, name: str, node: ast.AST) -> Any:
    if name == "data":
        return address(p, buffer, node)
    if name in ("access_ptr", "vload", "vstore"):
        return Method(buffer, name)
    plain: dict[str, Any] = {
        "dtype": dtype_name(t.dtype),
        "shape": t.dims,
        "strides": t.explicit_strides or (),
        "elem_offset": Const(0, i32),
    }
    if name == "elem_offset":
        return offset_in_memory(buffer) or plain[name]
    if name not in plain:
        raise p.error(node, f"a buffer has no '{name}'", expected=_BUFFER_ATTRIBUTES, hint=suggestion(name, plain))
    return plain[name]
