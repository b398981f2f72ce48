"""`unify-thread-binding`: one index for each kind of thread of a kernel.

    for i in thread 4 "blockIdx.x": for j in thread 8 "threadIdx.x": S;  for k in thread 8 "threadIdx.x": T
      ->  for blockIdx_x in thread 4: for threadIdx_x in thread 8: S; T

A kernel begins at the outermost loop over threads, or at the outermost statement that launches threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import set_name
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, SymExpr
from ....dialects.sym.operators import OPS
from ....dialects.tir import ForKind
from ....ir.affine.values import sym_expr_of
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import Copier
from ....transforms.tir.walk import bound_expr, functions
from .rebuilt import rebuild


@dataclass(frozen=True)
class UnifyThreadBinding(Pass):
    """Replace the loops over threads of each kernel by one loop for each tag, around the kernel.

    Raises `UnsupportedError` if loops over threads with the same tag have different extents.
    """

    name = "unify-thread-binding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            rebuild(func, _Unifier())


@dataclass
class _Thread:
    tag: str
    min: SymExpr | SSAValue
    extent: SymExpr | SSAValue
    body: Block

    @property
    def index(self) -> SSAValue:
        return self.body.args[0]


@dataclass
class _Unifier(Copier):
    """Copies statements; `threads` are those of the current kernel, outer ones first."""

    threads: dict[str, _Thread] = field(default_factory=dict[str, _Thread])
    depth: int = 0

    def statement(self, op: Operation, block: Block, mapping: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, tir.ForOp) and op.thread is not None:
            low, extent = self._bound(op.min, block, mapping), self._bound(op.extent, block, mapping)
            self._threads(op, op.thread.data, (low, extent), block, mapping)
        elif isinstance(op, tir.LaunchThreadOp):
            value = sym_expr_of(op.extent)
            low = Const(0, cast(IntegerType, op.extent.type))
            extent = value if value.constant is not None else self.value(op.extent, block, mapping)
            self._threads(op, op.tag.data, (low, extent), block, mapping)
        else:
            super().statement(op, block, mapping)

    def _bound(self, bound: SymExpr | SSAValue, block: Block, mapping: dict[SSAValue, SSAValue]) -> SymExpr | SSAValue:
        return bound if isinstance(bound, SymExpr) else self.value(bound, block, mapping)

    def _threads(
        self,
        op: tir.ForOp | tir.LaunchThreadOp,
        tag: str,
        domain: tuple[SymExpr | SSAValue, SymExpr | SSAValue],
        block: Block,
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        old_depth, starts = self.depth, self.depth == 0
        if tag.startswith("blockIdx.") or starts:
            self.depth += 1
        if starts:
            self.threads = {}
        thread = self._thread(op, tag, domain)
        inside = Block()
        old_index, index = op.regions[0].block.args[0], thread.index
        if old_index.type != index.type:
            inside.add_op(cast_op := tir.CastOp(index, old_index.type))
            index = cast_op.result
        self.statements(op.regions[0].block.ops, inside, {**mapping, old_index: index})
        self.depth = old_depth
        if starts:
            inside = self._launched(inside)
        notes = op.annotations if isinstance(op, tir.ForOp) else None
        if notes is not None and notes.data:
            inside = _annotated(inside, notes, cast(IntegerType, old_index.type))
        for inner in list(inside.ops):
            inner.detach()
            block.add_op(inner)

    def _thread(self, op: Operation, tag: str, domain: tuple[SymExpr | SSAValue, SymExpr | SSAValue]) -> _Thread:
        low, extent = domain
        thread = self.threads.get(tag)
        if thread is None:
            dtype = extent.type if isinstance(extent, SSAValue) else extent.dtype
            thread = self.threads[tag] = _Thread(tag, low, extent, Block(arg_types=[dtype]))
            set_name(thread.index, tag.replace(".", "_"))
        elif not Analyzer().can_prove(OPS["eq"](bound_expr(thread.extent), bound_expr(extent))):
            raise UnsupportedError(
                f"ValueError: all loops that are bound to `{tag}` should have the same extent",
                expected=str(bound_expr(thread.extent)),
                found=str(bound_expr(extent)),
                location=location_of(op),
            )
        return thread

    def _launched(self, body: Block) -> Block:
        """Return a block with the loops of the kernel around its body."""
        for thread in reversed(self.threads.values()):
            for op in list(body.ops):
                op.detach()
                thread.body.add_op(op)
            body = Block()
            body.add_op(
                tir.ForOp(thread.min, thread.extent, Region(thread.body), ForKind.THREAD_BINDING, thread=thread.tag)
            )
        return body


def _annotated(block: Block, notes: DictionaryAttr, dtype: IntegerType) -> Block:
    """Return the block with annotations on its loop, or in a loop of one iteration with them."""
    only = block.first_op if len(list(block.ops)) == 1 else None
    if isinstance(only, tir.ForOp):
        only.annotations = notes
        return block
    body = Block(arg_types=[dtype])
    set_name(body.args[0], "var")
    outside = Block()
    outside.add_op(tir.ForOp(Const(0, dtype), Const(1, dtype), Region(body), annotations=notes))
    for op in list(block.ops):
        op.detach()
        body.add_op(op)
    return outside
