"""`unroll-loop`: unroll loops on request, up to a maximum length.

Unrolled are loops of kind `unrolled`, and serial ones of constant extent that result in at most `auto_max_step`
statements: innermost loops first, then those around them as long as no loop remains inside. Inside
`tir.attr "pragma_auto_unroll_max_step" %n {…}` the limit is `n`; inside `tir.attr "pragma_unroll_explicit" %b`, loops
selected by the limit are unrolled if b is not 0, else only marked as `unrolled`. These attributes are removed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.sym.expr import SymExpr
from ...dialects.tir import ForKind
from ...ir.affine.init_nest import sources
from ...ir.affine.values import Materializer
from ...ir.locations import location_of
from ...ir.passes.limits import check_limit
from ...ir.passes.transform import Pass, configured
from ...ir.rewriting.edit import inline_before, inserter
from .walk import bound_expr, erase_with_tree, functions, may_initialize

_REGISTERS = frozenset(("local", "warp"))
MAX_STEP, EXPLICIT = "pragma_auto_unroll_max_step", "pragma_unroll_explicit"


@dataclass(frozen=True)
class UnrollLoop(Pass):
    """Unroll loops. The options are those of TVM's `tir.UnrollLoop`; `only_mark` leaves the unrolling to the lowering.

    With `unroll_local_access`, loops whose variables index memory of scope `local` or `warp` are unrolled, whatever
    their length: their elements can then be registers. Loops of one iteration are if `auto_max_extent` is 1.

    With `only_mark`, a vectorized loop counts as one step, too: in TVM it has already become vectors here.

    Raises `UnsupportedError` for a loop of kind `unrolled` with a non-constant extent, `LimitError` for one that
    exceeds `unroll.statements`.
    """

    name = "unroll-loop"
    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True
    unroll_local_access: bool = False
    only_mark: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            _Unroller(configured(self, "tir.UnrollLoop")).block(func.body.block)


@dataclass
class _Size:
    """The size of a program part: statements, unrolled loops, and the nesting depth of remaining loops."""

    steps: int = 0
    unrolled: int = 0
    loops: int = 0

    def then(self, other: _Size) -> _Size:
        """Return the size of both in sequence."""
        return _Size(self.steps + other.steps, max(self.unrolled, other.unrolled), max(self.loops, other.loops))


class _Unroller:
    def __init__(self, options: UnrollLoop):
        self.options = options

    def block(self, block: Block) -> _Size:
        total = _Size()
        for op in list(block.ops):
            total = total.then(self._statement(op))
        return total

    def _statement(self, op: Operation) -> _Size:
        if isinstance(op, tir.StoreOp | tir.EvaluateOp):
            return _Size(1)
        if isinstance(op, tir.ForOp):
            return self._loop(op)
        if isinstance(op, tir.AttrOp) and op.key.data in (MAX_STEP, EXPLICIT):
            return self._pragma(op)
        total = _Size()
        for region in op.regions:
            for block in region.blocks:
                total = total.then(self.block(block))
        return total

    def _pragma(self, note: tir.AttrOp) -> _Size:
        """Process the body of a pragma with its options, and remove the pragma."""
        value = bound_expr(note.value).constant
        if value is None:
            raise UnsupportedError(f"{note.key.data} is no constant", location=location_of(note))
        outer = self.options
        changed = {"auto_max_step": value} if note.key.data == MAX_STEP else {"explicit_unroll": bool(value)}
        self.options = replace(outer, **changed)
        size = self.block(note.body.block)
        self.options = outer
        inline_before(note.body.block, note)
        erase_with_tree(note)
        return size

    def _loop(self, loop: tir.ForOp) -> _Size:
        size = self.block(loop.body.block)
        options = self.options
        if options.only_mark and loop.kind is ForKind.VECTORIZED:
            return size
        count = bound_expr(loop.extent).constant
        if loop.kind is ForKind.UNROLLED:
            if count is None:
                raise UnsupportedError(
                    "a loop that is no constant number of iterations long cannot be unrolled",
                    location=location_of(loop),
                    expected="a constant extent",
                    found=loop.extent,
                )
            unroll = True
        else:
            unroll = self._is_short(loop, count, size) or (
                count is not None and count > 0 and self._is_of_registers(loop)
            )
        once = count == 1 == options.auto_max_extent
        if not (unroll or once) or count is None or (count <= 0 and may_initialize(loop)):
            size.loops += 1
            return size
        if not unroll:
            size.loops += 1
        if (options.explicit_unroll or (count <= options.auto_max_extent == 1)) and not options.only_mark:
            written = size.steps * count
            check_limit("unroll.statements", written, "an unrolled loop becomes too long", location_of(loop))
            write_out(loop, count)
        else:
            loop.properties["kind_attr"] = StringAttr(ForKind.UNROLLED.value)
        return _Size(size.steps * count, size.unrolled + 1, size.loops)

    def _is_of_registers(self, loop: tir.ForOp) -> bool:
        """Return whether the loop's variable is an index of local memory, and such loops are unrolled."""
        if not self.options.unroll_local_access:
            return False
        accesses = [op for op in loop.body.walk() if isinstance(op, tir.LoadOp | tir.StoreOp)]
        local = [op for op in accesses if cast(tir.BufferType, op.buffer.type).scope.data in _REGISTERS]
        return any(loop.loop_var in sources(op.indices) for op in local)

    def _is_short(self, loop: tir.ForOp, count: int | None, size: _Size) -> bool:
        options = self.options
        if loop.kind is not ForKind.SERIAL or count is None or count < 0 or size.loops:
            return False
        if size.unrolled > options.auto_max_depth:
            return False
        return count * size.steps <= options.auto_max_step or count <= options.auto_max_extent


def write_out(loop: tir.ForOp, count: int) -> None:
    """Replace a loop by `count` copies of its body."""
    insert = inserter(loop)
    build = Materializer(insert)
    dtype = cast(IntegerType, loop.loop_var.type)
    first: SymExpr = bound_expr(loop.min)
    for i in range(count):
        values: dict[SSAValue, SSAValue] = {loop.loop_var: build(first + i, dtype)}
        for op in loop.body.block.ops:
            insert(op.clone(values))
    erase_with_tree(loop)
