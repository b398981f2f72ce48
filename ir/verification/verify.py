"""Verification of whole modules: each op's own, dominance of SSA values, and calls of functions of the module.

xDSL checks the first alone. Dominance is checked in one walk with a set of what is visible, linear in the IR (regions
of several blocks take a dominator tree more; Cooper, Harvey and Kennedy 2001).

A `Verifier` verifies a module again and again, each time what is not as it was the last time: an op's own verification
takes some thirty times as long as a look at whether anything that it depends on has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import HasAncestor, IsolatedFromAbove, SymbolOpInterface, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError, VerifyError, suggestion
from ...dialects import relax, tir
from ...dialects.names import name_of
from ..locations import location_of


def verify_module(module: ModuleOp, after: str | None = None) -> None:
    """Raise `VerifyError` where the module is not well formed; `after` names the pass that is to blame."""
    Verifier().verify(module, after)


class Verifier:
    """Verifies a module once and then what changes of it: see `verify`."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._passed: set[_Signature] = set()

    def verify(self, module: ModuleOp, after: str | None = None) -> None:
        """Raise `VerifyError` where the module is not well formed; `after` names the pass that is to blame.

        An op is verified again where it, an op whose values it takes (or their operands, and so on), the op around it
        or an op in its regions has changed since the last time that this was called and raised nothing. Dominance is
        checked in functions in which anything has.
        """
        context = f" after {after}" if after else ""
        changes = _Changes(module, self._seen)
        for op in changes.ops:
            try:
                self._verify_op(op)
            except (TiraxError, VerifyException) as error:
                raise _verify_error(error, op, context) from error
        isolated = not any(op.results or op.operands for op in module.body.block.ops)
        for root in changes.roots if isolated else [module]:
            check_dominance(root)
        _check_calls(module, changes.calls)
        self._seen = changes.seen

    def _verify_op(self, op: Operation) -> None:
        """The op's own verification, without its regions' (which the walk reaches) and with its structure's.

        What types and attributes decide is decided once for all ops that have the same.
        """
        signature = _signature(op) if _kind(type(op)).by_signature else None
        if signature is None:
            op.verify(verify_nested_ops=False)
        elif signature not in self._passed:
            op.verify(verify_nested_ops=False)
            self._passed.add(signature)


_Signature = tuple[object, ...]

_BY_SIGNATURE = ("arith", "arith_extras", "cf", "llvm", "llvm_extras", "math", "memref", "scf", "sym", "tir", "vector")
"""Dialects whose ops look at nothing but what is in their `_signature`, but for functions and `_DEEP`."""

_DEEP = ("scf.parallel", "scf.reduce", "tir.reduce")
"""Operations that look at more than the types and the ends of their regions."""

_SHALLOW = ("builtin", "func", "llvm", "relax", "scf", "tir")
"""Dialects whose ops with regions look at the ops in these and no deeper, but for `_DEEP`."""


@dataclass(frozen=True)
class _Kind:
    """What verification has to know of a class of ops."""

    by_signature: bool
    shallow: bool
    afar: bool
    """Whether it looks at other functions, or at all ops around it: such an op is verified each time."""


@cache
def _kind(cls: type[Operation]) -> _Kind:
    dialect, deep = cls.name.partition(".")[0], cls.name in _DEEP
    afar = any(isinstance(t, SymbolUserOpInterface | HasAncestor) for t in cls.traits)
    local = not (afar or deep or cls.has_trait(IsolatedFromAbove))
    return _Kind(dialect in _BY_SIGNATURE and local, dialect in _SHALLOW and not deep, afar)


def _signature(op: Operation) -> _Signature | None:
    """What the op's verification depends on: types, attributes, its place, and how its regions begin and end.

    None for what is in no block or has regions of several blocks.
    """
    block = op.parent
    if block is None or block.parent is None or any(r.first_block is not r.last_block for r in op.regions):
        return None
    alone = block.prev_block is None and block.next_block is None
    return (
        type(op),
        type(block.parent.parent),
        op.next_op is None and (alone, *[(b.parent is block.parent, b.arg_types) for b in op.successors]),
        tuple([v.type for v in op._operands]),
        tuple([r.type for r in op.results]),
        tuple(op.attributes.items()),
        tuple(op.properties.items()),
        tuple([_ends(region) for region in op.regions]),
    )


def _ends(region: Region) -> _Signature:
    block = region.first_block
    last = None if block is None else block.last_op
    if block is None or last is None:
        return (block is None,)
    return block.arg_types, type(last), tuple([v.type for v in last._operands])


class _Seen:
    """What an op was when it was verified. It holds the op, so that no other can have its `id`."""

    __slots__ = ("after", "attributes", "firsts", "op", "operands", "parent", "properties", "shape", "types")

    def __init__(self, op: Operation):
        self.op, self.parent, self.after = op, op.parent, op.next_op
        self.operands = op._operands  # a new tuple where one changes
        self.types = [r.type for r in op.results]
        self.attributes, self.properties = op.attributes.copy(), op.properties.copy()
        self.shape, self.firsts = _shape(op), _firsts(op)

    def is_still(self, op: Operation) -> bool:
        """Whether the op by itself is what it was: where, of what, what it gives, and the blocks it has."""
        return (
            self.operands is op._operands
            and self.parent is op.parent
            and self.attributes == op.attributes
            and self.properties == op.properties
            and self.types == [r.type for r in op.results]
            and (not (self.shape or op.regions or op._successors) or self.shape == _shape(op))
        )

    def has_still_around(self, op: Operation) -> bool:
        """Whether what comes after the op and what is first in its blocks is what it was."""
        return self.after is op.next_op and (not op.regions or self.firsts == _firsts(op))


def _shape(op: Operation) -> list[object]:
    blocks = [block for region in op.regions for block in region.blocks]
    return [*op.regions, *op._successors, *blocks, *[block.arg_types for block in blocks]]


def _firsts(op: Operation) -> list[Operation | None]:
    return [block.first_op for region in op.regions for block in region.blocks]


class _Changes:
    """What of a module is not as it was seen: `ops`, each before those inside of it; functions with any are `roots`."""

    def __init__(self, module: ModuleOp, before: Mapping[int, _Seen]):
        self._top = module.body.block
        self._before = before
        self._values: set[int] = set()
        self._ops: list[Operation | None] = []
        self.seen: dict[int, _Seen] = {}
        self.roots: list[Operation] = []
        self.calls: list[Operation] = []
        """All calls of functions, of those that have not changed, too: what they call may have."""
        self._visit(module, around=False)

    @property
    def ops(self) -> Iterator[Operation]:
        return (op for op in self._ops if op is not None)

    def _visit(self, op: Operation, around: bool) -> bool:
        """Whether the op, or what it takes, is not as it was; `around`: whether that is so of the op around it."""
        seen = self._before.get(id(op))
        same = seen is not None and seen.is_still(op)
        new = not same or bool(self._values) and not self._values.isdisjoint(map(id, op._operands))
        linked = seen is not None and seen.has_still_around(op)
        self.seen[id(op)] = seen if same and linked and seen is not None else _Seen(op)
        if new:
            self._values.update(map(id, op.results))
        if type(op) in _CALL_CHECKS:
            self.calls.append(op)
        place = len(self._ops)
        self._ops.append(op)
        inside = self._visit_regions(op, new) if op.regions else False
        kind, deep = _kind(type(op)), len(self._ops) > place + 1
        wanted = new or around or inside or not linked or kind.afar or deep and not kind.shallow
        if op.parent is self._top and (wanted or deep):
            self.roots.append(op)
        if not wanted and deep:
            self._ops[place] = None  # a deletion would move what follows
        elif not wanted:
            self._ops.pop()
        return new or not linked

    def _visit_regions(self, op: Operation, new: bool) -> bool:
        """Whether an op that stands in the regions has changed."""
        found = False
        for region in op.regions:
            for block in region.blocks:
                if new:
                    self._values.update(map(id, block.args))
                for inner in block.ops:
                    found = self._visit(inner, new) or found
        return found


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


def _check_calls(module: ModuleOp, calls: Iterable[Operation]) -> None:
    """Raise `VerifyError` where a call names no function of the module, or one that does not fit."""
    symbols: dict[str, Operation] = {}
    for op in module.body.block.ops:
        trait = op.get_trait(SymbolOpInterface)
        name = None if trait is None else trait.get_sym_attr_name(op)
        if name is not None:
            symbols[name.data] = op
    for op in calls:
        _CALL_CHECKS[type(op)](op, symbols)


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
