"""`scf` to `cf`, in time linear in the number of operations, function by function.

Loops are bottom-tested behind one guard (no guard if constant bounds show that the body runs). This is the form that
LLVM's passes expect, and it takes one branch per iteration without them. An attribute `loop_annotation` of `scf.for`
moves to the back edge. The induction variable never wraps around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, func, llvm, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    ModuleOp,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras.type_guards import is_integer_attr
from .core import dense_i32

LOOP_ANNOTATION = "loop_annotation"
_NSW = arith.IntegerOverflowAttr((arith.IntegerOverflowFlag.NSW,))
_SLT = IntegerAttr(2, i64)


def _branch(block: Block, target: Block, operands: Sequence[SSAValue]) -> None:
    block.add_op(cf.BranchOp.create(operands=operands, successors=(target,)))


def _cond_branch(
    block: Block,
    cond: SSAValue,
    then: tuple[Block, Sequence[SSAValue]],
    other: tuple[Block, Sequence[SSAValue]],
    attributes: dict[str, Attribute] | None = None,
) -> None:
    segments = dense_i32((1, len(then[1]), len(other[1])))
    block.add_op(
        cf.ConditionalBranchOp.create(
            operands=(cond, *then[1], *other[1]),
            successors=(then[0], other[0]),
            properties={"operandSegmentSizes": segments},
            attributes=attributes or {},
        )
    )


def _split_after(op: Operation) -> Block:
    """Move everything after `op` into a new block placed after its block; its arguments replace the results of `op`."""
    rest = _rest_after(op, op.result_types)
    for result, argument in zip(op.results, rest.args, strict=True):
        argument.name_hint = result.name_hint  # copied as it is stored, encoded
        result.replace_all_uses_with(argument)
    return rest


def _rest_after(op: Operation, arg_types: Sequence[Attribute] = ()) -> Block:
    """Move everything after `op` into a new block placed after its block."""
    block = op.parent
    assert block is not None and block.parent is not None
    rest = Block(arg_types=arg_types)
    following = op.next_op
    while following is not None:
        after = following.next_op
        block.detach_op(following)
        rest.add_op(following)
        following = after
    block.parent.insert_block_after(rest, block)
    return rest


def _inline(region: Region, before: Block) -> tuple[Block, Block]:
    """Move the region's blocks before a block; return the first and the last of them."""
    first, last = region.first_block, region.last_block
    assert first is not None and last is not None
    region.move_blocks_before(before)
    return first, last


def _take_terminator(block: Block) -> tuple[Operation, list[SSAValue]]:
    terminator = block.last_op
    assert terminator is not None
    operands = list(terminator.operands)
    block.erase_op(terminator)
    return terminator, operands


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and is_integer_attr(owner.value):
        return owner.value.value.data
    return None


def _less(block: Block, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    compare = make(arith.CmpiOp, (lhs, rhs), result_types=(i1,), properties={"predicate": _SLT})
    block.add_op(compare)
    return compare.result


def _for(op: scf.ForOp, block: Block) -> None:
    lower, upper, initial = op.lb, op.ub, list(op.iter_args)
    constants = _constant(lower), _constant(upper)
    runs = constants[0] is not None and constants[1] is not None and constants[0] < constants[1]
    end = _rest_after(op) if runs else _split_after(op)
    first, last = _inline(op.body, end)
    _, carried = _take_terminator(last)
    passed = carried
    if runs:  # the results of the last iteration are used after the loop
        _branch(block, first, [lower, *initial])
        for result, value in zip(op.results, carried, strict=True):
            result.replace_all_uses_with(value)
        passed = []
    else:
        _cond_branch(block, _less(block, lower, upper), (first, [lower, *initial]), (end, initial))
    step = make(arith.AddiOp, (first.args[0], op.step), result_types=(lower.type,), properties={"overflowFlags": _NSW})
    last.add_op(step)
    kept = op.attributes.get(LOOP_ANNOTATION)
    attributes = {} if kept is None else {LOOP_ANNOTATION: kept}
    again = _less(last, step.result, upper)
    _cond_branch(last, again, (first, [step.result, *carried]), (end, passed), attributes)


def _if(op: scf.IfOp, block: Block) -> None:
    end = _split_after(op)
    targets: list[Block] = []
    for region in (op.true_region, op.false_region):
        if region.first_block is None:
            targets.append(end)
            continue
        first, last = _inline(region, end)
        _, results = _take_terminator(last)
        _branch(last, end, results)
        targets.append(first)
    _cond_branch(block, op.cond, (targets[0], ()), (targets[1], ()))


def _while(op: scf.WhileOp, block: Block) -> None:
    end = _split_after(op)
    before, before_last = _inline(op.before_region, end)
    after, after_last = _inline(op.after_region, end)
    _branch(block, before, list(op.arguments))
    _, (cond, *passed) = _take_terminator(before_last)
    _cond_branch(before_last, cond, (after, passed), (end, passed))
    _, again = _take_terminator(after_last)
    _branch(after_last, before, again)


def _index_switch(op: scf.IndexSwitchOp, block: Block) -> None:
    end = _split_after(op)
    firsts: list[Block] = []
    for region in (op.default_region, *op.case_regions):
        first, last = _inline(region, end)
        _, results = _take_terminator(last)
        _branch(last, end, results)
        firsts.append(first)
    numbers = [int(n) for n in op.cases.get_values()]
    flag = arith.IndexCastOp(op.arg, i64)
    block.add_op(flag)
    values = DenseIntOrFPElementsAttr.from_list(VectorType(i64, [len(numbers)]), numbers)
    block.add_op(cf.SwitchOp(flag, firsts[0], (), cast(Any, values), firsts[1:], [() for _ in numbers]))


def _execute_region(op: scf.ExecuteRegionOp, block: Block) -> None:
    end = _split_after(op)
    inner = list(op.region.blocks)
    first, _ = _inline(op.region, end)
    _branch(block, first, ())
    for candidate in inner:
        if isinstance(candidate.last_op, scf.YieldOp):
            _, results = _take_terminator(candidate)
            _branch(candidate, end, results)


def _parallel(op: scf.ParallelOp, block: Block) -> None:
    """Lower to a nest of `scf.for`, which is lowered in turn: loops that are still parallel here were not outlined
    for threads.
    """
    if op.results:
        raise UnsupportedError("scf.parallel with reductions", hint="lower it to scf.for with loop-carried values")
    body = op.body.detach_block(op.body.block)
    _take_terminator(body)
    body.add_op(scf.YieldOp())
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    while len(bounds) > 1:
        variable = body.args[-1]
        inner = Block(arg_types=[variable.type])
        variable.replace_all_uses_with(inner.args[0])
        body.erase_arg(variable)
        for nested in list(body.ops):
            inner.add_op(body.detach_op(nested))
        body.add_ops([scf.ForOp(*bounds.pop(), [], inner), scf.YieldOp()])
    block.insert_op_before(scf.ForOp(*bounds[0], [], body), op)


_RULES: dict[type[Operation], Callable[[Any, Block], None]] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    scf.IndexSwitchOp: _index_switch,
    scf.ExecuteRegionOp: _execute_region,
    scf.ParallelOp: _parallel,
}


def lower_region(region: Region) -> None:
    """Replace all structured control flow in the blocks of `region` by branches.

    A block is read from its end, so that each operation moves to another block at most once.
    """
    todo = list(region.blocks)
    while todo:
        block = todo.pop()
        op = block.last_op
        while op is not None:
            rule = _RULES.get(type(op))
            if rule is not None:
                todo.extend(b for r in op.regions for b in r.blocks)
                rule(op, block)
            previous = op.prev_op
            if rule is not None:
                block.erase_op(op)
            op = previous


@dataclass(frozen=True)
class LowerScf(ModulePass):
    """Lower `scf.for`, `if`, `while`, `index_switch`, `execute_region` and `parallel` to branches between blocks."""

    name = "lower-scf"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.body.block.ops:
            if isinstance(inner, func.FuncOp | llvm.FuncOp):
                lower_region(inner.body)
