"""The phases of a software pipeline: its prologue, its loop and its epilogue, with the versions of its buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import dims_attr
from ....dialects.sym.expr import Const, SymExpr, mul
from ....dialects.tir import ForKind
from ....handles.tir import prim_expr as tx
from ....handles.tir.domains import Range
from ....handles.tir.expr_kinds import dim_node, expr_node
from ....handles.tir.prim_expr import PrimExpr, as_sym
from ....handles.tir.stmt import planted_in, statements_in
from ....ir.locations import location_of
from ....ir.rewriting.copy import Copier
from ...handles.arith.analyzer import Analyzer
from .inferred_regions import infer_simplified
from .pipeline_waits import AsyncStage, Placed, Waits

Mapping = dict[SSAValue, SSAValue]


@dataclass(frozen=True)
class Step:
    """A statement of the pipeline, as a block."""

    block: tir.BlockOp
    stage: int
    order: int
    is_async: bool


@dataclass
class Pipeline:
    """A loop that becomes a pipeline. `allocations` are the buffers of its body."""

    loop: tir.ForOp
    steps: Sequence[Step]
    allocations: Sequence[tir.AllocBufferOp]
    doubled: set[SSAValue]
    analyzer: Analyzer = field(default_factory=Analyzer)
    stages: dict[int, AsyncStage] = field(default_factory=dict[int, AsyncStage])

    def __post_init__(self) -> None:
        self.first, self.count = dim_node(self.loop.min), dim_node(self.loop.extent)
        self.last_stage = max(step.stage for step in self.steps)
        self.ordered = sorted(self.steps, key=lambda step: step.order)

    def emit(self) -> tir.BlockOp:
        """Return a block with the phases, in which the buffers are allocated."""
        inside = Block()
        mapping: Mapping = {}
        versions: dict[SSAValue, SSAValue] = {}
        for allocation in self.allocations:
            number = self._versions(allocation.result)
            new = tir.AllocBufferOp(_with_versions(allocation.result.type, number))
            set_name(new.result, name_of(allocation.result))
            inside.add_op(new)
            (mapping if number == 1 else versions)[allocation.result] = new.result
        copier = _Versions(self, versions, mapping)
        first, end = self.first, self.first + self.count
        filled = first + self.last_stage
        self._phase(inside, copier, first, filled, unrolled=True)
        self._phase(inside, copier, filled, end, unrolled=False)
        start, bound = end, None
        if self.last_stage > 1 and not self.analyzer.can_prove_greater_equal(self.count, self.last_stage):
            if end.constant is not None:
                start = tx.maximum(end, filled)
            else:
                bound = filled
        self._phase(inside, copier, start, end + self.last_stage, unrolled=True, bound=bound)
        block = tir.BlockOp("", [], Region(inside))
        infer_simplified(block)
        return block

    def _versions(self, buffer: SSAValue) -> int:
        """Return how many versions of a buffer are alive at a time."""
        writers = [s for s in self.steps if any(w.buffer is buffer for w in s.block.writes)]
        readers = [s for s in self.steps if any(r.buffer is buffer for r in s.block.reads)]
        if not writers:
            return 1
        number = max((s.stage for s in readers), default=-1) - min(s.stage for s in writers) + 1
        if number == 2 and not any(
            w.order < r.order and w.stage < r.stage and self._overlap(w.block, r.block, buffer)
            for w in writers
            for r in readers
        ):
            number = 1
        return max(2 if number == 1 and buffer in self.doubled else number, 1)

    def _overlap(self, writer: tir.BlockOp, reader: tir.BlockOp, buffer: SSAValue) -> bool:
        written = next(w for w in writer.writes if w.buffer is buffer)
        read = next(r for r in reader.reads if r.buffer is buffer)
        for a, n, b, m in zip(written.starts, written.extents, read.starts, read.extents, strict=True):
            low, other = expr_node(a), expr_node(b)
            if self.analyzer.can_prove(low + dim_node(n) <= other) or self.analyzer.can_prove(
                other + dim_node(m) <= low
            ):
                return False
        return True

    def _phase(
        self,
        to: Block,
        copier: _Versions,
        start: PrimExpr,
        end: PrimExpr,
        *,
        unrolled: bool,
        bound: PrimExpr | None = None,
    ) -> None:
        """Add the iterations from `start` to `end` of the pipeline to a block."""
        extent = end - start
        if self.analyzer.can_prove(extent <= 0):
            _add_nothing(to)
            return
        single = self.analyzer.can_prove_equal(extent, 1)
        body = to if single else Block(arg_types=[self.loop.loop_var.type])
        inside = Block() if single else body
        at: PrimExpr = start
        normal = Analyzer()
        if not single:
            set_name(body.args[0], name_of(self.loop.loop_var))
            at = expr_node(body.args[0])
            self.analyzer.bind(at, Range(start, end))
            normal.bind(at, Range(self.first, extent))
        waits = Waits(self.stages, self.analyzer, normal)
        for step in self.ordered:
            placed = self._placed(step, copier, at, start, inside, single, bound)
            if placed is not None:
                waits.add(placed)
        statements = waits.statements(inside)
        if not statements:
            _add_nothing(to)
            return
        waits.advance(extent)
        if single:
            _add_block(to, inside)
            return
        kind = ForKind.UNROLLED if unrolled else self.loop.kind
        thread = None if self.loop.thread is None or unrolled else self.loop.thread.data
        holder = Block()
        low, size = loop_bound(self.first, holder), loop_bound(extent, holder)
        holder.add_op(tir.ForOp(low, size, Region(body), kind, thread=thread, annotations=self._kept()))
        _add_block(to, holder)

    def _kept(self) -> DictionaryAttr | None:
        notes = {} if self.loop.annotations is None else self.loop.annotations.data
        kept = {k: v for k, v in notes.items() if not k.startswith("software_pipeline_")}
        kept |= {k: v for k, v in notes.items() if k.startswith("software_pipeline_") and k not in _OWN}
        return DictionaryAttr(kept) if kept else None

    def _placed(
        self,
        step: Step,
        copier: _Versions,
        at: PrimExpr,
        start: PrimExpr,
        inside: Block,
        single: bool,
        bound: PrimExpr | None,
    ) -> Placed | None:
        """Add a statement of a phase to a block, for the iteration that its stage is in; None if it never is."""
        skewed = at - step.stage
        runs = tx.logical_and(self.analyzer.simplify(self.first <= skewed), skewed < self.first + self.count)
        if bound is not None:
            runs = self.analyzer.simplify(tx.logical_and(runs, at >= bound))
        if self.analyzer.can_prove(tx.logical_not(runs)):
            return None
        index = skewed
        if not single:
            delta = start - self.first
            index = skewed + delta
            shifted = planted_in(at + delta, inside)
            runs = expr_node(Copier().value(runs.ssa, inside, {at.ssa: shifted}))
        value = planted_in(index, inside)
        block = copier.block(step.block, inside, value)
        return Placed(step.stage, runs, block, index, step.is_async)


_OWN = ("software_pipeline_stage", "software_pipeline_order", "software_pipeline_async_stages")


def loop_bound(value: PrimExpr, block: Block) -> SymExpr | SSAValue:
    """Return a bound of a loop; what is no symbolic expression is computed at the end of a block."""
    expr = as_sym(value)
    return expr if all(isinstance(v.name, str) for v in expr.free_vars()) else planted_in(value, block)


def _add_nothing(to: Block) -> None:
    inside = Block([zero := tir.ConstOp(0, i32), tir.EvaluateOp(zero.result)])
    to.add_op(tir.BlockOp("", [], Region(inside)))


def _add_block(to: Block, inside: Block) -> None:
    """Add a block with statements, or the block that these are."""
    inner = statements_in(inside)
    only = inner[0] if len(inner) == 1 else None
    if isinstance(only, tir.BlockOp) and only.predicate is None:
        for op in list(inside.ops):
            op.detach()
            to.add_op(op)
        return
    block = tir.BlockOp("", [], Region(inside))
    to.add_op(block)
    infer_simplified(block)


def _with_versions(t: tir.BufferType, number: int) -> tir.BufferType:
    if number == 1:
        return t
    shape = dims_attr([Const(number, t.dims[0].dtype), *t.dims])
    strides = t.explicit_strides
    if strides is None:
        return t.replaced(shape=shape)
    return t.replaced(shape=shape, strides=dims_attr([mul(strides[0], t.dims[0]), *strides]))


_POINTERS = {"tvm_access_ptr": (1,), "ptx_mma": (6, 8, 10), "ptx_ldmatrix": (3,)}
"""Where intrinsics take the address of a buffer, which an offset follows."""


class _Versions(Copier):
    """Copies statements, with accesses of buffers turned into those of the version of an iteration."""

    def __init__(self, pipeline: Pipeline, versions: dict[SSAValue, SSAValue], others: Mapping):
        self.pipeline, self.versions, self.others = pipeline, versions, others
        self.index: SSAValue | None = None

    def block(self, block: tir.BlockOp, to: Block, index: SSAValue) -> tir.BlockOp:
        """Add the copy of a block for the iteration `index`."""
        self.index = index
        self.statement(block, to, {**self.others, self.pipeline.loop.loop_var: index})
        return cast(tir.BlockOp, to.last_op)

    def _version(self, buffer: SSAValue, to: Block | None, start: PrimExpr) -> SSAValue:
        number = cast(tir.BufferType, buffer.type).dims[0].constant
        assert number is not None and self.index is not None
        position = PrimExpr(self.index) if start.constant == 0 else tx.subtract(expr_node(self.index), start)
        modulo = tir.FloorModOp(planted_in(position, to or Block()), _constant(number, self.index, to))
        (to or Block()).add_op(modulo)
        return modulo.result

    def statement(self, op: Operation, block: Block, mapping: Mapping) -> None:
        if isinstance(op, tir.StoreOp) and op.buffer in self.versions:
            value = self.value(op.value, block, mapping)
            indices = [self.value(i, block, mapping) for i in op.indices]
            new = self.versions[op.buffer]
            block.add_op(tir.StoreOp(value, new, [self._version(new, block, self.pipeline.first), *indices]))
        elif isinstance(op, tir.RegionOp) and op.buffer in self.versions:
            self._region(op, block, mapping)
        else:
            super().statement(op, block, mapping)

    def _region(self, op: tir.RegionOp, block: Block, mapping: Mapping) -> None:
        new = self.versions[op.buffer]
        starts = [self.value(s, block, mapping) for s in op.starts]
        number = cast(tir.BufferType, new.type).dims[0]
        if self.pipeline.last_stage != 1:
            first, extent = _constant(0, cast(SSAValue, self.index), block), number
        else:
            first, extent = self._version(new, block, self.pipeline.first), Const(1, number.dtype)
        block.add_op(type(op)(new, [first, *starts], ArrayAttr([*dims_attr([extent]), *op.extents_attr])))

    def value(self, value: SSAValue, block: Block | None, mapping: Mapping) -> SSAValue:
        op = value.owner
        if value in mapping:
            return mapping[value]
        if isinstance(op, tir.LoadOp) and op.buffer in self.versions:
            new = self.versions[op.buffer]
            indices = [self.value(i, block, mapping) for i in op.indices]
            load = tir.LoadOp(new, [self._version(new, block, self.pipeline.first), *indices])
            (block or Block()).add_op(load)
            mapping[value] = load.result
            return load.result
        if isinstance(op, tir.BufferDataOp) and op.buffer in self.versions:
            data = tir.BufferDataOp(self.versions[op.buffer])
            (block or Block()).add_op(data)
            return data.result
        if isinstance(op, tir.CallIntrinOp | tir.DeviceCallOp):
            return self._call(op, block or Block(), mapping)
        return super().value(value, block, mapping)

    def _call(self, op: tir.CallIntrinOp | tir.DeviceCallOp, block: Block, mapping: Mapping) -> SSAValue:
        """Copy a call; offsets from the address of a buffer are those in the version of the iteration."""
        name = op.func.data
        args = [self.value(a, block, mapping) for a in op.call_args]
        for place, arg in enumerate(op.call_args):
            data = arg.owner
            if not isinstance(data, tir.BufferDataOp) or data.buffer not in self.versions:
                continue
            if place not in _POINTERS.get(name, ()):
                raise UnsupportedError(
                    f"'{name}' on a buffer with versions",
                    location=location_of(op),
                    hint="let the statement read and write the buffer by indices, or by T.tvm_access_ptr",
                )
            args[place + 1] = self._offset(data.buffer, args[place + 1], block)
        new = type(op)(name, args, op.result.type)
        block.add_op(new)
        mapping[op.result] = new.result
        return new.result

    def _offset(self, buffer: SSAValue, offset: SSAValue, block: Block) -> SSAValue:
        old, new = cast(tir.BufferType, buffer.type), self.versions[buffer]
        strides = cast(tir.BufferType, new.type).explicit_strides
        size: PrimExpr = tx.const(1, "int32")
        for extent in old.dims if strides is None else ():
            size = size * dim_node(extent)
        size = size if strides is None else dim_node(strides[0])
        if old.scope.data in ("m16n8k8.matrixA", "m16n8k8.matrixB"):
            size = tx.floordiv(size, 32)
        version = PrimExpr(self._version(new, block, tx.const(0, "int32")))
        return planted_in(expr_node(offset) + tx.multiply(version, size), block)


def _constant(value: int, like: SSAValue, block: Block | None) -> SSAValue:
    constant = tir.ConstOp(value, cast(IntegerType, like.type))
    (block or Block()).add_op(constant)
    return constant.result
