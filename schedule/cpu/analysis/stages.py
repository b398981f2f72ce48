"""The stages of a tir function. A stage is a loop nest around one block that stores one element.

This is the form that `te` generates: iterators bound to loops from 0, and a body that is one expression, stored
once. Anything else (several stores, branches, loops with annotations, …) is left unchanged.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.quick import clone, operations
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import Const, SymExpr, add, mul
from ....dialects.tir import BufferType, ForKind, IterKind
from ....ir.affine.values import sym_expr_of
from ....transforms.tir.walk import erase_with_tree, remove_dead
from ...loop_builder import Iter
from ...rewrite import depends_on
from ...state import function_of

COMBINERS = (tir.AddOp, tir.MulOp, tir.MinOp, tir.MaxOp)
EXPRESSIONS = frozenset[type[Operation]]((
    *tir.BINARY.values(), tir.NotOp, tir.CastOp, tir.ReinterpretOp, tir.SelectOp, tir.IfThenElseOp, tir.CallIntrinOp,
    tir.ConstOp, tir.LoadOp, ValueOp, tir.YieldOp,
))  # fmt: skip


@dataclass
class Stage:
    """A loop nest with a single store: `root` is its outermost operation, and `iters` are in loop order."""

    root: Operation
    block: tir.BlockOp
    iters: list[Iter]
    store: tir.StoreOp
    init: tir.StoreOp | None

    @property
    def buffer(self) -> SSAValue:
        """The buffer that the stage writes."""
        return self.store.buffer

    @property
    def spatial(self) -> list[Iter]:
        return [it for it in self.iters if not it.reduce]

    @property
    def reduce(self) -> list[Iter]:
        return [it for it in self.iters if it.reduce]

    @property
    def _inside(self) -> list[Operation]:
        """The operations of the body."""
        return [inner for op in self.block.body.block.ops for inner in operations(op)]

    @property
    def loads(self) -> list[tir.LoadOp]:
        """The loads of the body, without those of the init region."""
        init = self.block.init
        loads = [op for op in self._inside if type(op) is tir.LoadOp]
        return [op for op in loads if init is None or not init.is_ancestor(op)]

    @property
    def accesses(self) -> list[tir.LoadOp | tir.StoreOp]:
        """The loads and stores, including those of the init region."""
        return [op for op in self._inside if isinstance(op, tir.LoadOp | tir.StoreOp)]

    def inputs(self) -> set[SSAValue]:
        """Return the buffers that are read, except the one that is written."""
        every = {op.buffer for op in self._inside if type(op) is tir.LoadOp}
        return every - {self.buffer}


def analyse(root: Operation) -> Stage | None:
    """Return the stage rooted at an operation, or None if it has another form."""
    nest = nest_of(root)
    return None if nest is None else _with_body(root, *nest)


def nest_of(root: Operation) -> tuple[tir.BlockOp, list[Iter]] | None:
    """Return the block in a nest of plain loops and its iterators in loop order, or None if there is no such nest."""
    nest = perfect_nest(root)
    if nest is None or nest[1].predicate is not None:
        return None
    loops: dict[SSAValue, SymExpr] = {}
    for loop in nest[0]:
        extent = _plain_extent(loop)
        if extent is None:
            return None
        loops[loop.loop_var] = extent
    iters = _iters(nest[1], loops)
    return None if iters is None else (nest[1], iters)


def perfect_nest(root: Operation) -> tuple[list[tir.ForOp], tir.BlockOp] | None:
    """Return the loops of a perfect nest and the block inside, or None if `root` is not such a nest."""
    loops: list[tir.ForOp] = []
    op = root
    while isinstance(op, tir.ForOp):
        inner = [o for o in op.body.block.ops if not isinstance(o, tir.ConstOp)]
        if len(inner) != 1:
            return None
        loops.append(op)
        op = inner[0]
    return (loops, op) if isinstance(op, tir.BlockOp) else None


@dataclass(frozen=True)
class Results:
    """A nest with several interdependent results, such as the position and the value of a maximum.

    `rest` are the stores of the body and `begin` those of the init, one per buffer.
    """

    block: tir.BlockOp
    iters: list[Iter]
    stores: list[tir.StoreOp]
    inits: list[tir.StoreOp]
    rest: list[Operation]
    begin: list[Operation]


_NOTES = (tir.StoreOp, tir.InitOp, tir.LetOp, tir.ReadsOp, tir.WritesOp)


def results_of(root: Operation) -> Results | None:
    """Return the results of a nest of plain loops, or None if there are fewer than two."""
    nest = nest_of(root)
    init = None if nest is None else nest[0].init
    if nest is None or init is None:
        return None
    block, iters = nest
    stores = [op for op in block.body.block.ops if isinstance(op, tir.StoreOp)]
    inits = [op for op in init.body.block.ops if isinstance(op, tir.StoreOp)]
    rest = [op for op in block.body.block.ops if not isinstance(op, _NOTES)]
    begin = [op for op in init.body.block.ops if not isinstance(op, tir.StoreOp)]
    written = {op.buffer for op in stores}
    if not 2 <= len(written) == len(stores) == len(inits) or written != {op.buffer for op in inits}:
        return None
    return Results(block, iters, stores, inits, rest, begin) if is_expression([*rest, *begin]) else None


def _plain_extent(loop: tir.ForOp) -> SymExpr | None:
    """Return the extent of a loop that is serial, starts at 0 and has no annotations; None for other loops."""
    first, extent = loop.min, loop.extent
    if loop.kind is not ForKind.SERIAL or loop.annotations is not None:
        return None
    if not isinstance(first, SymExpr) or first.constant != 0 or not isinstance(extent, SymExpr):
        return None
    return extent


def _iters(block: tir.BlockOp, loops: dict[SSAValue, SymExpr]) -> list[Iter] | None:
    """Return the iterators in the order of their loops, preceded by those with a single value."""
    left = dict(loops)
    order = {v: i for i, v in enumerate(loops)}
    rows: list[tuple[int, Iter]] = []
    for var, kind, binding, least, extent in zip(
        block.iter_vars, block.kinds, block.bindings, block.mins, block.extents, strict=True
    ):
        if kind not in (IterKind.SPATIAL, IterKind.REDUCE) or least.constant != 0:
            return None
        if binding in left and left.pop(binding) == extent:
            rows.append((order[binding], Iter(var, extent, kind is IterKind.REDUCE)))
        elif extent.constant == 1 and sym_expr_of(binding).constant == 0:
            rows.append((-1, Iter(var, extent, kind is IterKind.REDUCE)))
        else:
            return None
    if any(extent.constant != 1 for extent in left.values()):
        return None
    return [it for _, it in sorted(rows, key=lambda row: row[0])]


def _with_body(root: Operation, block: tir.BlockOp, iters: list[Iter]) -> Stage | None:
    stores: list[tir.StoreOp] = []
    init: tir.StoreOp | None = None
    for op in block.body.block.ops:
        if isinstance(op, tir.StoreOp):
            stores.append(op)
        elif isinstance(op, tir.InitOp):
            last = op.body.block.last_op
            if not isinstance(last, tir.StoreOp) or not is_expression(list(op.body.block.ops)[:-1]):
                return None
            init = last
        elif not isinstance(op, tir.ReadsOp | tir.WritesOp) and not is_expression([op]):
            return None
    if len(stores) != 1 or stores[0] is not block.body.block.last_op:
        return None
    stage = Stage(root, block, iters, stores[0], init)
    return stage if _is_sound(stage) else None


def is_expression(ops: Iterable[Operation]) -> bool:
    """Return whether operations only compute values."""
    return all(type(inner) in EXPRESSIONS for op in ops for inner in operations(op))


def _is_sound(stage: Stage) -> bool:
    """Return whether elements are independent: the written buffer is only read at the element being written."""
    here = [sym_expr_of(i) for i in stage.store.indices]
    own = [op for op in stage.loads if op.buffer is stage.buffer]
    if any([sym_expr_of(i) for i in op.indices] != here for op in own):
        return False
    spatial = {it.var for it in stage.spatial if it.extent.constant != 1}
    used = {v.name for e in here for v in e.free_vars()}
    if stage.init is not None and [sym_expr_of(i) for i in stage.init.indices] != here:
        return False
    return spatial <= used and not any(it.var in used for it in stage.reduce if it.extent.constant != 1)


@dataclass(frozen=True)
class Update:
    """A reduction step: `old` loads the accumulator and is an operand of `combiner`, whose result is stored."""

    combiner: tir.BinaryExpr
    old: tir.LoadOp
    term: SSAValue


def update_of(stage: Stage) -> Update | None:
    """Return the reduction step of a stage, or None if it is not of the form `C = combine(C, term)`."""
    op = stage.store.value.owner
    if not isinstance(op, COMBINERS):
        return None
    own = [load for load in stage.loads if load.buffer is stage.buffer]
    if len(own) != 1 or sum(1 for _ in own[0].result.uses) != 1:
        return None
    for old, term in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if old is own[0].result:
            return Update(op, own[0], term)
    return None


def has_no_aliases(op: Operation | None) -> bool:
    """Return whether the function around an operation has `tir.noalias`: its buffers do not overlap."""
    while op is not None and not isinstance(op, tir.FuncOp):
        op = op.parent_op()
    return op is not None and op.func_attrs is not None and "tir.noalias" in op.func_attrs.data


def address(buffer: SSAValue, indices: Iterable[SSAValue]) -> SymExpr:
    """Return the offset of an access in elements from the start of the buffer."""
    total: SymExpr = Const(0)
    for index, stride in zip(indices, cast(BufferType, buffer.type).layout_strides(), strict=True):
        total = add(total, mul(sym_expr_of(index), stride))
    return total


def slope(op: tir.LoadOp | tir.StoreOp, it: Iter) -> SymExpr:
    """Return the change of an access's address per step of an iterator, in elements."""
    steps = [_step(index, it) for index in op.indices]
    if any(step.constant is None for step in steps):  # quotients and remainders may add up to a constant
        place = address(op.buffer, op.indices)
        return place.substitute({it.expr: it.expr + 1}) - place
    total: SymExpr = Const(0)
    for step, stride in zip(steps, cast(BufferType, op.buffer.type).layout_strides(), strict=True):
        if step.constant != 0:
            total = add(total, mul(step, stride))
    return total


def _step(index: SSAValue, it: Iter) -> SymExpr:
    """Return the change of an index per step of an iterator."""
    if isinstance(index.owner, Block):
        return Const(int(index is it.var))
    place = sym_expr_of(index)
    return place.substitute({it.expr: it.expr + 1}) - place if it.expr in place.free_vars() else Const(0)


def constant_slope(op: tir.LoadOp | tir.StoreOp, it: Iter) -> int | None:
    """Return the change of an access's address per step of an iterator, or None if it is not a constant."""
    known = _slopes.get()
    if known is None:
        return slope(op, it).constant
    if (op, it.var) not in known:
        known[op, it.var] = slope(op, it).constant
    return known[op, it.var]


@contextmanager
def cached_slopes() -> Generator[None]:
    """Cache slopes within the context, in which only newly created operations may change."""
    token = _slopes.set({})
    try:
        yield
    finally:
        _slopes.reset(token)


_slopes: ContextVar[dict[tuple[Operation, SSAValue], int | None] | None] = ContextVar("slopes", default=None)


def is_in_order(op: tir.LoadOp | tir.StoreOp, it: Iter) -> bool:
    """Return whether an access is contiguous along an iterator, which occurs only in the last index."""
    if not op.indices or constant_slope(op, it) != 1:
        return False
    return not any(depends_on(index, [it.var]) for index in op.indices[:-1])


def element_type(buffer: SSAValue) -> Attribute:
    """Return the element type of a buffer."""
    return cast(BufferType, buffer.type).dtype


def memory_bits(buffer: SSAValue) -> int:
    """Return the size of an element in memory, in bits."""
    return max(8, bit_width(element_type(buffer)))


def tree(value: SSAValue) -> list[Operation]:
    """Return the operations that compute `value`, except those in regions."""
    ops: dict[Operation, None] = {}
    todo = [value]
    while todo:
        v = todo.pop()
        if isinstance(v, OpResult) and v.op not in ops:
            ops[v.op] = None
            todo.extend(v.op.operands)
    return list(ops)


def loads_below(value: SSAValue) -> list[tir.LoadOp]:
    """Return the loads that `value` is computed from, except those in regions."""
    return [op for op in tree(value) if isinstance(op, tir.LoadOp)]


# reductions with several results


def split_reductions(func: tir.FuncOp) -> None:
    """Split reductions with several independent results, such as a sum and a sum of squares.

    `C = C + a; D = D + b` in one block -> two nests, if neither result is read for the other.
    """
    for root in list(func.body.block.ops):
        nest = perfect_nest(root)
        if nest is None or nest[1].init is None:
            continue
        block = nest[1]
        stores = [op for op in block.body.block.ops if isinstance(op, tir.StoreOp)]
        if stores and _independent(block, stores):
            _forget_lets(block)
            if len(stores) > 1:
                _split(root, stores)


def _independent(block: tir.BlockOp, stores: list[tir.StoreOp]) -> bool:
    """Return whether the value of each store reads no buffer that the block writes, except the store's own."""
    written = [s.buffer for s in stores]
    begun = {s.buffer for s in _init_stores(block)}
    if len(set(written)) != len(written) or begun != set(written):
        return False
    for store in stores:
        read = {load.buffer for v in (store.value, *store.indices) for load in loads_below(v)}
        if any(b in read for b in written if b is not store.buffer):
            return False
    return not any(op.regions and not isinstance(op, tir.InitOp) for op in block.body.block.ops)


def _init_stores(block: tir.BlockOp) -> list[tir.StoreOp]:
    init = block.init
    return [] if init is None else [op for op in init.body.block.ops if isinstance(op, tir.StoreOp)]


def _forget_lets(block: tir.BlockOp) -> None:
    """Replace names of expressions by the expressions."""
    for op in list(block.body.block.ops):
        if isinstance(op, tir.LetOp):
            op.result.replace_all_uses_with(op.value)
            erase_with_tree(op)


def _split(root: Operation, stores: list[tir.StoreOp]) -> None:
    parent = cast(Block, root.parent)
    for store in stores:
        copy = clone(root)
        _keep_only(copy, store.buffer)
        parent.insert_op_before(copy, root)
    erase_with_tree(root)


def _keep_only(root: Operation, buffer: SSAValue) -> None:
    """Remove a nest's stores to buffers other than `buffer`, and the operations that only these stores need."""
    for op in list(root.walk()):
        if isinstance(op, tir.StoreOp | tir.WritesOp) and op.buffer is not buffer:
            erase_with_tree(op)
    remove_dead(root)


def function_name(root: Operation) -> str:
    """Return the name of a stage's function, without the prefix that the build adds."""
    func = function_of(root)
    return "main" if func is None else func.sym_name.data.rpartition(".")[2]
