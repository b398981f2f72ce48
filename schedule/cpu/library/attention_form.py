"""What attention looks like in a tensor function, as legalization writes it, and its parts.

Four reductions follow each other: sums of products, their maximum, the sum of powers, sums of products again. All that
stands between them, scales, biases, masks, the other layouts of what is read, is inlined before they are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.ir import OpResult, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, is_float
from ....dialects.sym.expr import SymExpr, Var, product
from ....dialects.tir import BufferType
from ....ir.affine.values import conjuncts, sym_expr_of
from ...accesses import is_intermediate, uses_of
from ...checks import slack_of, step_of
from ...rewrite import same_tree
from ..analysis.remarks import reject
from ..analysis.stages import Iter, Stage, Update, analyse, loads_below, tree, update_of
from .inline import dimension_iters, inline_stages, written_elsewhere


@dataclass(frozen=True)
class Attention:
    """The stages, and the expressions of the last reduction, `mix`, and of `result`, which stores what it makes.

    `row`, `column` and `lane` are the iterators of `mix` over queries, keys and elements of values; `batch` are its
    others, with where they are in terms of `result`; `score_places` are the iterators of `scores` in terms of `mix`.
    `shifted` is the score after the mask, `score` before it; only where `allowed` holds it counts.
    """

    scores: Stage
    top: Stage
    total: Stage
    mix: Stage
    result: Stage
    row: Iter
    column: Iter
    lane: Iter
    batch: tuple[tuple[Iter, SSAValue], ...]
    score_places: tuple[tuple[Iter, SSAValue], ...]
    weight: SSAValue
    power: tir.CallIntrinOp
    shifted: SSAValue
    score: SSAValue
    allowed: SSAValue | None
    read: tir.LoadOp
    result_row: Iter
    result_lane: Iter

    @property
    def stages(self) -> list[Stage]:
        """In their order."""
        return [self.scores, self.top, self.total, self.mix, self.result]

    @property
    def outer(self) -> list[Iter]:
        """The iterators of the result over heads and batches."""
        return [it for it in self.result.iters if it not in (self.result_row, self.result_lane)]

    @property
    def updates(self) -> tuple[Update, Update]:
        """The steps of the two sums of products."""
        return cast(Update, update_of(self.scores)), cast(Update, update_of(self.mix))

    @property
    def value(self) -> SSAValue:
        """What weights are multiplied with."""
        term = self.updates[1].term.owner
        assert isinstance(term, tir.MulOp)
        return term.rhs if term.lhs is self.weight else term.lhs

    @property
    def score_loads(self) -> list[tir.LoadOp]:
        """Where the powers read the scores."""
        return [op for op in loads_below(self.weight) if op.buffer is self.scores.buffer]

    @property
    def top_loads(self) -> list[tir.LoadOp]:
        """Where the powers read the maximum."""
        return [op for op in loads_below(self.weight) if op.buffer is self.top.buffer]


def attention_of(func: tir.FuncOp) -> Attention | None:
    """The attention that a function computes, None where it computes none.

    What stands between its reductions is inlined then; else the function is as before.
    """
    attrs = func.func_attrs
    if not _may_be(func):
        return None
    if attrs is None or "tir.noalias" not in attrs.data:
        return reject("the function does not say tir.noalias: its buffers may overlap")
    if _find(func.clone()) is None:
        return None
    return _find(func)


def _stages(func: tir.FuncOp) -> list[Stage] | None:
    """The stages of a function in which nothing else writes, and no buffer is written twice."""
    ops = list(func.body.block.ops)
    analysed = [analyse(op) for op in ops]
    if any(stage is None and op.regions for stage, op in zip(analysed, ops, strict=True)):
        return None
    stages = [stage for stage in analysed if stage is not None]
    return stages if len({stage.buffer for stage in stages}) == len(stages) else None


def _may_be(func: tir.FuncOp) -> bool:
    """Whether there are as many reductions as attention has."""
    stages = _stages(func)
    if stages is None:
        return False
    kinds = [type(op.combiner) for stage in stages if stage.reduce for op in [update_of(stage)] if op is not None]
    return kinds.count(tir.AddOp) >= 3 and tir.MaxOp in kinds


def _find(func: tir.FuncOp) -> Attention | None:
    stages = _stages(func)
    if stages is None:
        return None
    sums = {s.buffer for s in stages if s.reduce and is_float(cast(BufferType, s.buffer.type).dtype)}
    left = inline_stages(stages, lambda stage, _: _is_moved(stage) or bool(stage.inputs() & sums))
    by_buffer = {stage.buffer: stage for stage in left}
    for result in left:
        attention = _before(result, by_buffer)
        if attention is not None and _is_self_contained(attention, left):
            return attention
        if attention is not None:
            reject("something else reads what is made on the way, or comes behind")
    return None


def _is_moved(stage: Stage) -> bool:
    """Whether elements are those of another buffer."""
    return isinstance(stage.store.value.owner, tir.LoadOp)


def _is_self_contained(attention: Attention, stages: Sequence[Stage]) -> bool:
    """Whether nothing else reads what is made on the way, or comes behind."""
    mine = attention.stages
    inner = {stage.buffer for stage in mine[:-1]}
    others = [stage for stage in stages if not any(stage is s for s in mine)]
    if any(stage.inputs() & inner for stage in others) or stages[-1] is not attention.result:
        return False
    return all(is_intermediate(s.buffer) and not written_elsewhere(s) for s in mine[:-1])


def _before(result: Stage, by_buffer: Mapping[SSAValue, Stage]) -> Attention | None:
    """The attention whose result a stage stores."""
    if result.reduce or result.init is not None:
        return None
    producers = [(op, by_buffer.get(op.buffer)) for op in result.loads]
    mixes = [(op, stage) for op, stage in producers if stage is not None and stage.reduce]
    if len(mixes) != 1 or mixes[0][1] is None:
        return None
    read, mix = mixes[0]
    parts = _Parts.of(mix, by_buffer)
    return None if parts is None else parts.attention(read, result)


_DISAGREE = "maximum and total are not of the scores and powers that are multiplied with the values"
_UNFIT = "it has one key or one element of values, other heads than its result, or sums of less than 32 bits"


@dataclass
class _Parts:
    """What the last reduction says of those before it."""

    mix: Stage
    weight: SSAValue
    power: tir.CallIntrinOp
    shifted: SSAValue
    allowed: SSAValue | None
    scores: Stage
    top: Stage
    total: Stage
    load: tir.LoadOp

    @classmethod
    def of(cls, mix: Stage, by_buffer: Mapping[SSAValue, Stage]) -> _Parts | None:
        """The parts of power / total * value, None where a sum is of something else."""
        update = _sum_of(mix)
        term = None if update is None else update.term.owner
        if not isinstance(term, tir.MulOp):
            return None
        weighed = (cls._of_weight(mix, weight, by_buffer) for weight in term.operands)
        candidates = [parts for parts in weighed if parts is not None]
        agreeing = next((parts for parts in candidates if parts._agree()), None)
        if agreeing is None:
            return reject(_DISAGREE if candidates else "no sum of products is of weights: powers over their total")
        return agreeing

    @classmethod
    def _of_weight(cls, mix: Stage, weight: SSAValue, by_buffer: Mapping[SSAValue, Stage]) -> _Parts | None:
        quotient = weight.owner
        if not isinstance(quotient, tir.DivOp):
            return None
        power, allowed = _unmasked(quotient.lhs)
        total = _divisor(quotient.rhs)
        exp = power.owner
        if total is None or not isinstance(exp, tir.CallIntrinOp) or exp.func.data != "exp":
            return None
        difference = exp.call_args[0].owner
        top = difference.rhs.owner if isinstance(difference, tir.SubOp) else None
        if not isinstance(difference, tir.SubOp) or not isinstance(top, tir.LoadOp):
            return None
        loads = [op for op in loads_below(difference.lhs) if op.buffer in by_buffer and by_buffer[op.buffer].reduce]
        stages = [by_buffer.get(op.buffer) for op in (top, total)]
        sums = [op for op in loads if is_float(op.result.type)]
        if not sums or len({op.buffer for op in sums}) != 1 or None in stages:
            return None
        scores = by_buffer[sums[0].buffer]
        first, second = cast("list[Stage]", stages)
        return cls(mix, weight, exp, difference.lhs, allowed, scores, first, second, sums[0])

    def _agree(self) -> bool:
        """Whether maximum and total are of the same scores and powers, and all begin with constants."""
        top, total, scores = update_of(self.top), _sum_of(self.total), _sum_of(self.scores)
        if top is None or total is None or scores is None or not isinstance(top.combiner, tir.MaxOp):
            return False
        if not isinstance(scores.term.owner, tir.MulOp) or not all(_begins(s) for s in (self.top, self.mix)):
            return False
        quotient = self.weight.owner
        if not isinstance(quotient, tir.DivOp):
            return False
        terms = [(self.top, top.term, self.shifted), (self.total, total.term, quotient.lhs)]
        return all(self._is_same(stage, term, value) for stage, term, value in terms)

    def _is_same(self, stage: Stage, term: SSAValue, value: SSAValue) -> bool:
        """Whether the term of a reduction over keys is `value`, which the last reduction computes anew."""
        loads = [op for op in loads_below(self.weight) if op.buffer is stage.buffer]
        dims = dimension_iters(stage)
        if dims is None or not loads or len(stage.reduce) != 1 or len(self.mix.reduce) != 1:
            return False
        column = self.mix.reduce[0]
        if stage.reduce[0].extent != column.extent:
            return False
        places: dict[Var, SymExpr] = {stage.reduce[0].expr: column.expr}
        for it, index in zip(dims, loads[0].indices, strict=True):
            if it is not None:
                places[it.expr] = sym_expr_of(index)
        return same_tree(term, value, places)

    def attention(self, read: tir.LoadOp, result: Stage) -> Attention | None:
        """Attention, with the parts of the stage that stores its result."""
        score, masked = _unmasked(self.shifted, any_other=True)
        if self.allowed is None or masked is None or not same_tree(masked, self.allowed, {}):
            score = self.shifted
        by_var = {it.expr: it for it in self.mix.spatial}
        dims = dimension_iters(self.mix)
        if dims is None or None in dims or len(dims) < 2 or len(self.mix.reduce) != 1:
            return reject("the result is no matrix for each head that is summed over the keys")
        row = by_var.get(cast(Var, sym_expr_of(self.load.indices[-2])))
        places = self._score_places()
        *batch, last_row, lane = cast("list[Iter]", dims)
        mine = {it.expr: it for it in result.iters}
        *heads, at_row, at_lane = read.indices
        ends = mine.get(cast(Var, sym_expr_of(at_row))), mine.get(cast(Var, sym_expr_of(at_lane)))
        if row is None or row is not last_row or places is None or None in ends:
            return reject("scores, or the result, are not read row by row")
        attention = Attention(
            self.scores, self.top, self.total, self.mix, result, row, self.mix.reduce[0], lane,
            tuple(zip(batch, heads, strict=True)), places, self.weight, self.power, self.shifted, score, self.allowed,
            read, *cast("tuple[Iter, Iter]", ends),
        )  # fmt: skip
        return attention if _fits(attention) else reject(_UNFIT)

    def _score_places(self) -> tuple[tuple[Iter, SSAValue], ...] | None:
        """Where the scores are read, for each of their iterators; the last one is the key."""
        dims = dimension_iters(self.scores)
        loads = [op for op in loads_below(self.weight) if op.buffer is self.load.buffer]
        places = {tuple(sym_expr_of(i) for i in op.indices) for op in loads}
        if dims is None or len(dims) < 2 or len(places) != 1 or None in dims[-2:]:
            return None
        if sym_expr_of(self.load.indices[-1]) != self.mix.reduce[0].expr:
            return None
        return tuple((it, index) for it, index in zip(dims, self.load.indices, strict=True) if it is not None)


def _fits(attention: Attention) -> bool:
    """Whether each element of the result is one that is made, and heads and batches are as many.

    Of one key, or one element of values, there are no vectors. Sums narrower than 32 bits would lose too much where
    they are put away between tiles; what is read and the result may be narrower.
    """
    if any(bit_width(cast(BufferType, stage.buffer.type).dtype) < 32 for stage in attention.stages[:-1]):
        return False
    iters = [attention.row, attention.column, attention.lane, attention.result_row, attention.result_lane]
    if len({it.dtype for it in [*iters, *(it for it, _ in attention.batch), *attention.outer]}) != 1:
        return False
    if product(it.extent for it in attention.outer) != product(it.extent for it, _ in attention.batch):
        return False
    if (attention.result_row.extent, attention.result_lane.extent) != (attention.row.extent, attention.lane.extent):
        return False
    ends = {attention.result_row.var, attention.result_lane.var}
    used = {v.value for _, index in attention.batch for v in sym_expr_of(index).free_vars()}
    if ends & used or attention.row.var in _iterators(attention.value):
        return False
    return 1 not in (attention.column.extent.constant, attention.lane.extent.constant)


def _iterators(value: SSAValue) -> set[SSAValue]:
    """The values that are no results which `value` depends on."""
    operands = [o for op in tree(value) for o in op.operands]
    return {v for v in (value, *operands) if not isinstance(v, OpResult)}


def _sum_of(stage: Stage) -> Update | None:
    """The step of a sum that begins with a constant."""
    update = update_of(stage)
    return update if update is not None and isinstance(update.combiner, tir.AddOp) and _begins(stage) else None


def _begins(stage: Stage) -> bool:
    return stage.init is not None and isinstance(stage.init.value.owner, tir.ConstOp)


def _unmasked(value: SSAValue, any_other: bool = False) -> tuple[SSAValue, SSAValue | None]:
    """(x, c) of select(c, x, 0), or of a choice between x and any other value; (value, None) where it is no choice."""
    op = value.owner
    if not isinstance(op, tir.SelectOp) or not (any_other or _is_constant(op.false_value, 0)):
        return value, None
    return op.true_value, op.cond


def _divisor(value: SSAValue) -> tir.LoadOp | None:
    """The load of what is divided by: x, or select(x == 0, 1, x)."""
    op = value.owner
    if isinstance(op, tir.SelectOp) and isinstance(op.cond.owner, tir.EqOp):
        zero = [o for o in op.cond.owner.operands if _is_constant(o, 0)]
        same = [o for o in op.cond.owner.operands if same_tree(o, op.false_value, {})]
        op = op.false_value.owner if zero and same and _is_constant(op.true_value, 1) else op
    return op if isinstance(op, tir.LoadOp) else None


def _is_constant(value: SSAValue, number: int) -> bool:
    return isinstance(value.owner, tir.ConstOp) and value.owner.py_value == number


def reach(attention: Attention, first: SymExpr, last: SymExpr) -> tuple[list[SymExpr], list[SymExpr]]:
    """Bounds of the keys that queries from `first` to `last` may look at: least ones, and ends.

    What a mask says in other ways than by comparing the key with something that grows with the query gives none.
    """
    lows: list[SymExpr] = []
    highs: list[SymExpr] = []
    for cond in [] if attention.allowed is None else conjuncts(attention.allowed):
        bound = _bound(cond, attention.column)
        if bound is None:
            continue
        is_end, limit = bound
        row = attention.row.expr
        grows = step_of(limit, row)
        if grows is None or grows < 0 or not _is_known(limit, attention):
            continue
        if is_end:
            highs.append(limit.substitute({row: last}))
        else:
            lows.append(limit.substitute({row: first}))
    return lows, highs


def _bound(cond: SSAValue, column: Iter) -> tuple[bool, SymExpr] | None:
    """(True, e) where a condition says column < e; (False, e) where it says column >= e; else None."""
    slack = slack_of(sym_expr_of(cond))
    step = None if slack is None else step_of(slack, column.expr)
    if slack is None or step not in (1, -1):
        return None
    return (True, slack + column.expr + 1) if step == -1 else (False, column.expr - slack)


def _is_known(limit: SymExpr, attention: Attention) -> bool:
    """Whether a bound depends on nothing but sizes, the query, the head, and what is read for the head alone."""
    heads = {it.var for it, _ in attention.batch}
    return all(v.value in (None, attention.row.var) or _is_of_head(v.value, heads) for v in limit.free_vars())


def _is_of_head(value: SSAValue, heads: set[SSAValue]) -> bool:
    """Whether a value is an iterator over heads, or is read from a buffer that nobody writes to, by such ones."""
    buffers = {op.buffer for op in tree(value) if isinstance(op, tir.LoadOp)}
    stored = any(isinstance(op, tir.StoreOp) for buffer in buffers for op in uses_of(buffer)[0])
    return not stored and _iterators(value) - buffers <= heads
