"""TVM's classes of statements: views on the operations of a tensor function, and constructors of new ones.

A statement is a handle on an operation. The body of a loop is one statement: the only one in it, or a `SeqStmt` of
several; the body of a statement that names something (`LetStmt`, `Allocate`, …) is all that follows it. A block has two
views, as in TVM: `BlockRealize` binds its iterators, `Block` is its computation.

Calling a class creates a statement that belongs to no function yet: its parts are copied, with new loop variables and
iterators replacing the `Var`s passed for them.

Here is what the classes share; they are in `control_flow`, `storage` and `block_views`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.attributes import from_attr
from ...dialects.names import name_of, set_name
from ...ir.origins import note, note_counters, note_variables
from ...ir.rewriting.copy import clone_expr, copied, is_expression, with_aliases
from . import prim_expr as tx
from .attributes import attr_of
from .buffers import Stmt, note_source
from .expr_kinds import expr_node
from .prim_expr import ExprLike, PrimExpr

T = TypeVar("T")

CLASSES: dict[type[Operation], type[Stmt]] = {}
"""The classes of statements by operation; each file of such classes adds its own."""


def annotations_of(attrs: DictionaryAttr | None) -> dict[str, Any]:
    return {} if attrs is None else {k: from_attr(v) for k, v in attrs.data.items()}


def attributes_of(values: Mapping[str, Any] | None) -> DictionaryAttr | None:
    attrs = {k: attr_of(v) for k, v in (values or {}).items()}
    return DictionaryAttr({k: v for k, v in attrs.items() if v is not None}) if attrs else None


def view_of(cls: type[Stmt], op: Operation) -> Any:
    view = cls.__new__(cls)
    view.op = op
    return view


def stmt_of(op: Operation) -> Stmt:
    """Return the handle on a statement, of TVM's class for it."""
    return view_of(CLASSES.get(type(op), Stmt), op)


def opens_scope(op: Operation) -> bool:
    """Return whether everything that follows is the body of a statement."""
    return issubclass(CLASSES.get(type(op), Stmt), ScopeStmt)


def _until_scope(ops: Sequence[Operation]) -> list[Operation]:
    first = next((i for i, op in enumerate(ops) if opens_scope(op)), len(ops) - 1)
    return list(ops[: first + 1])


def statements_in(block: IRBlock) -> list[Operation]:
    """Return the statements of a block, without the expressions that they use and undeclared buffers."""
    return [op for op in block.ops if _is_statement(op)]


def _is_statement(op: Operation) -> bool:
    alias = isinstance(op, tir.DeclBufferOp) and op.alias
    return not (alias or is_expression(op) or isinstance(op, tir.YieldOp))


def ops_after(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def sequence(ops: Sequence[Operation]) -> Stmt:
    """Return consecutive operations as one statement; `Evaluate(0)` if there are none, as in TVM."""
    if not ops:
        return Evaluate(0)
    return stmt_of(ops[0]) if len(_until_scope(ops)) == 1 else SeqStmt.of(ops)


def body_of(block: IRBlock) -> Stmt:
    """Return the contents of a block as one statement."""
    return sequence(statements_in(block))


class Part(Generic[T]):
    """A part of a statement: `read` converts a property of its operation."""

    def __init__(self, read: Callable[[Any], T], path: str):
        self.read, self.get = read, attrgetter(path)

    def __get__(self, stmt: Any, owner: object = None) -> T:
        return self.read(self.get(stmt.op))


def each_part(read: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    return lambda values: [read(v) for v in values]


class SeqStmt(Stmt):
    """A sequence of statements."""

    __slots__ = ("_ops",)

    def __init__(self, seq: Sequence[Stmt], span: object = None):
        block = IRBlock()
        for stmt in seq:
            add_to(block, stmt)
        self._ops = statements_in(block)
        self.op = self._ops[0]

    @classmethod
    def of(cls, ops: Sequence[Operation]) -> SeqStmt:
        """Return the handle on consecutive operations of a block."""
        seq = cls.__new__(cls)
        seq._ops, seq.op = list(ops), ops[0]
        return seq

    @property
    def seq(self) -> list[Stmt]:
        """The statements; the body of one that names something is the rest of the sequence, so it is the last."""
        return [stmt_of(op) for op in _until_scope(self._ops)]

    def __getstate__(self) -> list[Operation]:
        return [op.clone() for op in self._ops]

    def __setstate__(self, state: list[Operation]) -> None:
        self._ops, self.op = state, state[0]

    def __getitem__(self, i: int) -> Stmt:
        return self.seq[i]

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Stmt]:
        return iter(self.seq)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeqStmt) and self._ops == other._ops

    def __hash__(self) -> int:
        return hash((SeqStmt, self.op))


class BuiltStmt(Stmt):
    """A statement that is one operation."""

    __slots__ = ()
    PARTS: tuple[str, ...] = ()
    """The parts that visitors visit, in order."""

    def _set(self, make: Callable[[IRBlock], Operation]) -> None:
        """Set the operation to the result of `make`, at the end of a block of its own."""
        block = IRBlock()
        op = make(block)
        block.add_op(op)
        self.op = op


class ScopeStmt(BuiltStmt):
    """A statement whose result is visible in the statements after it, its body."""

    __slots__ = ()

    @property
    def body(self) -> Stmt:
        return sequence([op for op in ops_after(self.op) if _is_statement(op)])

    def _with_body(self, body: Stmt, mapping: dict[SSAValue, SSAValue]) -> None:
        add_to(cast(IRBlock, self.op.parent), body, mapping)


@dataclass(frozen=True)
class Returned:
    """The end of a function, with its result: `Evaluate(ret(x))`."""

    val: ExprLike


class Evaluate(BuiltStmt):
    """Evaluates an expression for its effect."""

    __slots__ = ()
    PARTS = ("value",)

    def __init__(self, value: ExprLike | Returned, span: object = None):
        if isinstance(value, Returned):
            self._set(lambda block: tir.ReturnOp(planted_in(value.val, block)))
        else:
            self._set(lambda block: tir.EvaluateOp(planted_in(value, block)))

    value = Part(expr_node, "value")


CLASSES[tir.EvaluateOp] = Evaluate


def operations_of(stmt: Stmt) -> list[Operation]:
    """Return the operations of a statement, including the ones that follow if these are its body."""
    if isinstance(stmt, SeqStmt):
        return list(stmt._ops)
    if opens_scope(stmt.op):
        return [stmt.op, *(op for op in ops_after(stmt.op) if not is_expression(op))]
    return [stmt.op]


def add_to(block: IRBlock, stmt: Stmt, mapping: dict[SSAValue, SSAValue] | None = None) -> None:
    """Copy a statement to the end of a block; for a function seen as its root block, copy its body."""
    known = {} if mapping is None else mapping
    note_variables(known)
    before = block.last_op
    stated = operations_of(stmt)
    originals = with_aliases(stated, known)
    for op in originals:
        copied(op.regions[0].block.ops if isinstance(op, tir.FuncOp) else [op], block, known)
        if not isinstance(op, tir.FuncOp):
            note_source(cast(Operation, block.last_op), op)
    copies = block.ops if before is None else ops_after(before)
    note_counters(originals, copies)


def planted_in(value: ExprLike, block: IRBlock) -> SSAValue:
    return clone_expr(tx.convert(value).ssa, block, {})


def body_region(variables: Sequence[PrimExpr], body: Stmt, mapping: dict[SSAValue, SSAValue] | None = None) -> Region:
    """Return a region with a copy of `body`, whose arguments replace `variables`."""
    block = IRBlock(arg_types=[v.type for v in variables])
    inner = dict(mapping or {})
    for variable, arg in zip(variables, block.args, strict=True):
        set_name(arg, name_of(variable.ssa))
        inner[variable.ssa] = arg
        note(arg, variable.ssa)
    add_to(block, body, inner)
    return Region(block)


Stmt.operations = operations_of
