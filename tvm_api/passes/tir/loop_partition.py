"""`loop-partition`: split loops into parts in which conditions are known, and replace the conditions there.

    for %i to n {if likely(%i < 11) {S}}     ->     for %i to min(n, 11) {if true {S}};  for %i to … {if … {S}}

Candidates are loops and blocks of threads of unknown extent whose variable is in conditions marked as likely. For loops
with the pragma `pragma_loop_partition_hint`, all comparisons count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.sym import int_set
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, SymExpr, Var
from ....dialects.sym.int_set import SymInterval
from ....dialects.sym.operators import OPS, maximum, minimum
from ....dialects.tir import ForKind
from ....ir.affine.values import Materializer, sym_expr_of
from ....ir.passes.transform import Pass, configured
from ....ir.rewriting.copy import copied, is_expression
from ....ir.rewriting.edit import inline_before, insert_before, inserter
from ....transforms.tir.walk import bound_expr, erase_with_tree, functions, remove_dead
from ...handles.arith.analyzer import bind_range
from ...handles.solver import deduced_set

HINT = "pragma_loop_partition_hint"
_COMPARISONS = (tir.GeOp, tir.GtOp, tir.LeOp, tir.LtOp, tir.EqOp, tir.NeOp)
_INVERSE = {"lt": "ge", "gt": "le", "le": "gt", "ge": "lt", "ne": "eq"}
_Loop = tir.ForOp | tir.LaunchThreadOp
_Fact = tuple[SSAValue, bool]
"""A condition, and the value that it is proven to have."""


@dataclass(frozen=True)
class LoopPartition(Pass):
    """Partition loops, with `partition_const_loop` also those of constant extent, and remove `T.likely`.

    A part with one iteration is not a loop, unless `no_unroll_loop_with_extent_one`. With
    `unroll_loop_with_partition_hint_no_interval` a loop with the hint that cannot be split is unrolled.
    """

    name = "loop-partition"
    partition_const_loop: bool = False
    no_unroll_loop_with_extent_one: bool = False
    unroll_loop_with_partition_hint_no_interval: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        options = configured(self, "tir.LoopPartition")
        for func in functions(op):
            _Partitioner(options).statements(func.body.block.ops)
            _remove_marks(func)
            remove_dead(func)


def _remove_marks(func: tir.FuncOp) -> None:
    """Remove calls that mark conditions, and hints."""
    for op in list(func.walk()):
        if isinstance(op, tir.CallIntrinOp) and op.func.data in ("likely", "ignore_loop_partition"):
            op.result.replace_all_uses_with(op.call_args[0])
        elif isinstance(op, tir.AttrOp) and op.key.data == HINT:
            inline_before(op.body.block, op)
            erase_with_tree(op)


@dataclass
class _Part:
    """The loops of a part; `again` if it may be partitioned further."""

    ops: list[Operation] = field(default_factory=list[Operation])
    again: bool = True


class _Partitioner:
    def __init__(self, options: LoopPartition):
        self.options = options
        self.known = Analyzer()
        self.hinted: set[Operation] = set()
        self.hints: dict[Var, SymInterval] = {}
        self.relaxed: dict[Var, SymInterval] = {}

    def statements(self, ops: Iterable[Operation]) -> None:
        """Partition the loops among statements, and those inside of them."""
        for op in list(ops):
            if op.parent is None or is_expression(op):
                continue
            if isinstance(op, tir.AttrOp) and op.key.data == HINT and sym_expr_of(op.value).constant:
                self.hinted |= {inner for inner in op.body.block.ops if isinstance(inner, _Loop)}
            if isinstance(op, tir.ForOp) or (isinstance(op, tir.LaunchThreadOp) and not op.virtual):
                self._loop(op)
            else:
                self._inside(op)

    def _inside(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                self.statements(block.ops)

    def _loop(self, loop: _Loop) -> None:
        self._bind(loop)
        if self._is_candidate(loop) and self._partition(loop):
            return
        divergent = isinstance(loop, tir.LaunchThreadOp) and loop.tag.data.startswith("threadIdx")
        sets = self.relaxed if divergent else self.hints
        sets[_variable(loop)] = _interval(loop)
        self._inside(loop)
        del sets[_variable(loop)]

    def _bind(self, loop: _Loop) -> None:
        low, _ = _interval(loop)
        extent = bound_expr(loop.extent)
        bind_range(self.known, _variable(loop), low or Const(0, extent.dtype), extent)

    def _is_candidate(self, loop: _Loop) -> bool:
        if loop in self.hinted:
            return True
        low, high = _interval(loop)
        fixed = low is not None and high is not None and low.constant is not None and high.constant is not None
        if isinstance(loop, tir.LaunchThreadOp) and not loop.tag.data.startswith("blockIdx"):
            return False
        if fixed and not self.options.partition_const_loop:
            return False
        calls = [op for op in loop.walk() if isinstance(op, tir.CallExpr)]
        if any(call.func.data == "tvm_thread_allreduce" for call in calls):
            return False
        variable = _variable(loop)
        likely = [call for call in calls if call.func.data == "likely"]
        return any(variable in sym_expr_of(call.call_args[0]).free_vars() for call in likely)

    # One loop

    def _partition(self, loop: _Loop) -> bool:
        """Replace a loop by its parts, and return whether there are any."""
        variable, whole = _variable(loop), _interval(loop)
        finder = _Finder(variable, {**self.hints, variable: whole}, self.relaxed, loop in self.hinted)
        finder.region(loop.body)
        if not finder.facts:
            return False
        for truth in (True, False):
            middle, conditions = self._middle(finder.facts, whole, truth, loop in self.hinted)
            if not middle.is_empty:
                self._split(loop, middle, conditions, truth)
                return True
        if self._is_outside(finder.facts, whole):
            return False
        return self._unroll(loop)

    def _middle(
        self, facts: dict[_Fact, SymInterval], whole: SymInterval, truth: bool, hinted: bool
    ) -> tuple[SymInterval, list[SSAValue]]:
        """Return the interval in which conditions have a value, and these conditions."""
        sets = [(condition, s) for (condition, value), s in facts.items() if value is truth]
        here = [(condition, s) for condition, s in sets if not self._both(s, whole).is_empty]
        common = int_set.EVERYTHING if here else int_set.NOTHING
        for _, each in here:
            common = common.intersect(each, Analyzer())
        if not common.is_empty or not hinted:
            return common, [condition for condition, _ in here]
        conditions: list[SSAValue] = []
        latest, common = int_set.NOTHING, int_set.EVERYTHING
        for condition, each in here:
            common = self._both(common, each)
            if common.is_empty:
                break
            conditions.append(condition)
            latest = SymInterval(*(None if e is None else self.known.simplify(e) for e in common))
        return latest, conditions

    def _both(self, a: SymInterval, b: SymInterval) -> SymInterval:
        common = a.intersect(b, self.known)
        low, high = common
        if low is not None and high is not None and self._proves("lt", high, low):
            return int_set.NOTHING
        return common

    def _is_outside(self, facts: dict[_Fact, SymInterval], whole: SymInterval) -> bool:
        """Return whether all sets are single points, none of them in the loop."""
        low, high = whole
        for point, end in facts.values():
            if point is None or point != end or low is None or high is None:
                return False
            if self._proves("ge", point, low) and self._proves("le", point, high):
                return False
        return True

    def _unroll(self, loop: _Loop) -> bool:
        options = self.options
        if loop not in self.hinted or not options.unroll_loop_with_partition_hint_no_interval:
            return False
        if not isinstance(loop, tir.ForOp) or not self._proves("gt", bound_expr(loop.extent), Const(1)):
            return False
        first, count = loop.min, loop.extent
        unrolled = tir.ForOp(first, count, loop.detach_region(loop.body), ForKind.UNROLLED)
        inserter(loop)(unrolled)
        loop.detach()
        loop.erase(safe_erase=False)
        self._inside(unrolled)
        return True

    def _proves(self, kind: str, a: SymExpr, b: SymExpr) -> bool:
        return self.known.can_prove(OPS[kind](a, b))

    # The parts

    def _split(self, loop: _Loop, middle: SymInterval, conditions: list[SSAValue], truth: bool) -> None:
        low, high = _interval(loop)
        assert low is not None and high is not None
        before, begin = _Part(), low
        if middle.low is not None:
            begin = self.known.simplify(middle.low)
            if not self._proves("eq", begin, low):
                extent = self.known.simplify(begin - low)
                if not self._proves("gt", extent, Const(0, extent.dtype)):
                    begin, before.again = maximum(begin, low), False
                if not self._proves("le", extent, Const(0, extent.dtype)) and isinstance(loop, tir.ForOp):
                    before.ops = self._part(loop, low, begin - low, [], truth)
        after, end = _Part(), high + 1
        if middle.high is not None:
            end = self.known.simplify(middle.high + 1)
            if not self._proves("eq", middle.high, high):
                extent = self.known.simplify(high - end + 1)
                if not self._proves("gt", extent, Const(0, extent.dtype)):
                    end, after.again = minimum(end, high + 1), False
                if not self._proves("le", extent, Const(0, extent.dtype)) and isinstance(loop, tir.ForOp):
                    after.ops = self._part(loop, end, extent, [], truth)
        if isinstance(loop, tir.LaunchThreadOp):
            self._inside_threads(loop, (low, begin), (end, high + 1), conditions)
        else:
            self._replace(loop, before, (begin, end), after, (conditions, truth))

    def _replace(
        self,
        loop: tir.ForOp,
        before: _Part,
        middle: tuple[SymExpr, SymExpr],
        after: _Part,
        known: tuple[list[SSAValue], bool],
    ) -> None:
        begin, end = middle
        runs = not self._proves("ge", begin, end)
        between = self._part(loop, begin, end - begin, *known) if runs else []
        for op in (*before.ops, *between, *after.ops):
            op.detach()
            insert_before(loop, op)
        erase_with_tree(loop)
        if runs:
            self.statements(between)
            if before.ops or after.ops:
                for part in (before, after):
                    self.statements(part.ops if part.again else [])

    def _part(
        self, loop: tir.ForOp, start: SymExpr, extent: SymExpr, conditions: list[SSAValue], truth: bool
    ) -> list[Operation]:
        """Return the operations of a part of a loop, which lie in a block of their own."""
        place = Block()
        dtype = cast(IntegerType, loop.loop_var.type)
        notes = loop.annotations is not None and bool(loop.annotations.data)
        once = self._proves("eq", extent, Const(1, extent.dtype)) and not notes
        inline = once and not self.options.no_unroll_loop_with_extent_one
        body = place if inline else Block(arg_types=[dtype])
        if inline:
            index = Materializer(body.add_op)(Const(0, dtype), dtype)
        else:
            index = body.args[0]
            set_name(index, name_of(loop.loop_var))
        if start.constant != 0:
            place_of_start = Materializer(body.add_op)(start, dtype)
            body.add_op(shifted := tir.AddOp(index, place_of_start))
            index = shifted.result
        _copy(loop.body.block.ops, body, {loop.loop_var: index}, conditions, truth)
        if not inline:
            bound = extent
            if any(v.value is not None for v in extent.free_vars()):
                bound = Materializer(place.add_op)(extent, dtype)
            new = tir.ForOp(Const(0, dtype), bound, Region(body), loop.kind, annotations=loop.annotations)
            place.add_op(new)
            if loop in self.hinted:
                self.hinted.add(new)
        return list(place.ops)

    def _inside_threads(
        self,
        launch: tir.LaunchThreadOp,
        first: tuple[SymExpr, SymExpr],
        last: tuple[SymExpr, SymExpr],
        conditions: list[SSAValue],
    ) -> None:
        """Branch in the innermost threads: where the conditions hold, and where they may not."""
        variable = _variable(launch)
        parts: list[SymExpr] = []
        if not self._proves("eq", first[1], first[0]):
            parts.append(OPS["ge"](variable, first[1]))
        if not self._proves("eq", last[0], last[1]):
            parts.append(OPS["lt"](variable, last[0]))
        launches = [op for op in launch.walk() if isinstance(op, tir.LaunchThreadOp) and not op.virtual]
        for inner in [op for op in launches if not any(o is not op and op.is_ancestor(o) for o in launches)]:
            old = inner.body.block
            sides = Block(), Block()
            _copy(old.ops, sides[0], {}, conditions, True)
            _copy(old.ops, sides[1], {}, [], True)
            for op in reversed(list(old.ops)):
                erase_with_tree(op)
            condition = _conjunction(parts, old)
            old.add_op(tir.IfOp(condition, *map(Region, sides)))


def _conjunction(parts: list[SymExpr], block: Block) -> SSAValue:
    values = [Materializer(block.add_op)(part, i1) for part in parts]
    if not values:
        block.add_op(true := tir.ConstOp(1, i1))
        return true.result
    total = values[0]
    for value in values[1:]:
        block.add_op(both := tir.AndOp(total, value))
        total = both.result
    return total


def _copy(
    ops: Iterable[Operation],
    block: Block,
    mapping: dict[SSAValue, SSAValue],
    conditions: list[SSAValue],
    truth: bool,
) -> None:
    """Copy statements; conditions with a known value become constants."""
    for condition in conditions:
        block.add_op(known := tir.ConstOp(int(truth), i1))
        mapping[condition] = known.result
    copied(ops, block, mapping)


def _variable(loop: _Loop) -> Var:
    index = loop.loop_var if isinstance(loop, tir.ForOp) else loop.index
    return Var(index, cast(IntegerType, index.type))


def _interval(loop: _Loop) -> SymInterval:
    if isinstance(loop, tir.ForOp):
        first = bound_expr(loop.min)
        return SymInterval(first, first + bound_expr(loop.extent) - 1)
    extent = sym_expr_of(loop.extent)
    return SymInterval(Const(0, extent.dtype), extent - 1)


def _is_read(value: SSAValue) -> bool:
    """Return whether a value is of memory or of a call, which are not the same everywhere."""
    return isinstance(value.owner, Operation) and is_expression(value.owner)


class _Finder:
    """Finds where the conditions on a loop variable are certainly true, and where certainly false."""

    def __init__(
        self, variable: Var, hints: dict[Var, SymInterval], relaxed: dict[Var, SymInterval], hinted: bool
    ) -> None:
        self.variable, self.hinted = variable, hinted
        self.hints, self.relaxed = dict(hints), dict(relaxed)
        self.outside = {*hints, *relaxed}
        self.facts: dict[_Fact, SymInterval] = {}

    def region(self, region: Region) -> None:
        for block in region.blocks:
            for op in list(block.ops):
                if not is_expression(op):
                    self.statement(op)

    def statement(self, op: Operation) -> None:
        inner = op if isinstance(op, _Loop) else None
        if inner is not None:
            interval = _interval(inner)
            used = {v for end in interval if end is not None for v in end.free_vars()}
            if isinstance(op, tir.ForOp) and used & self.outside:
                return
            self.hints[_variable(inner)] = self.relaxed[_variable(inner)] = interval
        for value in op.operands:
            self.expression(value)
        for region in op.regions:
            self.region(region)
        if inner is not None:
            del self.hints[_variable(inner)], self.relaxed[_variable(inner)]

    def expression(self, value: SSAValue) -> None:
        op = value.owner
        if not isinstance(op, Operation) or not is_expression(op):
            return
        if isinstance(op, tir.CallIntrinOp) and op.func.data == "likely":
            self._condition(op.call_args[0])
            return
        if isinstance(op, tir.CallIntrinOp) and op.func.data == "ignore_loop_partition":
            return
        if self.hinted and isinstance(op, _COMPARISONS):
            self._condition(value)
            return
        inside = [end for region in op.regions for block in region.blocks for end in block.ops]
        for each in [*op.operands, *(v for o in inside if isinstance(o, tir.YieldOp) for v in o.operands)]:
            self.expression(each)

    def _condition(self, condition: SSAValue) -> None:
        op = condition.owner
        if not isinstance(op, _COMPARISONS) or not isinstance(op.lhs.type, IntegerType):
            return
        kind, a, b = op.name.removeprefix("tir."), sym_expr_of(op.lhs), sym_expr_of(op.rhs)
        names = {*a.free_vars(), *b.free_vars()}
        if self.variable not in names or any(v.value is not None and _is_read(v.value) for v in names):
            return
        values = self._set(kind, a, b)
        if values.is_empty and kind == "eq":
            values = self._set("ge", a, b).intersect(self._set("le", a, b), Analyzer())
            if not values.is_empty:
                self.facts[condition, True] = values
                return
        if not values.is_empty:
            self.facts[condition, True] = values
        if kind in _INVERSE:
            others = self._set(_INVERSE[kind], a, b)
            if not others.is_empty:
                self.facts[condition, False] = others

    def _set(self, kind: str, a: SymExpr, b: SymExpr) -> SymInterval:
        return deduced_set(self.variable, OPS[kind](a, b), self.hints, self.relaxed)


__all__ = ["HINT", "LoopPartition"]
