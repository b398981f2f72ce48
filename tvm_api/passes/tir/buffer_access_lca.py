"""The innermost loops and blocks around all accesses of buffers, as TVM finds them."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from ....dialects import tir
from ....handles.tir.block_views import Block
from ....handles.tir.buffers import Buffer, Stmt
from ....handles.tir.stmt import stmt_of, view_of
from ....ir.rewriting.copy import is_expression
from ....ir.rewriting.edit import has_root_block

Scope = tir.ForOp | tir.BlockOp | tir.FuncOp
Path = tuple[Scope, ...]
"""The loops and blocks around a place, outermost first."""


class AccessScopes:
    """Finds, for each buffer that a function accesses, the common loops and blocks around its accesses.

    The result of a reduction is outside of the loops that reduce, what a block with opaque iterators accesses outside
    of their loops, and global memory no deeper than loops over `blockIdx`.
    """

    def __init__(self, func: tir.FuncOp):
        self.paths: dict[SSAValue, Path] = {}
        self._loops: dict[SSAValue, Path] = {}
        self._kernels: list[Path] = []
        self._matched: set[SSAValue] = set()
        self._seen: set[Operation] = set()
        body = func.body.block
        self._statements(list(body.ops), (func,) if has_root_block(list(body.ops)) else ())
        for buffer, path in self.paths.items():
            if isinstance(buffer.type, tir.BufferType) and buffer.type.scope.data.startswith("global"):
                for kernel in self._kernels:
                    path = _common(path, kernel)
                self.paths[buffer] = path

    def _statements(self, ops: list[Operation], path: Path) -> None:
        for op in ops:
            if not is_expression(op) and not isinstance(op, tir.DeclBufferOp | tir.YieldOp):
                self._statement(op, path)

    def _statement(self, op: Operation, path: Path) -> None:
        inside = path
        if isinstance(op, tir.ForOp):
            inside = (*path, op)
            self._loops[op.loop_var] = path
            if op.thread is not None and op.thread.data.startswith("blockIdx"):
                self._kernels.append(inside)
        elif isinstance(op, tir.LaunchThreadOp) and op.tag.data.startswith("blockIdx"):
            self._kernels.append(path)
        elif isinstance(op, tir.BlockOp):
            inside = (*path, op)
            self._block(op, inside)
        elif isinstance(op, tir.MatchBufferOp):
            self._update(op.source, path)
            self._matched.add(op.result)
        if isinstance(op, tir.StoreOp):
            self._update(op.buffer, path)
        values = op.starts if isinstance(op, tir.RegionOp) else op.operands
        for value in values:
            self._expression(value, path)
        for region in op.regions:
            for block in region.blocks:
                self._statements(list(block.ops), inside)

    def _expression(self, value: SSAValue, path: Path) -> None:
        op = value.owner
        if not isinstance(op, Operation):
            return
        if isinstance(op, tir.DeclBufferOp) and isinstance(op.data.owner, tir.BufferDataOp):
            self._update(op.data.owner.buffer, path)
        if not is_expression(op):
            return
        if isinstance(op, tir.LoadOp | tir.BufferDataOp):
            self._update(op.buffer, path)
        for inner in op.walk():
            for operand in inner.operands:
                self._expression(operand, path)

    def _block(self, op: tir.BlockOp, path: Path) -> None:
        """Take the accesses of a block out of the loops that its reduction and opaque iterators depend on."""
        reduced: Path | None = None
        opaque: dict[SSAValue, Path] = {}
        for variable, kind, binding in zip(op.iter_vars, op.kinds, op.bindings, strict=True):
            above = self._above(binding) if kind is not tir.IterKind.SPATIAL else None
            if above is None:
                continue
            if kind is tir.IterKind.REDUCE:
                reduced = above if reduced is None or len(above) < len(reduced) else reduced
                continue
            opaque[variable] = above
            for write in op.writes:
                self._update(write.buffer, above)
        regions = [*(op.reads if opaque else []), *(op.writes if opaque or reduced is not None else [])]
        for region in regions:
            at = path
            for start in region.starts:
                for variable, above in opaque.items():
                    if _uses(start, variable) and len(above) < len(at):
                        at = above
            if isinstance(region, tir.WritesOp) and reduced is not None and len(reduced) < len(at):
                at = reduced
            self._update(region.buffer, at)

    def _above(self, binding: SSAValue) -> Path | None:
        """Return the outermost place above the loops that a value depends on."""
        paths = [path for variable, path in self._loops.items() if _uses(binding, variable)]
        return min(paths, key=len) if paths else None

    def _update(self, buffer: SSAValue, path: Path) -> None:
        if buffer in self._matched:
            return
        while isinstance(buffer.owner, tir.DeclBufferOp) and isinstance(buffer.owner.data.owner, tir.BufferDataOp):
            buffer = buffer.owner.data.owner.buffer
        known = self.paths.get(buffer)
        self.paths[buffer] = path if known is None else _common(known, path)


def _uses(value: SSAValue, variable: SSAValue) -> bool:
    if value is variable:
        return True
    op = value.owner
    return isinstance(op, Operation) and is_expression(op) and any(_uses(v, variable) for v in op.operands)


def _common(a: Path, b: Path) -> Path:
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] is b[shared]:
        shared += 1
    return a[:shared]


def detect_buffer_access_lca(func: Any) -> dict[Buffer, Stmt | None]:
    """Return the innermost loop or block around all accesses of each buffer; None outside of all of them."""
    found: dict[Buffer, Stmt | None] = {}
    for buffer, path in AccessScopes(func.op).paths.items():
        last = path[-1] if path else None
        if isinstance(last, tir.ForOp):
            found[Buffer(buffer)] = stmt_of(last)
        else:
            found[Buffer(buffer)] = None if last is None else view_of(Block, last)
    return found
