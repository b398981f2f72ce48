"""Read MLIR text while it is edited: each function has its own parser, so that an error in one does not hide others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Span

from ...diagnostics import register_source
from ...ir.functions.lookup import symbol_of
from ...ir.passes.transform import no_gc
from ...script.mlir_text import LocatedParser, MLIRSyntaxError, reading_context
from .reader import Checker, Memory, lines_of, readable, words_of
from .reading import Binding, Piece, Place, Reading

_SEPARATOR = re.compile(r"\s*// -----")
_HEAD = re.compile(r'\s*"?(?:[\w$]+\.)+(?:func|prim_func)"?[^\n]*@([\w$.]+|"[^"\n]*")')
_ALIAS = re.compile(r"\s*[#!][\w$]+\s*=")
_RESULTS = re.compile(r"\s*((?:%[\w$.-]+(?::\d+)?\s*,?\s*)+)=")
_NAME = re.compile(r"%[\w$.-]+")
_GOES_ON = re.compile(r"\s*(?:attributes\b|handles\b|->|\{)")
"""The start of a line that continues the function head above it."""
_TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[(){}\[\]]')


class MlirReader:
    """Reads one file repeatedly."""

    def __init__(self, filename: str, ctx: Context | None = None):
        self._filename = filename
        self._ctx = ctx or reading_context()
        self._memory = Memory()
        self._checkers: dict[str, Checker] = {}

    def read(self, text: str) -> Reading:
        """Read the current text. Raises nothing: errors become problems."""
        self._memory.begin_reading()
        reading = Reading(lines_of(text))
        register_source(self._filename, "\n".join(reading.lines))
        with no_gc():
            for section in _sections(reading.lines):
                self._read_section(reading, section)
        self._checkers = {name: c for name, c in self._checkers.items() if name in reading.modules}
        return reading

    def _read_section(self, reading: Reading, section: _Section) -> None:
        frame = self._piece(section, section.first, section.frame, "")
        if not section.functions or isinstance(frame.op, ModuleOp) and not _is_frame(frame.op):
            module = self._read_module(reading, section, frame)
        else:
            pieces = [self._piece(section, first, lines, name) for name, first, lines in section.functions]
            checked = self._checker(section).check(pieces, frame.op)
            module = checked if frame.op is not None else None
            reading.pieces += pieces
            reading.others += [p.moved(frame.first) for p in frame.problems]
        if module is not None:
            reading.modules[section.name] = module

    def _read_module(self, reading: Reading, section: _Section, frame: Piece) -> ModuleOp | None:
        """Read a section that is not a list of functions as one piece."""
        piece = frame if not section.functions else self._piece(section, section.first, section.lines, "")
        reading.pieces.append(piece)
        if not isinstance(piece.op, ModuleOp):
            return None
        self._checker(section).check_module(piece, piece.op)
        return piece.op

    def _checker(self, section: _Section) -> Checker:
        return self._checkers.setdefault(section.name, Checker())

    def _piece(self, section: _Section, first: int, lines: tuple[str, ...], name: str) -> Piece:
        aliases = section.aliases if name else ()
        key = section.name, name, lines, aliases
        piece = Piece(name, first, lines, words=frozenset(words_of(lines)), origin=len(aliases), program=section.name)
        return self._memory.piece(key, first, partial(self._read, piece, aliases))

    def _read(self, piece: Piece, aliases: Sequence[str]) -> Piece:
        text = "\n".join([*aliases, *piece.lines])
        parsers: list[_Parser] = []
        readable(lambda: self._parse(text, piece, parsers), piece)
        known = [b for parser in parsers for b in parser.bindings(piece.origin)]
        if piece.op is None:
            read = {b.name for b in known}
            known += [b for b in _written(piece.lines) if b.name not in read]
        piece.bindings = sorted(known, key=lambda b: (b.place.line, b.place.start))
        return piece

    def _parse(self, text: str, piece: Piece, parsers: list[_Parser]) -> Operation:
        if all(not line.strip() or line.lstrip().startswith("//") for line in piece.lines):
            return ModuleOp([])
        try:
            parser = _Parser(self._ctx, text, self._filename)
            parsers.append(parser)
            module = parser.parse_module()
        except ParseError as error:
            if not parsers:  # the first token is none
                raise MLIRSyntaxError(error.msg.strip()) from error
            raise parsers[0].improve(error) from error
        if not piece.name:
            return module
        ops = list(module.body.block.ops)
        if len(ops) != 1 or symbol_of(ops[0]) is None:
            place = parser.place(0)
            raise MLIRSyntaxError("one function is expected", location=place, found=", ".join(op.name for op in ops))
        return ops[0]


def _is_frame(module: ModuleOp) -> bool:
    """Return whether a module is one block without operations."""
    return len(module.body.blocks) == 1 and not module.body.block.ops


class _Parser(LocatedParser):
    """A parser that records where values are defined."""

    def __init__(self, ctx: Context, text: str, filename: str):
        self._bound: list[tuple[str, Sequence[SSAValue], int]] = []
        super().__init__(ctx, text, filename)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        super()._register_ssa_definition(name, values, span)
        self._bound.append((name, values, span.start))

    def bindings(self, above: int) -> Iterator[Binding]:
        """Yield the definitions, with lines counted from line `above`."""
        lines = lines_of(self.text)
        for name, values, start in self._bound:
            place = self.place(start)
            types = ", ".join(str(v.type) for v in values)
            text = lines[place.line - 1]
            begin = text.find(f"%{name}", place.column - 1)
            begin = place.column - 1 if begin < 0 else begin
            is_annotated = types in text or not types or text.lstrip().startswith("^")
            yield Binding(
                f"%{name}", Place(place.line - 1 - above, begin, begin + len(name) + 1), types or None, is_annotated
            )


def _written(lines: Sequence[str]) -> Iterator[Binding]:
    """Yield the results by their text, for functions that could not be parsed."""
    for number, line in enumerate(lines):
        results = _RESULTS.match(line)
        end = results.end(1) if results is not None else 0
        for name in _NAME.finditer(line, 0, end):
            yield Binding(name[0], Place(number, name.start(), name.end()))


@dataclass(frozen=True)
class _Section:
    """A program between lines `// -----`. `frame` is its text without the functions."""

    name: str
    first: int
    lines: tuple[str, ...]
    frame: tuple[str, ...]
    functions: tuple[tuple[str, int, tuple[str, ...]], ...]
    """The functions: name, first line in the text, lines."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Return the lines that define attribute and type aliases, which all functions may use."""
        return tuple(line for line in self.frame if _ALIAS.match(line))


def _sections(lines: list[str]) -> Iterator[_Section]:
    ends = [i for i, line in enumerate(lines) if _SEPARATOR.match(line)]
    start = 0
    for number, end in enumerate([*ends, len(lines)]):
        if number == 0 or any(line.strip() for line in lines[start:end]):
            yield _section(str(number), start, tuple(lines[start:end]))
        start = end + 1


def _section(name: str, first: int, lines: tuple[str, ...]) -> _Section:
    heads = [(i, match[1].strip('"')) for i, line in enumerate(lines) if (match := _HEAD.match(line))]
    functions: list[tuple[str, int, tuple[str, ...]]] = []
    frame = list(lines)
    limits = [*(i for i, _ in heads[1:]), len(lines)]
    for (start, function), limit in zip(heads, limits, strict=False):
        end = _end(lines, start, limit)
        functions.append((function, first + start, lines[start:end]))
        frame[start:end] = [""] * (end - start)
    return _Section(name, first, lines, tuple(frame), tuple(functions))


def _end(lines: Sequence[str], start: int, limit: int) -> int:
    """Return the line after a function that begins at `start`: after its closing bracket, or `limit` if it has none."""
    depth = 0
    for i in range(start, limit):
        for token in _TOKENS.findall(lines[i]):
            depth += (token in "({[") - (token in ")}]")
            if depth < 0:  # of the module around it
                return max(i, start + 1)
        if depth == 0 and not (i + 1 < limit and _GOES_ON.match(lines[i + 1])):
            return i + 1
    return limit
