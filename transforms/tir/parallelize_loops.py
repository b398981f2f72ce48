"""`parallelize-loops`: run the outermost loops with independent iterations on several threads.

    for i in range(n): for j in range(m): Y[i, j] = …
      -> for i in T.parallel(n): for j in range(m): Y[i, j] = …

Applies only to functions with `tir.noalias`, as legalization creates them, without a user's schedule
(`tir.is_scheduled`). Iterations are independent if each writes to a part of every buffer that no other iteration
accesses, as far as intervals can show, and if the loop contains only loops, branches, loads and stores. A loop with
few iterations, or with few long ones, leaves the threads to inner loops that have more. The work for each thread is
decided when the loop runs (`outline-parallel`); loops of a few thousand operations in total, as far as known here, stay
serial.

`convert-for-loops-to-serial` reverts it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import tir
from ...dialects.quick import operations
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr, Var, add
from ...dialects.tir import ForKind
from ...ir.affine.values import sym_expr_of
from ...ir.buffers.regions import Accessed, Ends, accessed, addresses
from ...ir.matrix_registers import configure_registers, is_tile_instruction
from ...ir.passes.transform import Pass
from ...target import Target
from .chunked_loops import can_be_cut, cut_into_chunks
from .walk import functions, is_scheduled

_SMALL = 16384
"""Operations of a few microseconds: too little work for two threads."""
_FEW = 8
_LONG = 1 << 20
"""Operations of an iteration that takes dozens of microseconds."""
_PARTS = 4
"""Parts for each thread if they are long, so that a late thread matters little."""
_MUCH = 8
_STATEMENTS = (
    tir.ForOp, tir.IfOp, tir.StoreOp, tir.LetOp, tir.BlockOp, tir.ReadsOp, tir.WritesOp, tir.InitOp, tir.AllocBufferOp,
    tir.EvaluateOp,
)  # fmt: skip
_REFUSED = frozenset[type[Operation]]((
    tir.CallExternOp, tir.CallOp, tir.CallPackedOp, tir.CallLLVMEffectOp, tir.DeviceCallOp, tir.AllocateOp,
    tir.DeclBufferOp, tir.MatchBufferOp,
))  # fmt: skip
"""Operations with side effects, or that create aliases of memory."""


@dataclass(frozen=True)
class ParallelizeLoops(Pass):
    """Give the outermost independent loops of unscheduled functions the kind `parallel`."""

    name = "parallelize-loops"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        cores = Target(self.target).cores
        for function in functions(op):
            noalias = function.func_attrs is not None and "tir.noalias" in function.func_attrs.data
            if noalias and not is_scheduled(function):
                for statement in _outermost(function.body.block.ops):
                    _parallelize(statement, cores)


def _outermost(ops: Iterable[Operation]) -> list[tir.ForOp]:
    """Return the outermost loops, including those in branches."""
    branches = [region.block.ops for op in ops if isinstance(op, tir.IfOp) for region in op.regions if region.blocks]
    return _loops(ops) + [loop for inside in branches for loop in _outermost(inside)]


def _loops(ops: Iterable[Operation]) -> list[tir.ForOp]:
    return [op for op in ops if isinstance(op, tir.ForOp)]


def _parallelize(loop: tir.ForOp, cores: int, outermost: bool = True) -> None:
    """Mark the loop, or the loops directly inside it; an outermost vectorized one is split into chunks."""
    vectorized = outermost and loop.kind is ForKind.VECTORIZED
    if not _is_plain(loop, ForKind.VECTORIZED if vectorized else ForKind.SERIAL) or _is_rest(loop):
        return
    work = _work(loop)
    if work is not None and work < _SMALL:
        return
    if vectorized:
        if cores > 1 and can_be_cut(loop):
            cut_into_chunks(loop)
        return
    inner = [nested for nested in _loops(loop.body.block.ops) if not _is_rest(nested)]
    if _is_independent(loop) and not _leaves_threads_to(loop, inner, cores):
        loop.properties["kind_attr"] = StringAttr(ForKind.PARALLEL.value)
        return
    for nested in inner:
        _parallelize(nested, cores, outermost=False)


def _leaves_threads_to(loop: tir.ForOp, inner: list[tir.ForOp], cores: int) -> bool:
    """Return whether the loop has too few iterations for the cores, and inner loops may have more.

    Fewer iterations than cores are too few; so are few long ones, because the others wait for a late thread. In that
    case an inner loop that is a small part of its siblings may have as few.
    """
    count, work = _count(loop), _work(loop)
    long = count is not None and work is not None and work >= _LONG * count
    enough = _PARTS * cores if long else cores
    if count is None or count >= enough or not inner:
        return False
    least = enough if long else count + 1
    rest = work // count // _MUCH if long and work is not None else 0
    counted = [nested for nested in inner if (_work(nested) or rest) >= rest]
    return all(_has(nested, least) for nested in counted) and all(
        _is_plain(nested) and _is_independent(nested) for nested in inner
    )


def _has(loop: tir.ForOp, least: int) -> bool:
    """Return whether a loop may have at least this many iterations."""
    own = _count(loop)
    return own is None or own >= least


def _count(loop: tir.ForOp) -> int | None:
    return loop.extent.constant if isinstance(loop.extent, SymExpr) else None


def _is_rest(loop: tir.ForOp) -> bool:
    """Return whether the loop is the tail of tiles with symbolic sizes, whose trip count is unknown but small."""
    extent = loop.extent
    return isinstance(extent, SymExpr) and extent.constant is None and Analyzer().bounds(extent).high < _FEW


def _is_plain(loop: tir.ForOp, kind: ForKind = ForKind.SERIAL) -> bool:
    """Return whether a loop has this kind, no annotations, and no effects but stores."""
    if loop.kind is not kind or loop.annotations is not None or loop.thread is not None:
        return False
    inside = operations(loop)[1:]
    return all(not _is_refused(op) and (op.results or _is_known(op)) for op in inside) and configure_registers(inside)


def _is_refused(op: Operation) -> bool:
    if type(op) not in _REFUSED:  # called for every operation
        return False
    if not isinstance(op, tir.CallLLVMEffectOp):
        return True
    return op.func.data != "llvm.prefetch" and not is_tile_instruction(op)


def _is_known(op: Operation) -> bool:
    if isinstance(op, tir.BlockOp) and op.annotations is not None:
        return False
    return isinstance(op, (*_STATEMENTS, tir.YieldOp))


def _work(op: Operation) -> int | None:
    """Return the number of operations in `op`, or None if it depends on symbolic sizes. Vectorized loops count 1/16."""
    total = 0
    for block in (block for region in op.regions for block in region.blocks):
        for inner in block.ops:
            part = _work(inner) if inner.regions else int(bool(inner.operands))
            if part is None:
                return None
            total += part
    if not isinstance(op, tir.ForOp):
        return total
    count = _count(op)
    if count is None:
        return None
    return total * (count if op.kind is not ForKind.VECTORIZED else count // 16 + 1)


def _is_independent(loop: tir.ForOp) -> bool:
    """Return whether iterations access disjoint parts of each buffer that they write."""
    return any(_are_iterations_disjoint(loop, *by(loop.body.block)) for by in (accessed, addresses))


def _are_iterations_disjoint(loop: tir.ForOp, reads: Accessed, writes: Accessed) -> bool:
    var = _variable(loop.loop_var)
    return all(
        _is_disjoint([dims, *([reads[buffer]] if buffer in reads else [])], var) for buffer, dims in writes.items()
    )


def _variable(value: SSAValue) -> Var | None:
    expr = sym_expr_of(value)
    return expr if isinstance(expr, Var) else None


def _is_disjoint(accesses: list[list[Ends | None]], var: Var | None) -> bool:
    """Return whether, in some dimension, each iteration moves the intervals by at least their length."""
    if var is None:
        return False
    for intervals in zip(*accesses, strict=True):
        known = [i for i in intervals if i is not None]
        if len(known) == len(intervals) and _moves_on(known, var):
            return True
    return False


def _moves_on(intervals: list[Ends], var: Var) -> bool:
    low = intervals[0][0]
    step = _step(low, var)
    if step is None or step <= 0:
        return False
    offsets: list[int] = []
    for least, most in intervals:
        begin, end = (least - low).constant, (most - low).constant
        if begin is None or end is None:
            return False
        offsets += [begin, end]
    return max(offsets) - min(offsets) < step


def _step(low: SymExpr, var: Var) -> int | None:
    return (low.substitute({var: add(var, 1)}) - low).constant


@dataclass(frozen=True)
class ConvertForLoopsToSerial(Pass):
    """Make parallel loops serial; loops of other kinds are unchanged.

    tir.for parallel %i = 0 to 8 {…}     ->     tir.for %i = 0 to 8 {…}
    """

    name = "convert-for-loops-to-serial"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            for loop in func.walk():
                if isinstance(loop, tir.ForOp) and loop.kind is ForKind.PARALLEL:
                    loop.properties.pop("kind_attr")
