"""What is known of a text while it is typed: its functions, the names that they bind, what is wrong."""

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
    """A part of a line; lines and columns count from 0, in characters. `end` is exclusive."""

    line: int
    start: int
    end: int

    def below(self, lines: int) -> Place:
        """The place so many lines further down."""
        return Place(self.line + lines, self.start, self.end)


@dataclass(frozen=True)
class Problem:
    """An error, and where it is shown."""

    place: Place
    text: str

    def moved(self, lines: int) -> Problem:
        """The problem so many lines further down."""
        return Problem(self.place.below(lines), self.text)


@dataclass(frozen=True)
class Binding:
    """A name where it is bound; `type` is its struct info where that is known, `said` whether the text says it, too."""

    name: str
    place: Place
    type: str | None = None
    is_annotated: bool = True


@dataclass(eq=False)
class Piece:
    """A function as it was read. Places count from its first line, which `first` says for the text as it is now."""

    name: str
    first: int
    lines: tuple[str, ...]
    bindings: list[Binding] = field(default_factory=list[Binding])
    problems: list[Problem] = field(default_factory=list[Problem])
    ill_formed: list[Problem] = field(default_factory=list[Problem])
    """What verification says of it beside the others."""
    words: frozenset[str] = frozenset()
    """The names that occur in it."""
    op: Operation | None = None
    origin: int = 0
    """The line of the text at which it began when it was read: places of `op` count from there."""
    program: str = ""
    """The class that it belongs to, if any."""

    @property
    def last(self) -> int:
        """The last line, in the text as it is now."""
        return self.first + len(self.lines) - 1

    def add(self, error: TiraxError) -> None:
        """Note an error of the function."""
        self.problems.append(problem_of(error, self.lines, self.origin))


@dataclass
class Reading:
    """A text, read: the pieces in its order, what is wrong outside of them, and the programs that they make."""

    lines: list[str]
    pieces: list[Piece] = field(default_factory=list[Piece])
    others: list[Problem] = field(default_factory=list[Problem])
    modules: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    """The programs that can be read whole, by their names."""

    def problems(self) -> Iterator[Problem]:
        """All problems, at their places in the text as it is now."""
        yield from self.others
        for piece in self.pieces:
            for problem in (*piece.problems, *piece.ill_formed):
                yield problem.moved(piece.first)

    def piece_at(self, line: int) -> Piece | None:
        """The function that a line belongs to."""
        return next((p for p in self.pieces if p.first <= line <= p.last), None)

    def function(self, name: str, near: Piece | None = None) -> Piece | None:
        """The function of a name, of the same program first."""
        named = [p for p in self.pieces if p.name == name]
        program = near.program if near is not None else ""
        return next((p for p in named if p.program == program), named[0] if named else None)

    def binding(self, name: str, line: int, column: int) -> Binding | None:
        """What a use of `name` means: the last binding before it, or else the first one, with its place in the text."""
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
    """Whether a place is to the right of a binding on its line, where the name still means what it did before."""
    return here[0] == binding.place.line and here[1] > binding.place.end


def problem_of(error: TiraxError, lines: Sequence[str], origin: int = 0) -> Problem:
    """An error as a problem of lines of which the first is line `origin` of the text it was raised for."""
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
    """A type as TVMScript; as MLIR where TVMScript has no form of it."""
    try:
        return struct_info(StructInfoPrinter(Document(PrinterConfig())), t)
    except UnsupportedError:
        return str(t)
