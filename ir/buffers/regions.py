"""Inference of the buffer regions that a block reads and writes.

`infer_regions(block)` inserts `tir.reads` and `tir.writes` at the start of a block's body, as TVM completes a script:
in order of first access, with inner loops relaxed to the range that the conditions around an access leave, and with
accesses of a buffer merged. If the block has an init, written buffers are not among the reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import tir
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.sym.int_set import EVERYTHING, Intervals, SymInterval
from ...dialects.sym.operators import OPS, logical_not, maximum, minimum
from ..affine.values import Materializer, sym_expr_of, widens

Ends = tuple[SymExpr, SymExpr]
"""The least and the greatest value."""


def narrowed(condition: SymExpr, holds: bool, bounds: Mapping[SSAValue, Ends | None]) -> dict[SSAValue, Ends]:
    """Return narrower intervals of variables than `bounds`, where `condition` is true (or false, according to `holds`).

    `i < 5` with i from 0 to 7: 0 to 4, else 5 to 7. If the condition is impossible, variables keep their bounds.
    """
    known, numbers = Analyzer(), dict[SSAValue, tuple[int, int]]()
    variables = {v: v.value for v in condition.free_vars() if v.value is not None}
    for var, value in variables.items():
        low, high = (None if end is None else end.constant for end in bounds.get(value) or (None, None))
        if low is not None and high is not None and low <= high:
            numbers[value] = (low, high)
            known.bind_range(var, Const(low, var.dtype), Const(high - low + 1, var.dtype))
    if not numbers:
        return {}
    known.assume(condition if holds else logical_not(condition))
    ends: dict[SSAValue, Ends] = {}
    for var, value in variables.items():
        interval = known.bounds(var)
        if value in numbers and numbers[value] != (interval.low, interval.high) and interval.low <= interval.high:
            ends[value] = (Const(int(interval.low), var.dtype), Const(int(interval.high), var.dtype))
    return ends


_Dims = list[Ends | None]
"""An interval for each dimension; None if it is unknown, which means the full dimension."""


class _Accesses:
    """Regions by buffer, in order of first access."""

    def __init__(self) -> None:
        self.dims: dict[SSAValue, _Dims] = {}

    def add(self, buffer: SSAValue, dims: _Dims) -> None:
        known = self.dims.get(buffer)
        self.dims[buffer] = dims if known is None else [_join(a, b) for a, b in zip(known, dims, strict=True)]


def _join(a: Ends | None, b: Ends | None) -> Ends | None:
    if a is None or b is None:
        return None
    return (a[0] if a[0] == b[0] else minimum(a[0], b[0]), a[1] if a[1] == b[1] else maximum(a[1], b[1]))


class _Relaxed(Intervals):
    """Interval evaluation over inner loops, whose variables have `bounds`; None if nothing is known of a variable."""

    def __init__(self, bounds: Mapping[SSAValue, Ends | None]) -> None:
        super().__init__(Analyzer())
        self.bounds = dict(bounds)
        self.narrowed: Mapping[SSAValue, Ends] = {}
        self.expressions: dict[SSAValue, SymExpr] = {}
        self._moving: dict[SSAValue, bool] = {}

    def ends(self, e: SymExpr) -> Ends | None:
        """Return the least and the greatest value of `e` over the inner loops."""
        low, high = self.of(e)
        return None if low is None or high is None else (low, high)

    def moves(self, v: Var) -> bool:
        value = v.value
        return value is not None and (value in self.bounds or self._is_moving(value))

    def _is_moving(self, value: SSAValue) -> bool:
        """Return whether a value depends on inner loops: on their variables, or values computed from them."""
        if value in self.bounds:
            return True
        moving = self._moving.get(value)
        if moving is None:
            op = value.op if isinstance(value, OpResult) else None
            inside = () if op is None else (v for inner in op.walk() for v in inner.operands)
            moving = self._moving[value] = any(self._is_moving(v) for v in inside)
        return moving

    def var(self, e: Var) -> SymInterval:
        value = e.value
        if value is not None and value in self.bounds:
            return SymInterval(*(self.narrowed.get(value) or self.bounds[value] or EVERYTHING))
        if not isinstance(value, OpResult) or not isinstance(value.op, tir.CastOp) or not widens(value.op):
            return EVERYTHING
        ends = self.of(sym_expr_of(value.op.value, self.expressions))
        return SymInterval(
            *(Const(x.constant, e.dtype) if x is not None and x.constant is not None else x for x in ends)
        )


class _Place(NamedTuple):
    """The facts at an access: narrowed loop variables, and the values already visited there."""

    narrowed: dict[SSAValue, Ends]
    seen: set[SSAValue]


class _Detector:
    """Walk over the body of a block; expressions are read as trees, each value once under the same conditions."""

    def __init__(
        self,
        bounds: Mapping[SSAValue, Ends | None] | None = None,
        by_kind: bool = False,
        by_address: bool = False,
    ) -> None:
        self.reads = _Accesses()
        self.writes = _Accesses()
        self.hidden = _Accesses()
        self._escaped = [self.hidden] if by_kind else [self.reads, self.writes]
        self._by_address = by_address
        self._relaxed = _Relaxed(bounds or {})
        self._bounds = self._relaxed.bounds
        self.interval = self._relaxed.ends
        self._local: set[SSAValue] = set()
        self._matched: dict[SSAValue, tir.MatchBufferOp] = {}
        self._place = _Place({}, set())
        self._places = {frozenset[tuple[SSAValue, Ends]](): self._place}

    def visit_block(self, block: Block) -> None:
        for op in block.ops:
            handler = _STATEMENTS.get(type(op))
            if handler is not None:
                handler(self, op)

    def visit_store(self, op: tir.StoreOp) -> None:
        self._access(self.writes, op.buffer, op.indices)
        self.visit_values([op.value, *op.indices])

    def visit_for(self, op: tir.ForOp) -> None:
        least, extent = (b if isinstance(b, SymExpr) else self._expr(b) for b in (op.min, op.extent))
        self.visit_values([v for v in (op.dyn_min, op.dyn_extent) if v is not None])
        first, last = self.interval(least), self.interval(least + extent - 1)
        self._bounds[op.loop_var] = None if first is None or last is None else (first[0], last[1])
        self.visit_block(op.body.block)

    def visit_nested_block(self, op: tir.BlockOp) -> None:
        self.visit_values(op.operands)
        for var, binding in zip(op.iter_vars, op.bindings, strict=True):
            self._bounds.setdefault(var, self.interval(self._expr(binding)))
        for accesses, regions in ((self.reads, op.reads), (self.writes, op.writes)):
            for region in regions:
                self._forget_computed(op, region.starts)
                self._region(accesses, region.buffer, region.starts, region.extents)

    def _forget_computed(self, block: tir.BlockOp, starts: Sequence[SSAValue]) -> None:
        """Drop the bounds of values that depend on an index computed inside a nested block."""
        for start in starts:
            for value in (v.value for v in self._expr(start).free_vars()):
                if isinstance(value, OpResult) and block.is_ancestor(value.op):
                    self._bounds[value] = None

    def visit_plain(self, op: Operation) -> None:
        self.visit_values(op.operands)
        for region in op.regions:
            for block in region.blocks:
                self.visit_block(block)

    def visit_if(self, op: tir.IfOp) -> None:
        self.visit_values([op.cond])
        around = self._place
        for region, holds in ((op.then_region, True), (op.else_region, False)):
            self._enter(self._where(op.cond, holds))
            for block in region.blocks:
                self.visit_block(block)
            self._enter(around)

    def _where(self, condition: SSAValue, holds: bool) -> _Place:
        """Return the place inside this one where a condition holds, or does not."""
        bounds = {**self._bounds, **self._place.narrowed}
        more = {**self._place.narrowed, **narrowed(self._expr(condition), holds, bounds)}
        return self._places.setdefault(frozenset(more.items()), _Place(more, set()))

    def _enter(self, place: _Place) -> None:
        self._place, self._relaxed.narrowed = place, place.narrowed

    def visit_let(self, op: tir.LetOp) -> None:
        """Map the name of an index to its value."""
        self.visit_values([op.value])
        if isinstance(op.value.type, IntegerType):
            self._relaxed.expressions[op.result] = self._expr(op.value)

    def visit_init(self, op: tir.InitOp) -> None:
        self.visit_block(op.body.block)

    def visit_definition(self, op: Operation) -> None:
        self._local.add(op.results[0])
        if isinstance(op, tir.MatchBufferOp):
            self._matched[op.results[0]] = op

    def visit_values(self, values: Sequence[SSAValue]) -> None:
        """Record the accesses in the trees of `values`, an access before those in its indices."""
        around = self._place
        stack = [(value, around) for value in reversed(values)]
        while stack:
            value, place = stack.pop()
            if value in place.seen:
                continue
            place.seen.add(value)
            self._enter(place)
            if isinstance(value.type, tir.BufferType):
                self._opaque(value)
            if isinstance(value, OpResult) and isinstance(value.op, tir.IfThenElseOp):
                stack.extend(reversed(self._choice(value.op)))
            elif isinstance(value, OpResult) and not isinstance(value.op, tir.LetOp):
                stack.extend((v, place) for v in reversed(self._expression(value.op)))
        self._enter(around)

    def _choice(self, op: tir.IfThenElseOp) -> list[tuple[SSAValue, _Place]]:
        """Return the values to visit next: each side of the choice under its condition."""
        conditions = [(op.cond, self._place)]
        for region, holds in ((op.then_region, True), (op.else_region, False)):
            last, place = region.block.last_op, self._where(op.cond, holds)
            conditions += [(v, place) for v in (() if last is None else last.operands)]
        return conditions

    def _expression(self, op: Operation) -> list[SSAValue]:
        """Record the accesses of an expression, and return the values to visit next."""
        if isinstance(op, tir.LoadOp):
            self._access(self.reads, op.buffer, op.indices)
            return list(op.indices)
        if isinstance(op, tir.LetInOp):
            self._bounds[op.var] = self.interval(self._expr(op.value)) if isinstance(op.var.type, IntegerType) else None
            last = op.body.block.last_op
            return [op.value, *(() if last is None else last.operands)]
        if isinstance(op, tir.ReduceOp):
            return self._reduction(op)
        if isinstance(op, tir.CallIntrinOp) and op.func.data == "tvm_access_ptr":
            return self._address(op)
        if isinstance(op, tir.AllocBufferOp | tir.AllocConstOp | tir.MatchBufferOp):
            return []
        return list(op.operands)

    def _reduction(self, op: tir.ReduceOp) -> list[SSAValue]:
        for axis, (least, extent) in enumerate(zip(op.mins, op.extents, strict=True)):
            self._bounds.update((value, (least, least + extent - 1)) for value in op.axis_values(axis))
        yields = [region.block.last_op for region in (op.condition, *op.sources)]
        return [*op.operands, *(v for y in yields if y is not None for v in y.operands)]

    def _address(self, op: tir.CallIntrinOp) -> list[SSAValue]:
        """Record an address whose mask gives its use: 1 for reading, 2 for writing, 3 for both."""
        pointer, mask = op.operands[1].owner, op.operands[4].owner
        bits = int(mask.py_value) if isinstance(mask, tir.ConstOp) else 0
        purpose = {1: [self.reads], 2: [self.writes]}.get(bits)
        if purpose is None or not isinstance(pointer, tir.BufferDataOp):
            return list(op.operands)
        self._add_all(purpose, pointer.buffer)
        return list(op.operands[2:4])

    def _opaque(self, buffer: SSAValue) -> None:
        """Record that a pointer to the buffer escapes: the full buffer may be read and written."""
        self._add_all(self._escaped, buffer)

    def _add_all(self, kinds: Sequence[_Accesses], buffer: SSAValue) -> None:
        rank = buffer.type.rank if isinstance(buffer.type, tir.BufferType) else 0
        rank = 1 if self._by_address else rank
        for accesses in kinds:
            self._add(accesses, buffer, [None] * rank)

    def _access(self, accesses: _Accesses, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        if self._by_address:
            self._add(accesses, buffer, [self._address_of(buffer, indices)])
        else:
            self._add(accesses, buffer, [self._index(i) for i in indices])

    def _address_of(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Ends | None:
        """Return the offset of an element from the first one of the buffer."""
        if buffer in self._matched or not all(isinstance(index.type, IntegerType) for index in indices):
            return None
        total: SymExpr = Const(0)
        for index, stride in zip(indices, cast(tir.BufferType, buffer.type).layout_strides(), strict=True):
            total = total + self._expr(index) * stride
        return self.interval(total)

    def _add(self, accesses: _Accesses, buffer: SSAValue, dims: _Dims) -> None:
        matched = self._matched.get(buffer)
        if matched is not None:
            inside = [None] * (len(matched.starts) - len(dims)) + dims
            self._region(accesses, matched.source, matched.starts, matched.extents, inside)
        elif buffer not in self._local and not _names_constants(buffer):
            accesses.add(buffer, dims)

    def _region(
        self,
        accesses: _Accesses,
        buffer: SSAValue,
        starts: Sequence[SSAValue],
        extents: Sequence[SymExpr],
        inside: _Dims | None = None,
    ) -> None:
        """Record a region of a buffer, or the part `inside` of it, relative to its start."""
        dims: _Dims = []
        if self._by_address:
            return self._add_all([accesses], buffer)
        for start, extent, part in zip(starts, extents, inside or [None] * len(starts), strict=True):
            first = self.interval(self._expr(start))
            low, high = part or (Const(0, extent.dtype), extent - 1)
            dims.append(None if first is None else (first[0] + low, first[1] + high))
        self._add(accesses, buffer, dims)

    def _expr(self, value: SSAValue) -> SymExpr:
        return sym_expr_of(value, self._relaxed.expressions)

    def _index(self, value: SSAValue) -> Ends | None:
        if isinstance(value.type, IntegerType):
            return self.interval(self._expr(value))
        op = value.op if isinstance(value, OpResult) else None
        if isinstance(op, tir.BroadcastOp):
            return self._index(op.value)
        if not isinstance(op, tir.RampOp) or not isinstance(op.result.type, VectorType):
            return None
        base, step = self._index(op.base), self._expr(op.stride).constant
        if base is None or step is None:
            return None
        reach = step * (op.result.type.get_shape()[0] - 1)
        return base[0] + min(reach, 0), base[1] + max(reach, 0)


def _names_constants(buffer: SSAValue) -> bool:
    """Return whether a buffer is an undeclared alias of constants, which are never written."""
    alias = buffer.owner
    if not isinstance(alias, tir.DeclBufferOp) or not alias.alias:
        return False
    pointer = alias.data.owner
    return isinstance(pointer, tir.BufferDataOp) and isinstance(pointer.buffer.owner, tir.AllocConstOp)


_STATEMENTS: dict[type[Operation], Callable[..., None]] = {
    tir.StoreOp: _Detector.visit_store,
    tir.ForOp: _Detector.visit_for,
    tir.BlockOp: _Detector.visit_nested_block,
    tir.InitOp: _Detector.visit_init,
    tir.LetOp: _Detector.visit_let,
    tir.AllocBufferOp: _Detector.visit_definition,
    tir.AllocConstOp: _Detector.visit_definition,
    tir.MatchBufferOp: _Detector.visit_definition,
    tir.IfOp: _Detector.visit_if,
    **dict.fromkeys(
        (tir.EvaluateOp, tir.WhileOp, tir.AssertOp, tir.AttrOp, tir.LaunchThreadOp, tir.YieldOp),
        _Detector.visit_plain,
    ),
}


def infer_regions(
    block: tir.BlockOp,
    *,
    reads: bool = True,
    writes: bool = True,
    bounds: Mapping[SSAValue, Ends | None] | None = None,
) -> None:
    """Insert the inferred `tir.reads` and/or `tir.writes` at the start of the body of `block`, which must have none.

    Nested blocks must have theirs already. `bounds` are known intervals of iterators of nested blocks; others follow
    from their bindings.
    """
    detector = _Detector(bounds)
    body = block.body.block
    detector.visit_block(body)
    written = detector.writes.dims
    read = detector.reads.dims
    if block.init is not None:
        read = {b: dims for b, dims in read.items() if b not in written}
    index_ops: list[Operation] = []
    build, hoist = Materializer(index_ops.append), _Hoister(body, index_ops.append)

    def materialize(expr: SymExpr) -> SSAValue:
        return build(hoist(expr))

    regions: list[Operation] = []
    if reads:
        regions += [tir.ReadsOp(b, *_region(b, dims, materialize, hoist.may)) for b, dims in read.items()]
    if writes:
        regions += [tir.WritesOp(b, *_region(b, dims, materialize, hoist.may)) for b, dims in written.items()]
    _insert(body, [*index_ops, *regions], after_reads=not reads)


class _Hoister:
    """Hoisting of values that indices read in the body (`x` in `A[x[i]]`) to its start, where the regions are."""

    def __init__(self, body: Block, insert: Callable[[Operation], object]):
        self._body = body
        self._insert = insert
        self._copies: dict[SSAValue, SSAValue] = {}

    def may(self, expr: SymExpr) -> bool:
        """Return whether the reads of `expr` are always valid, not only under a condition that keeps them in bounds."""
        values = [v.value for v in expr.free_vars() if v.value is not None]
        return all(self._may(value) for value in values)

    def _may(self, value: SSAValue) -> bool:
        op = value.owner
        if not isinstance(op, Operation) or isinstance(op, tir.LetOp) or not self._inside(op):
            return True
        if isinstance(op, tir.LoadOp) and self._is_conditional(op) and not self._is_within(op):
            return False
        return all(self._may(v) for v in op.operands)

    def _is_conditional(self, op: Operation) -> bool:
        parent = op.parent_op()
        while parent is not None and parent is not self._body.parent_op():
            if isinstance(parent, tir.IfThenElseOp | tir.IfOp | tir.WhileOp):
                return True
            parent = parent.parent_op()
        return False

    def _is_within(self, op: tir.LoadOp) -> bool:
        """Return whether indices are in bounds for all values of the block's iterators."""
        known, block = Analyzer(), self._body.parent_op()
        dims = op.buffer.type.dims if isinstance(op.buffer.type, tir.BufferType) else ()
        if not isinstance(block, tir.BlockOp) or not all(isinstance(i.type, IntegerType) for i in op.indices):
            return False
        for var, least, extent in zip(block.iter_vars, block.mins, block.extents, strict=True):
            self._bind(known, sym_expr_of(var), least, extent)
        conditions = ((Const(0, e.dtype), e, end) for e, end in zip(map(sym_expr_of, op.indices), dims, strict=True))
        return all(
            known.can_prove(OPS["le"](zero, e)) and known.can_prove(OPS["lt"](e, end)) for zero, e, end in conditions
        )

    @staticmethod
    def _bind(known: Analyzer, var: SymExpr, least: SymExpr, extent: SymExpr) -> None:
        if isinstance(var, Var):
            known.bind_range(var, least, extent)

    def __call__(self, expr: SymExpr) -> SymExpr:
        """Return `expr` over the hoisted copies."""
        return expr.substitute({v: Var(self._copy(v.value), v.dtype) for v in expr.free_vars() if v.value is not None})

    def _copy(self, value: SSAValue) -> SSAValue:
        copied = self._copies.get(value)
        if copied is not None:
            return copied
        op = value.owner
        if not isinstance(op, Operation) or isinstance(op, tir.LetOp) or not self._inside(op):
            return value
        outside = [v for inner in op.walk() for v in inner.operands if not _defined_in(v, op)]
        clone = op.clone({v: self._copy(v) for v in outside})
        self._insert(clone)
        copy = self._copies[value] = clone.results[0]
        return copy

    def _inside(self, op: Operation) -> bool:
        parent = self._body.parent_op()
        return parent is not None and parent.is_ancestor(op)


def _defined_in(value: SSAValue, op: Operation) -> bool:
    owner = value.owner.parent_op() if isinstance(value.owner, Block) else value.owner
    return owner is not None and owner is not op and op.is_ancestor(owner)


def _insert(body: Block, ops: list[Operation], after_reads: bool) -> None:
    anchor = body.first_op
    if after_reads:
        last = next((op for op in reversed(list(body.ops)) if isinstance(op, tir.ReadsOp)), None)
        anchor = anchor if last is None else last.next_op
    if anchor is None:
        body.add_ops(ops)
    else:
        body.insert_ops_before(ops, anchor)


def _region(
    buffer: SSAValue,
    dims: _Dims,
    materialize: Callable[[SymExpr], SSAValue],
    hoistable: Callable[[SymExpr], bool],
) -> tuple[list[SSAValue], list[SymExpr]]:
    """Return the starts as values and the extents as expressions.

    A dimension whose extent is not an expression of shapes, or whose start cannot be hoisted, is covered in full.
    """
    starts: list[SSAValue] = []
    extents: list[SymExpr] = []
    shape = buffer.type.dims if isinstance(buffer.type, tir.BufferType) else ()
    for dim, interval in zip(shape, dims, strict=True):
        start: SymExpr = Const(0, dim.dtype)
        extent = dim
        if interval is not None:
            size = interval[1] - interval[0] + 1
            if hoistable(interval[0]) and all(isinstance(v.name, str) for v in size.free_vars()):
                start, extent = interval[0], size
        starts.append(materialize(start))
        extents.append(extent)
    return starts, extents


def relaxed(e: SymExpr, bounds: Mapping[SSAValue, Ends | None]) -> Ends | None:
    """Return the least and the greatest value of `e` for variables in these intervals, or None if unknown."""
    return _Relaxed(bounds).ends(e)


Accessed = dict[SSAValue, list[Ends | None]]
"""An interval for each dimension of each buffer; None if it is unknown, which means the full dimension."""


def accessed(block: Block) -> tuple[Accessed, Accessed]:
    """Return what the statements of `block` read, and what they write.

    Inner loops and blocks are relaxed: the intervals are in terms of values defined outside. Nested blocks must have
    their regions.
    """
    return accessed_by(list(block.ops))


def addresses(block: Block) -> tuple[Accessed, Accessed]:
    """Return the accesses of `block` with one interval of linear offsets for each buffer.

    For `A[i // 64, i % 64]` this is more precise than the intervals of two indices.
    """
    detector = _Detector(by_address=True)
    detector.visit_block(block)
    return detector.reads.dims, detector.writes.dims


def accesses_by_kind(block: tir.BlockOp) -> tuple[Accessed, Accessed, Accessed]:
    """Return the reads, the writes and the escaping buffers of a block; buffers that escape are only in the third part.

    Buffers that the init writes do not count as read.
    """
    detector = _Detector(by_kind=True)
    detector.visit_block(block.body.block)
    written = detector.writes.dims
    read = {b: d for b, d in detector.reads.dims.items() if block.init is None or b not in written}
    return read, written, detector.hidden.dims


def accessed_by(ops: Sequence[Operation]) -> tuple[Accessed, Accessed]:
    """Return what some statements of one block read, and what they write; see `accessed`."""
    detector = _Detector()
    for op in ops:
        handler = _STATEMENTS.get(type(op))
        if handler is not None:
            handler(detector, op)
    return detector.reads.dims, detector.writes.dims
