"""IR rewriting for primitives: copying expressions and blocks, updating regions, removing unused code."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i1, i32
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ..dialects import tir
from ..dialects.attributes import from_attr
from ..dialects.names import name_of, set_name
from ..dialects.sym.expr import Const, SymExpr, Var
from ..ir.affine.init_nest import sources
from ..ir.affine.iter_map import IterSplit, IterSum, Tree, is_same, joined_digits, simplest_map, to_expr
from ..ir.affine.values import Materializer, conjuncts, sym_expr_of
from ..ir.buffers.regions import infer_regions
from ..ir.rewriting.edit import has_root_block
from ..ir.rewriting.edit import inserter as before
from ..transforms.tir.walk import erase_with_tree, is_pure
from . import state as st
from .loop_builder import Cloner, Insert, captured


def after(anchor: Operation) -> Insert:
    """Return an inserter that inserts operations after `anchor`, in order."""
    block, following = anchor.parent, anchor.next_op
    assert block is not None
    return block.add_op if following is None else before(following)


def replace_op(old: Operation, new: Operation) -> None:
    """Replace the statement `old` by `new`, and erase `old`."""
    before(old)(new)
    remove(old)


def remove(op: Operation) -> None:
    """Remove a statement, and the loops around it that become empty."""
    parent = op.parent_op()
    erase_with_tree(op)
    while isinstance(parent, tir.ForOp) and not st.children(parent.body.block):
        op, parent = parent, parent.parent_op()
        erase_with_tree(op)


def move_operations(source: Block, target: Block, but: Operation | None = None) -> None:
    """Move the operations of a block, except one, to the end of another block."""
    for op in list(source.ops):
        if op is not but:
            op.detach()
            target.add_op(op)


def implicit_root(state: st.State, root: tir.BlockOp) -> None:
    """Make a root block implicit if it carries no information: the function represents it."""
    if root.block_name.data != "root":
        return
    func = st.function_around(root)
    for op in list(root.body.block.ops):
        op.detach()
        if not isinstance(op, tir.ReadsOp | tir.WritesOp):
            func.body.block.add_op(op)
    root.detach()
    state.replaced[root] = func


def lift_root(state: st.State, func: tir.FuncOp) -> None:
    """Make a root block implicit that was only written because it contained a single block, if it now contains more."""
    root = func.body.block.last_op
    if not isinstance(root, tir.BlockOp) or root.iter_vars or root.annotations is not None or root.init is not None:
        return
    says_nothing = not root.reads and not root.writes and root.predicate is None
    if says_nothing and len(st.children(func.body.block)) == 1 and has_root_block(list(root.body.block.ops)):
        implicit_root(state, root)


def splice_nest(loops: Sequence[tir.ForOp], body: Block) -> None:
    """Move the body of nested loops to the end of `body`, including the expressions between the loops."""
    for outer, below in zip(loops, [*loops[1:], None], strict=True):
        move_operations(outer.body.block, body, below)


def merge_nest(loops: Sequence[tir.ForOp], into: Sequence[tir.ForOp]) -> None:
    """Append the body of the nest `loops` to the body of the nest `into`, and erase `loops`."""
    for old, new in zip(loops, into, strict=True):
        old.loop_var.replace_all_uses_with(new.loop_var)
    splice_nest(loops, into[-1].body.block)
    erase_with_tree(loops[0])


def inline_value(
    value: SSAValue,
    variables: Sequence[SSAValue | None],
    loads: Iterable[tir.LoadOp],
    *,
    zeros: Iterable[SSAValue] = (),
    outside: Iterable[SSAValue] = (),
    stored: bool = False,
) -> None:
    """Compute `value`, which is stored at `variables`, in place of loads; None is an index that is constant.

    B[i] = A[i] + 1;  C[i] = B[i] * 2  ->  C[i] = (A[i] + 1) * 2

    The caller must ensure that the loaded elements are stored, and that inputs are unchanged at the loads. `zeros`
    are variables that are 0; values from `outside` are not recomputed. If the value is also to be `stored`, that
    happens at its load.
    """
    for load in loads:
        copy = Cloner(before(load), {kept: kept for kept in outside})
        for variable, index in zip(variables, load.indices, strict=True):
            if variable is not None:
                copy.replace(variable, copy.cast(index, variable.type))
        for variable in zeros:
            copy.replace(variable, copy.constant(0, cast(IntegerType, variable.type)))
        element = copy(value)
        if stored:
            copy.insert(tir.StoreOp(element, load.buffer, load.indices))
        load.result.replace_all_uses_with(element)
        erase_with_tree(load)


def erase_if_unread(buffer: SSAValue) -> None:
    """Erase an allocated buffer that is used only in regions of blocks, and these regions."""
    regions = [use.operation for use in buffer.uses]
    if isinstance(buffer.owner, tir.AllocBufferOp) and all(isinstance(op, tir.RegionOp) for op in regions):
        for op in regions:
            erase_with_tree(op)
        erase_with_tree(buffer.owner)


def same_tree(a: SSAValue, b: SSAValue, places: Mapping[Var, SymExpr] | None = None) -> bool:
    """Return whether two expressions are the same tree.

    With `places`, variables of the first one are substituted, and integers in both are compared as index
    arithmetic, which does not overflow.
    """
    integers = isinstance(a.type, IntegerType) and isinstance(b.type, IntegerType)
    if places is not None and integers and sym_expr_of(a).substitute(places) == sym_expr_of(b):
        return True
    x, y = a.owner, b.owner
    if a is b or not isinstance(x, Operation) or not isinstance(y, Operation):
        return a is b
    if type(x) is not type(y) or x.properties != y.properties or x.attributes != y.attributes or x.regions or y.regions:
        return False
    operands = zip(x.operands, y.operands, strict=False)
    return a.type == b.type and len(x.operands) == len(y.operands) and all(same_tree(*o, places) for o in operands)


def refresh_regions(block: tir.BlockOp) -> None:
    """Re-infer the regions that a block reads and writes after its body has changed.

    Regions set by `annotate_buffer_access` are kept. If a reduction's output was among its reads, it stays there. A
    root block declares no regions.
    """
    if isinstance(block.parent_op(), tir.FuncOp) and block.block_name.data == "root":
        return
    written = [w.buffer for w in block.writes]
    own = next((k for k, r in enumerate(block.reads) if r.buffer in written), None) if block.init is not None else None
    explicit = _explicit_regions(block)
    old = [op for op in [*block.reads, *block.writes] if op not in explicit]
    starts = [start for op in old for start in op.starts]
    for op in explicit:
        op.detach()
    for op in old:
        erase_with_tree(op)
    erase_unused(starts)
    infer_regions(block)
    if own is not None:
        _read_what_is_written(block, own)
    for op in explicit:
        inferred = block.reads if isinstance(op, tir.ReadsOp) else block.writes
        twin = next((r for r in inferred if r.buffer is op.buffer and len(r.starts) == len(op.starts)), None)
        if twin is not None:
            copy = Cloner(before(twin))
            before(twin)(type(op)(op.buffer, [copy(s) for s in op.starts], op.extents))
            erase_with_tree(twin)
        op.erase(safe_erase=False)


def _read_what_is_written(block: tir.BlockOp, place: int) -> None:
    """Add the write regions of a block to its read regions."""
    reads, writes = list(block.reads), list(block.writes)
    insert = before((reads[place:] or writes)[0])
    copy = Cloner(insert)
    for op in writes:
        if all(r.buffer is not op.buffer for r in reads):
            insert(tir.ReadsOp(op.buffer, [copy(s) for s in op.starts], op.extents))


def erase_unused(values: Iterable[SSAValue]) -> None:
    """Erase the expressions of unused values: loads for an old region may be out of bounds by now."""
    todo = list(values)
    while todo:
        op = todo.pop().owner
        if not isinstance(op, Operation) or op.parent is None or not is_pure(op):
            continue
        if all(r.first_use is None and not isinstance(r.type, tir.BufferType) for r in op.results):
            todo += op.operands
            erase_with_tree(op)


def _explicit_regions(block: tir.BlockOp) -> list[tir.ReadsOp | tir.WritesOp]:
    """Return the regions of a block that are not inferred."""
    notes = st.annotations_of(block)
    explicit: list[tir.ReadsOp | tir.WritesOp] = []
    for key, regions in (("explicit_read_region", block.reads), ("explicit_write_region", block.writes)):
        if key in notes:
            explicit += [regions[k] for k in cast("list[int]", from_attr(notes[key])) if k < len(regions)]
    return explicit


def set_predicate(block: tir.BlockOp, condition: SSAValue | None) -> None:
    """Set or remove the predicate of a block."""
    set_operands(block, list(block.bindings), condition)


def set_operands(block: tir.BlockOp, bindings: Sequence[SSAValue], condition: SSAValue | None) -> None:
    """Set the bindings of a block, one per iterator, and its predicate, if any."""
    predicate = [] if condition is None else [condition]
    block.operands = [*bindings, *predicate]
    block.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [len(bindings), len(predicate)])


def require(block: tir.BlockOp, more: Iterable[SSAValue]) -> None:
    """Add the conditions `more` to the predicate of a block.

    Parts of the predicate that are not safe to evaluate everywhere, because they load from a buffer, are only
    evaluated if all of `more` holds.
    """
    insert, parts = before(block), conditions(block)
    partial = [c for c in parts if not _is_total(c)]
    if partial:
        total = [*(c for c in parts if c not in partial), *more]
        set_predicate(block, conjunction([*total, *guarded(total, partial, insert)], insert))
        erase_unused(parts)
    else:
        set_predicate(block, conjunction([*([block.predicate] if block.predicate is not None else ()), *more], insert))


def guarded(bounds: Sequence[SSAValue], parts: Iterable[SSAValue], insert: Insert) -> list[SSAValue]:
    """Return conditions that are only evaluated if bounds on their variables hold, unless they are safe everywhere.

    M[x] > 1, with the bound x < n  ->  T.if_then_else(x < n, M[x] > 1, False)
    """
    return [_guarded([b for b in bounds if _shares_variable(b, c)], c, insert) for c in parts]


def _shares_variable(a: SSAValue, b: SSAValue) -> bool:
    variables = {v for v in sources([a]) if isinstance(v, BlockArgument) and isinstance(v.type, IntegerType)}
    return not variables.isdisjoint(sources([b]))


def _guarded(bounds: Sequence[SSAValue], condition: SSAValue, insert: Insert) -> SSAValue:
    bound = None if _is_total(condition) else conjunction(bounds, insert)
    if bound is None:
        return condition
    insert(choice := chosen(bound, condition, otherwise=False))
    return choice.result


def chosen(bound: SSAValue, condition: SSAValue, *, otherwise: bool) -> tir.IfThenElseOp:
    """Return a condition that is evaluated only if `bound` holds, and is `otherwise` elsewhere."""
    sides = [tir.body_region(), tir.body_region()]
    sides[0].block.add_op(tir.YieldOp(Cloner(sides[0].block.add_op)(condition)))
    sides[1].block.add_ops([other := tir.ConstOp(int(otherwise), i1), tir.YieldOp(other.result)])
    return tir.IfThenElseOp(bound, *sides)


def _is_total(condition: SSAValue) -> bool:
    """Return whether a condition is safe for all values of its variables: it has no loads, and only constant
    divisors.
    """
    op = condition.owner
    if not isinstance(op, Operation):
        return True
    divides = isinstance(op, tir.DivOp | tir.FloorDivOp | tir.FloorModOp | tir.TruncModOp)
    if divides and not isinstance(op.operands[1].owner, tir.ConstOp):
        return False
    partial = isinstance(op, tir.LoadOp | tir.CallIntrinOp) or op.regions
    return not partial and all(map(_is_total, op.operands))


def simplify_bindings(block: tir.BlockOp, changed: Collection[SSAValue] | None, keep_units: bool = True) -> None:
    """Rewrite a block's bindings as a quasi-affine map of the enclosing loops in normal form, if they are one.

    Bindings without a loop variable in `changed` are already in this form; None if all may have changed. With
    `keep_units`, loops that run once stay in the bindings.
    """
    memo: dict[SSAValue, SymExpr] = {}
    bindings = [sym_expr_of(binding, memo) for binding in block.bindings]
    ranges = {st.loop_expr(lp): (st.min_of(lp), st.extent_of(lp)) for lp in st.loops_above(block)}
    predicate = [sym_expr_of(c, memo) for c in conditions(block)]
    trees = [_written(binding, memo) for binding in block.bindings]
    sums = simplest_map(trees, ranges, predicate, keep_units=keep_units)
    if sums is None:
        return
    write = _SumWriter(before(block))
    new = list(block.bindings)
    for at, (total, e, old) in enumerate(zip(sums, bindings, block.bindings, strict=True)):
        if changed is None or to_expr(total) != e or any(v.value in changed for v in e.free_vars()):
            new[at] = write.sum(total, cast(IntegerType, old.type))
    set_operands(block, new, block.predicate)


_TREES: dict[type[Operation], str] = {tir.BINARY[kind]: kind for kind in ("add", "sub", "mul", "floordiv", "floormod")}
_MOST = 256
"""Operations of a binding: values are shared, so that a few lines may be a tree of any size."""


def _written(value: SSAValue, memo: dict[SSAValue, SymExpr]) -> Tree | SymExpr:
    """Return the operations that compute `value` as they are written; too many of them as one expression."""
    pending, count = [value], 0
    while pending and count <= _MOST:
        op = pending.pop().owner
        count += 1
        if type(op) in _TREES:
            pending += cast(Operation, op).operands
    return _tree_of(value, memo) if count <= _MOST else sym_expr_of(value, memo)


def _tree_of(value: SSAValue, memo: dict[SSAValue, SymExpr]) -> Tree | SymExpr:
    op, e = value.owner, sym_expr_of(value, memo)
    kind = _TREES.get(type(op))  # pyright: ignore[reportArgumentType]
    if kind is None:
        return e
    left, right = (_tree_of(operand, memo) for operand in cast(Operation, op).operands)
    return Tree(kind, left, right, e)


class _SumWriter:
    """Writes sums of splits: fusions keep their form, also where they are divided or scaled."""

    def __init__(self, insert: Insert):
        self.insert = insert
        self.plain = Materializer(insert)

    def sum(self, total: IterSum, dtype: IntegerType) -> SSAValue:
        """Return the value of `total`."""
        parts = [self._split(split, dtype) for split in total.splits]
        if total.base.constant != 0 or not parts:
            parts.append(self.plain(total.base, dtype))
        out = parts[0]
        for part in parts[1:]:
            out = self._binary("add", out, part)
        return out

    def _split(self, split: IterSplit, dtype: IntegerType) -> SSAValue:
        source = split.mark.source
        if isinstance(source, Var):
            return self.plain(to_expr(split), dtype)
        out, end = self.sum(joined_digits(source), dtype), split.lower * split.extent
        if not is_same(end, split.mark.extent):
            out = self._binary("floormod", out, self.plain(end, dtype))
        for kind, number in (("floordiv", split.lower), ("mul", split.scale)):
            if number.constant != 1:
                out = self._binary(kind, out, self.plain(number, dtype))
        return out

    def _binary(self, kind: str, left: SSAValue, right: SSAValue) -> SSAValue:
        self.insert(result := tir.BINARY[kind](left, right))
        return result.results[0]


def conditions(block: tir.BlockOp) -> list[SSAValue]:
    """Return the conjuncts of a block's predicate."""
    return [] if block.predicate is None else conjuncts(block.predicate)


def conjunction(parts: Iterable[SSAValue], insert: Insert) -> SSAValue | None:
    """Return the conjunction of `parts`, or None if there are none."""
    out: SSAValue | None = None
    for part in parts:
        if out is None:
            out = part
        else:
            op = tir.AndOp(out, part)
            insert(op)
            out = op.result
    return out


def new_loop(name: str, extent: SymExpr | int, dtype: IntegerType, kind: tir.ForKind = tir.ForKind.SERIAL) -> tir.ForOp:
    """Return an empty loop that starts at 0."""
    block = Block(arg_types=[dtype])
    set_name(block.args[0], name)
    return tir.ForOp(Const(0, dtype), Const(extent, dtype) if isinstance(extent, int) else extent, Region(block), kind)


def insert_nest(loops: Sequence[tir.ForOp], insert: Insert) -> Insert:
    """Insert nested loops by `insert`, and return the insertion point in the innermost one."""
    for loop in loops:
        insert(loop)
        insert = loop.body.block.add_op
    return insert


def take_body(old: tir.BlockOp, new: tir.BlockOp, state: st.State) -> None:
    """Move the body and annotations of a block to `new`, and redirect handles to it."""
    move_operations(old.body.block, new.body.block)
    if old.annotations is not None:
        new.properties["annotations"] = old.annotations
    state.replaced[old] = new


def loop_like(loop: tir.ForOp, name: str | None = None) -> tir.ForOp:
    """Return an empty loop with the bounds and the kind of another one."""
    body = Block(arg_types=[loop.loop_var.type])
    set_name(body.args[0], name or name_of(loop.loop_var))
    thread = None if loop.thread is None else loop.thread.data
    return tir.ForOp(loop.min, loop.extent, Region(body), loop.kind, thread=thread, annotations=loop.annotations)


def copied_loops(
    loops: Sequence[tir.ForOp], insert: Insert, suffix: str = "", *, serial: bool = False
) -> tuple[Insert, dict[SSAValue, SSAValue]]:
    """Insert nested copies of loops without their bodies; return the insertion point and the new variables."""
    copies = [loop_like(lp, f"{name_of(lp.loop_var) or 'i'}{suffix}" if suffix else None) for lp in loops]
    for copy in copies if serial else ():
        for key in ("kind_attr", "thread", "annotations"):
            copy.properties.pop(key, None)
    insert = insert_nest(copies, insert)
    return insert, {old.loop_var: new.loop_var for old, new in zip(loops, copies, strict=True)}


Axis = tuple[str, str, SymExpr, IntegerType]
"""The names of a loop and of the iterator bound to it, their extent and type."""


def axes(extents: Sequence[SymExpr], loop: str = "ax") -> list[Axis]:
    """Return axes that are named by their numbers."""
    return [(f"{loop}{k}", f"v{k}", extent, extent.dtype) for k, extent in enumerate(extents)]


def block_in_loops(
    name: str, rows: Sequence[Axis], insert: Insert, kinds: Sequence[tir.IterKind] | None = None
) -> tir.BlockOp:
    """Return a block without statements in loops from 0, one for each of its iterators, which are spatial by
    default.
    """
    kinds = kinds or [tir.IterKind.SPATIAL] * len(rows)
    loops = [new_loop(loop, extent, dtype) for loop, _, extent, dtype in rows]
    iters = [
        (kind, lp.loop_var, (Const(0, dtype), extent))
        for kind, lp, (_, _, extent, dtype) in zip(kinds, loops, rows, strict=True)
    ]
    block = empty_block(name, iters, [hint for _, hint, _, _ in rows])
    insert_nest(loops, insert)(block)
    return block


def allocate(scope: st.BlockLike, buffer_type: tir.BufferType, name: str) -> SSAValue:
    """Allocate a buffer in a block, after the existing ones."""
    op, body = tir.AllocBufferOp(buffer_type), st.body_of(scope)
    set_name(op.result, name)
    allocations = [o for o in body.ops if isinstance(o, tir.AllocBufferOp)]
    if allocations:
        body.insert_op_after(op, allocations[-1])
    elif body.first_op is not None:
        body.insert_op_before(op, body.first_op)
    else:
        body.add_op(op)
    return op.result


def depends_on(value: SSAValue, variables: Iterable[SSAValue]) -> bool:
    """Return whether an integer expression or condition uses one of `variables`, directly or by its loads."""
    used = sources(v.value for v in sym_expr_of(value).free_vars() if v.value is not None)
    return not used.isdisjoint(variables)


def copy_statements(source: Block, target: Block, mapping: Mapping[SSAValue, SSAValue]) -> None:
    """Append copies of the statements of `source` to `target`, with substituted values."""
    copy = Cloner(target.add_op, mapping)
    for op in st.children(source):
        target.add_op(op.clone({v: copy(v) for v in captured(op)}))


BlockIter = tuple[tir.IterKind, SSAValue, tuple[SymExpr, SymExpr]]
"""Kind, binding, and domain (minimum, extent) of an iterator."""


def iters_of(block: tir.BlockOp) -> list[BlockIter]:
    """Return the iterators of a block in the form that its constructor takes."""
    doms = zip(block.mins, block.extents, strict=True)
    return list(zip(block.kinds, block.bindings, doms, strict=True))


def empty_block(
    name: str, iters: Sequence[BlockIter], names: Sequence[str | None], predicate: SSAValue | None = None
) -> tir.BlockOp:
    """Return a block without statements, whose iterators are named `names`."""
    body = Block(arg_types=[binding.type for _, binding, _ in iters])
    for arg, hint in zip(body.args, names, strict=True):
        set_name(arg, hint)
    return tir.BlockOp(name, list(iters), Region(body), predicate=predicate)
