"""The functions of `T` that define buffers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, VectorType, i1
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import tir
from ...dialects.dtypes import dtype_name, is_scalable, lanes_of, scalar_of
from ...dialects.names import set_name
from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym.expr import SymExpr, Var, i32, product
from ...dialects.tir.types import DEFAULT_ALIGN, GLOBAL, HANDLE, HandleType
from .attributes import attribute_dict
from .folding import as_sym, is_constant
from .tir_accesses import address, attribute_of, dim_of, dims_of, offset_in_memory, region_of
from .tir_state import Builder, TirParser
from .tir_values import as_dtype, as_index, cast_to, expr
from .values import Access, CallSite, FreshVar, Imm, describe

_LAYOUT = "strides= elem_offset= scope= align= offset_factor= buffer_type= axis_separators="


_BUFFER = f"shape dtype= data= {_LAYOUT}"


_ALLOCATED = f"{_BUFFER} annotations="


def buffer_type(p: TirParser, site: CallSite, spec: str = _BUFFER) -> tuple[tir.BufferType, dict[str, Any]]:
    """Return the buffer type that the arguments of a call describe, and the arguments by name."""
    names = [n.rstrip("=") for n in spec.split()]
    arguments = dict(zip(names, site.bind(spec), strict=True))
    node = site.node
    strides = arguments.get("strides")
    offset = arguments.get("elem_offset")
    dims = dims_of(p, arguments["shape"], node)
    dtype = dims[0].dtype if dims else i32
    result = tir.BufferType.of(
        dims,
        as_dtype(p, arguments.get("dtype"), node, "float32"),
        strides=[_stride(p, s, dtype, node) for s in strides] if strides else None,
        offset=None if offset is None else _stride(p, offset, dtype, node),
        scope=_scope(site, arguments.get("scope")),
        align=_positive(site, "align", arguments.get("align"), DEFAULT_ALIGN),
        offset_factor=_positive(site, "offset_factor", arguments.get("offset_factor"), 0),
        separators=tuple(arguments.get("axis_separators") or ()),
        broadcast=_is_broadcast(site, arguments.get("buffer_type")),
    )
    return result, arguments


def _stride(p: TirParser, value: Any, dtype: IntegerType, node: ast.AST) -> SymExpr:
    """Return a stride or an offset; a string names a variable with the dtype of the extents."""
    return Var(value, dtype) if isinstance(value, str) else dim_of(p, value, node)


def _is_broadcast(site: CallSite, kind: Any) -> bool:
    """Return whether the buffer kind is auto-broadcast: `auto` in TVM's scripts, `auto_broadcast` in its API."""
    if kind not in (None, "", "default", "auto", "auto_broadcast"):
        raise site.error("an unknown buffer_type", expected='"default" or "auto"', found=describe(kind))
    return str(kind).startswith("auto")


def _scope(site: CallSite, value: Any) -> str:
    if value is None or value == "":
        return "global"
    if not isinstance(value, str):
        raise site.error("the scope is a string", found=describe(value))
    return value


def _positive(site: CallSite, name: str, value: Any, default: int) -> int:
    """Return a constant integer; -1 and 0 denote the default, as in TVM."""
    constant = as_sym(value) if value is not None else None
    number = default if value is None else None if constant is None else constant.constant
    if number is None:
        raise site.error(f"{name} must be a constant integer", found=describe(value))
    return number if number > 0 else default


def _annotation(p: TirParser, site: CallSite) -> Any:
    """Parse `T.Buffer(shape, dtype)`: a type in a signature, or with `data=` in a body a buffer at an address."""
    result, arguments = buffer_type(p, site)
    return result if arguments["data"] is None else _declare(p, site, result, arguments["data"], alias=True)


def _declare(p: TirParser, site: CallSite, result: tir.BufferType, data: Any, *, alias: bool = False) -> SSAValue:
    if isinstance(data, SSAValue) and isinstance(data.type, tir.BufferType):
        data = address(p, data, site.node)
    if isinstance(data, FreshVar) and data.name is not None:
        data = data.free
    if not (isinstance(data, SSAValue) and isinstance(data.type, HandleType)):
        raise site.error("data must be a pointer", expected="A.data", found=describe(data))
    if result.scope == GLOBAL:
        result = result.with_scope(data.type.scope)  # the scope of its address
    return p.emit(tir.DeclBufferOp(data, result, alias=alias), site.node)


def _alloc(p: TirParser, site: CallSite) -> SSAValue:
    result, arguments = buffer_type(p, site, _ALLOCATED)
    if arguments["data"] is not None:
        raise site.error("an allocated buffer has no data", hint="use T.decl_buffer")
    return _allocated(p, site, result, arguments, declared=False)


def _allocated(
    p: TirParser, site: CallSite, result: tir.BufferType, arguments: Mapping[str, Any], *, declared: bool
) -> SSAValue:
    notes = attribute_dict(p.source, site.node, arguments["annotations"] or {}).data
    if any(key != tir.AllocBufferOp.PADDED for key in notes):
        raise site.error("an unknown annotation", expected=tir.AllocBufferOp.PADDED, found=", ".join(notes))
    if isinstance(result.elem_offset, Var) and p.state.is_mentioned_once(str(result.elem_offset.name)):
        result = result.at_any_offset(result.offset_factor.data or 1)  # as in TVM, the offset is unknown
    return p.emit(tir.AllocBufferOp(result, padded=bool(notes), declared=declared), site.node)


def _decl(p: TirParser, site: CallSite) -> SSAValue:
    result, arguments = buffer_type(p, site, _ALLOCATED)
    if arguments["data"] is None:
        return _allocated(p, site, result, arguments, declared=True)
    return _declare(p, site, result, arguments["data"])


def _match(p: TirParser, site: CallSite) -> SSAValue:
    """Parse `T.match_buffer(handle, shape)` of a parameter, or `T.match_buffer(A[0:4, i:i + 4], shape)` in a block."""
    source = site.kwargs.get("param", site.args[0] if site.args else None)
    if isinstance(source, Access) or (isinstance(source, SSAValue) and isinstance(source.type, tir.BufferType)):
        buffer, starts, extents = region_of(p, source, site.node)
        if "shape" not in site.kwargs and len(site.args) == 1:
            site.args.append(tuple(extents))
        if "dtype" not in site.kwargs and len(site.args) < 3:
            site.kwargs["dtype"] = attribute_of(p, buffer, "dtype", site.node)
        result, _ = buffer_type(p, site, f"param {_BUFFER}")
        _check_extents(site, extents, result)
        return p.emit(tir.MatchBufferOp(buffer, starts, extents, result), site.node)
    if not (
        isinstance(source, BlockArgument) and source.owner is p.state.entry and isinstance(source.type, HandleType)
    ):
        raise site.error(
            "the first argument must be a handle parameter or a region of a buffer", found=describe(source)
        )
    result, _ = buffer_type(p, site, f"param {_BUFFER}")
    return _bind_handle(p, source, result)


def _check_extents(site: CallSite, extents: Sequence[SymExpr], result: tir.BufferType) -> None:
    if not tir.is_shape_of_region(result.dims, extents):
        raise site.error(
            "the shape is not that of the region",
            expected=", ".join(map(str, extents)),
            found=", ".join(map(str, result.dims)),
        )


def _bind_handle(p: TirParser, handle: BlockArgument, result: tir.BufferType) -> SSAValue:
    """Turn a handle parameter into the buffer, and record the name of the handle."""
    buffer = Rewriter.replace_value_with_new_type(handle, cast(Attribute, result))
    set_name(buffer, None)
    name = p.state.handles.get(cast(BlockArgument, buffer).index)
    if name is not None:
        p.scope.rebind(name, buffer)
    return buffer


def _constant(p: TirParser, site: CallSite) -> SSAValue:
    """Parse `T.allocate_const(data, dtype, shape)`."""
    data, dtype, extents, _ = site.bind("data dtype extents annotations=")
    import numpy as np

    if not (is_constant(data) or isinstance(data, np.ndarray)):
        raise site.error("the data must be constants", found=describe(data))
    dims = dims_of(p, extents, site.node)
    shape = tuple(d.constant for d in dims if d.constant is not None)
    if len(shape) < len(dims):
        raise site.error("the shape of a constant must be constant")
    with p.source.located(site.node):
        element_type = as_dtype(p, dtype, site.node)
    array = np.asarray(data)
    array = array.astype(np.float64) if array.dtype.kind == "U" else array  # "inf" and "nan"
    size = prod(shape)
    if array.size != size:
        raise site.error("the data do not fill the shape", expected=f"{size} values", found=array.size)
    return p.emit(tir.AllocConstOp(TensorDataAttr.from_numpy(array.reshape(shape), element_type)), site.node)


def _allocate(p: TirParser, site: CallSite) -> SSAValue:
    """Parse `T.allocate(extents, dtype, scope)`, which returns an address."""
    extents, dtype, scope, condition, notes = site.bind("extents dtype scope= condition= annotations=")
    if condition not in (None, True) and not (isinstance(condition, Imm) and condition.value == 1):
        raise site.error("memory cannot be allocated under a condition", found=describe(condition))
    dims, element_type = dims_of(p, extents, site.node), as_dtype(p, dtype, site.node)
    annotations = attribute_dict(p.source, site.node, notes) if notes else None
    return p.emit(tir.AllocateOp(dims, element_type, _scope(site, scope), annotations=annotations), site.node)


def _access_ptr(p: TirParser, buffer: SSAValue, site: CallSite) -> SSAValue:
    """Parse `A.access_ptr("rw", offset=8)`: the address of an element of a buffer."""
    mode, _, lanes, offset, extent = site.bind("access_mask ptr_type= content_lanes= offset= extent=")
    t = cast(tir.BufferType, buffer.type)
    mask = sum(bit for letter, bit in (("r", 1), ("w", 2)) if letter in mode) if isinstance(mode, str) else mode
    if lanes not in (None, 1) or not isinstance(mask, int):
        raise site.error("the mask is a string of 'r' and 'w', and the lanes are 1", found=describe(mode))
    start = 0 if offset is None else offset
    strides, first = t.explicit_strides, offset_in_memory(buffer)
    total = strides[0] * t.dims[0] if strides else product(t.dims)
    rest = total if offset in (None, 0) else p.operate("sub", total, start, site.node)
    count = rest if extent is None else extent
    if first is not None:
        start = p.operate("add", first, start, site.node)
    ptype = p.emit(tir.CallIntrinOp("type_annotation", [], t.dtype), site.node)
    data = p.emit(tir.BufferDataOp(buffer), site.node)
    numbers = [expr(p, v, site.node) for v in (start, count, mask)]
    return p.emit(tir.CallIntrinOp("tvm_access_ptr", [ptype, data, *numbers], HANDLE), site.node)


def _vload(p: TirParser, buffer: SSAValue, site: CallSite) -> SSAValue:
    """Parse `A.vload([i, j], "float32x4")`: a vector that starts at an element; lanes masked by `predicate` are 0."""
    begin, dtype, predicate = site.bind("begin dtype= predicate=")
    t = cast(tir.BufferType, buffer.type)
    result_type = as_dtype(p, dtype, site.node, dtype_name(t.dtype))
    indices = _vector_indices(p, t, begin, result_type, site)
    if predicate is None:
        return p.emit(tir.LoadOp(buffer, indices), site.node)
    return p.emit(tir.MaskedLoadOp(buffer, *_masked(p, buffer, indices, predicate, site)), site.node)


def _vstore(p: TirParser, buffer: SSAValue, site: CallSite) -> None:
    """Parse `A.vstore([i, j], value)`: a statement that stores a vector from an element on, masked by `predicate`."""
    begin, value, predicate = site.bind("begin value predicate=")
    stored = expr(p, value, site.node)
    indices = _vector_indices(p, cast(tir.BufferType, buffer.type), begin, stored.type, site)
    if predicate is None:
        p.emit(tir.StoreOp(stored, buffer, indices), site.node)
    else:
        p.emit(tir.MaskedStoreOp(stored, buffer, *_masked(p, buffer, indices, predicate, site)), site.node)


def _masked(
    p: TirParser, buffer: SSAValue, indices: list[SSAValue], predicate: Any, site: CallSite
) -> tuple[SSAValue, SSAValue]:
    """Return the index into a flat buffer and the mask of its lanes."""
    mask, access_type = expr(p, predicate, site.node), tir.element_type(buffer, indices)
    if len(indices) != 1:
        raise site.error("a predicate is for a buffer of one dimension", found=f"{len(indices)} dimensions")
    if not isinstance(access_type, VectorType) or mask.type != tir.with_lanes(i1, access_type):
        raise site.error("a predicate is as many booleans as there are lanes", expected=access_type, found=mask.type)
    return indices[0], mask


def _vector_indices(p: TirParser, t: tir.BufferType, begin: Any, vector: Attribute, site: CallSite) -> list[SSAValue]:
    """Return indices for as many elements as `vector` has lanes."""
    starts = cast("list[Any]", begin) if isinstance(begin, tuple | list) else [begin]
    indices = [as_index(p, expr(p, i, site.node), site.node) for i in starts]
    if scalar_of(vector) != t.dtype or len(indices) != t.rank:
        raise site.error("the elements or the number of indices do not fit", found=f"{len(indices)} for {t}")
    if isinstance(vector, VectorType) and not isinstance(indices[-1].type, VectorType):
        one = cast_to(p, 1, indices[-1].type, site.node)
        indices[-1] = p.emit(tir.RampOp(indices[-1], one, lanes_of(vector), is_scalable(vector)), site.node)
    return indices


def _astype(p: TirParser, value: Any, site: CallSite) -> SSAValue:
    (dtype,) = site.bind("dtype")
    return cast_to(p, value, as_dtype(p, dtype, site.node), site.node)


BUFFER_CALLS: dict[str, Builder] = {
    "Buffer": _annotation,
    "buffer": _annotation,
    "match_buffer": _match,
    "alloc_buffer": _alloc,
    "decl_buffer": _decl,
    "allocate": _allocate,
    "allocate_const": _constant,
}
"""Functions of `T` that return buffers, by name."""


METHODS: dict[str, Callable[[TirParser, Any, CallSite], SSAValue | None]] = {
    "access_ptr": _access_ptr,
    "vload": _vload,
    "vstore": _vstore,
    "astype": _astype,
}
"""Methods of buffers and scalars, by name."""
