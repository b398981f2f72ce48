"""`tvm.script.printer.doc`: documents, the parts of a Python text as objects.

A document is compared by identity; `source_paths` are the paths of the objects that it is the text of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, unique
from typing import Any, NoReturn

from ....diagnostics import DTypeError
from ....handles.object_path import ObjectPath
from ..._names import refusing

__getattr__ = refusing(__name__)


@dataclass(eq=False)
class Doc:
    """The base of documents."""

    source_paths: list[ObjectPath] = field(default_factory=list[ObjectPath], init=False)

    def same_as(self, other: object) -> bool:
        """Return whether both are the same document."""
        return self is other


class ExprDoc(Doc):
    """An expression."""

    def attr(self, name: str) -> AttrAccessDoc:
        """Return the access to an attribute."""
        return AttrAccessDoc(self, name)

    def call(self, *args: ExprDoc, **kwargs: ExprDoc) -> CallDoc:
        """Return the call with these arguments."""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices: Any) -> IndexDoc:
        return IndexDoc(self, list(indices) if isinstance(indices, tuple) else [indices])

    def __iter__(self) -> Iterator[NoReturn]:
        raise RuntimeError(f"{type(self).__name__} cannot be used as iterable.")


@dataclass(eq=False)
class StmtDoc(Doc):
    """A statement; its `comment` has one line beside simple statements, several before those with a body."""

    comment: str | None = field(default=None, init=False)


@dataclass(eq=False)
class StmtBlockDoc(Doc):
    """Consecutive statements."""

    stmts: Sequence[StmtDoc]


@dataclass(eq=False)
class LiteralDoc(ExprDoc):
    """A number, a bool, a text or None. Raises `DTypeError` for anything else."""

    value: bool | int | float | str | None
    path: ObjectPath | None = None

    def __post_init__(self) -> None:
        if self.value is not None and not isinstance(self.value, bool | int | float | str):
            raise DTypeError("no literal", expected="a number, a bool, a text or None", found=type(self.value).__name__)
        if self.path is not None:
            self.source_paths.append(self.path)


@dataclass(eq=False)
class IdDoc(ExprDoc):
    """A name."""

    name: str


@dataclass(eq=False)
class AttrAccessDoc(ExprDoc):
    """`value.name`"""

    value: ExprDoc
    name: str


@dataclass(eq=False)
class IndexDoc(ExprDoc):
    """`value[indices]`"""

    value: ExprDoc
    indices: Sequence[ExprDoc | SliceDoc]


@dataclass(eq=False, init=False)
class CallDoc(ExprDoc):
    """`callee(args, key=value)`"""

    callee: ExprDoc
    args: Sequence[ExprDoc]
    kwargs_keys: Sequence[str]
    kwargs_values: Sequence[ExprDoc]

    def __init__(self, callee: ExprDoc, *args: ExprDoc, **kwargs: ExprDoc):
        super().__init__()
        self.callee, self.args = callee, list(args)
        self.kwargs_keys, self.kwargs_values = list(kwargs), list(kwargs.values())


@unique
class OperationKind(IntEnum):
    """The operators, with TVM's numbers; those that begin with `_` are between the kinds."""

    _UnaryStart = 0
    USub = 1
    Invert = 2
    Not = 3
    _UnaryEnd = 4
    _BinaryStart = 5
    Add = 6
    Sub = 7
    Mult = 8
    Div = 9
    FloorDiv = 10
    Mod = 11
    Pow = 12
    LShift = 13
    RShift = 14
    BitAnd = 15
    BitOr = 16
    BitXor = 17
    Lt = 18
    LtE = 19
    Eq = 20
    NotEq = 21
    Gt = 22
    GtE = 23
    And = 24
    Or = 25
    _BinaryEnd = 26
    _SpecialStart = 27
    IfThenElse = 28
    _SpecialEnd = 29


@dataclass(eq=False)
class OperationDoc(ExprDoc):
    """An operator with its operands; those of `IfThenElse` are the condition and both values."""

    kind: OperationKind
    operands: Sequence[ExprDoc]


@dataclass(eq=False)
class LambdaDoc(ExprDoc):
    """`lambda args: body`"""

    args: Sequence[IdDoc]
    body: ExprDoc


@dataclass(eq=False)
class TupleDoc(ExprDoc):
    """`(a, b)`"""

    elements: Sequence[ExprDoc]


@dataclass(eq=False)
class ListDoc(ExprDoc):
    """`[a, b]`"""

    elements: Sequence[ExprDoc]


@dataclass(eq=False, init=False)
class DictDoc(ExprDoc):
    """`{key: value}`"""

    keys: Sequence[ExprDoc]
    values: Sequence[ExprDoc]

    def __init__(self, content: Mapping[ExprDoc, ExprDoc]):
        super().__init__()
        self.keys, self.values = list(content), list(content.values())


@dataclass(eq=False)
class SliceDoc(Doc):
    """`start:stop:step`, an index."""

    start: ExprDoc | None = None
    stop: ExprDoc | None = None
    step: ExprDoc | None = None


@dataclass(eq=False)
class AssignDoc(StmtDoc):
    """`lhs: annotation = rhs`"""

    lhs: ExprDoc
    rhs: ExprDoc | None
    annotation: ExprDoc | None = None


@dataclass(eq=False)
class IfDoc(StmtDoc):
    """`if predicate:`, with `else:` if its branch is not empty."""

    predicate: ExprDoc
    then_branch: Sequence[StmtDoc]
    else_branch: Sequence[StmtDoc]


@dataclass(eq=False)
class WhileDoc(StmtDoc):
    """`while predicate:`"""

    predicate: ExprDoc
    body: Sequence[StmtDoc]


@dataclass(eq=False)
class ForDoc(StmtDoc):
    """`for lhs in rhs:`"""

    lhs: ExprDoc
    rhs: ExprDoc
    body: Sequence[StmtDoc]


@dataclass(eq=False)
class ScopeDoc(StmtDoc):
    """`with rhs as lhs:`"""

    lhs: ExprDoc | None
    rhs: ExprDoc
    body: Sequence[StmtDoc]


@dataclass(eq=False)
class ExprStmtDoc(StmtDoc):
    """An expression as a statement."""

    expr: ExprDoc


@dataclass(eq=False)
class AssertDoc(StmtDoc):
    """`assert test, msg`"""

    test: ExprDoc
    msg: ExprDoc | None = None


@dataclass(eq=False)
class ReturnDoc(StmtDoc):
    """`return value`"""

    value: ExprDoc


@dataclass(eq=False)
class FunctionDoc(StmtDoc):
    """A function; its comment is its docstring."""

    name: IdDoc
    args: Sequence[AssignDoc]
    decorators: Sequence[ExprDoc]
    return_type: ExprDoc | None
    body: Sequence[StmtDoc]


@dataclass(eq=False)
class ClassDoc(StmtDoc):
    """A class; its comment is its docstring."""

    name: IdDoc
    decorators: Sequence[ExprDoc]
    body: Sequence[StmtDoc]


@dataclass(eq=False, init=False)
class CommentDoc(StmtDoc):
    """A comment on lines of its own."""

    def __init__(self, comment: str):
        super().__init__()
        self.comment = comment


@dataclass(eq=False, init=False)
class DocStringDoc(StmtDoc):
    """A docstring."""

    def __init__(self, docs: str):
        super().__init__()
        self.comment = docs
