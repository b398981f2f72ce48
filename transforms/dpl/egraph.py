"""An e-graph of Relax expressions as IR: an `equivalence.graph` of ops, whose values are joined by `equivalence.class`.

Each binding is a member op; its result is used only by its class, and members take the results of classes as operands.
Equal members exist once (hash-consing), and two members that become equal because classes they use are joined join
their classes in turn (congruence). Outside values are classes by `relax.bind`. A leaf (a constant, a shape) stays
outside the classes until a rule makes it a member of one.

Joining two classes replaces the uses of one by the other; operands held elsewhere, such as in an expression that a
rewriter has just built, are updated by the same mechanism. This replaces a union-find.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import cast

from xdsl.dialects.equivalence import ClassOp, GraphOp, YieldOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue, Use

from ...diagnostics import TiraxError
from ...dialects import relax
from ...handles.relax.expr import Expr, bound_expr
from ...ir.rewriting.edit import is_removable


class EGraph:
    """The expressions of `ops`, a run of pure bindings; `roots` are the values used after it."""

    def __init__(self, ops: Iterable[Operation], roots: Sequence[SSAValue]):
        self.block = Block()
        self.members: dict[Operation, ClassOp] = {}
        """The class of each member, in the order in which the members came."""
        self._age: dict[Operation, int] = {}
        self._keys: dict[Operation, Hashable] = {}
        self._by_key: dict[Hashable, Operation] = {}
        self._inputs: dict[SSAValue, Operation] = {}
        self._same: list[tuple[Operation, Operation]] = []
        known: dict[SSAValue, SSAValue] = {}
        for op in ops:
            known[op.results[0]] = self._add_copy(op, known)
        self._yield = YieldOp(*(known[root] for root in roots))
        self.op = GraphOp([root.type for root in roots], Region(self.block))
        self.block.add_op(self._yield)

    @property
    def roots(self) -> Sequence[SSAValue]:
        """The classes (or leaves) of the roots."""
        return self._yield.values

    def class_of(self, value: SSAValue) -> ClassOp | None:
        """Return the class that a value is or belongs to; None for a leaf and for values outside the graph."""
        if not isinstance(value, OpResult):
            bound = self._inputs.get(value)
            return None if bound is None else self.members[bound]
        if isinstance(value.op, ClassOp):
            return value.op
        cls = self.members.get(value.op)
        if cls is None and (bound := self._inputs.get(value)) is not None:
            return self.members[bound]
        return cls

    def exprs(self, cls: ClassOp) -> list[Expr]:
        """Return the expressions of a class, as handles."""
        return [bound_expr(cast(OpResult, value).op) for value in cls.arguments]

    def first(self, cls: ClassOp) -> Expr:
        """Return one expression of a class."""
        return bound_expr(cast(OpResult, cls.arguments[0]).op)

    def forget_discarded(self) -> None:
        """Drop the operands of expressions that a rewriter built but did not return."""
        for op in self.members:
            for user in {use.operation for use in op.results[0].uses if use.operation.parent is None}:
                user.operands = ()

    def drop(self) -> None:
        """Release the values from outside."""
        self.op.drop_all_references()
        for op in self.block.ops:
            op.drop_all_references()

    # Adding expressions.

    def _add_copy(self, op: Operation, known: dict[SSAValue, SSAValue]) -> SSAValue:
        """Copy a binding of a function into the graph, and return its value."""
        if isinstance(op, relax.BindOp):
            return self._operand_of_copy(op.value, known)
        operands = [self._operand_of_copy(value, known) for value in op.operands]
        copy = op.clone()
        copy.operands = operands
        return self._intern(copy)

    def _operand_of_copy(self, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
        copy = known.get(value)
        if copy is not None:
            return copy
        if isinstance(value, OpResult) and isinstance(value.op, relax.INLINE_OPS):
            return self._add_copy(value.op, known)
        return self._input(value)

    def add(self, value: SSAValue) -> SSAValue:
        """Return the class (or leaf) of an expression, adding its detached ops as members.

        Raises `TiraxError` if one has side effects or a body.
        """
        existing = self._resolved(value)
        if existing is not None:
            return existing
        stack = [(cast(OpResult, value).op, 0)]
        while stack:
            op, i = stack.pop()
            if i == len(op.operands):
                value = self._intern(op)
                if op.parent is None:
                    op.results[0].replace_all_uses_with(value)
                    op.operands = ()
                continue
            operand = self._resolved(op.operands[i])
            if operand is None:
                stack += [(op, i), (cast(OpResult, op.operands[i]).op, 0)]
            else:
                op.operands[i] = operand
                stack.append((op, i + 1))
        return value

    def _resolved(self, value: SSAValue) -> SSAValue | None:
        """Return the class of a value, or the value if it is a leaf; None if it is not in the graph yet."""
        cls = self.class_of(value)
        if cls is not None:
            return cls.result
        if isinstance(value, OpResult):
            if value.op.parent is self.block:
                return value
            if value.op.parent is None:
                return None
            if isinstance(value.op, relax.LEAVES):
                return self._intern(value.op.clone())
        return self._input(value)

    def _input(self, value: SSAValue) -> SSAValue:
        bound = self._inputs.get(value)
        if bound is None:
            bound = self._inputs[value] = relax.BindOp(value)
            self._new_class(bound)
        return self.members[bound].result

    def _intern(self, op: Operation) -> SSAValue:
        """Return the class of an op whose operands are classes and leaves, or the op's value if it is a leaf."""
        leaf = isinstance(op, relax.LEAVES)
        if op.regions or not (leaf or is_removable(op)):
            raise TiraxError(f"{op.name} cannot stand in a dataflow expression", expected="pure operators and leaves")
        key = _key(op)
        first = self._by_key.get(key)
        if first is not None:
            cls = self.members.get(first)
            return first.results[0] if cls is None else cls.result
        self._keys[op] = key
        self._by_key[key] = op
        op.results[0].name_hint = None if leaf else op.results[0].name_hint
        if not leaf:
            return self._new_class(op).result
        self._insert(op)
        return op.results[0]

    def _new_class(self, op: Operation) -> ClassOp:
        self._insert(op)
        cls = self.members[op] = ClassOp(op.results[0])
        self._age[op] = len(self._age)
        self._insert(cls)
        return cls

    def _insert(self, op: Operation) -> None:
        last = self.block.last_op
        if isinstance(last, YieldOp):
            self.block.insert_op_before(op, last)
        else:
            self.block.add_op(op)

    # Joining classes.

    def join(self, a: SSAValue, b: SSAValue) -> bool:
        """Join two classes (or leaves) and all classes that become congruent.

        False if they are the same or differ in type.
        """
        changed = self._join(a, b)
        while self._same:
            kept, twin = self._same.pop()
            if kept in self.members and twin in self.members:
                self._erase_twin(kept, twin)
        return changed

    def _join(self, a: SSAValue, b: SSAValue) -> bool:
        if a is b or a.type != b.type:
            return False
        x, y = self._class_with(a), self._class_with(b)
        kept, gone = (x, y) if len(x.arguments) >= len(y.arguments) else (y, x)
        moved = list(gone.arguments)
        for value in moved:
            self.members[cast(OpResult, value).op] = kept
        gone.operands = ()
        kept.operands = [*kept.arguments, *moved]
        self._move_uses(gone.result.uses, kept.result)
        self.block.erase_op(gone)
        return True

    def _class_with(self, value: SSAValue) -> ClassOp:
        """Return the class of a value. A leaf becomes a member of a new class, which replaces its uses."""
        op = cast(OpResult, value).op
        if isinstance(op, ClassOp):
            return op
        uses = list(value.uses)
        cls = self.members[op] = ClassOp(value)
        self._insert(cls)
        self._move_uses(uses, cls.result)
        return cls

    def _move_uses(self, uses: Iterable[Use], new: SSAValue) -> None:
        """Replace uses by `new`. Members that become equal to others are queued in `_same`."""
        uses = list(uses)
        users = list(dict.fromkeys(use.operation for use in uses if use.operation in self._keys))
        for user in users:
            key = self._keys[user]
            if self._by_key.get(key) is user:
                del self._by_key[key]
        for use in uses:
            use.operation.operands[use.index] = new
        for user in users:
            key = self._keys[user] = _key(user)
            first = self._by_key.setdefault(key, user)
            if first is not user:
                self._same.append((first, user))

    def _erase_twin(self, kept: Operation, twin: Operation) -> None:
        """Remove the newer of two equal members, and join their classes."""
        if self._age[twin] < self._age[kept]:
            kept, twin = twin, kept
        cls, value = self.members.pop(twin), twin.results[0]
        cls.operands = [v for v in cls.arguments if v is not value]
        value.replace_all_uses_with(kept.results[0])
        self._by_key[self._keys.pop(twin)] = kept
        self.block.erase_op(twin)
        self._join(self.members[kept].result, cls.result)


def _key(op: Operation) -> Hashable:
    """Return the hash-consing key of a member."""
    return (type(op), tuple(op.operands), frozenset(op.properties.items()), op.results[0].type)
