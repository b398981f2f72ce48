"""Verification of whole modules: each op's own, dominance of SSA values, and calls of functions of the module.

xDSL checks the first alone. Dominance is checked in one walk with a set of what is visible, linear in the IR (regions
of several blocks take a dominator tree more; Cooper, Harvey and Kennedy 2001).

A `Verifier` verifies a module again and again, each time what is not as it was the last time: an op's own verification
takes some thirty times as long as a look at whether anything that it depends on has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp, NoneAttr, StringAttr, SymbolRefAttr, TupleType, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import HasAncestor, IsolatedFromAbove, SymbolOpInterface, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import DTypeError, ShapeError, TiraxError, VerifyError, suggestion
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...dialects.relax.signatures import derive_result
from ..locations import location_of


def verify_module(module: ModuleOp, after: str | None = None) -> None:
    """Raise `VerifyError` where the module is not well formed; `after` names the pass that is to blame."""
    Verifier().verify(module, after)


class Verifier:
    """Verifies a module once and then what changes of it: see `verify`."""

    def __init__(self) -> None:
        self._seen: dict[int, _Seen] = {}
        self._passed: set[_Signature] = set()
        self._interfaces: dict[_Signature, int] = {}

    def verify(self, module: ModuleOp, after: str | None = None) -> None:
        """Raise `VerifyError` where the module is not well formed; `after` names the pass that is to blame.

        An op is verified again where it, an op whose values it takes (or their operands, and so on), the op around it
        or an op in its regions has changed since the last time that this was called and raised nothing; a call also
        where the function that it calls has. Dominance is checked in functions in which anything has changed.
        """
        context = f" after {after}" if after else ""
        changes = _Changes(module, self._seen)
        isolated = not any(op.results or op.operands for op in module.body.block.ops)
        for root in changes.roots if isolated else [module]:
            # first: it is what isolation from above asks for, which is not verified each time
            check_dominance(root, allow_free=True)
        for op in changes.ops:
            try:
                self._verify_op(op)
            except (TiraxError, VerifyException) as error:
                raise _verify_error(error, op, context) from error
        self._verify_calls(changes.calls, _Symbols(module, self._interfaces), context)
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

    def _verify_calls(self, calls: Iterable[Operation], symbols: _Symbols, context: str) -> None:
        """Verify what calls functions of the module: once for all calls alike of functions alike."""
        for op in calls:
            signature = None if isinstance(op, relax.FunctionRefOp) else _signature(op, symbols)  # uses matter, too
            if signature is not None and signature in self._passed:
                continue
            try:
                op.verify(verify_nested_ops=False)
            except (TiraxError, VerifyException) as error:
                raise _verify_error(error, op, context) from error
            check = _CALL_CHECKS.get(type(op))
            if check is not None:
                check(op, symbols)
            if signature is not None:
                self._passed.add(signature)


_Signature = tuple[object, ...]

_BY_SIGNATURE = (
    *("arith", "arith_extras", "cf", "func", "llvm", "llvm_extras", "math", "memref", "relax", "scf", "sym", "tir"),
    "vector",
)
"""Dialects whose ops look at nothing but what is in their `_signature`, but for `_CALLEES` and `_DEEP`."""

_DEEP = (
    *("func.return", "relax.constant", "relax.dataflow", "relax.memory.alloc_tensor", "relax.vm.alloc_tensor"),
    *("scf.parallel", "scf.reduce", "tir.reduce"),
)
"""Operations that look at more than the types and the ends of their regions, or (constants) are large."""

_LITERALS = (relax.DataTypeOp, relax.PrimValueOp)
"""Operations that others look at, beyond the types of their values."""

_SHALLOW = ("builtin", "func", "llvm", "relax", "scf", "tir")
"""Dialects whose ops with regions look at the ops in these and no deeper, but for `_DEEP`."""

_CALLEES = {
    "func.call": "callee",
    "llvm.call": "callee",
    "relax.call": "callee",
    "relax.call_tir": "callee",
    "relax.call_tir_inplace": "callee",
    "relax.function_ref": "callee",
    "tir.call": "func",
}
"""Calls of functions of the module, which look at what those take and give: the property that names the function."""

_OURS = (__name__.partition(".")[0] + ".", "xdsl.")


@dataclass(frozen=True)
class _Kind:
    """What verification has to know of a class of ops."""

    by_signature: bool
    shallow: bool
    afar: bool
    """Whether it looks at other functions, or at all ops around it: such an op is verified each time."""
    callee: str | None
    reads_literals: bool


@cache
def _kind(cls: type[Operation]) -> _Kind:
    ours = next(c.__module__ for c in cls.__mro__ if c.__module__ != "abc").startswith(_OURS)  # rows of tables: "abc"
    dialect, deep = cls.name.partition(".")[0], cls.name in _DEEP
    callee = _CALLEES.get(cls.name) if ours else None
    afar = callee is None and any(isinstance(t, SymbolUserOpInterface | HasAncestor) for t in cls.traits)
    local = ours and not (afar or deep)
    return _Kind(dialect in _BY_SIGNATURE and local, dialect in _SHALLOW and not deep, afar, callee, dialect == "relax")


def _signature(op: Operation, symbols: _Symbols | None = None) -> _Signature | None:
    """What the op's verification depends on: types, attributes, its place, and how its regions begin and end.

    Of a call, with the `symbols`: what is known of the function, instead of its name. None for what is in no block or
    has regions of several blocks.
    """
    block = op.parent
    if block is None or block.parent is None or any(r.first_block is not r.last_block for r in op.regions):
        return None
    return (
        type(op),
        type(block.parent.parent),
        op._next_op is None and _end(op, block),
        tuple([v._type for v in op._operands]),
        tuple([r._type for r in op.results]),
        tuple(op.attributes.items()),
        tuple(op.properties.items() if symbols is None else symbols.resolved(op).items()),
        op.regions and tuple([_ends(region) for region in op.regions]),
        _kind(type(op)).reads_literals and tuple([_literal(v) for v in op._operands]),
    )


def _end(op: Operation, block: Block) -> _Signature:
    alone = block.prev_block is None and block.next_block is None
    return alone, tuple([(b.parent is block.parent, b.arg_types) for b in op.successors])


def _literal(value: SSAValue) -> Attribute | None:
    return value.owner.properties["value"] if isinstance(value.owner, _LITERALS) else None


def _ends(region: Region) -> _Signature:
    block = region.first_block
    last = None if block is None else block.last_op
    if block is None or last is None:
        return (block is None,)
    return block.arg_types, type(last), tuple([v.type for v in last._operands])


class _Symbols(dict[str, Operation]):
    """The functions of a module by name."""

    def __init__(self, module: ModuleOp, interfaces: dict[_Signature, int]):
        super().__init__()
        self._numbers = interfaces
        self._known: dict[str, int] = {}
        for op in module.body.block.ops:
            trait = _symbol_trait(type(op))
            name = None if trait is None else trait.get_sym_attr_name(op)
            if name is not None:
                self.setdefault(name.data, op)

    def resolved(self, op: Operation) -> dict[str, object]:
        """The properties of a call, with the number of its function's interface instead of the name."""
        key = _CALLEES[op.name]
        callee = op.properties.get(key)
        nested = isinstance(callee, SymbolRefAttr) and callee.nested_references
        if callee is None or nested:
            return dict(op.properties)
        name = callee.root_reference.data if isinstance(callee, SymbolRefAttr) else cast(StringAttr, callee).data
        return {**op.properties, key: (type(callee), self._interface(name))}

    def _interface(self, name: str) -> int:
        """A number for what a function is but for its name and body; those that are alike share it."""
        if name not in self._known:
            op = self.get(name)
            self._known[name] = -1 if op is None else self._numbers.setdefault(_interface(op), len(self._numbers))
        return self._known[name]


def _interface(op: Operation) -> _Signature:
    blocks = [region.first_block for region in op.regions]
    kept = {k: v for k, v in op.properties.items() if k != "sym_name"}
    return type(op), tuple(kept.items()), tuple([b and b.arg_types for b in blocks])


@cache
def _symbol_trait(cls: type[Operation]) -> SymbolOpInterface | None:
    return cls.get_trait(SymbolOpInterface)


class _Seen:
    """What an op was when it was verified. It holds the op, so that no other can have its `id`.

    One is `plain` that has neither regions nor successors, looks at nothing else far away and has at most one result,
    its `result`, of the `type`: nearly all ops.
    """

    __slots__ = (
        *("after", "attributes", "firsts", "op", "operands", "parent", "plain", "properties", "result", "shape"),
        *("type", "types"),
    )

    def __init__(self, op: Operation, kind: _Kind):
        self.op, self.parent, self.after = op, op.parent, op._next_op
        self.operands = op._operands  # a new tuple where one changes
        self.types = [r._type for r in op.results]
        self.attributes = op.attributes.copy() if op.attributes else _NOTHING
        self.properties = op.properties.copy() if op.properties else _NOTHING
        simple = not (op.regions or op._successors)
        self.shape, self.firsts = (_NONE, _NONE) if simple else (_shape(op), _firsts(op))
        self.plain = simple and len(self.types) <= 1 and not (kind.afar or kind.callee)
        self.result = (*op.results, _NO_RESULT)[0]
        self.type = self.result._type

    def is_still(self, op: Operation) -> bool:
        """Whether the op by itself is what it was: where, of what, what it gives, and the blocks it has."""
        return (
            self.operands is op._operands
            and self.parent is op.parent
            and self.attributes == op.attributes
            and self.properties == op.properties
            and self.types == [r._type for r in op.results]
            and (not (self.shape or op.regions or op._successors) or self.shape == _shape(op))
        )

    def has_still_around(self, op: Operation) -> bool:
        """Whether what comes after the op and what is first in its blocks is what it was."""
        return self.after is op._next_op and (not op.regions or self.firsts == _firsts(op))


_NOTHING: dict[str, Attribute] = {}
_NONE: list[Any] = []
_NO_RESULT: SSAValue = Block(arg_types=[UnitAttr()]).args[0]


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
        seen, kind = self._before.get(id(op)), _kind(type(op))
        same = seen is not None and seen.is_still(op)
        new = not same or self._takes_new(op)
        linked = seen is not None and seen.has_still_around(op)
        self.seen[id(op)] = seen if same and linked and seen is not None else _Seen(op, kind)
        if new:
            self._values.update(map(id, op.results))
        if kind.callee is not None:
            self.calls.append(op)
            return new or not linked
        place = len(self._ops)
        self._ops.append(op)
        inside = self._visit_regions(op, new) if op.regions else False
        deep = len(self._ops) > place + 1
        wanted = new or around or inside or not linked or kind.afar or deep and not kind.shallow
        if op.parent is self._top and (wanted or deep):
            self.roots.append(op)
        if not wanted and deep:
            self._ops[place] = None  # a deletion would move what follows
        elif not wanted:
            self._ops.pop()
        return new or not linked

    def _takes_new(self, op: Operation) -> bool:
        return bool(self._values) and not self._values.isdisjoint(map(id, op._operands))

    def _visit_regions(self, op: Operation, new: bool) -> bool:
        """Whether an op that stands in the regions has changed."""
        found = False
        for region in op.regions:
            for block in region.blocks:
                if new:
                    self._values.update(map(id, block.args))
                found = self._visit_block(block, new) or found
        return found

    def _visit_block(self, block: Block, new: bool) -> bool:
        """Whether an op of the block has changed; `new`: whether the op around it has.

        What a plain op is, is asked here and not by `is_still`: it takes half of the time.
        """
        found, before, values = False, self._before, self._values
        op = block.first_op
        while op is not None:
            old = before.get(id(op))
            if (
                old is not None
                and old.plain
                and old.type is old.result._type
                and old.operands is op._operands
                and old.after is op._next_op
                and old.parent is block
                and old.properties == op.properties
                and old.attributes == op.attributes
                and not (new or values and self._takes_new(op))
            ):
                self.seen[id(op)] = old
            else:
                found = self._visit(op, new) or found
            op = op._next_op
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


def _ir_note(op: Operation) -> list[str]:
    if location_of(op) is not None or op.regions:
        return []
    return [f"in: {op}"]


def check_dominance(root: Operation, *, allow_free: bool = False) -> None:
    """Raise `VerifyError` where an operand does not dominate its use.

    `allow_free`: tensor functions may use values that belong to no program, variables and buffers that nothing defines.
    They can be read, printed and rewritten as TVM's can; what runs or builds them asks without it.
    """
    visible: set[int] = set()
    for region in root.regions:
        _check_region(region, visible, allow_free)


def _check_region(region: Region, visible: set[int], allow_free: bool) -> None:
    """Check the ops of a region, around which the values of the ids `visible` are."""
    first = region.first_block
    if first is None:
        return
    if first.next_block is None:
        visible.difference_update(_check_block(first, visible, allow_free))
        return
    children = _dominator_tree(region)
    stack: list[tuple[Block | None, list[int]]] = [(first, [])]
    while stack:
        block, added = stack.pop()
        if block is None:
            visible.difference_update(added)
            continue
        stack.append((None, _check_block(block, visible, allow_free)))
        stack.extend((child, []) for child in children.get(block, ()))


def _check_block(block: Block, visible: set[int], allow_free: bool) -> list[int]:
    """Check the ops of a block; the values it defines stay visible, their ids are returned."""
    added = list(map(id, block.args))
    visible.update(added)
    op = block.first_op
    while op is not None:
        if not visible.issuperset(map(id, op._operands)):
            unseen = [v for v in op._operands if id(v) not in visible and not (allow_free and _is_free(v, op))]
            if unseen:
                raise _dominance_error(op, unseen[0])
        if op.regions:
            inside = set[int]() if op.has_trait(IsolatedFromAbove) else visible
            for region in op.regions:
                _check_region(region, inside, allow_free)
        for result in op.results:
            added.append(id(result))
            visible.add(id(result))
        op = op._next_op
    return added


def _is_free(value: SSAValue, user: Operation) -> bool:
    """Whether a value that a tensor function uses belongs to no program."""
    return _is_in_tir(user) and not tir.is_defined_beside(value, user)


def _is_in_tir(op: Operation | None) -> bool:
    while op is not None and not isinstance(op, tir.FuncOp):
        op = op.parent_op()
    return op is not None


def _dominance_error(op: Operation, operand: SSAValue) -> VerifyError:
    name = name_of(operand) or f"operand {list(op.operands).index(operand)}"
    around = operand.owner.parent_op() if isinstance(operand.owner, Operation) else None
    hint = "define the value before its use, in the same region or one around it"
    if isinstance(around, relax.DataflowOp) and not around.is_ancestor(op):
        hint = f"{name} is local to its dataflow block: make it an output by emit_output, R.output or relax.output"
    return VerifyError(f"{op.name} uses {name} where it is not defined", location=location_of(op), hint=hint)


def _dominator_tree(region: Region) -> dict[Block, list[Block]]:
    """Immediate dominator -> the blocks that it dominates immediately; unreachable blocks hang below the entry."""
    order = list(_reverse_postorder(region))
    index = {id(block): i for i, block in enumerate(order)}
    predecessors: list[list[int]] = [[] for _ in order]
    for i, block in enumerate(order):
        for successor in _successors(block):
            predecessors[index[id(successor)]].append(i)
    dominators = _immediate_dominators(predecessors)
    children: dict[Block, list[Block]] = {}
    for block, dominator in zip(order[1:], dominators[1:], strict=True):
        children.setdefault(order[dominator], []).append(block)
    block = order[0].next_block
    while block is not None:
        if id(block) not in index:
            children.setdefault(order[0], []).append(block)
        block = block.next_block
    return children


def _immediate_dominators(predecessors: Sequence[Sequence[int]]) -> list[int]:
    """Of nodes in reverse postorder, the first one the entry: the number of each one's immediate dominator."""
    unknown = len(predecessors)
    dominators = [0] + [unknown] * (unknown - 1)
    changed = True
    while changed:
        changed = False
        for node in range(1, unknown):
            new = unknown
            for other in predecessors[node]:
                if dominators[other] != unknown:
                    new = other if new == unknown else _intersect(new, other, dominators)
            changed = changed or dominators[node] != new
            dominators[node] = new
    return dominators


def _intersect(a: int, b: int, dominators: Sequence[int]) -> int:
    while a != b:
        if a > b:
            a = dominators[a]
        else:
            b = dominators[b]
    return a


def _successors(block: Block) -> Sequence[Block]:
    last = block.last_op
    return () if last is None else last._successors


def _reverse_postorder(region: Region) -> Iterator[Block]:
    entry = region.first_block
    if entry is None:
        return
    seen = {id(entry)}
    post: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        nxt = next((s for s in rest if id(s) not in seen), None)
        if nxt is None:
            post.append(block)
            stack.pop()
        else:
            seen.add(id(nxt))
            stack.append((nxt, iter(_successors(nxt))))
    yield from reversed(post)


def _check_tir_call(op: Operation, symbols: Mapping[str, Operation]) -> None:
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


def _check_relax_call(op: Operation, symbols: Mapping[str, Operation]) -> None:
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
    if isinstance(callee, relax.FuncOp):
        _check_arguments(op, callee)


def _check_arguments(op: relax.CallOp, callee: relax.FuncOp) -> None:
    try:
        derive_result(f"@{op.callee_name}", callee.callable_type, [a.type for a in op.call_args])
    except (ShapeError, DTypeError) as error:
        raise VerifyError(error.message, location=location_of(op), expected=error.expected, found=error.found) from None


def _check_reference(op: Operation, symbols: Mapping[str, Operation]) -> None:
    """What a reference says of a function that a loop calls holds of it: what the loop gives follows from that."""
    assert isinstance(op, relax.FunctionRefOp)
    name, said = op.callee.root_reference.data, op.result.type
    if not any(isinstance(use.operation, relax.WhileLoop) for use in op.result.uses):
        return
    callee = _callee(op, name, symbols, relax.FuncOp, "relax.func")
    if callee is None or isinstance(said.params, NoneAttr):
        return
    actual = callee.callable_type
    try:
        result = derive_result(f"@{name}", actual, list(said.params))
    except (ShapeError, DTypeError) as error:
        raise VerifyError(error.message, location=location_of(op), expected=error.expected, found=error.found) from None
    if not (relax.is_base_of(said.ret, result) and actual.pure):
        raise VerifyError(
            f"@{name} is not what a reference says", location=location_of(op), expected=said, found=actual
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


def _callee(op: Operation, name: str, symbols: Mapping[str, Operation], kind: type[_OpT], what: str) -> _OpT | None:
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


_CALL_CHECKS: dict[type[Operation], Callable[[Operation, Mapping[str, Operation]], None]] = {
    relax.CallTIROp: _check_tir_call,
    relax.CallTIRInplaceOp: _check_tir_call,
    relax.CallOp: _check_relax_call,
    relax.FunctionRefOp: _check_reference,
}
