"""Blocks that are computed by tensor intrinsics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import Const, SymExpr, Var
from ...dialects.tir import BufferType
from ...ir.affine.values import Materializer, sym_expr_of
from ...transforms.tir.walk import erase_with_tree, remove_dead
from .. import checks
from .. import state as st
from ..registry import primitive
from ..state import State, fail
from ..tensor_intrin import TensorIntrin
from .blockize import blockize


@primitive()
def tensorize(
    state: State,
    block_or_loop: tir.BlockOp | tir.ForOp,
    tensor_intrin: str,
    preserve_unit_iters: bool = True,
) -> None:
    """Replace the computation of a block, or of a loop's body, by a tensor intrinsic.

    block C_o { for i, j, k: block C: C[…] += A[…] * B[…] }  ->  block C_o { match_buffer …; the implementation }

    A loop is blockized first. `tensor_intrin` is a registered name (`TensorIntrin.register`). The buffers of the
    implementation are matched to the regions that the block reads and writes; an init of the block is kept. Raises
    `ScheduleError` if the block does not match the intrinsic's description in its loops, blocks, values or indices,
    or if the strides of a region are not those that the implementation requires.
    """
    if isinstance(block_or_loop, tir.FuncOp):
        fail("the root block of a function is not tensorized", block_or_loop)
    try:
        intrin = cast(TensorIntrin, TensorIntrin.get(tensor_intrin))
    except TiraxError as error:
        fail(error.message, block_or_loop, hint=error.hint)
    looped = isinstance(block_or_loop, tir.ForOp)
    block = blockize(state, block_or_loop, preserve_unit_iters) if looped else block_or_loop
    matcher = _Matcher(intrin.desc.op, block)
    matcher.run()
    _implement(block, intrin.impl.op, intrin.desc.op, matcher)


def _root(func: tir.FuncOp) -> Block:
    """Return the statements of an intrinsic, those of its root block if it has one."""
    body = func.body.block
    below = st.children(body)
    if len(below) == 1 and isinstance(below[0], tir.BlockOp) and not below[0].iter_vars:
        return below[0].body.block
    return body


def _statements(block: Block) -> list[Operation]:
    return [op for op in st.children(block) if not isinstance(op, tir.RegionOp | tir.InitOp)]


def _region_starts(block: Block) -> dict[SSAValue, list[SymExpr]]:
    """Return the first indices of the buffer regions that a body reads and writes."""
    memo: dict[SSAValue, SymExpr] = {}
    regions = [op for op in block.ops if isinstance(op, tir.RegionOp)]
    return {r.buffer: [sym_expr_of(s, memo) for s in r.starts] for r in regions}


class _Matcher:
    """Compares a block with a description, and records the corresponding buffers and the starts of their regions."""

    def __init__(self, desc: tir.FuncOp, block: tir.BlockOp):
        self.block = block
        self.described = _root(desc)
        self.values: dict[SSAValue, SSAValue] = {}
        """Iterators and loop variables of the description -> those of the block."""
        self.symbols: dict[Var, SymExpr] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.starts = _region_starts(block.body.block)
        self.offsets = _region_starts(self.described)
        self.analyzer = Analyzer()

    def run(self) -> None:
        """Check that the block matches. Raises `ScheduleError` if it computes something else."""
        self._body(self.described, self.block.body.block)

    def _differs(self, what: str, op: Operation, **details: object) -> None:
        fail(f"the block does not compute what the intrinsic describes: {what}", self.block, op, **details)

    def _body(self, described: Block, actual: Block) -> None:
        a, b = _statements(described), _statements(actual)
        owner = cast(Operation, actual.parent_op())
        if len(a) != len(b):
            self._differs("another number of statements", owner, expected=len(a), found=len(b))
        mine, theirs = ([op for op in block.ops if isinstance(op, tir.AllocBufferOp)] for block in (described, actual))
        if [op.result.type for op in mine] != [op.result.type for op in theirs]:
            self._differs("other allocations", owner)
        for x, y in zip(mine, theirs, strict=True):
            self.buffers[x.result] = y.result
            self.starts[y.result] = [Const(0)] * y.result.type.rank
        for x, y in zip(a, b, strict=True):
            self._statement(x, y)

    def _statement(self, described: Operation, actual: Operation) -> None:
        if type(described) is not type(actual):
            self._differs("another statement", actual, expected=described.name, found=actual.name)
        _STATEMENTS.get(type(described), _Matcher.other)(self, described, actual)

    def loop(self, described: tir.ForOp, actual: tir.ForOp) -> None:
        if described.kind is not actual.kind:
            self._differs("another kind of loop", actual, expected=described.kind, found=actual.kind)
        self._same(st.min_of(described), st.min_of(actual), "a loop begins elsewhere", actual)
        self._same(st.extent_of(described), st.extent_of(actual), "loop extents differ", actual)
        self._bind(described.loop_var, actual.loop_var, st.min_of(actual), st.extent_of(actual))
        self._body(described.body.block, actual.body.block)

    def inner_block(self, described: tir.BlockOp, actual: tir.BlockOp) -> None:
        if described.kinds != actual.kinds:
            self._differs("other kinds of iterators", actual, expected=described.kinds, found=actual.kinds)
        for a, b in zip([*described.mins, *described.extents], [*actual.mins, *actual.extents], strict=True):
            self._same(a, b, "other domains of iterators", actual)
        for a, b in zip(described.bindings, actual.bindings, strict=True):
            self._same(sym_expr_of(a), sym_expr_of(b), "other bindings", actual)
        if (described.predicate is None) is not (actual.predicate is None):
            self._differs("another predicate", actual)
        if described.predicate is not None and actual.predicate is not None:
            self._same(sym_expr_of(described.predicate), sym_expr_of(actual.predicate), "another predicate", actual)
        for a, b, least, extent in zip(described.iter_vars, actual.iter_vars, actual.mins, actual.extents, strict=True):
            self._bind(a, b, least, extent)
        if (described.init is None) is not (actual.init is None):
            self._differs("only one of them has an init", actual)
        if described.init is not None and actual.init is not None:
            self._body(described.init.body.block, actual.init.body.block)
        self._body(described.body.block, actual.body.block)

    def store(self, described: tir.StoreOp, actual: tir.StoreOp) -> None:
        self._access(described, actual)
        self._value(described.value, actual.value, actual)

    def other(self, described: Operation, actual: Operation) -> None:
        same = described.properties == actual.properties and len(described.operands) == len(actual.operands)
        if not same or described.results or len(described.regions) != len(actual.regions):
            self._differs("another statement", actual)
        for a, b in zip(described.operands, actual.operands, strict=True):
            self._value(a, b, actual)
        for a, b in zip(described.regions, actual.regions, strict=True):
            for x, y in zip(a.blocks, b.blocks, strict=True):
                self._body(x, y)

    def _bind(self, described: SSAValue, actual: SSAValue, least: SymExpr, extent: SymExpr) -> None:
        self.values[described] = actual
        variable = checks.iter_expr(actual)
        self.symbols[checks.iter_expr(described)] = variable
        checks.analyzer_with({variable: (least, extent)}, self.analyzer)

    def _same(self, described: SymExpr, actual: SymExpr, what: str, op: Operation) -> None:
        if not self.analyzer.can_prove_equal(described.substitute(self.symbols), actual):
            self._differs(what, op, expected=described, found=actual)

    def _access(self, described: tir.LoadOp | tir.StoreOp, actual: tir.LoadOp | tir.StoreOp) -> None:
        """Check that both accesses are to the same element: of corresponding buffers, at the same offset in their
        regions.
        """
        a, b = described.buffer, actual.buffer
        mine, theirs = cast(BufferType, a.type), cast(BufferType, b.type)
        if self.buffers.setdefault(a, b) is not b or list(self.buffers.values()).count(b) > 1:
            self._differs("another buffer", self.block, expected=name_of(a), found=name_of(b))
        start, missing = self.starts.get(b), theirs.rank - mine.rank
        if mine.dtype != theirs.dtype or mine.scope != theirs.scope or missing < 0 or start is None:
            self._differs("a buffer of another type", self.block, expected=mine, found=theirs)
            return
        offset = self.offsets.get(a, [Const(0)] * mine.rank)
        where = actual if isinstance(actual, tir.StoreOp) else self.block
        for k, index in enumerate(actual.indices):
            distance = sym_expr_of(index) - start[k]
            if k < missing:
                self._same(Const(0), distance, f"it moves in dimension {k} of {name_of(b)}", where)
            else:
                inner = sym_expr_of(described.indices[k - missing]) - offset[k - missing]
                self._same(inner, distance, f"another index of {name_of(b)}", where)

    def _value(self, described: SSAValue, actual: SSAValue, at: Operation) -> None:
        """Check that both expressions are the same tree."""
        if isinstance(described, BlockArgument):
            known = self.values.get(described, self.buffers.get(described))
            if known is not actual:
                self._differs("another value", at, expected=name_of(described), found=name_of(actual))
            return
        if not isinstance(described, OpResult) or not isinstance(actual, OpResult):
            self._differs("another value", at)
            return
        a, b = described.op, actual.op
        if type(a) is not type(b) or described.type != actual.type or a.properties != b.properties:
            self._differs("another value", at, expected=_named(a), found=_named(b))
        if isinstance(a, tir.LoadOp) and isinstance(b, tir.LoadOp):
            return self._access(a, b)
        for x, y in zip(a.operands, b.operands, strict=True):
            self._value(x, y, at)
        for x, y in zip(a.regions, b.regions, strict=True):
            for p, q in zip(_yielded(x.block), _yielded(y.block), strict=True):
                self._value(p, q, at)
        return None


def _named(op: Operation) -> str:
    text = {"tir.const": "value", "tir.call_intrin": "func"}.get(op.name)
    return f"{op.name} {op.properties[text]}" if text in op.properties else op.name


def _yielded(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return () if last is None else last.operands


_STATEMENTS: dict[type[Operation], Callable[..., None]] = {
    tir.ForOp: _Matcher.loop,
    tir.BlockOp: _Matcher.inner_block,
    tir.StoreOp: _Matcher.store,
}


def _implement(block: tir.BlockOp, impl: tir.FuncOp, desc: tir.FuncOp, matcher: _Matcher) -> None:
    """Replace the statements of a block by the implementation, over the matched regions."""
    body = block.body.block
    for op in _statements(body):
        erase_with_tree(op)
    for op in [op for op in body.ops if isinstance(op, tir.AllocBufferOp)]:
        erase_with_tree(op)
    values: dict[SSAValue, SSAValue] = {}
    build = Materializer(body.add_op)
    for param, described in zip(impl.params, desc.params, strict=True):
        source = matcher.buffers.get(described)
        if source is None:
            fail(f"the intrinsic's description does not use {name_of(described)}", block)
        region = _Region(block, param, source, matcher.starts[source])
        region.check_strides()
        values[param] = region.match(build)
    for op in _root(impl).ops:
        if not isinstance(op, tir.RegionOp):
            body.add_op(op.clone(values))
    _annotate(block, _root(impl).parent_op())
    remove_dead(block)


class _Region:
    """A region of a buffer, and the corresponding parameter of an implementation."""

    def __init__(self, block: tir.BlockOp, param: SSAValue, source: SSAValue, starts: Sequence[SymExpr]):
        self.block, self.param, self.source, self.starts = block, param, source, starts
        self.type = cast(BufferType, param.type)
        self.source_type = cast(BufferType, source.type)
        self.missing = self.source_type.rank - self.type.rank

    def check_strides(self) -> None:
        """Raise `ScheduleError` if strides differ; those that are variables are defined by the match."""
        values: dict[Var, SymExpr] = {}
        strides = self.source_type.layout_strides()
        for described, actual in zip(self.type.explicit_strides or (), strides[self.missing :], strict=False):
            if isinstance(described, Var) and described not in values:
                values[described] = actual
            elif not Analyzer().can_prove_equal(described.substitute(values), actual):
                what = f"the strides of {name_of(self.source)} are not those that the intrinsic asks for"
                fail(what, self.block, expected=described.substitute(values), found=actual)

    def match(self, build: Materializer) -> SSAValue:
        """Return the region as a separate buffer."""
        index = self._index_type()
        starts = [build(s, index) for s in self.starts]
        extents = [Const(1, index)] * self.missing + [Const(cast(int, d.constant), index) for d in self.type.dims]
        op = tir.MatchBufferOp(self.source, starts, extents, self.type)
        set_name(op.result, name_of(self.param))
        self.block.body.block.add_op(op)
        return op.result

    def _index_type(self) -> IntegerType:
        region = next(r for r in [*self.block.reads, *self.block.writes] if r.buffer is self.source)
        types = [cast(IntegerType, s.type) for s in region.starts]
        return types[0] if types else Const(0).dtype


def _annotate(block: tir.BlockOp, root: Operation | None) -> None:
    """Copy the annotations of the implementation's root block to the block."""
    if isinstance(root, tir.BlockOp) and root.annotations is not None:
        st.annotate(block, root.annotations.data)
