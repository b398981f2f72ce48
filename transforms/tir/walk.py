"""Helpers for passes on tir: functions of a module, moving operations, removing unused ones."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure, is_side_effect_free

from ...dialects import tir
from ...dialects.attributes import PyValue, function_attrs
from ...dialects.dtypes import bit_width, lanes_of, scalar_of
from ...dialects.quick import make, operations
from ...dialects.sym import ValueOp
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr, Var, as_expr
from ...dialects.tir import ForKind
from ...ir.affine.values import sym_expr_of
from ...ir.rewriting.edit import inline_before, insert_all_before


def functions(module: ModuleOp) -> list[tir.FuncOp]:
    """Return the tir functions of a module."""
    return [op for op in module.body.block.ops if isinstance(op, tir.FuncOp)]


def is_scheduled(func: tir.FuncOp) -> bool:
    """Return whether a function has a user's schedule, so that the default schedule skips it."""
    return func.func_attrs is not None and "tir.is_scheduled" in func.func_attrs.data


def memory_bits(dtype: Attribute) -> int:
    """Return the bits of an element, or of a vector, in memory: a bool takes eight, an address 64."""
    if isinstance(dtype, tir.HandleType):
        return 64
    return max(8, bit_width(scalar_of(dtype))) * lanes_of(dtype)


def erase_with_tree(op: Operation) -> None:
    """Erase an unused operation and the expressions that only it used."""
    op.detach()
    op.erase(safe_erase=False)


def _removable(op: Operation) -> bool:
    if any(r.first_use is not None for r in op.results) or not op.results:
        return False
    return isinstance(op, tir.AllocConstOp) or _only_reads(op)


def _only_reads(op: Operation) -> bool:
    """Return whether an operation has no effect other than reading, for example a choice between elements."""
    if isinstance(op, tir.LoadOp | tir.YieldOp) or is_side_effect_free(op):
        return True
    return isinstance(op, tir.IfThenElseOp) and all(_only_reads(i) for r in op.regions for b in r.blocks for i in b.ops)


def is_pure(owner: Operation | Block) -> bool:
    """Return whether computing a value has no effect; reading has none."""
    return isinstance(owner, Block | tir.LoadOp) or is_side_effect_free(owner)


def is_empty(region: Region) -> bool:
    """Return whether a region contains only expressions."""
    return region.first_block is None or all(is_pure(op) for op in region.block.ops)


def may_initialize(loop: tir.ForOp) -> bool:
    """Return whether a loop without iterations may have an effect: an init of blocks that reduce over it."""
    return any(isinstance(op, tir.InitOp) for op in operations(loop))


def inline_branch(op: tir.IfOp | tir.IfThenElseOp, holds: bool) -> None:
    """Replace a branch by one of its sides."""
    region = op.then_region if holds else op.else_region
    block = region.first_block
    if block is not None:
        if isinstance(op, tir.IfThenElseOp):
            end = cast(tir.YieldOp, block.last_op)
            op.result.replace_all_uses_with(end.value)
            erase_with_tree(end)
        inline_before(block, op)
    erase_with_tree(op)


def remove_dead(root: Operation) -> None:
    """Remove unused expressions below `root` (also loads: reading has no effect)."""
    _erase_unused(operations(root)[1:])


def erase_with_operands(op: Operation) -> None:
    """Erase an unused operation, and expressions that only it used."""
    owners = [o.owner for o in op.operands]
    erase_with_tree(op)
    _erase_unused([o for o in owners if isinstance(o, Operation)])


def _erase_unused(todo: list[Operation]) -> None:
    while todo:
        op = todo.pop()
        if op.parent is None or not _removable(op):
            continue
        owners = [o.owner for o in op.operands]
        erase_with_tree(op)
        todo.extend(o for o in owners if isinstance(o, Operation))


def blocks_inside_out(root: Operation) -> Iterator[tir.BlockOp]:
    """Yield the tir blocks below `root`, inner ones first."""
    blocks = [op for op in operations(root) if isinstance(op, tir.BlockOp)]
    yield from reversed(blocks)


def values_of(op: Operation) -> list[SSAValue]:
    """Return the values that an operation defines."""
    return [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]


def integer_type(value: SSAValue) -> IntegerType | None:
    """Return the type of an integer, or None for other values."""
    t: Attribute = value.type
    return cast(IntegerType, t) if isinstance(t, IntegerType) else None


def outermost(ops: Iterable[Operation], kind: ForKind) -> Iterator[tir.ForOp]:
    """Yield the loops of a kind among and inside `ops` that are not inside another one."""
    for op in ops:
        if isinstance(op, tir.ForOp) and op.kind is kind:
            yield op
            continue
        for region in op.regions:
            for block in region.blocks:
                yield from outermost(block.ops, kind)


def move_out(loop: tir.ForOp) -> None:
    """Hoist loop-invariant expressions without loads out of a loop.

    Possible divisions by a size stay if the loop may not run at all: sizes are nonzero only where something runs.
    """
    count = bound_expr(loop.extent).constant
    runs = count is not None and count > 0
    own: set[SSAValue] = {loop.loop_var}
    invariant: list[Operation] = []
    for op in loop.body.block.ops:
        if _reads_operands_alone(type(op)) and own.isdisjoint(op.operands) and (runs or not _divides(op)):
            invariant.append(op)
        else:
            own.update(op.results)
    for op in invariant:
        op.detach()
    insert_all_before(loop, invariant)


@cache
def _reads_operands_alone(kind: type[Operation]) -> bool:
    return kind.has_trait(Pure())


def copied(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    """Copy an operation without regions, with other operands."""
    types = [r.type for r in op.results]
    copy = make(
        type(op),
        operands,
        result_types=types,
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
    return copy


def folded(kind: type[Operation], operands: Sequence[SSAValue]) -> SSAValue | int | None:
    """Return an integer sum, difference or product if it is a constant or one of the operands, else None."""
    rule = _FOLDS.get(kind)
    if rule is None:
        return None
    a, b = operands
    x, y = _integer(a), _integer(b)
    if x is not None and y is not None:
        return rule(x, y)
    if y == (kind is tir.MulOp):
        return a
    return b if x == (kind is tir.MulOp) and kind is not tir.SubOp else None


_FOLDS: dict[type[Operation], Callable[[int, int], int]] = {
    tir.AddOp: operator.add,
    tir.SubOp: operator.sub,
    tir.MulOp: operator.mul,
}


def _integer(value: SSAValue) -> int | None:
    op = value.owner
    return op.value.value.data if type(op) is tir.ConstOp and type(op.value) is IntegerAttr else None


def _divides(op: Operation) -> bool:
    """Return whether an expression may divide by a non-constant."""
    if isinstance(op, tir.DivOp | tir.TruncModOp | tir.FloorDivOp | tir.FloorModOp):
        return not isinstance(op.rhs.owner, tir.ConstOp)
    return isinstance(op, ValueOp) and not isinstance(op.expr.data, Var)


def bound_expr(bound: SymExpr | SSAValue) -> SymExpr:
    """Return a bound of a loop as an expression."""
    return bound if isinstance(bound, SymExpr) else sym_expr_of(bound)


def bind_threads(analyzer: Analyzer, launch: tir.LaunchThreadOp) -> None:
    """Add the range of a thread index to the analyzer."""
    variable = Var(launch.index, cast(IntegerType, launch.index.type))
    analyzer.bind_range(variable, as_expr(0, variable.dtype), sym_expr_of(launch.extent))


def bind_loop(analyzer: Analyzer, loop: tir.ForOp) -> None:
    """Add the range of a loop variable to the analyzer."""
    variable = Var(loop.loop_var, cast(IntegerType, loop.loop_var.type))
    analyzer.bind_range(variable, bound_expr(loop.min), bound_expr(loop.extent))


def with_attr(func: tir.FuncOp, key: str, value: PyValue) -> None:
    """Set an attribute of a function."""
    known = {} if func.func_attrs is None else dict(func.func_attrs.data)
    added = function_attrs({key: value})
    func.func_attrs = DictionaryAttr({**known, **(added.data if added is not None else {})})
