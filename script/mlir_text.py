"""The parser of MLIR text: operations carry their source locations, and syntax errors become diagnostics."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from ..diagnostics import (
    SourceLocation,
    TextError,
    TiraxError,
    VerifyError,
    nesting_checked,
    register_text,
    suggestion,
)
from ..dialects.xdsl_extras.refused import REASONS
from ..ir.text import UNDESCRIBED, TextParser
from ..universe import full_universe

AnySpan: TypeAlias = "Span[str] | Span[bytes]"


class MLIRSyntaxError(TextError):
    """Text that is not valid MLIR of the known dialects."""


class LocatedParser(TextParser):
    """An MLIR parser that gives every operation the location of its first token, unless the text has a `loc`."""

    def __init__(self, ctx: Context, text: str, filename: str):
        self.text = text
        self._file = StringAttr(filename)
        self._line_starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._line_starts.append(at + 1)
            at = text.find("\n", at + 1)
        super().__init__(ctx, text, filename)

    def parse_optional_str_literal(self) -> str | None:
        """Parse a string literal, even with bytes beyond ASCII, `"\\C3\\A9"`, which xDSL prints but cannot parse."""
        token = self._parse_optional_token(MLIRTokenKind.BYTES_LIT)
        if token is None:
            return super().parse_optional_str_literal()
        try:
            return StringLiteral.from_span(token.span).string_contents
        except UnicodeDecodeError:
            self.raise_error("the bytes of a string are no UTF-8", token.span)

    def place(self, position: int, end: int | None = None) -> SourceLocation:
        """Return the line and column of an offset in the text; `end` counts only if it is on the same line."""
        line = bisect_right(self._line_starts, position)
        start = self._line_starts[line - 1]
        last = end is not None and end > position and bisect_right(self._line_starts, end - 1) == line
        return SourceLocation(
            self._file.data, line, position - start + 1, end - start + 1 if last and end is not None else None
        )

    def span_place(self, span: AnySpan) -> SourceLocation:
        """Return the location of a span."""
        return self.place(span.start, span.end)

    def parse_operation(self) -> Operation:
        token = self._current_token.span
        try:
            op = super().parse_operation()
        except TiraxError as error:
            if error.location is None:
                error.location = self.span_place(token)
            raise
        except (VerifyException, ValueError, OverflowError) as error:  # raised by xDSL, e.g. for literals out of range
            raise VerifyError(str(error), location=self.span_place(token)) from error
        if op.location is UNKNOWN_LOC:
            line = bisect_right(self._line_starts, token.start)
            column = token.start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        name = name.removeprefix(UNDESCRIBED)
        op_type = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if op_type is not None:
            return op_type
        token = self._previous_place(name)
        if name in REASONS:
            raise MLIRSyntaxError(f"the operation '{name}' of MLIR is not read", location=token, hint=REASONS[name])
        dialect_name, _, rest = name.partition(".")
        dialect = self.ctx.get_optional_dialect(dialect_name) if rest else None
        if dialect is not None:
            names = [op.name for op in dialect.operations]
            raise MLIRSyntaxError(f"unknown operation '{name}'", location=token, hint=suggestion(name, names))
        known = list(self.ctx.registered_dialect_names)
        hint = suggestion(dialect_name, known) or "--allow-unregistered-dialect reads it in generic form"
        raise MLIRSyntaxError(f"unknown operation '{name}' of an unknown dialect", location=token, hint=hint)

    def _previous_place(self, name: str) -> SourceLocation:
        """Return the location of `name`, which was just parsed."""
        at = max(self.text.rfind(name, 0, self._current_token.span.start), 0)
        return self.place(at, at + len(name))

    def improve(self, error: ParseError) -> MLIRSyntaxError:
        """Return xDSL's syntax error as a diagnostic, with a location and suggestions for misspelled names."""
        unknown = re.fullmatch(r"'([\w.$-]+)' is not registered", error.msg)
        if unknown is not None:
            name = unknown.group(1)
            dialect = self.ctx.get_optional_dialect(name.partition(".")[0])
            known = [a.name for a in dialect.attributes] if dialect is not None else self.ctx.registered_dialect_names
            place = self._previous_place(name)
            return MLIRSyntaxError(f"unknown type or attribute '{name}'", location=place, hint=suggestion(name, known))
        undefined = next(iter(self.forward_ssa_references), None)
        if undefined is not None and error.msg.startswith("values used but not defined"):
            use = re.search(rf"%{re.escape(undefined)}(?![\w$.-])", self.text)
            place = self.place(*use.span()) if use is not None else self.span_place(error.span)
            names = [f"%{name}" for name in self.ssa_values]
            return MLIRSyntaxError(
                f"%{undefined} is not defined", location=place, hint=suggestion(f"%{undefined}", names)
            )
        return _syntax_error(error, self.span_place)


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')


def _without_locations(text: str) -> str:
    """Return text with blanks instead of `loc(…)` and `#loc1 = loc(…)`, if some are used before they are defined."""
    if "loc(#" not in text:
        return text
    parts: list[str] = []
    at = 0
    for match in re.finditer(r"(?:^#loc\w* = | )loc\(", text, re.MULTILINE):
        if match.start() < at:
            continue
        end = _closed(text, match.end())
        parts += [text[at : match.start()], " " * (end - match.start())]
        at = end
    return "".join([*parts, text[at:]])


def _closed(text: str, at: int) -> int:
    """Return where the parenthesis ends that was opened before `at`."""
    depth = 1
    for match in _BRACKET.finditer(text, at):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def reading_context(allow_unregistered: bool = False) -> Context:
    """Return a context with all dialects of tirax, xDSL and plug-ins, each loaded on first use."""
    ctx = Context(allow_unregistered=allow_unregistered)
    for name, factory in full_universe().all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


@nesting_checked()
def parse_mlir(text: str, filename: str = "<string>", ctx: Context | None = None) -> ModuleOp:
    """Parse MLIR text into a module; text without a single `builtin.module` is wrapped in one.

    `ctx` provides the dialects (default: all). The module is not verified. Raises `MLIRSyntaxError`, or
    `VerifyError` for malformed attributes and types.
    """
    ctx = ctx or reading_context()
    if not text.strip():
        raise MLIRSyntaxError(f"{filename} is empty", hint="a module or at least one operation is expected")
    filename = register_text(filename, text)
    text = _without_locations(text)
    parser: LocatedParser | None = None
    try:
        parser = LocatedParser(ctx, text, filename)
        module = parser.parse_module()
    except ParseError as error:
        if parser is not None:
            raise parser.improve(error) from error
        raise _syntax_error(error, lambda span: _place_in(text, filename, span)) from error
    if module.location is UNKNOWN_LOC:
        module.location = FileLineColLoc(StringAttr(filename), IntAttr(1), IntAttr(1))
    return module


def _place_in(text: str, filename: str, span: AnySpan) -> SourceLocation:
    """Return the location of a span when there is no parser yet, because the first token is already invalid."""
    before = text[: span.start]
    return SourceLocation(filename, before.count("\n") + 1, span.start - before.rfind("\n"))


def _syntax_error(error: ParseError, place: Callable[[AnySpan], SourceLocation]) -> MLIRSyntaxError:
    notes: list[str] = []
    if isinstance(error, MultipleSpansParseError):
        notes = [" ".join(filter(None, (str(place(s)), m))) for s, m in error.refs]
        if error.ref_text:
            notes.insert(0, error.ref_text)
    message = error.msg.strip().rstrip("!.") or "syntax error"
    return MLIRSyntaxError(message[0].lower() + message[1:], location=place(error.span), notes=notes)
