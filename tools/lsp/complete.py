"""Completion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .entries import Entry, attribute_entries, dialect_names, operation_entries, script_entries
from .queries import SCRIPT, Text, head_of
from .reading import Piece

_TYPED = re.compile(r"[%@!#^]?[\w$.]*$")
_CALL = re.compile(r"([A-Za-z_]\w*(?:\.\w+)+)\(")
_OP = re.compile(r'(?:^|=)\s*"?([A-Za-z_]\w*(?:\.[\w$]+)+)')
_BEGINS = re.compile(r'(?:^|=)\s*"?\w*$')
_LONGEST = 100
"""Limit on the lines of a call above the position to complete."""


@dataclass(frozen=True)
class Completion:
    """A completion item with its documentation."""

    label: str
    kind: str
    """`function`, `class`, `keyword`, `variable` or `module`, as in the protocol."""
    detail: str = ""
    text: str = ""


def completions(text: Text, line: int, column: int) -> list[Completion]:
    """Return the completions at a position, without duplicates."""
    before = text.line(line)[:column]
    typed = _TYPED.search(before)
    prefix = typed[0] if typed else ""
    start = prefix if prefix[:1] in ("%", "@") else prefix.lstrip("!#").rpartition(".")[2]
    complete = _in_script if text.language == SCRIPT else _in_mlir
    return list({c.label: c for c in complete(text, prefix, line, column) if c.label.startswith(start)}.values())


def _in_script(text: Text, prefix: str, line: int, column: int) -> Iterator[Completion]:
    head, dot, _ = prefix.rpartition(".")
    piece = text.reading.piece_at(line)
    if not dot:
        call = _call_around(text, line, column)
        yield from _attributes(None if call is None else text.entry(call), "=")
        yield from _names(piece, line)
        return
    letter, _, path = head.partition(".")
    dialect = text.letters().get(letter)
    if dialect is not None:
        yield from _members(script_entries()[dialect], path)
    elif piece is None or head in ("cls", piece.program):
        yield from _functions(text, "", piece)


def _in_mlir(text: Text, prefix: str, line: int, column: int) -> Iterator[Completion]:
    piece = text.reading.piece_at(line)
    sign, before = prefix[:1], text.line(line)[:column]
    path = prefix.lstrip("!#").rpartition(".")[0]
    if sign == "%":
        yield from _names(piece, line)
    elif sign == "@":
        yield from _functions(text, "@", piece)
    elif path:
        entries = attribute_entries if sign in ("!", "#") else operation_entries
        dialect, _, rest = path.partition(".")
        yield from _members({n.removeprefix(f"{dialect}."): e for n, e in entries(dialect).items()}, rest)
    elif sign in ("!", "#") or _BEGINS.search(before):
        yield from (Completion(name, "module") for name in dialect_names())
    elif before.rfind("{") > before.rfind("}"):
        name = _OP.search(before)
        yield from _attributes(text.entry(name[1]) if name else None, " = ")


def _attributes(entry: Entry | None, sign: str) -> Iterator[Completion]:
    if entry is not None:
        yield from (Completion(f"{name}{sign}", "keyword", entry.usage) for name in entry.attributes)


def _names(piece: Piece | None, line: int) -> Iterator[Completion]:
    """Yield the names bound above a line of a function."""
    for binding in piece.bindings if piece is not None else ():
        if binding.name and piece is not None and piece.first + binding.place.line < line:
            yield Completion(binding.name, "variable", binding.type or "")


def _functions(text: Text, sign: str, piece: Piece | None) -> Iterator[Completion]:
    """Yield the functions of the program that a function belongs to."""
    program = piece.program if piece is not None else ""
    for other in text.reading.pieces:
        if other.name and other.program == program:
            yield Completion(sign + other.name, "function", head_of(other))


def _call_around(text: Text, line: int, column: int) -> str | None:
    """Return the function of the call that encloses a position."""
    above = [text.line(i) for i in range(max(line - _LONGEST, 0), line)]
    before = "\n".join([*above, text.line(line)[:column]])
    depth = 0
    for position in range(len(before) - 1, -1, -1):
        depth += (before[position] in ")]}") - (before[position] in "([{")
        if depth < 0:
            start = before.rfind("\n", 0, position) + 1
            return next((m[1] for m in _CALL.finditer(before, start, position + 1) if m.end() == position + 1), None)
    return None


def _members(entries: Mapping[str, Entry], path: str) -> Iterator[Completion]:
    """Yield the entries below a path, and the namespaces between."""
    start = f"{path}." if path else ""
    between: set[str] = set()
    for name, entry in entries.items():
        if name.startswith(start):
            rest, dot, _ = name.removeprefix(start).partition(".")
            if dot:
                between.add(rest)
            else:
                yield Completion(rest, "function", entry.usage, entry.text)
    yield from (Completion(name, "module") for name in sorted(between))
