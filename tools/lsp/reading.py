"""The result of reading a text while it is edited: its functions, the names they bind, its problems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from ...diagnostics import SourceLocation, TiraxError, UnsupportedError
from ...script.printer.document import Document, PrinterConfig
from ...script.printer.fragment import StructInfoPrinter
from ...script.printer.struct_info import struct_info

_WORD = re.compile(r"[%@!#]?[\w.$-]+|.")


@dataclass(frozen=True)
class Place:
    """A range in a line; lines and columns count from 0, in characters. `end` is exclusive."""

    line: int
    start: int
    end: int

    def below(self, lines: int) -> Place:
        """Return the range moved down by `lines`."""
        return Place(self.line + lines, self.start, self.end)


@dataclass(frozen=True)
class Problem:
    """An error and its range."""

    place: Place
    text: str

    def moved(self, lines: int) -> Problem:
        """Return the problem moved down by `lines`."""
        return Problem(self.place.below(lines), self.text)


@dataclass(frozen=True)
class Binding:
    """A definition of a name; `type` is its struct info if known, `is_annotated` whether the text states it already."""

    name: str
    place: Place
    type: str | None = None
    is_annotated: bool = True


@dataclass(eq=False)
class Piece:
    """A function that was read. Places are relative to its first line, which is now line `first` of the text."""

    name: str
    first: int
    lines: tuple[str, ...]
    bindings: list[Binding] = field(default_factory=list[Binding])
    problems: list[Problem] = field(default_factory=list[Problem])
    ill_formed: list[Problem] = field(default_factory=list[Problem])
    """Problems that verification reports."""
    words: frozenset[str] = frozenset()
    """The names that occur in it."""
    op: Operation | None = None
    origin: int = 0
    """The line of the text at which it began when it was read; locations in `op` are relative to it."""
    program: str = ""
    """The class that contains it, if any."""

    @property
    def last(self) -> int:
        """Return the last line in the current text."""
        return self.first + len(self.lines) - 1

    def add(self, error: TiraxError) -> None:
        """Record an error of the function."""
        self.problems.append(problem_of(error, self.lines, self.origin))


@dataclass
class Reading:
    """A text that was read: its pieces in order, the problems outside of them, and its programs."""

    lines: list[str]
    pieces: list[Piece] = field(default_factory=list[Piece])
    others: list[Problem] = field(default_factory=list[Problem])
    modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    """The programs that could be read completely, by name."""

    def problems(self) -> Iterator[Problem]:
        """Yield all problems at their places in the current text."""
        yield from self.others
        for piece in self.pieces:
            for problem in (*piece.problems, *piece.ill_formed):
                yield problem.moved(piece.first)

    def piece_at(self, line: int) -> Piece | None:
        """Return the function that contains a line."""
        return next((p for p in self.pieces if p.first <= line <= p.last), None)

    def function(self, name: str, near: Piece | None = None) -> Piece | None:
        """Return the function of a name, preferring one of the same program as `near`."""
        named = [p for p in self.pieces if p.name == name]
        program = near.program if near is not None else ""
        return next((p for p in named if p.program == program), named[0] if named else None)

    def binding(self, name: str, line: int, column: int) -> Binding | None:
        """Return the definition that a use of `name` refers to: the last one before it, or else the first one."""
        piece = self.piece_at(line)
        if piece is None:
            return None
        bound = [b for b in piece.bindings if b.name == name]
        here = (line - piece.first, column)
        before = [b for b in bound if (b.place.line, b.place.start) <= here and not _is_value_of(b, here)]
        binding = before[-1] if before else bound[0] if bound else None
        if binding is None:
            return None
        return Binding(name, binding.place.below(piece.first), binding.type, binding.is_annotated)


def _is_value_of(binding: Binding, here: tuple[int, int]) -> bool:
    """Return whether a position is on the right-hand side of a binding, where the name has its previous meaning."""
    return here[0] == binding.place.line and here[1] > binding.place.end


def problem_of(error: TiraxError, lines: Sequence[str], origin: int = 0) -> Problem:
    """Convert an error to a problem of lines that begin at line `origin` of the text it was raised for."""
    parts = [error.message]
    parts += [f"expected: {error.expected}"] if error.expected is not None else []
    parts += [f"found: {error.found}"] if error.found is not None else []
    parts += [f"hint: {error.hint}"] if error.hint is not None else []
    parts += [f"note: {note}" for note in error.notes]
    return Problem(_place(error.location, lines, origin), "\n".join(parts))


def _place(location: SourceLocation | None, lines: Sequence[str], origin: int) -> Place:
    if location is None:
        return Place(0, 0, len(lines[0]) if lines else 0)
    number = min(max(location.line - 1 - origin, 0), max(len(lines) - 1, 0))
    text = lines[number] if lines else ""
    start = min(max(location.column - 1, 0), len(text))
    word = _WORD.match(text, start)
    end = location.end_column - 1 if location.end_column is not None else word.end() if word else start
    return Place(number, start, max(min(end, len(text)), start))


@lru_cache(maxsize=4096)
def type_text(t: Attribute) -> str:
    """Return a type as TVMScript, or as MLIR if TVMScript cannot express it."""
    try:
        return struct_info(StructInfoPrinter(Document(PrinterConfig())), t)
    except UnsupportedError:
        return str(t)
