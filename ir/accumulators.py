"""Widen accumulators: sums and products of 16-bit floats accumulate in float32 and are rounded once at the end.

    C[i] = C[i] + A[i, k] * B[k]    ->    C_wide[i] = C_wide[i] + f32(A[i, k]) * f32(B[k]);  C[i] = f16(C_wide[i])

numpy (with `dtype=float32`), PyTorch and ONNX Runtime do the same. Native code and the interpreter share this rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, FloatAttr, IntegerType, f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects import tir
from ..dialects.names import name_of, set_name
from ..dialects.quick import operations
from ..dialects.sym.expr import Const, SymExpr
from ..dialects.tir import BufferType, ForKind, IterKind
from .affine.values import sym_expr_of
from .rewriting.edit import erase, inserter, set_type

_SUMS = (tir.AddOp, tir.SubOp)
_PRODUCTS = (tir.MulOp,)
_COPY = "{}_cast"
"""The name of the block that rounds the results of the block `{}`."""


def widen_accumulators(func: tir.FuncOp) -> None:
    """Make the function's reductions of float16 and bfloat16 accumulate in float32, in place.

    Buffers that the function allocates become float32 themselves. A parameter, or a buffer with other uses, gets a
    float32 copy if a single plain loop nest computes all of its elements; other buffers are unchanged.
    """
    steps: dict[SSAValue, list[_Step]] = {}
    for step in _steps(func):
        steps.setdefault(step.store.buffer, []).append(step)
    for buffer, own in steps.items():
        _widen(buffer, own)


def has_half_sums(func: tir.FuncOp) -> bool:
    """Return whether the function accumulates in buffers of float16 or bfloat16."""
    return next(_steps(func), None) is not None


def _steps(func: tir.FuncOp) -> Iterator[_Step]:
    for op in operations(func):
        if isinstance(op, tir.StoreOp) and _is_half(op.value.type):
            step = _step_of(op)
            if step is not None:
                yield step


def _is_half(dtype: Attribute) -> bool:
    return isinstance(dtype, Float16Type | BFloat16Type)


@dataclass(frozen=True)
class _Step:
    """A store that combines the previous value of the element, `old`, with others by operations of `kinds`."""

    store: tir.StoreOp
    old: tir.LoadOp
    kinds: tuple[type[tir.BinaryExpr], ...]


def _step_of(store: tir.StoreOp) -> _Step | None:
    owner = store.value.owner
    kinds = next((kinds for kinds in (_SUMS, _PRODUCTS) if isinstance(owner, kinds)), None)
    if kinds is None:
        return None
    place = [sym_expr_of(i) for i in store.indices if isinstance(i.type, IntegerType)]
    if len(place) < len(store.indices):
        return None
    loads = [op for op in _terms(store.value, kinds) if op.buffer is store.buffer]
    if len(loads) != 1 or [sym_expr_of(i) for i in loads[0].indices] != place:
        return None
    return _Step(store, loads[0], kinds)


def _terms(value: SSAValue, kinds: tuple[type[tir.BinaryExpr], ...]) -> list[tir.LoadOp]:
    """Return the loads among the terms of a sum or product; in a difference only the left side may accumulate."""
    loads: list[tir.LoadOp] = []
    todo = [value]
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, kinds):
            todo += [owner.lhs] if isinstance(owner, tir.SubOp) else [owner.lhs, owner.rhs]
        elif isinstance(owner, tir.LoadOp):
            loads.append(owner)
    return loads


def _widen(buffer: SSAValue, steps: Sequence[_Step]) -> None:
    uses = [use.operation for use in buffer.uses]
    if isinstance(buffer.owner, tir.AllocBufferOp):
        if all(map(_is_plain_access, uses)):
            _retype(buffer, steps, uses)
        return
    root = _plain_nest(steps[0]) if len(steps) == 1 else None
    if root is None:
        return
    inside = [op for op in uses if root.is_ancestor(op)]
    if not all(map(_is_plain_access, inside)):
        return
    wide = _allocate(root, buffer)
    for op in inside:
        op.operands = [wide if v is buffer else v for v in op.operands]
    _retype(wide, steps, inside)
    _round_after(root, wide, buffer, steps[0].store)


def _is_plain_access(op: Operation) -> bool:
    """Return whether an operation accesses single elements, or is a region of a block."""
    if isinstance(op, tir.LoadOp | tir.StoreOp):
        return all(isinstance(v.type, IntegerType) for v in op.indices)
    return isinstance(op, tir.ReadsOp | tir.WritesOp)


def _retype(buffer: SSAValue, steps: Sequence[_Step], uses: Sequence[Operation]) -> None:
    """Change a buffer to float32: accumulating steps compute in it, other accesses convert."""
    t = cast(BufferType, buffer.type)
    set_type(buffer, t.replaced(dtype=f32))
    for step in steps:
        old = step.store.value
        step.store.operands[0] = _Widening(step, buffer)(old, step.kinds)
        _erase_unused(old)
    for op in uses:
        if isinstance(op, tir.StoreOp) and op.value.type != f32:
            op.operands[0] = _converted(op.value, inserter(op))
        elif isinstance(op, tir.LoadOp) and op.parent is not None and op.result.type != f32:
            set_type(op.result, f32)
            back = tir.CastOp(op.result, t.dtype)
            cast(Block, op.parent).insert_op_after(back, op)
            op.result.replace_uses_with_if(back.result, lambda use, back=back: use.operation is not back)


@dataclass(frozen=True)
class _Widening:
    """Computation of a step's value in float32, where products of two 16-bit terms are exact."""

    step: _Step
    buffer: SSAValue

    def __call__(self, value: SSAValue, kinds: tuple[type[tir.BinaryExpr], ...]) -> SSAValue:
        owner, insert = value.owner, inserter(self.step.store)
        if owner is self.step.old:
            new: Operation = tir.LoadOp(self.buffer, list(self.step.old.indices))
        elif isinstance(owner, kinds):
            new = type(owner)(*[self(v, kinds) for v in owner.operands])
        elif isinstance(owner, tir.MulOp):
            return self(value, _PRODUCTS)
        else:
            return _converted(value, insert)
        insert(new)
        return new.results[0]


def _converted(value: SSAValue, insert: Callable[[Operation], None]) -> SSAValue:
    constant = value.owner
    if isinstance(constant, tir.ConstOp) and isinstance(constant.value, FloatAttr):
        new: Operation = tir.ConstOp(constant.value.value.data, f32)
    else:
        new = tir.CastOp(value, f32)
    insert(new)
    return new.results[0]


def _erase_unused(value: SSAValue) -> None:
    """Erase the operations that compute an unused value."""
    owner = value.owner
    if isinstance(owner, tir.BinaryExpr | tir.LoadOp | tir.ConstOp) and value.first_use is None:
        operands = dict.fromkeys(owner.operands)
        erase(owner)
        for operand in operands:
            _erase_unused(operand)


def _plain_nest(step: _Step) -> Operation | None:
    """Return the outermost loop of a plain nest that computes all elements of the stored buffer; None for other forms.

    The nest is a block with an init, in one loop from 0 for each iterator, whose spatial iterators are the indices.
    """
    block = step.store.parent_op()
    if not isinstance(block, tir.BlockOp) or block.init is None or block.predicate is not None:
        return None
    if any(low.constant != 0 for low in block.mins):
        return None
    begun = [op for op in operations(block.init) if isinstance(op, tir.StoreOp)]
    stored = [op for op in operations(block) if isinstance(op, tir.StoreOp) and op.buffer is step.store.buffer]
    if [op.buffer for op in begun].count(step.store.buffer) != 1 or len(stored) != 2:
        return None
    dims = cast(BufferType, step.store.buffer.type).dims
    domains = dict(zip(block.iter_vars, zip(block.kinds, block.extents, strict=True), strict=True))
    indices = list(step.store.indices)
    spatial = [v for v, (kind, extent) in domains.items() if kind is IterKind.SPATIAL and extent.constant != 1]
    used = [i for i in indices if domains.get(i, (None,))[0] is IterKind.SPATIAL]
    others = [d for i, d in zip(indices, dims, strict=True) if i not in used]
    if len(set(used)) < len(used) or not set(spatial) <= set(used) or any(d.constant != 1 for d in others):
        return None
    if any(domains[i][1] != d for i, d in zip(indices, dims, strict=True) if i in used):
        return None
    return _plain_root(block)


def _plain_root(block: tir.BlockOp) -> Operation | None:
    """Return the outermost loop around a block in a top-level nest of one loop for each iterator, or None."""
    left = dict(zip(block.bindings, block.extents, strict=True))
    root: Operation = block
    while isinstance(loop := root.parent_op(), tir.ForOp):
        first = loop.min
        if loop.kind is not ForKind.SERIAL or not isinstance(first, Const) or first.constant != 0 or loop.annotations:
            return None
        if left.pop(loop.loop_var, None) != loop.extent:
            return None
        root = loop
    if any(extent.constant != 1 for extent in left.values()):
        return None
    return root if isinstance(loop, tir.FuncOp) else None


def _allocate(root: Operation, like: SSAValue) -> SSAValue:
    """Allocate a float32 buffer of the shape of another one, at the head of the function."""
    alloc = tir.AllocBufferOp(BufferType.of(cast(BufferType, like.type).dims, f32))
    set_name(alloc.result, f"{name_of(like) or 'buffer'}_wide")
    body = cast(Block, root.parent)
    body.insert_op_before(alloc, cast(Operation, body.first_op))
    return alloc.result


def _round_after(root: Operation, wide: SSAValue, buffer: SSAValue, step: tir.StoreOp) -> None:
    """Copy all elements after the nest `root`: buffer[i] = cast(wide[i])."""
    block = cast(tir.BlockOp, step.parent_op())
    dims = cast(BufferType, buffer.type).dims
    loops = [_loop(n, d) for n, d in enumerate(dims)]
    body = Block(arg_types=[d.dtype for d in dims])
    for n, arg in enumerate(body.args):
        set_name(arg, f"v{n}")
    unit = [Const(1, d.dtype) for d in dims]
    load = tir.LoadOp(wide, body.args)
    rounded = tir.CastOp(load.result, cast(BufferType, buffer.type).dtype)
    store = tir.StoreOp(rounded.result, buffer, body.args)
    body.add_ops([tir.ReadsOp(wide, body.args, unit), tir.WritesOp(buffer, body.args, unit), load, rounded, store])
    iters = [(IterKind.SPATIAL, lp.loop_var, d) for lp, d in zip(loops, dims, strict=True)]
    inner: Operation = tir.BlockOp(_COPY.format(block.block_name.data), iters, Region(body))
    for loop in reversed(loops):
        loop.body.block.add_op(inner)
        inner = loop
    cast(Block, root.parent).insert_op_after(inner, root)


def _loop(number: int, extent: SymExpr) -> tir.ForOp:
    loop = tir.ForOp(Const(0, extent.dtype), extent, tir.body_region(extent.dtype))
    set_name(loop.loop_var, f"ax{number}")
    return loop
