"""Verification of whole modules: each op's own, dominance of SSA values, and calls of functions of the module.

xDSL checks the first alone. Dominance is checked in one walk with a set of what is visible, linear in the IR (regions
of several blocks take a dominator tree more; Cooper, Harvey and Kennedy 2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError, VerifyError, suggestion
from ...dialects import relax, tir
from ...dialects.names import name_of
from ..locations import location_of


def verify_module(module: ModuleOp, after: str | None = None) -> None:
    """Raise `VerifyError` where the module is not well formed; `after` names the pass that is to blame."""
    context = f" after {after}" if after else ""
    for op in module.walk():
        try:
            _verify_op(op)
        except (TiraxError, VerifyException) as error:
            raise _verify_error(error, op, context) from error
    check_dominance(module)
    check_calls(module)


def _verify_error(error: Exception, op: Operation, context: str) -> VerifyError:
    """The error at the place of `op`; a diagnostic, also one that xDSL's verification carries, keeps its two sides."""
    inner = error if isinstance(error, TiraxError) else error.__cause__
    if not isinstance(inner, TiraxError):
        return VerifyError(f"{error}{context}", location=location_of(op), notes=_ir_note(op))
    return VerifyError(
        inner.message + context,
        location=inner.location or location_of(op),
        expected=inner.expected,
        found=inner.found,
        hint=inner.hint,
        notes=[*inner.notes, *_ir_note(op)],
    )


def _verify_op(op: Operation) -> None:
    """The op's own verification, without its regions' (which the walk reaches) and with its structure's."""
    op.verify(verify_nested_ops=False)


def _ir_note(op: Operation) -> list[str]:
    if location_of(op) is not None or op.regions:
        return []
    return [f"in: {op}"]


def check_dominance(root: Operation) -> None:
    """Raise `VerifyError` where an operand does not dominate its use."""
    visible: set[SSAValue] = set()
    for region in root.regions:
        _check_region(region, visible)


def _check_region(region: Region, visible: set[SSAValue]) -> None:
    first = region.first_block
    if first is None:
        return
    if first.next_block is None:
        added = _check_block(first, visible)
        visible.difference_update(added)
        return
    children = _dominator_tree(region)
    stack: list[tuple[Block | None, list[SSAValue]]] = [(first, [])]
    while stack:
        block, added = stack.pop()
        if block is None:
            visible.difference_update(added)
            continue
        stack.append((None, _check_block(block, visible)))
        stack.extend((child, []) for child in children.get(block, ()))


def _check_block(block: Block, visible: set[SSAValue]) -> list[SSAValue]:
    """Check the ops of a block; the values it defines stay visible and are returned."""
    added: list[SSAValue] = list(block.args)
    visible.update(added)
    for op in block.ops:
        for operand in op.operands:
            if operand not in visible:
                raise _dominance_error(op, operand)
        if op.regions:
            inside = set[SSAValue]() if op.has_trait(IsolatedFromAbove) else visible
            for region in op.regions:
                _check_region(region, inside)
        added.extend(op.results)
        visible.update(op.results)
    return added


def _dominance_error(op: Operation, operand: SSAValue) -> VerifyError:
    name = name_of(operand) or f"operand {list(op.operands).index(operand)}"
    return VerifyError(
        f"{op.name} uses {name} where it is not defined",
        location=location_of(op),
        hint="define the value before its use, in the same region or one around it",
    )


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Immediate dominator -> the blocks that it dominates immediately; unreachable blocks hang below the entry."""
    order = list(_reverse_postorder(region))
    index = {b: i for i, b in enumerate(order)}
    predecessors: dict[Block, list[Block]] = {b: [] for b in order}
    for b in order:
        for s in _successors(b):
            predecessors[s].append(b)
    idom: dict[Block, Block] = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for b in order[1:]:
            known = [p for p in predecessors[b] if p in idom]
            new = known[0]
            for p in known[1:]:
                new = _intersect(new, p, idom, index)
            if idom.get(b) is not new:
                idom[b] = new
                changed = True
    children: dict[Block, list[Block]] = {}
    for b in order[1:]:
        children.setdefault(idom[b], []).append(b)
    entry = order[0]
    block = entry.next_block
    while block is not None:
        if block not in index:
            children.setdefault(entry, []).append(block)
        block = block.next_block
    return children


def _intersect(a: Block, b: Block, idom: dict[Block, Block], index: dict[Block, int]) -> Block:
    while a is not b:
        while index[a] > index[b]:
            a = idom[a]
        while index[b] > index[a]:
            b = idom[b]
    return a


def _successors(block: Block) -> list[Block]:
    last = block.last_op
    return [] if last is None else list(last.successors)


def _reverse_postorder(region: Region) -> Iterator[Block]:
    entry = region.first_block
    if entry is None:
        return
    seen = {entry}
    post: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        nxt = next((s for s in rest if s not in seen), None)
        if nxt is None:
            post.append(block)
            stack.pop()
        else:
            seen.add(nxt)
            stack.append((nxt, iter(_successors(nxt))))
    yield from reversed(post)


def check_calls(module: ModuleOp) -> None:
    """Raise `VerifyError` where a call names no function of the module, or one that does not fit."""
    symbols: dict[str, Operation] = {}
    for op in module.body.block.ops:
        trait = op.get_trait(SymbolOpInterface)
        name = None if trait is None else trait.get_sym_attr_name(op)
        if name is not None:
            symbols[name.data] = op
    for op in module.walk():
        check = _CALL_CHECKS.get(type(op))
        if check is not None:
            check(op, symbols)


def _check_tir_call(op: Operation, symbols: dict[str, Operation]) -> None:
    assert isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp)
    callee = _callee(op, op.callee_name, symbols, tir.FuncOp, "tir.func")
    if callee is None:
        return
    outputs = len(op.output_types)
    if isinstance(op, relax.CallTIRInplaceOp):
        outputs = sum(i < 0 for i in op.indices)
    given = len(op.call_args) + outputs + (len(op.tir_vars) if op.tir_vars is not None else 0)
    if given != len(callee.params):
        raise VerifyError(
            f"{op.name} @{op.callee_name} has the wrong number of arguments",
            location=location_of(op),
            expected=f"{len(callee.params)} parameters: inputs, outputs, tir_vars",
            found=f"{len(op.call_args)} inputs, {outputs} outputs, {given - len(op.call_args) - outputs} tir_vars",
        )


def _check_relax_call(op: Operation, symbols: dict[str, Operation]) -> None:
    assert isinstance(op, relax.CallOp)
    callee: Operation | None = symbols.get(op.callee_name)
    if isinstance(callee, tir.FuncOp):
        _check_effect(op, callee)
    else:
        callee = _callee(op, op.callee_name, symbols, relax.FuncOp, "relax.func")
    given = len(op.call_args) + len(op.tir_vars or ())
    if callee is not None and len(callee.params) != given:
        raise VerifyError(
            f"the call of @{op.callee_name} has the wrong number of arguments",
            location=location_of(op),
            expected=len(callee.params),
            found=given,
        )


def _check_effect(op: relax.CallOp, callee: tir.FuncOp) -> None:
    """A tensor function writes into its arguments: it gives a scalar or nothing, and no dataflow block has it."""
    wanted = TupleType(()) if callee.ret_type is None else relax.PrimType.of(callee.ret_type)
    if not relax.is_base_of(wanted, op.result.type):
        raise VerifyError(
            f"the call of the tensor function @{op.callee_name} gives something else",
            location=location_of(op),
            expected=wanted,
            found=op.result.type,
            hint="relax.call_tir gives the outputs",
        )
    if callee.buffer_params and isinstance(op.parent_op(), relax.DataflowOp):
        message = f"a call of the tensor function @{op.callee_name} must not stand in a dataflow block: it has effects"
        raise VerifyError(message, location=location_of(op))


_OpT = TypeVar("_OpT", bound=Operation)


def _callee(op: Operation, name: str, symbols: dict[str, Operation], kind: type[_OpT], what: str) -> _OpT | None:
    found = symbols.get(name)
    if found is None:
        raise VerifyError(
            f"{op.name} calls @{name}, which is not in the module",
            location=location_of(op),
            hint=suggestion(name, symbols),
        )
    if isinstance(found, kind):
        return found
    if isinstance(found, tir.FuncOp | relax.FuncOp):
        raise VerifyError(f"{op.name} calls @{name}", location=location_of(op), expected=f"a {what}", found=found.name)
    return None


_CALL_CHECKS: dict[type[Operation], Callable[[Operation, dict[str, Operation]], None]] = {
    relax.CallTIROp: _check_tir_call,
    relax.CallTIRInplaceOp: _check_tir_call,
    relax.CallOp: _check_relax_call,
}
