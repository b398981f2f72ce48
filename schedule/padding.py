"""Padding: the values of the elements that a new layout adds to a buffer.

Paddings other than integers are functions of the new indices, which traces store as the text of a lambda:

    lambda i, j: (T.Cast("float32", i) * T.float32(0.5),)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_name
from ..dialects.names import name_of, set_name
from ..dialects.sym import IndexMapping
from ..dialects.sym.expr import Const, SymExpr, Var
from ..dialects.sym.index_map import Inverse
from ..dialects.sym.operators import logical_not
from ..dialects.tir import BufferType, IterKind
from ..handles.tir.prim_expr import PrimExpr
from ..handles.tir.variables import SizeVar
from ..ir.affine.values import Materializer, sym_expr_of
from ..transforms.tir.walk import erase_with_tree, functions, remove_dead
from . import checks
from . import rewrite as rw
from . import state as st
from .accesses import Access, is_conditional, label, substitute_iters
from .loop_builder import Cloner, Insert
from .predicates import guards
from .state import State


@dataclass(frozen=True)
class Padding:
    """The padded indices (`inverse.padding`) and their values: a constant, or a function of the indices."""

    inverse: Inverse
    value: int | float | IndexMapping | PadFunction

    @property
    def params(self) -> tuple[Var, ...]:
        """The new indices."""
        return self.inverse.map.params

    def condition(self, indices: Sequence[SSAValue]) -> SymExpr:
        """Return the condition that an element is padding."""
        return self.inverse.padding.substitute(dict(zip(self.params, map(sym_expr_of, indices), strict=True)))

    def element(self, indices: Sequence[SSAValue], buffer: BufferType, insert: Insert) -> SSAValue:
        """Return the value of the padding at an index."""
        if isinstance(self.value, IndexMapping):
            return Materializer(insert)(self.value.apply([sym_expr_of(i) for i in indices])[0])
        if isinstance(self.value, PadFunction):
            return self.value.element(indices, insert)
        op = tir.ConstOp(self.value, buffer.dtype)
        insert(op)
        return op.result


def replace_writer(state: State, buffer: SSAValue, padding: Padding, shape: Sequence[SymExpr]) -> tir.BlockOp | None:
    """Let the only block that writes a buffer, completely and in order, run over its new shape.

    Returns the block, whose accesses have their new indices; None, without any changes, if there is no such block.
    """
    block = _writer(buffer)
    if block is None:
        return None
    stores = [op for op in block.walk() if isinstance(op, tir.StoreOp) and op.buffer is buffer]
    indices = list(stores[0].indices)
    accesses = [op for op in block.walk() if isinstance(op, Access) and op.buffer is buffer]
    if any(list(op.indices) != indices for op in accesses) or any(is_conditional(op, block) for op in stores):
        return None
    dims = cast(BufferType, buffer.type).dims
    if not block.iter_vars:
        new, at = block, _widened_loops(block, indices, dims, padding, shape)
    elif loops := _loops_in_order(block, indices, dims):
        start = _start(block, indices)
        new = _widened(state, block, indices, loops, padding, shape)
        at = list(new.iter_vars[start : start + len(shape)])
    else:
        return None
    if not at:
        return None
    for op in accesses:
        op.operands = [*([op.value] if isinstance(op, tir.StoreOp) else []), buffer, *at]
    for store in stores:
        _store_choice(store, padding, at)
    remove_dead(new)
    return new


def _writer(buffer: SSAValue) -> tir.BlockOp | None:
    """Return the only block that stores to a buffer and has no other effects; nested blocks are not considered."""
    stores = [u.operation for u in buffer.uses if isinstance(u.operation, tir.StoreOp)]
    scopes = {st.scope_of(op) for op in stores}
    block = scopes.pop() if len(scopes) == 1 else None
    if not isinstance(block, tir.BlockOp) or block.predicate is not None or guards(block):
        return None
    return None if any(map(partial(_has_other_effects, buffer), block.body.walk())) else block


def _has_other_effects(buffer: SSAValue, op: Operation) -> bool:
    """Return whether an operation must not run for padding: a block, a store to another buffer, or a call."""
    elsewhere = isinstance(op, tir.StoreOp) and op.buffer is not buffer
    return elsewhere or isinstance(op, tir.BlockOp | tir.EvaluateOp)


def _start(block: tir.BlockOp, indices: Sequence[SSAValue]) -> int:
    return list(block.iter_vars).index(indices[0])


def _loops_in_order(block: tir.BlockOp, indices: Sequence[SSAValue], dims: Sequence[SymExpr]) -> list[tir.ForOp] | None:
    """Return the perfectly nested loops over the buffer's dimensions that the indices are bound to, or None."""
    iters = list(block.iter_vars)
    if any(i not in iters for i in indices):
        return None
    start, rank = _start(block, indices), len(indices)
    if iters[start : start + rank] != list(indices) or any(
        k is not IterKind.SPATIAL for k in block.kinds[start : start + rank]
    ):
        return None
    above = st.loops_above(block)
    by_var = {lp.loop_var: lp for lp in above}
    loops = [by_var.get(b) for b in block.bindings[start : start + rank]]
    bound = [lp for lp in loops if lp is not None]
    first = above.index(bound[0]) if len(bound) == rank else -1
    if first < 0 or above[first : first + rank] != bound or not all(map(_plain, bound)):
        return None
    covers_all = all(
        st.extent_of(lp) == d or st.constant_extent(lp) == d.constant is not None
        for lp, d in zip(bound, dims, strict=True)
    )
    alone = all(len(st.children(lp.body.block)) == 1 for lp in above[first:])
    return bound if covers_all and alone and st.blocks_below(bound[0]) == [block] else None


def _widened_loops(
    block: tir.BlockOp,
    indices: Sequence[SSAValue],
    dims: Sequence[SymExpr],
    padding: Padding,
    shape: Sequence[SymExpr],
) -> list[SSAValue]:
    """Let an opaque block, whose indices are the variables of the enclosing loops, run in loops over the new shape.

    Returns their variables; an empty list, without any changes, if these are not loops over the full buffer that
    enclose only the block.
    """
    loops = st.loops_above(block)[-len(indices) :] if indices else []
    if [lp.loop_var for lp in loops] != list(indices) or not all(
        _is_serial(lp)
        and len(st.children(lp.body.block)) == 1
        and all(block.is_ancestor(u.operation) for u in lp.loop_var.uses)
        for lp in loops
    ):
        return []
    if any(st.extent_of(lp) != d and st.constant_extent(lp) != d.constant for lp, d in zip(loops, dims, strict=True)):
        return []
    dtype = cast(IntegerType, indices[0].type)
    names = [str(p.name) for p in padding.params]
    new_loops = [rw.new_loop(n, extent, dtype) for n, extent in zip(names, shape, strict=True)]
    rw.insert_nest(new_loops, rw.before(loops[0]))
    rw.move_operations(loops[-1].body.block, new_loops[-1].body.block)
    at: list[SSAValue] = [lp.loop_var for lp in new_loops]
    places = dict(zip(padding.params, map(sym_expr_of, at), strict=True))
    substitute_iters(
        block, dict(zip(indices, (r.substitute(places) for r in padding.inverse.map.results), strict=True))
    )
    rw.remove(loops[0])
    return at


def _plain(loop: tir.ForOp) -> bool:
    """Return whether a serial loop starts at 0 and its variable is used only as a block's binding."""
    return len(list(loop.loop_var.uses)) == 1 and _is_serial(loop)


def _is_serial(loop: tir.ForOp) -> bool:
    """Return whether a loop is serial, starts at 0 and has no annotations."""
    return loop.kind is tir.ForKind.SERIAL and loop.annotations is None and st.min_of(loop).constant == 0


def _widened(
    state: State,
    block: tir.BlockOp,
    indices: Sequence[SSAValue],
    loops: Sequence[tir.ForOp],
    padding: Padding,
    shape: Sequence[SymExpr],
) -> tir.BlockOp:
    """Return the block over the new shape in new loops, with the body of the old block."""
    dtype = cast(IntegerType, indices[0].type)
    names = [str(p.name) for p in padding.params]
    new_loops = [rw.new_loop(n, extent, dtype) for n, extent in zip(names, shape, strict=True)]
    rows: list[rw.BlockIter] = [
        (IterKind.SPATIAL, lp.loop_var, (Const(0, dtype), extent)) for lp, extent in zip(new_loops, shape, strict=True)
    ]
    start, rank = _start(block, indices), len(indices)
    old = rw.iters_of(block)
    hints = [name_of(v) for v in block.iter_vars]
    new = rw.empty_block(
        st.name_of_block(block),
        [*old[:start], *rows, *old[start + rank :]],
        [*hints[:start], *(f"v_{n}" for n in names), *hints[start + rank :]],
    )
    rw.insert_nest(new_loops, rw.before(loops[0]))
    rw.move_operations(loops[-1].body.block, new_loops[-1].body.block)
    rw.take_body(block, new, state)
    rw.before(block)(new)
    own = new.iter_vars[start : start + len(rows)]
    places = dict(zip(padding.params, map(sym_expr_of, own), strict=True))
    kept = [*new.iter_vars[:start], *new.iter_vars[start + len(rows) :]]
    previous = [*block.iter_vars[:start], *block.iter_vars[start + rank :]]
    values = dict(zip(indices, (r.substitute(places) for r in padding.inverse.map.results), strict=True))
    for old_iter, new_iter in zip(previous, kept, strict=True):
        old_iter.replace_all_uses_with(new_iter)
    substitute_iters(new, values)
    erase_with_tree(block)
    rw.remove(loops[0])
    return new


def _store_choice(store: tir.StoreOp, padding: Padding, indices: Sequence[SSAValue]) -> None:
    """Store the padding if the index is padded, otherwise the original value."""
    insert = rw.before(store)
    condition = Materializer(insert)(padding.condition(indices))
    pad, kept = Block(), Block()
    pad.add_op(tir.YieldOp(padding.element(indices, cast(BufferType, store.buffer.type), pad.add_op)))
    kept.add_op(tir.YieldOp(Cloner(kept.add_op)(store.value)))
    choice = tir.IfThenElseOp(condition, Region(pad), Region(kept))
    insert(choice)
    store.operands[0] = choice.result


def fill(func: tir.FuncOp, buffer: SSAValue, padding: Padding) -> None:
    """Add a block that fills the padding after the last write of a buffer; for a buffer that is not written, assume
    it.
    """
    stores = {u.operation for u in buffer.uses if isinstance(u.operation, tir.StoreOp)}
    if not stores:
        first = st.children(func.body.block)[0]
        _assumption(buffer, padding, rw.before(first))
        return
    last = [op for op in func.walk() if op in stores][-1]
    anchor = _outermost(cast(tir.StoreOp, last))
    _filling(buffer, padding, rw.after(anchor))


def _outermost(store: tir.StoreOp) -> Operation:
    """Return the statement that contains all writes: the outermost loop that the indices of a store depend on."""
    block = st.scope_of(store)
    if not isinstance(block, tir.BlockOp):
        return store
    used = {v for i in store.indices for v in sym_expr_of(i).free_vars()}
    values = checks.iter_values(block)
    outer = {v for e in used for v in values.get(e, e).free_vars()}
    loops = [lp for lp in st.loops_above(block) if st.loop_expr(lp) in outer]
    return loops[0] if loops else block


def _grid(buffer: SSAValue, padding: Padding, name: str, insert: Insert) -> tir.BlockOp:
    """Return a block over a full buffer, in loops."""
    pairs = zip(padding.params, cast(BufferType, buffer.type).dims, strict=True)
    return rw.block_in_loops(name, [(str(p.name), f"v_{p.name}", extent, p.dtype) for p, extent in pairs], insert)


def _filling(buffer: SSAValue, padding: Padding, insert: Insert) -> None:
    filled = _grid(buffer, padding, f"buffer_{label(buffer)}_padding", insert)
    rw.set_predicate(filled, Materializer(rw.before(filled))(padding.condition(list(filled.bindings))))
    at = list(filled.iter_vars)
    value = padding.element(at, cast(BufferType, buffer.type), filled.body.block.add_op)
    filled.body.block.add_op(tir.StoreOp(value, buffer, at))
    rw.refresh_regions(filled)


def _assumption(buffer: SSAValue, padding: Padding, insert: Insert) -> None:
    block = _grid(buffer, padding, f"buffer_{label(buffer)}_assumptions", insert)
    body, at = block.body.block, list(block.iter_vars)
    pads = Materializer(body.add_op)(logical_not(padding.condition(at)))
    body.add_op(load := tir.LoadOp(buffer, at))
    holds = tir.BINARY["eq"](load.result, padding.element(at, cast(BufferType, buffer.type), body.add_op))
    either = tir.OrOp(pads, holds.result)
    assumed = tir.CallIntrinOp("assume", [either.result], either.result.type)
    body.add_ops([holds, either, assumed, tir.EvaluateOp(assumed.result)])
    rw.refresh_regions(block)


_HEAD = "lambda "


def text_of(indices: Sequence[SizeVar], value: PrimExpr) -> str:
    """Return `value`, an expression of `indices`, as a lambda. Raises `TiraxError` if it takes more than one line."""
    block = Block(arg_types=[i.type for i in indices])
    for arg, index in zip(block.args, indices, strict=True):
        set_name(arg, index.name)
    block.add_op(tir.EvaluateOp(Cloner(block.add_op)(value.value)))
    from ..script import print_script

    *_, above, last = print_script(tir.FuncOp("main", Region(block))).rstrip().split("\n")
    if not above.startswith("def "):
        raise TiraxError("a padding is one expression of the new indices", found=last.strip())
    head, text = "T.evaluate(", last.strip()
    body = text.removeprefix(head).removesuffix(")") if text.startswith(head) else text
    return f"{_HEAD}{', '.join(i.name for i in indices)}: ({body},)"


class PadFunction:
    """The value of a padded element as a function of its indices."""

    def __init__(self, text: str, dtype: IntegerType):
        """Parse the text of a lambda over indices of `dtype`. Raises a diagnostic if it is not valid."""
        params, colon, body = text.removeprefix(_HEAD).partition(": ")
        if not text.startswith(_HEAD) or not colon or not (body.startswith("(") and body.endswith(",)")):
            raise TiraxError("a padding is the text of a lambda", expected="lambda i, j: (…,)", found=text)
        self._params, self._value = _parsed(params.split(", "), body[1:-2], dtype_name(dtype))

    @property
    def type(self) -> Attribute:
        """The element type."""
        return self._value.type

    def element(self, indices: Sequence[SSAValue], insert: Insert) -> SSAValue:
        """Return the expression for the element at `indices`.

        Raises `TiraxError` if it takes another number of indices.
        """
        if len(indices) != len(self._params):
            raise TiraxError(
                "the padding has another number of indices", expected=len(indices), found=len(self._params)
            )
        return Cloner(insert, dict(zip(self._params, indices, strict=True)))(self._value)


def _parsed(params: Sequence[str], body: str, dtype: str) -> tuple[Sequence[SSAValue], SSAValue]:
    """Return the parameters and the value of a function that belongs to no module."""
    from ..script import parse_source

    parameters = ", ".join(f"{p}: T.{dtype}" for p in params)
    lines = ("from tvm.script import tir as T", "@T.prim_func", f"def main({parameters}):", f"    T.evaluate({body})")
    (func,) = functions(parse_source("\n".join(lines)))
    func.detach()
    last = func.body.block.last_op
    assert isinstance(last, tir.EvaluateOp)
    return func.params, last.value
