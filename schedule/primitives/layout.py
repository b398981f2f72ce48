"""Layouts: the order of a buffer's elements in memory, and of a block's iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerType
from xdsl.ir import SSAValue

from ...diagnostics import ShapeError
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...dialects.sym import IndexMapAttr, IndexMapping
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.sym.index_map import Inverse
from ...dialects.tir import BufferType, IterKind
from ...ir.affine.values import sym_expr_of
from .. import checks, predicates
from .. import rewrite as rw
from .. import state as st
from ..accesses import (
    accesses_of,
    change_type,
    change_window,
    move_accesses,
    no_inverse,
    refresh_around,
    set_type,
    substitute_iters,
    windows_of,
)
from ..arguments import buffer_at, checked_map, index_dtype, separators_of, with_buffer, with_index_map, with_layout
from ..padding import Padding, PadFunction, fill, replace_writer
from ..registry import primitive
from ..state import State, fail


def _separated(schedule: Any, arguments: dict[str, Any]) -> Callable[[], object] | None:
    """Return a step that separates axes if the function passed as index map returns `AXIS_SEPARATOR`; None
    otherwise.
    """
    separators = separators_of(schedule, arguments)
    step: Callable[..., object] = schedule.set_axis_separator
    return partial(step, arguments["block"], arguments["buffer"], separators) if separators else None


@primitive(adapt=with_layout, follow=_separated)
def transform_layout(
    state: State,
    block: tir.BlockOp,
    buffer: Sequence[Any],
    index_map: IndexMapAttr,
    pad_value: Sequence[Any] | IndexMapAttr | str | None = None,
    assume_injective_transform: bool = False,
) -> None:
    """Change the layout of a buffer that `block` reads or writes, at all of its accesses.

    index_map = lambda i, j: (i // 4, j, i % 4): B[vi, vj] = A[vi, vj]  ->  B[vi // 4, vj, vi % 4] = A[vi, vj]

    `buffer` is `("read", k)`, `("write", k)`, a name or a buffer. Additional elements of the new shape hold
    `pad_value`, a constant or a function of the new indices: the block that writes the buffer is extended to the
    new shape if it runs over the full buffer in order, otherwise a block after it fills them; for a buffer that is
    not written, the padding is assumed. The shape of a parameter changes, too. `IndexMap.AXIS_SEPARATOR` among the
    results of `index_map` adds a following step `set_axis_separator`. Raises `ScheduleError` if the map is not
    injective or pads without `pad_value` (both unchecked with `assume_injective_transform`), if the buffer is a
    window, or if it has uses other than accesses of elements.
    """
    target = buffer_at(block, buffer)
    mapping, old = checked_map(block, index_map), cast(BufferType, target.type)
    if mapping.results == mapping.params and len(mapping.params) == old.rank:
        return
    accesses_of(target)
    inverse = None if assume_injective_transform else _inverse(block, mapping, old.dims)
    padding = None if inverse is None else _padding(block, inverse, old, pad_value)
    shape = _shape(block, mapping, old.dims)
    func = st.function_around(block)
    _check_sizes(block, target, func, shape)
    writer = None if padding is None else replace_writer(state, target, padding, shape)
    set_type(target, old.with_shape(shape))
    move_accesses(target, lambda op, indices: indices if writer and writer.is_ancestor(op) else mapping.apply(indices))
    if padding is not None and writer is None:
        fill(func, target, padding)


def _inverse(block: tir.BlockOp, mapping: IndexMapping, dims: Sequence[SymExpr]) -> Inverse:
    try:
        return mapping.padded_inverse(dims)
    except ShapeError as error:
        no_inverse(block, error)


def _shape(block: tir.BlockOp, mapping: IndexMapping, dims: Sequence[SymExpr]) -> list[SymExpr]:
    try:
        return mapping.shape(dims)
    except ShapeError as error:
        no_inverse(block, error)


def _padding(
    block: tir.BlockOp, inverse: Inverse, buffer: BufferType, value: Sequence[Any] | IndexMapAttr | str | None
) -> Padding | None:
    """Return the padding and its value, or None if there is none."""
    if inverse.padding.constant == 0:
        return None
    if value is None:
        fail("the index map pads the buffer", block, found=f"padding where {inverse.padding}", hint="give pad_value")
    if isinstance(value, IndexMapAttr):
        function, dtype = checked_map(block, value), dtype_name(value.data.results[0].dtype)
    elif isinstance(value, str):
        function = PadFunction(value, index_dtype(block))
        dtype = dtype_name(function.type)
    else:
        dtype, function = value
    if dtype != dtype_name(buffer.dtype):
        fail("the padding is of another type than the elements", block, expected=dtype_name(buffer.dtype), found=dtype)
    return Padding(inverse, function)


def _check_sizes(block: tir.BlockOp, buffer: SSAValue, func: tir.FuncOp, shape: Sequence[SymExpr]) -> None:
    """Reject changing a parameter whose shape is the only definition of a symbolic size."""
    if buffer not in func.params:
        return
    others = [p.type for p in func.params if isinstance(p.type, BufferType) and p is not buffer]
    scalars = [Var(name_of(p) or "", p.type) for p in func.params if isinstance(p.type, IntegerType)]
    known = {*(d for t in others for d in t.dims), *scalars}
    lost = [v for d in shape for v in d.free_vars() if v not in known and v not in shape]
    if lost:
        fail(f"no shape would say any more what {lost[0]} is", block)


@primitive(adapt=with_index_map)
def transform_block_layout(state: State, block: tir.BlockOp, index_map: IndexMapAttr) -> None:
    """Replace the iterators of a block by the results of `index_map` for them.

    index_map = lambda i, j: (i * 16 + j,): for i, j: B[i, j] = A[i, j]  ->  for ax0: B[ax0 // 16, ax0 % 16] = …

    The loops around the block are replaced. Raises `ScheduleError` if they contain other statements or are not
    plain (serial, from 0, without annotations), if the bindings of the block are not their variables, one each, if
    the map is not bijective, or if a new iterator would combine iterators of different kinds.
    """
    loops = _own_loops(block)
    mapping = checked_map(block, index_map)
    try:
        inverse = mapping.inverse(block.extents)
    except ShapeError as error:
        no_inverse(block, error)
    shape = _shape(block, mapping, block.extents)
    params = dict(zip(mapping.params, block.kinds, strict=True))
    kinds = [_kind(block, result, params) for result in mapping.results]
    rows: list[rw.Axis] = [(f"ax{k}", f"v{k}", extent, index_dtype(block)) for k, extent in enumerate(shape)]
    new = rw.block_in_loops(st.name_of_block(block), rows, rw.before(loops[0] if loops else block), kinds)
    replace_block(state, block, new, dict(zip(inverse.params, new.iter_vars, strict=True)), inverse.results)
    rw.remove(block)


def _own_loops(block: tir.BlockOp) -> list[tir.ForOp]:
    """Return the loops around a block that drive its iterators and contain nothing else."""
    loops = st.loops_above(block)
    predicates.require_unguarded(block, "the branch is in the loops that are replaced")
    for condition in rw.conditions(block):
        predicates.refuse(block, condition, "the bindings of the block are not the variables of the loops around it")
    if not block.iter_vars or set(block.bindings) != {lp.loop_var for lp in loops}:
        fail("the bindings of the block are not the variables of the loops around it", block)
    if len(set(block.bindings)) != len(block.bindings):
        fail("two iterators of the block are bound to one loop", block)
    checks.require_nested([*loops, block], "the loop is around more than the block")
    for loop in loops:
        if len(list(loop.loop_var.uses)) != 1:
            fail("the variable of the loop is used by more than the block's binding", loop)
        if loop.annotations is not None or loop.kind is not tir.ForKind.SERIAL or st.min_of(loop).constant != 0:
            fail("the loop is not a plain one from 0", loop)
    checks.require_from_zero(block, block.iter_vars)
    return loops


def _kind(block: tir.BlockOp, result: SymExpr, kinds: dict[Var, IterKind]) -> IterKind:
    """Return the kind of a new iterator."""
    used = {kinds[v] for v in result.free_vars() if v in kinds}
    if len(used) > 1:
        fail(f"{result} is made of iterators of several kinds", block, found=", ".join(sorted(k.value for k in used)))
    return used.pop() if used else IterKind.SPATIAL


def replace_block(
    state: State,
    block: tir.BlockOp,
    new: tir.BlockOp,
    variables: dict[Var, SSAValue],
    values: Sequence[SymExpr],
) -> None:
    """Move the body of a block to `new`; its iterators are replaced by `values`, expressions of the iterators of `new`.

    The old block stays in place without a body.
    """
    inner = {v: sym_expr_of(value) for v, value in variables.items()}
    rw.take_body(block, new, state)
    substitute_iters(new, {var: e.substitute(inner) for var, e in zip(block.iter_vars, values, strict=True)})


@primitive(adapt=with_buffer)
def set_axis_separator(state: State, block: tir.BlockOp, buffer: Sequence[Any], axis_separators: Sequence[int]) -> None:
    """Separate groups of axes that stay distinct when the buffer is flattened, at each of `axis_separators`.

    axis_separators = [1]: T.alloc_buffer((8, 16))  ->  T.alloc_buffer((8, 16), axis_separators=[1])

    Windows of the buffer get the same separators if they have its rank, otherwise as many before all axes. Raises
    `ScheduleError` if the separators are not ascending or not below the rank, or if the buffer is a window.
    """
    target = buffer_at(block, buffer)
    old, separators = cast(BufferType, target.type), [int(s) for s in axis_separators]
    if separators != sorted(separators) or any(not 0 <= s <= old.rank for s in separators):
        fail(
            "axis separators ascend, and are of the buffer's axes", block, expected=f"0 to {old.rank}", found=separators
        )
    change_type(target, separators=ArrayAttr(IntAttr(s) for s in separators))
    for window in windows_of(target):
        same = cast(BufferType, window.type).rank == old.rank
        change_window(window, separators=ArrayAttr(IntAttr(s if same else 0) for s in separators))
    refresh_around(target)
