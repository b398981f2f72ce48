"""Gather runs of pure bindings into dataflow blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import FunctionOp, binding_blocks, functions, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before, is_removable
from .canonicalize_bindings import canonicalize_function
from .to_non_dataflow import flatten_dataflow


@dataclass(frozen=True)
class ConvertToDataflow(Pass):
    """Turn each run of at least `min_size` pure bindings into a dataflow block, merging adjacent blocks.

    A dataflow block stays one, however short it is. Then aliases are removed as in `canonicalize-bindings`.

    y = exp(x); z = abs(y)  ->  z = dataflow { y = exp(x); z = abs(y); output(z) }

    Branches and impure calls end a run. Raises `TiraxError` for a `min_size` below 1.
    """

    name = "convert-to-dataflow"
    min_size: int = 2

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.min_size < 1:
            raise TiraxError("a dataflow block has at least one binding", expected="min_size >= 1", found=self.min_size)
        table = functions(op)
        for func in relax_functions(op):
            gather_dataflow(func, table, self.min_size)


def gather_dataflow(func: relax.FuncOp, table: Mapping[str, FunctionOp], min_size: int = 2) -> None:
    """Turn the runs of pure bindings in a function into dataflow blocks, in place; `table`: the module's functions."""
    gathered = {op for block in func.walk() if isinstance(block, relax.DataflowOp) for op in block.body.block.ops}
    flatten_dataflow(func)
    for block in list(binding_blocks(func)):
        for run in list(_runs(block, table)):
            if sum(not relax.is_inline(o) for o in run) >= min_size or any(o in gathered for o in run):
                _gather(run)
    canonicalize_function(func)


def _is_pure(op: Operation, table: Mapping[str, FunctionOp]) -> bool:
    if isinstance(op, relax.CallOp):
        callee = table.get(op.callee_name)
        return isinstance(callee, relax.FuncOp) and callee.pure
    return isinstance(op, relax.MatchCastOp) or is_removable(op)


def _runs(block: Block, table: Mapping[str, FunctionOp]) -> Iterator[Sequence[Operation]]:
    """Yield runs of pure bindings. Unnamed leaves go with their users: those at the end of a run are left out."""
    run: list[Operation] = []
    for op in block.ops:
        if _is_pure(op, table):
            run.append(op)
            continue
        yield _without_trailing_leaves(run)
        run = []
    yield _without_trailing_leaves(run)


def _without_trailing_leaves(run: list[Operation]) -> list[Operation]:
    while run and relax.is_inline(run[-1]):
        run.pop()
    return run


def _gather(run: Sequence[Operation]) -> None:
    """Move a run into a dataflow block whose results are the values used after it."""
    parent = run[0].parent
    after = run[-1].next_op
    assert parent is not None and after is not None
    run = _without_leaves_of_others(run, after)
    members = set(run)
    inner = Block()
    values = [v for op in run for v in op.results if any(_around(u.operation, parent) not in members for u in v.uses)]
    for op in run:
        op.detach()
        inner.add_op(op)
    inner.add_op(relax.OutputOp(values))
    block = relax.DataflowOp(Region(inner))
    parent.insert_op_before(block, after)
    for i, (value, result) in enumerate(zip(values, block.outputs, strict=True)):
        set_name(result, name_of(value))
        value.replace_uses_with_if(result, lambda use: _around(use.operation, parent) not in (None, block))
        _output_bound_value(block, i)


def _without_leaves_of_others(run: Sequence[Operation], after: Operation) -> list[Operation]:
    """Return the run without unnamed leaves used only after it; those used on both sides are copied.

    They are not outputs.
    """
    block = after.parent
    assert block is not None
    inside = set(run)
    for op in filter(relax.is_inline, reversed(run)):
        result = op.results[0]
        outside = [use for use in result.uses if _around(use.operation, block) not in inside]
        if not outside:
            continue
        after = insert_before(after, op.clone())
        for use in outside:
            use.operation.operands[use.index] = after.results[0]
        if result.first_use is None:
            inside.remove(op)
            erase(op)
    return [op for op in run if op in inside]


def _around(op: Operation, block: Block) -> Operation | None:
    """Return the op of `block` that is `op` or contains it."""
    return block.find_ancestor_op_in_block(op)


def _output_bound_value(block: relax.DataflowOp, index: int) -> None:
    """Output `lv` directly in `gv = lv; output(gv)`, where `gv` is only the output's name."""
    output = block.output_op
    bind = output.values_[index].owner
    if isinstance(bind, relax.BindOp) and bind.result.has_one_use() and bind.value.type == bind.result.type:
        output.operands[index] = bind.value
        erase(bind)
