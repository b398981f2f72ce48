"""`tvm.script.printer.doc_printer`: documents as Python code, with lines of `^` below the underlined parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ....diagnostics import TiraxError
from ....handles.object_path import ObjectPath
from ....script.printer.literals import string
from ..._names import refusing
from . import doc as docs
from .doc import OperationKind as Kind
from .underlines import Span, decorated, without

__getattr__ = refusing(__name__)

_OPERATORS = {
    Kind.USub: "-", Kind.Invert: "~", Kind.Not: "not ", Kind.Add: "+", Kind.Sub: "-", Kind.Mult: "*", Kind.Div: "/",
    Kind.FloorDiv: "//", Kind.Mod: "%", Kind.Pow: "**", Kind.LShift: "<<", Kind.RShift: ">>", Kind.BitAnd: "&",
    Kind.BitOr: "|", Kind.BitXor: "^", Kind.Lt: "<", Kind.LtE: "<=", Kind.Eq: "==", Kind.NotEq: "!=", Kind.Gt: ">",
    Kind.GtE: ">=", Kind.And: "and", Kind.Or: "or",
}  # fmt: skip
_UNARY = (Kind.USub, Kind.Invert, Kind.Not)
_STRENGTHS: tuple[tuple[Kind, ...], ...] = (
    (), (), (Kind.IfThenElse,), (Kind.Or,), (Kind.And,), (Kind.Not,),
    (Kind.Lt, Kind.LtE, Kind.Eq, Kind.NotEq, Kind.Gt, Kind.GtE), (Kind.BitOr,), (Kind.BitXor,), (Kind.BitAnd,),
    (Kind.LShift, Kind.RShift), (Kind.Add, Kind.Sub), (Kind.Mult, Kind.Div, Kind.FloorDiv, Kind.Mod),
    (Kind.USub, Kind.Invert), (Kind.Pow,),
)  # fmt: skip
"""Operators by how strongly they bind; 1 is `lambda`."""
_STRENGTH = {kind: strength for strength, kinds in enumerate(_STRENGTHS) for kind in kinds}
_ATOM = len(_STRENGTHS)
_UNARY_STRENGTH = _STRENGTH[Kind.USub]


class CommentError(TiraxError, ValueError):
    """A comment stands where there is no place for it."""


def to_python_script(
    doc: docs.Doc,
    indent_spaces: int = 4,
    print_line_numbers: bool = False,
    num_context_lines: int | None = None,
    path_to_underline: Sequence[ObjectPath] | None = None,
) -> str:
    """Return a document as Python code.

    Documents whose `source_paths` have the longest prefixes of the paths in `path_to_underline` are underlined; with
    `num_context_lines` only that many lines around them are printed. Raises `CommentError` for a comment with a line
    break beside a statement and for an argument with a comment, and `TiraxError` for what is no document.
    """
    printer = _Printer(indent_spaces, path_to_underline or ())
    printer.doc(doc)
    text = "".join(printer.parts).rstrip(" ")
    text += "" if not text or text.endswith("\n") else "\n"
    spans = without([span for found in printer.found for span in found], printer.exempted)
    return decorated(text, spans, print_line_numbers, num_context_lines).rstrip()


class _Printer:
    """The text so far, and the parts that the paths to underline select."""

    def __init__(self, indent_spaces: int, paths: Sequence[ObjectPath]):
        self.parts: list[str] = []
        self.length = 0
        self.step, self.indent = indent_spaces, 0
        self.paths = paths
        self.found: list[list[Span]] = [[] for _ in paths]
        self.longest = [0] * len(paths)
        self.exempted: list[Span] = []

    def write(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def line(self, text: str = "") -> None:
        """Begin a line."""
        start = self.length
        self.write("\n" + " " * self.indent)
        self.exempted.append((start, self.length))
        self.write(text)

    @contextmanager
    def exempt(self) -> Iterator[None]:
        """Exempt what is written from underlines."""
        start = self.length
        yield
        self.exempted.append((start, self.length))

    def doc(self, doc: docs.Doc) -> None:
        start = self.length
        write = _WRITERS.get(type(doc))
        if write is None:
            raise TiraxError("this is no document that has a text", found=type(doc).__name__)
        write(self, doc)
        for path in doc.source_paths:
            self._mark((start, self.length), path)

    def _mark(self, span: Span, path: ObjectPath) -> None:
        for k, selected in enumerate(self.paths):
            if len(path) >= self.longest[k] and path.is_prefix_of(selected):
                if len(path) > self.longest[k]:
                    self.longest[k] = len(path)
                    self.found[k].clear()
                self.found[k].append(span)

    def joined(self, items: Iterable[docs.Doc], begin: str = "", end: str = "") -> None:
        self.write(begin)
        for k, item in enumerate(items):
            self.write(", " if k else "")
            self.doc(item)
        self.write(end)

    def child(self, doc: docs.ExprDoc, strength: int, same: bool = False) -> None:
        """Write an operand, in parentheses if it binds less strongly, or with `same` as strongly, as its parent."""
        own = _strength(doc)
        if own < strength or (same and own == strength):
            self.write("(")
            self.doc(doc)
            self.write(")")
        else:
            self.doc(doc)

    def body(self, statements: Sequence[docs.StmtDoc]) -> None:
        self.indent += self.step
        for statement in statements:
            self.line()
            self.doc(statement)
        if not statements:
            self.line("pass")
        self.indent -= self.step

    def comment_beside(self, doc: docs.StmtDoc) -> None:
        if doc.comment is None:
            return
        if "\n" in doc.comment:
            raise CommentError(f"the comment of {type(doc).__name__} cannot have newline", found=repr(doc.comment))
        with self.exempt():
            self.write(f"  # {doc.comment}")

    def comment_lines(self, doc: docs.StmtDoc, line_after: bool = True) -> None:
        if doc.comment is None:
            return
        with self.exempt():
            for k, text in enumerate(doc.comment.split("\n") if doc.comment else ()):
                if k:
                    self.line()
                self.write(f"# {text}")
        if line_after:
            self.line()

    def docstring(self, comment: str) -> None:
        with self.exempt():
            self.write('"""')
            for text in comment.split("\n"):
                if text:
                    self.line(text)
                else:
                    self.write("\n")
            self.line('"""')

    def decorators(self, decorators: Iterable[docs.ExprDoc]) -> None:
        for decorator in decorators:
            self.write("@")
            self.doc(decorator)
            self.line()

    def docstring_of(self, doc: docs.StmtDoc) -> None:
        if doc.comment is not None:
            self.indent += self.step
            self.line()
            self.docstring(doc.comment)
            self.indent -= self.step


def _strength(doc: docs.Doc) -> int:
    if isinstance(doc, docs.OperationDoc):
        return _STRENGTH[Kind(doc.kind)]
    return 1 if isinstance(doc, docs.LambdaDoc) else _ATOM


def _literal(p: _Printer, doc: docs.LiteralDoc) -> None:
    value = doc.value
    if isinstance(value, float):
        shown = f"{value:.1f}" if math.isfinite(value) and value == round(value) else f"{value:.17g}"
        p.write(shown if math.isfinite(value) else f'"{value}"')
    else:
        p.write(string(value) if isinstance(value, str) else repr(value))


def _attribute(p: _Printer, doc: docs.AttrAccessDoc) -> None:
    p.child(doc.value, _ATOM)
    p.write(f".{doc.name}")


def _index(p: _Printer, doc: docs.IndexDoc) -> None:
    p.child(doc.value, _ATOM)
    if doc.indices:
        p.joined(doc.indices, "[", "]")
    else:
        p.write("[()]")


def _operation(p: _Printer, doc: docs.OperationDoc) -> None:
    kind, strength = Kind(doc.kind), _strength(doc)
    count = 3 if kind is Kind.IfThenElse else 1 if kind in _UNARY else 2
    if len(doc.operands) != count:
        raise TiraxError(f"{kind.name} requires {count} operands", found=len(doc.operands))
    if kind is Kind.IfThenElse:
        condition, value, other = doc.operands
        p.child(value, strength)
        p.write(" if ")
        p.child(condition, strength, same=True)
        p.write(" else ")
        p.child(other, strength, same=True)
    elif kind in _UNARY:
        p.write(_OPERATORS[kind])
        p.child(doc.operands[0], strength)
    else:
        power = kind is Kind.Pow
        p.child(doc.operands[0], strength, same=power)
        p.write(f" {_OPERATORS[kind]} ")
        p.child(doc.operands[1], _UNARY_STRENGTH if power else strength, same=not power)


def _call(p: _Printer, doc: docs.CallDoc) -> None:
    p.child(doc.callee, _ATOM)
    p.joined(doc.args, "(")
    for k, (key, value) in enumerate(zip(doc.kwargs_keys, doc.kwargs_values, strict=True)):
        p.write(f"{', ' if k or doc.args else ''}{key}=")
        p.doc(value)
    p.write(")")


def _lambda(p: _Printer, doc: docs.LambdaDoc) -> None:
    p.joined(doc.args, "lambda ", ": ")
    p.child(doc.body, 1)


def _dictionary(p: _Printer, doc: docs.DictDoc) -> None:
    p.write("{")
    for k, (key, value) in enumerate(zip(doc.keys, doc.values, strict=True)):
        p.write(", " if k else "")
        p.doc(key)
        p.write(": ")
        p.doc(value)
    p.write("}")


def _slice(p: _Printer, doc: docs.SliceDoc) -> None:
    for k, part in enumerate((doc.start, doc.stop, doc.step)):
        p.write(":" if k == 1 or (k == 2 and part is not None) else "")
        if part is not None:
            p.doc(part)


def _statements(p: _Printer, doc: docs.StmtBlockDoc) -> None:
    for k, statement in enumerate(doc.stmts):
        if k:
            p.line()
        p.doc(statement)


def _targets(p: _Printer, doc: docs.ExprDoc, one: str) -> None:
    """Write a tuple without parentheses, and a single element with `one` after it."""
    if isinstance(doc, docs.TupleDoc):
        p.joined(doc.elements, end=one if len(doc.elements) == 1 else "")
    else:
        p.doc(doc)


def _assign(p: _Printer, doc: docs.AssignDoc) -> None:
    _targets(p, doc.lhs, "")
    if doc.annotation is not None:
        p.write(": ")
        p.doc(doc.annotation)
    if doc.rhs is not None:
        p.write(" = ")
        several = isinstance(doc.rhs, docs.TupleDoc) and len(doc.rhs.elements) > 1
        _targets(p, doc.rhs, "") if several else p.doc(doc.rhs)
    p.comment_beside(doc)


def _if(p: _Printer, doc: docs.IfDoc) -> None:
    _compound(p, doc, "if ", [doc.predicate], doc.then_branch)
    if doc.else_branch:
        p.line("else:")
        p.body(doc.else_branch)


def _for(p: _Printer, doc: docs.ForDoc) -> None:
    p.comment_lines(doc)
    p.write("for ")
    _targets(p, doc.lhs, ",")
    p.write(" in ")
    p.doc(doc.rhs)
    p.write(":")
    p.body(doc.body)


def _compound(
    p: _Printer, doc: docs.StmtDoc, word: str, parts: Sequence[docs.ExprDoc], body: Sequence[docs.StmtDoc]
) -> None:
    p.comment_lines(doc)
    p.write(word)
    p.doc(parts[0])
    for part in parts[1:]:
        p.write(" as ")
        p.doc(part)
    p.write(":")
    p.body(body)


def _simple(p: _Printer, doc: docs.StmtDoc, word: str, parts: Sequence[docs.ExprDoc | None]) -> None:
    p.joined([part for part in parts if part is not None], word)
    p.comment_beside(doc)


def _function(p: _Printer, doc: docs.FunctionDoc) -> None:
    if any(arg.comment is not None for arg in doc.args):
        raise CommentError("Function arg cannot have comment attached to them.")
    p.decorators(doc.decorators)
    p.write("def ")
    p.doc(doc.name)
    p.joined(doc.args, "(", ")")
    if doc.return_type is not None:
        p.write(" -> ")
        p.doc(doc.return_type)
    p.write(":")
    p.docstring_of(doc)
    p.body(doc.body)
    with p.exempt():
        p.write("\n")


def _class(p: _Printer, doc: docs.ClassDoc) -> None:
    p.decorators(doc.decorators)
    p.write("class ")
    p.doc(doc.name)
    p.write(":")
    p.docstring_of(doc)
    p.body(doc.body)


_WRITERS: dict[type, Callable[[_Printer, Any], None]] = {
    docs.LiteralDoc: _literal,
    docs.IdDoc: lambda p, d: p.write(d.name),
    docs.AttrAccessDoc: _attribute,
    docs.IndexDoc: _index,
    docs.OperationDoc: _operation,
    docs.CallDoc: _call,
    docs.LambdaDoc: _lambda,
    docs.ListDoc: lambda p, d: p.joined(d.elements, "[", "]"),
    docs.TupleDoc: lambda p, d: p.joined(d.elements, "(", ",)" if len(d.elements) == 1 else ")"),
    docs.DictDoc: _dictionary,
    docs.SliceDoc: _slice,
    docs.StmtBlockDoc: _statements,
    docs.AssignDoc: _assign,
    docs.IfDoc: _if,
    docs.WhileDoc: lambda p, d: _compound(p, d, "while ", [d.predicate], d.body),
    docs.ForDoc: _for,
    docs.ScopeDoc: lambda p, d: _compound(p, d, "with ", [d.rhs] if d.lhs is None else [d.rhs, d.lhs], d.body),
    docs.ExprStmtDoc: lambda p, d: _simple(p, d, "", [d.expr]),
    docs.AssertDoc: lambda p, d: _simple(p, d, "assert ", [d.test, d.msg]),
    docs.ReturnDoc: lambda p, d: _simple(p, d, "return ", [d.value]),
    docs.FunctionDoc: _function,
    docs.ClassDoc: _class,
    docs.CommentDoc: lambda p, d: p.comment_lines(d, line_after=False),
    docs.DocStringDoc: lambda p, d: p.docstring(d.comment) if d.comment else None,
}
"""How the text of each kind of document is written."""
