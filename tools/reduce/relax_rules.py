"""Reduction rules for Relax programs."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ...dialects import relax, tir
from ...ir.functions.lookup import binding_blocks, functions, module_of, ops_of_type, relax_functions
from ...ir.rewriting.edit import erase, inline_before, set_type
from .edits import Edit, replace_value, smaller_and_sound
from .search import ReductionRule


def _functions(module: ModuleOp) -> list[Operation]:
    return list(functions(module).values())


def _keep_alone(func: relax.FuncOp | tir.FuncOp) -> None:
    """Make the other functions private; those that this one does not need are removed."""
    module = module_of(func)
    assert module is not None
    for other in functions(module).values():
        other.sym_visibility = None if other is func else relax.PRIVATE


def _bindings(func: relax.FuncOp) -> list[Operation]:
    """Return the bindings of a function and of its dataflow blocks, last one first."""
    blocks = [b for b in binding_blocks(func) if b is func.body.block or isinstance(b.parent_op(), relax.DataflowOp)]
    inner = {b.parent_op(): list(b.ops)[:-1] for b in blocks}
    ordered = [o for op in inner[func] for o in (inner[op] if isinstance(op, relax.DataflowOp) else [op])]
    return ordered[::-1]


def _all_bindings(module: ModuleOp) -> list[Operation]:
    return [op for func in relax_functions(module) for op in _bindings(func)]


def _cut_tail(module: ModuleOp, start: int, size: int) -> ModuleOp | None:
    """Drop the last `size` bindings of a function, which then returns the value before them."""
    copy = module.clone()
    sites = _all_bindings(copy)
    func = _function_of(sites[start])
    is_end = start == 0 or _function_of(sites[start - 1]) is not func
    if not is_end or start + size >= len(sites) or _function_of(sites[start + size]) is not func:
        return None
    if len(sites[start + size].results) != 1:
        return None
    _return_value(func, sites[start + size].results[0])
    return smaller_and_sound(copy, module)


def _function_of(op: Operation) -> relax.FuncOp:
    at: Operation | None = op
    while not isinstance(at, relax.FuncOp):
        assert at is not None
        at = at.parent_op()
    return at


def _return_value(func: relax.FuncOp, value: SSAValue) -> None:
    """Make a function return a value of its body; one of a dataflow block becomes the block's first output."""
    owner = value.owner
    at = owner.parent_op() if isinstance(owner, Operation) else None
    if isinstance(at, relax.DataflowOp) and at.outputs:
        at.output_op.operands[0] = value
        value = at.outputs[0]
        set_type(value, at.output_op.operands[0].type)
        owner = at
    func.return_op.operands[0] = value
    for later in reversed(list(func.body.block.ops)):
        if later is owner:
            return
        if later is not func.return_op and not any(r.first_use for r in later.results):
            erase(later)


def _returned(module: ModuleOp) -> list[SSAValue]:
    """Return the operands of the value that a function returns."""
    return [v for func in relax_functions(module) for v in _operands_of(func.return_op.value)]


def _operands_of(value: SSAValue) -> Iterator[SSAValue]:
    producer = value.owner
    if isinstance(producer, relax.DataflowOp) and isinstance(value, OpResult):
        value = producer.output_op.operands[value.index]
        producer = value.owner
    if isinstance(producer, Operation):
        yield from dict.fromkeys(producer.operands)


def _return_instead(value: SSAValue) -> None:
    owner = value.owner
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    assert op is not None
    _return_value(_function_of(op), value)


def _return_result(op: Operation) -> None:
    """Make the function return a result, as the fault may lie in an unused value."""
    if len(op.results) == 1:
        _return_value(_function_of(op), op.results[0])


def _cuttable(module: ModuleOp) -> list[Operation]:
    """Return the bindings that can become parameters."""
    kinds = relax.DataflowOp | relax.ReturnOp | relax.OutputOp | relax.YieldOp | relax.FuncOp
    return [
        op
        for func in relax_functions(module)
        for block in binding_blocks(func)
        for op in block.ops
        if not isinstance(op, kinds)
    ]


def _cut(op: Operation) -> None:
    """f(x) {y = g(x); h(y)}  ->  f(x, y) {h(y)}"""
    block = _function_of(op).body.block
    for result in op.results:
        if result.first_use is not None:
            replace_value(result, block.insert_arg(result.type, len(block.args)))
    erase(op)


def _same_type(op: Operation) -> SSAValue | None:
    """Return an operand with the type of the single result."""
    if len(op.results) != 1:
        return None
    return next((v for v in op.operands if v.type == op.results[0].type), None)


def _bypass(op: Operation) -> None:
    value = _same_type(op)
    if value is not None:
        replace_value(op.results[0], value)
        erase(op)


def _parameters(module: ModuleOp) -> list[SSAValue]:
    return [p for func in relax_functions(module) for p in func.params]


def _merge_parameter(param: SSAValue) -> None:
    """Use an earlier parameter of the same type instead; remove the parameter if it is unused."""
    assert isinstance(param, BlockArgument)
    block: Block = param.block
    first = next(p for p in block.args if p.type == param.type)
    if first is not param:
        param.replace_all_uses_with(first)
    if param.first_use is None:
        block.erase_arg(param)


def _branches(module: ModuleOp) -> list[Operation]:
    return list(ops_of_type(module, relax.IfOp))


def _take_branch(number: int, op: Operation) -> None:
    """if c {A; yield x} else {B; yield y}  ->  A, and x for the result"""
    block = op.regions[number].block
    end = block.last_op
    if isinstance(end, relax.YieldOp) and end.value.type == op.results[0].type:
        value = end.value
        erase(end)
        inline_before(block, op)
        replace_value(op.results[0], value)
        erase(op)


def _blocks(module: ModuleOp) -> list[Operation]:
    return list(ops_of_type(module, relax.DataflowOp))


def _open_block(op: Operation) -> None:
    """dataflow {A; output x}  ->  A"""
    assert isinstance(op, relax.DataflowOp)
    end = op.output_op
    values = list(end.operands)
    erase(end)
    inline_before(op.body.block, op)
    for result, value in zip(op.outputs, values, strict=True):
        replace_value(result, value)
    erase(op)


RULES: tuple[ReductionRule[ModuleOp], ...] = (
    Edit(_functions, _keep_alone, runs=False).rule(),
    ReductionRule(lambda module: len(_all_bindings(module)), _cut_tail),
    Edit(_returned, _return_instead, runs=False).rule(),
    Edit(_cuttable, _cut).rule(),
    Edit(_cuttable, _bypass).rule(),
    Edit(_branches, lambda op: _take_branch(0, op), runs=False).rule(),
    Edit(_branches, lambda op: _take_branch(1, op), runs=False).rule(),
    Edit(_parameters, _merge_parameter).rule(),
    Edit(_blocks, _open_block, runs=False).rule(),
    Edit(_all_bindings, _return_result, runs=False).rule(),
)
