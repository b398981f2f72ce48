"""The part common to both languages: changed functions are reread, then verified."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...diagnostics import TiraxError
from ...ir.verification.verify import Verifier
from ..guard import message_of
from .reading import Piece, Place, Problem, problem_of

_LINE_END = re.compile(r"\r\n|\r|\n")
_WORDS = re.compile(r"[A-Za-z_][\w$.]*")


def lines_of(text: str) -> list[str]:
    """Split a text into lines as editors count them."""
    return _LINE_END.split(text)


def words_of(lines: Iterable[str]) -> set[str]:
    """Return the names in lines; members of others (`cls.f`) by their own name."""
    return {part for line in lines for word in _WORDS.findall(line) for part in (word, word.rpartition(".")[2])}


def internal(error: Exception, line: int = 0) -> Problem:
    """Return the problem for an internal error, which is not a fault of the text."""
    return Problem(Place(line, 0, 0), message_of(error).removeprefix("error: "))


class Memory:
    """The pieces of the previous reading, keyed by all that they depend on."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Piece] = {}
        self._now: dict[Hashable, Piece] = {}

    def begin_reading(self) -> None:
        """Begin a reading; pieces that the previous one did not use are dropped."""
        self._last, self._now = self._now, {}

    def piece(self, key: Hashable, first: int, read: Callable[[], Piece]) -> Piece:
        """Return the piece of a key, now at line `first`; it is read if the previous reading had none."""
        known = self._last.get(key) if key not in self._now else None
        piece = read() if known is None else known
        piece.first = first
        self._now[key] = piece
        return piece


class Checker:
    """Verifies the functions of one program; unchanged ones are not verified again."""

    def __init__(self) -> None:
        self._module = ModuleOp([])
        self._verifier = Verifier()

    def check(self, pieces: list[Piece], around: Operation | None = None) -> ModuleOp | None:
        """Record what is ill-formed in the pieces that were read and refer to no unreadable function.

        The module gets the attributes of `around`. Return the module, None if a function of it could not be read.
        """
        readable_pieces = _without_broken(pieces)
        block = self._module.body.block
        for op in list(block.ops):
            op.detach()
        by_op: dict[Operation, Piece] = {}
        for piece in readable_pieces:
            if piece.op is not None:
                if piece.op.parent is not None:  # a module of the parser's
                    piece.op.detach()
                by_op[piece.op] = piece
        block.add_ops(by_op)
        self._module.attributes = {} if around is None else dict(around.attributes)
        for piece in pieces:
            piece.ill_formed = []
        for op, error in self._verifier.problems(self._module):
            piece = by_op.get(op, pieces[0])
            piece.ill_formed.append(problem_of(error, piece.lines, piece.origin))
        return self._module if len(readable_pieces) == len(pieces) else None

    def check_module(self, piece: Piece, module: ModuleOp) -> None:
        """Record what is ill-formed in a piece that is a module."""
        errors = [error for _, error in self._verifier.problems(module)]
        piece.ill_formed = [problem_of(error, piece.lines, piece.origin) for error in errors]


def _without_broken(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces that could be read and depend only on such pieces."""
    broken = {p.name for p in pieces if p.op is None}
    remaining = [p for p in pieces if p.op is not None]
    while broken:
        touched = [p for p in remaining if not broken.isdisjoint(p.words)]
        broken = {p.name for p in touched}
        remaining = [p for p in remaining if p not in touched]
    return remaining


def readable(read: Callable[[], Operation | None], piece: Piece, silent: tuple[type[TiraxError], ...] = ()) -> None:
    """Read the operation of a piece and record errors as its problems, except those of the types in `silent`."""
    try:
        piece.op = read()
    except silent:
        pass
    except TiraxError as error:
        piece.add(error)
    except Exception as error:  # noqa: BLE001 - a fault of ours in one function must not end the server
        piece.problems.append(internal(error))
