"""Blocks of tensor functions: `Block` is a block's computation, `BlockRealize` binds its iterators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import SymExpr
from ...ir.rewriting.copy import clone_expr, copied
from ..array import Array
from . import prim_expr as tx
from .buffers import Buffer, Param, Stmt
from .domains import (
    ITER_KINDS,
    ITER_TYPES,
    BufferRegion,
    IterVar,
    MatchBufferRegion,
    domain_of,
    range_of,
    region_of,
)
from .expr_kinds import expr_node
from .prim_expr import ExprLike, PrimExpr, as_sym
from .stmt import (
    CLASSES,
    BuiltStmt,
    add_to,
    annotations_of,
    attributes_of,
    body_of,
    body_region,
    planted_in,
    sequence,
    statements_in,
    view_of,
)


class BlockBase(BuiltStmt):
    """A block of the program, or a function, whose body is its root block."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.op is cast(Stmt, other).op

    def __hash__(self) -> int:
        return hash((type(self), self.op))


class Block(BlockBase):
    """The computation of a block over the iterators `iter_vars`: `body`, after `init` at the first point of a
    reduction.
    """

    __slots__ = ()
    PARTS = ("reads", "writes", "match_buffers", "init", "body")

    def __init__(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Sequence[Buffer] | None = None,
        match_buffers: Sequence[MatchBufferRegion] | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        inner = IRBlock(arg_types=[v.var.type for v in iter_vars])
        mapping: dict[SSAValue, SSAValue] = {}
        for iterator, arg in zip(iter_vars, inner.args, strict=True):
            set_name(arg, name_of(iterator.var.ssa))
            mapping[iterator.var.ssa] = arg
        for cls, regions in ((tir.ReadsOp, reads), (tir.WritesOp, writes)):
            for region in regions:
                starts, extents = _starts(region, inner, mapping)
                inner.add_op(cls(mapping.get(region.buffer.ssa, region.buffer.ssa), starts, extents))
        for buffer in alloc_buffers or ():
            _define(tir.AllocBufferOp(buffer.type), buffer, inner, mapping)
        for match in match_buffers or ():
            starts, extents = _starts(match.source, inner, mapping)
            source = mapping.get(match.source.buffer.ssa, match.source.buffer.ssa)
            _define(tir.MatchBufferOp(source, starts, extents, match.buffer.type), match.buffer, inner, mapping)
        if init is not None:
            inner.add_op(tir.InitOp(body_region([], init, mapping)))
        add_to(inner, body, mapping)
        iters = [(ITER_KINDS[v.iter_type], v.var.ssa, domain_of(v.dom)) for v in iter_vars]
        self._set(lambda block: tir.BlockOp(name_hint, iters, Region(inner), annotations=attributes_of(annotations)))

    def script(self, **options: Any) -> str:
        """Return the block as TVMScript, without the values of its iterators: `with T.block("C", no_realize=True):`."""
        from ...script.printer import fragment

        return fragment.print_block(cast(tir.BlockOp | tir.FuncOp, self.op), **options)

    @property
    def name_hint(self) -> str:
        return self.op.block_name.data if isinstance(self.op, tir.BlockOp) else "root"

    @property
    def iter_vars(self) -> list[IterVar]:
        op = self.op
        rows = zip(op.iter_vars, op.kinds, op.mins, op.extents, strict=True) if isinstance(op, tir.BlockOp) else ()
        return [IterVar(range_of(least, extent), Param(v), ITER_TYPES[kind]) for v, kind, least, extent in rows]

    def _regions(self, cls: type[Operation]) -> Array[BufferRegion]:
        ops = [cast(tir.RegionOp, op) for op in self.op.regions[0].block.ops if isinstance(op, cls)]
        return Array(region_of(op.buffer, op) for op in ops)

    @property
    def reads(self) -> Array[BufferRegion]:
        return self._regions(tir.ReadsOp)

    @property
    def writes(self) -> Array[BufferRegion]:
        return self._regions(tir.WritesOp)

    @property
    def alloc_buffers(self) -> list[Buffer]:
        return [Buffer(op.result) for op in self.op.regions[0].block.ops if isinstance(op, tir.AllocBufferOp)]

    @property
    def match_buffers(self) -> list[MatchBufferRegion]:
        ops = self.op.regions[0].block.ops
        return [
            MatchBufferRegion(Buffer(o.result), region_of(o.source, o)) for o in ops if type(o) is tir.MatchBufferOp
        ]

    @property
    def init(self) -> Stmt | None:
        init_op = self.op.init if isinstance(self.op, tir.BlockOp) else None
        return None if init_op is None else body_of(init_op.body.block)

    @property
    def annotations(self) -> dict[str, Any]:
        notes = annotations_of(self.op.annotations) if isinstance(self.op, tir.BlockOp) else {}
        return {k: self._with_buffers(v) for k, v in notes.items()}

    def _with_buffers(self, value: Any) -> Any:
        """Return the value of an annotation, with buffers that the block reads as handles."""
        if isinstance(value, list):
            return [self._with_buffers(v) for v in cast("list[Any]", value)]
        return self.reads[value.index.data].buffer if isinstance(value, tir.ReadBufferAttr) else value

    @property
    def body(self) -> Stmt:
        return sequence([op for op in statements_in(self.op.regions[0].block) if not isinstance(op, BLOCK_HEAD)])


BLOCK_HEAD = (tir.ReadsOp, tir.WritesOp, tir.InitOp, tir.AllocBufferOp, tir.MatchBufferOp)
"""The operations of a block besides its body."""


class BlockRealize(BlockBase):
    """A block with the values of its iterators; it runs if the `predicate` holds."""

    __slots__ = ()
    PARTS = ("iter_values", "predicate", "block")

    def __init__(self, iter_values: Sequence[ExprLike], predicate: ExprLike, block: Block, span: object = None):
        block_op = cast(tir.BlockOp, block.op)

        def make(at: IRBlock) -> Operation:
            values = [
                planted_in(tx.index_of(tx.convert(v, expr_node(b))), at)
                for v, b in zip(iter_values, block_op.iter_vars, strict=True)
            ]
            holds = tx.convert(predicate)
            inside = IRBlock()
            copied([block_op], inside, dict(zip(block_op.bindings, values, strict=True)))
            new = cast(tir.BlockOp, inside.last_op)
            new.detach()
            iters = list(zip(new.kinds, values, zip(new.mins, new.extents, strict=True), strict=True))
            body = new.detach_region(0)
            return tir.BlockOp(
                new.block_name.data,
                iters,
                body,
                predicate=None if holds.constant in (True, 1) else planted_in(holds, at),
                annotations=new.annotations,
            )

        self._set(make)

    @property
    def iter_values(self) -> list[PrimExpr]:
        return [expr_node(v) for v in self.op.bindings] if isinstance(self.op, tir.BlockOp) else []

    @property
    def predicate(self) -> PrimExpr:
        condition = self.op.predicate if isinstance(self.op, tir.BlockOp) else None
        return tx.const(True) if condition is None else expr_node(condition)

    @property
    def block(self) -> Block:
        return view_of(Block, self.op)


CLASSES |= {tir.BlockOp: BlockRealize, tir.FuncOp: BlockRealize}


def _starts(
    region: BufferRegion, block: IRBlock, mapping: dict[SSAValue, SSAValue]
) -> tuple[list[SSAValue], list[SymExpr]]:
    starts = [clone_expr(tx.index_of(r.min).ssa, block, mapping) for r in region.region]
    return starts, [as_sym(r.extent) for r in region.region]


def _define(op: Operation, buffer: Buffer, block: IRBlock, mapping: dict[SSAValue, SSAValue]) -> None:
    set_name(op.results[0], buffer.name)
    block.add_op(op)
    mapping[buffer.ssa] = op.results[0]
