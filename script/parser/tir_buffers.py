"""The functions of `T` that define buffers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym.expr import SymExpr, Var, i32
from ...dialects.tir.types import DEFAULT_ALIGN, GLOBAL, HandleType
from .attributes import attribute_dict
from .folding import as_sym, is_constant
from .tir_functions import TirFunctions
from .values import Access, CallSite, FreshVar, Imm, describe

_LAYOUT = "strides= elem_offset= scope= align= offset_factor= buffer_type= axis_separators="
_BUFFER = f"shape dtype= data= {_LAYOUT}"
_ALLOCATED = f"{_BUFFER} annotations="


def buffer_type(p: TirFunctions, site: CallSite, spec: str = _BUFFER) -> tuple[tir.BufferType, dict[str, Any]]:
    """The type that the arguments of a call describe, and these arguments."""
    names = [n.rstrip("=") for n in spec.split()]
    given = dict(zip(names, site.bind(spec), strict=True))
    node = site.node
    strides = given.get("strides")
    offset = given.get("elem_offset")
    dims = p.dims(given["shape"], node)
    dtype = dims[0].dtype if dims else i32
    result = tir.BufferType.of(
        dims,
        p.dtype(given.get("dtype"), node, "float32"),
        strides=[_stride(p, s, dtype, node) for s in strides] if strides else None,
        offset=None if offset is None else _stride(p, offset, dtype, node),
        scope=_scope(site, given.get("scope")),
        align=_positive(site, "align", given.get("align"), DEFAULT_ALIGN),
        offset_factor=_positive(site, "offset_factor", given.get("offset_factor"), 0),
        separators=tuple(given.get("axis_separators") or ()),
        broadcast=_is_broadcast(site, given.get("buffer_type")),
    )
    return result, given


def _stride(p: TirFunctions, value: Any, dtype: IntegerType, node: ast.AST) -> SymExpr:
    """A stride or an offset: a name is a variable of the type of the extents."""
    return Var(value, dtype) if isinstance(value, str) else p.dim(value, node)


def _is_broadcast(site: CallSite, kind: Any) -> bool:
    """Whether `buffer_type` is `auto`: TVM's name in texts, `auto_broadcast` that of its API."""
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
    """A number; TVM's -1 and 0 stand for the default."""
    found = as_sym(value) if value is not None else None
    number = default if value is None else None if found is None else found.constant
    if number is None:
        raise site.error(f"{name} must be a constant integer", found=describe(value))
    return number if number > 0 else default


def _annotation(p: TirFunctions, site: CallSite) -> Any:
    """`T.Buffer(shape, dtype)`: a type in a signature; in a body, with `data=`, a buffer at an address."""
    result, given = buffer_type(p, site)
    return result if given["data"] is None else _declare(p, site, result, given["data"], alias=True)


def _declare(p: TirFunctions, site: CallSite, result: tir.BufferType, data: Any, *, alias: bool = False) -> SSAValue:
    if isinstance(data, SSAValue) and isinstance(data.type, tir.BufferType):
        data = p.address(data, site.node)
    if isinstance(data, FreshVar) and data.name is not None:
        data = data.free
    if not (isinstance(data, SSAValue) and isinstance(data.type, HandleType)):
        raise site.error("data must be a pointer", expected="A.data", found=describe(data))
    if result.scope == GLOBAL:
        result = result.with_scope(data.type.scope)  # a buffer lies where its address points
    return p.emit(tir.DeclBufferOp(data, result, alias=alias), site.node)


def _alloc(p: TirFunctions, site: CallSite) -> SSAValue:
    result, given = buffer_type(p, site, _ALLOCATED)
    if given["data"] is not None:
        raise site.error("an allocated buffer has no data", hint="use T.decl_buffer")
    return _allocated(p, site, result, given, declared=False)


def _allocated(
    p: TirFunctions, site: CallSite, result: tir.BufferType, given: Mapping[str, Any], *, declared: bool
) -> SSAValue:
    notes = attribute_dict(p.source, site.node, given["annotations"] or {}).data
    if any(key != tir.AllocBufferOp.PADDED for key in notes):
        raise site.error("an unknown annotation", expected=tir.AllocBufferOp.PADDED, found=", ".join(notes))
    if isinstance(result.elem_offset, Var) and p.is_said_once(str(result.elem_offset.name)):
        result = result.at_any_offset(result.offset_factor.data or 1)  # as in TVM: of the offset nothing is said
    return p.emit(tir.AllocBufferOp(result, padded=bool(notes), declared=declared), site.node)


def _decl(p: TirFunctions, site: CallSite) -> SSAValue:
    result, given = buffer_type(p, site, _ALLOCATED)
    if given["data"] is None:
        return _allocated(p, site, result, given, declared=True)
    return _declare(p, site, result, given["data"])


def _match(p: TirFunctions, site: CallSite) -> SSAValue:
    """`T.match_buffer(handle, shape)` of a parameter, or `T.match_buffer(A[0:4, i:i + 4], shape)` in a block."""
    source = site.kwargs.get("param", site.args[0] if site.args else None)
    if isinstance(source, Access) or (isinstance(source, SSAValue) and isinstance(source.type, tir.BufferType)):
        buffer, starts, extents = p.region(source, site.node)
        if "shape" not in site.kwargs and len(site.args) == 1:
            site.args.append(tuple(extents))
        if "dtype" not in site.kwargs and len(site.args) < 3:
            site.kwargs["dtype"] = p.attribute_of(buffer, "dtype", site.node)
        result, _ = buffer_type(p, site, f"param {_BUFFER}")
        _check_extents(site, extents, result)
        return p.emit(tir.MatchBufferOp(buffer, starts, extents, result), site.node)
    if not (isinstance(source, BlockArgument) and source.owner is p.entry and isinstance(source.type, HandleType)):
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


def _bind_handle(p: TirFunctions, handle: BlockArgument, result: tir.BufferType) -> SSAValue:
    """The parameter becomes the buffer; the name of the handle is kept aside."""
    buffer = Rewriter.replace_value_with_new_type(handle, cast(Attribute, result))
    set_name(buffer, None)
    name = p.handles.get(cast(BlockArgument, buffer).index)
    if name is not None:
        p.scope.rebind(name, buffer)
    return buffer


def _constant(p: TirFunctions, site: CallSite) -> SSAValue:
    """`T.allocate_const(data, dtype, shape)`"""
    data, dtype, extents, _ = site.bind("data dtype extents annotations=")
    import numpy as np

    if not (is_constant(data) or isinstance(data, np.ndarray)):
        raise site.error("the data must be constants", found=describe(data))
    dims = p.dims(extents, site.node)
    shape = tuple(d.constant for d in dims if d.constant is not None)
    if len(shape) < len(dims):
        raise site.error("the shape of a constant must be constant")
    with p.source.located(site.node):
        wanted = p.dtype(dtype, site.node)
    array = np.asarray(data)
    size = prod(shape)
    if array.size != size:
        raise site.error("the data do not fill the shape", expected=f"{size} values", found=array.size)
    return p.emit(tir.AllocConstOp(TensorDataAttr.from_numpy(array.reshape(shape), wanted)), site.node)


def _allocate(p: TirFunctions, site: CallSite) -> SSAValue:
    """`T.allocate(extents, dtype, scope)`: the address of memory."""
    extents, dtype, scope, condition, notes = site.bind("extents dtype scope= condition= annotations=")
    if condition not in (None, True) and not (isinstance(condition, Imm) and condition.value == 1):
        raise site.error("memory cannot be allocated under a condition", found=describe(condition))
    dims, wanted = p.dims(extents, site.node), p.dtype(dtype, site.node)
    annotations = attribute_dict(p.source, site.node, notes) if notes else None
    return p.emit(tir.AllocateOp(dims, wanted, _scope(site, scope), annotations=annotations), site.node)


BUFFER_CALLS: dict[str, Callable[[Any, CallSite], Any]] = {
    "Buffer": _annotation,
    "buffer": _annotation,
    "match_buffer": _match,
    "alloc_buffer": _alloc,
    "decl_buffer": _decl,
    "allocate": _allocate,
    "allocate_const": _constant,
}
"""The functions of `T` that give buffers, by name."""
