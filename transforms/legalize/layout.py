"""The rule of layout_transform: a copy whose stores, or loads with padding, go through the index map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import SSAValue

from ...dialects import relax, tir
from ...dialects.names import set_name
from ...dialects.relax.layout_transform import LayoutTransform
from ...dialects.relax.operator import Operator
from ...dialects.sym import IndexMapping
from ...dialects.sym.index_map import Inverse
from ...handles.tir.prim_expr import PrimExpr, as_sym, const, from_sym, if_then_else
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.buffers.regions import infer_regions
from ...ir.rewriting.edit import erase, insert_before, inserter
from ...te.create import add_scalar_params, undetermined_vars
from ...te.emit import TECall, call_te
from ...te.tensor import Tensor, compute
from .legalize_rules import BUILDERS, Builder, known_shape


def layout_transform(b: Builder, op: Operator) -> SSAValue | None:
    """relax.layout_transform(x) -> te_layout_transform(x), …_with_pad(x), …_axis_separator(x)"""
    transform = cast(LayoutTransform, op)
    x, value = transform.tensor("x"), op.attr("pad_value")
    if x.dims is None or not known_shape(op.result_type):
        return None
    inverse = transform.mapping.padded_inverse(x.dims)
    pads = inverse.padding.constant != 0
    name = "te_layout_transform" + ("_with_pad" if pads else "")
    name += "_axis_separator" if op.attr("axis_separators") else ""
    if pads and value is not None:
        call = _padded(op, inverse, value, name)
    else:
        call = _moved(op, transform.mapping, name)
    _separate(call.func, op.attr("input_axis_separators"), 0)
    _separate(call.func, op.attr("axis_separators"), 1)
    return b.call(call)


def _padded(op: Operator, inverse: Inverse, value: float, name: str) -> TECall:
    """Return a function of the elements of the result: the element of x, or the padding."""
    result = cast(relax.TensorType, op.result_type)

    def te_layout_transform_with_pad(x: Tensor) -> Tensor:
        def element(*new: PrimExpr) -> PrimExpr:
            places = dict(zip(inverse.map.params, map(as_sym, new), strict=True))
            old = [from_sym(r.substitute(places)) for r in inverse.map.results]
            return if_then_else(from_sym(inverse.padding.substitute(places)), const(value, x.type), x(*old))

        return compute(result.dims or (), element, name)

    call = call_te(te_layout_transform_with_pad, op.operands[0], primfunc_name_hint=name)
    _name_axes(call.func, [str(p.name) for p in inverse.map.params])
    return call


def _name_axes(func: tir.FuncOp, names: Sequence[str]) -> None:
    """Name loops and iterators after the new indices."""
    loops = [op for op in func.walk() if isinstance(op, tir.ForOp)]
    iterators = next((op.iter_vars for op in func.walk() if isinstance(op, tir.BlockOp)), ())
    for loop, iterator, name in zip(loops, iterators, names, strict=True):
        set_name(loop.body.block.args[0], name)
        set_name(iterator, f"v_{name}")


def _moved(op: Operator, mapping: IndexMapping, name: str) -> TECall:
    """Return a function that writes each element of x to its mapped position."""

    def te_layout_transform(x: Tensor) -> Tensor:
        return compute(x.dims, x, name)

    call = call_te(te_layout_transform, op.operands[0], primfunc_name_hint=name)
    result = cast(relax.TensorType, op.result_type)
    _map_stores(call.func, mapping, result.dims or ())
    _name_axes(call.func, ["self", *(f"i{n}" for n in range(len(mapping.params) - 1))])
    added = undetermined_vars(call.func)
    add_scalar_params(call.func, added)
    call.tir_vars += added
    call.out_type = result
    return call


def _map_stores(func: tir.FuncOp, mapping: IndexMapping, dims: Sequence[Any]) -> None:
    """Map the stores into the output, which gets the shape `dims`."""
    output = func.params[1]
    buffer = cast(tir.BufferType, output.type)
    output._type = buffer.with_shape(dims)  # pyright: ignore[reportPrivateUsage]
    for op in [o for o in func.walk() if isinstance(o, tir.StoreOp)]:
        block = cast(tir.BlockOp, op.parent_op())
        build = Materializer(inserter(op))
        new = tir.StoreOp(op.value, output, [build(e) for e in mapping.apply([sym_expr_of(i) for i in op.indices])])
        insert_before(op, new)
        erase(op)
        for region in (*block.reads, *block.writes):
            erase(region)
        infer_regions(block)


def _separate(func: tir.FuncOp, separators: Sequence[int] | None, position: int) -> None:
    """Set the axis separators of a parameter."""
    if separators:
        param = func.params[position]
        marked = cast(tir.BufferType, param.type).with_separators(separators)
        param._type = marked  # pyright: ignore[reportPrivateUsage]


BUILDERS.add("relax.layout_transform", layout_transform)
