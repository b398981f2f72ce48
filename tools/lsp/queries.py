"""Queries of an editor about a position: hover, definition, inlay hints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .entries import Entry, attribute_entries, operation_entries, script_entries
from .reading import Binding, Piece, Place, Reading

SCRIPT, MLIR = "tvmscript", "mlir"
_PATH = re.compile(r"[%@!#^]?[\w$]+(?:\.[\w$]+)*")
_LETTERS = {"R": "relax", "relax": "relax", "T": "tir", "tir": "tir", "I": "ir", "ir": "ir"}
_IMPORT = re.compile(r"import\s+(?:.*,\s*)?(relax|tir|ir)\s+as\s+(\w+)")


@dataclass(frozen=True)
class Text:
    """A text, its reading and its language."""

    language: str
    reading: Reading

    def path_at(self, line: int, column: int) -> tuple[str, Place] | None:
        """Return the dotted name at a position, up to the part under the cursor: `R.nn` for `nn` in `R.nn.relu`."""
        text = self.line(line)
        for match in _PATH.finditer(text):
            if match.start() <= column <= match.end() and match[0]:
                end = match.end()
                if self.language == SCRIPT:
                    dot = text.find(".", column, match.end())
                    end = dot if dot >= 0 else end
                return text[match.start() : end], Place(line, match.start(), end)
        return None

    def line(self, number: int) -> str:
        """Return a line of the text, empty past its end."""
        return self.reading.lines[number] if 0 <= number < len(self.reading.lines) else ""

    # Hover

    def hover(self, line: int, column: int) -> tuple[str, Place] | None:
        """Return the hover text (Markdown) at a position, and the range it describes."""
        at = self.path_at(line, column)
        if at is None:
            return None
        path, place = at
        text = self._hover(path, place)
        return None if text is None else (text, place)

    def _hover(self, path: str, place: Place) -> str | None:
        binding = self.reading.binding(path, place.line, place.start)
        if binding is not None:
            return self._of_binding(binding)
        entry = self.entry(path)
        if entry is not None:
            return entry.markdown("python" if self.language == SCRIPT else "mlir")
        function = self._function(path, place.line)
        return None if function is None else _code(self.language, head_of(function))

    def _of_binding(self, binding: Binding) -> str:
        if binding.type is None:
            return _code(self.language, self.line(binding.place.line).strip())
        return _code(self.language, f"{binding.name}: {binding.type}")

    def entry(self, path: str) -> Entry | None:
        """Return the documentation of a name of the language, or None."""
        if self.language == SCRIPT:
            letter, _, name = path.partition(".")
            return script_entries().get(self.letters().get(letter, ""), {}).get(name)
        if path[0] in "!#":
            return attribute_entries(path[1:].partition(".")[0]).get(path[1:])
        return operation_entries(path.partition(".")[0]).get(path)

    def letters(self) -> dict[str, str]:
        """Return the dialect of each alias in a script (`R`: relax, …)."""
        imports = (m for line in self.reading.lines if "import" in line for m in _IMPORT.finditer(line))
        return _LETTERS | {m[2]: m[1] for m in imports}

    def _function(self, path: str, line: int) -> Piece | None:
        name = path.removeprefix("@") if self.language == MLIR else path.rpartition(".")[2]
        return self.reading.function(name, self.reading.piece_at(line))

    # Definition

    def definition(self, line: int, column: int) -> Place | None:
        """Return where the name at a position is defined in this text."""
        at = self.path_at(line, column)
        if at is None:
            return None
        path, place = at
        binding = self.reading.binding(path, place.line, place.start)
        if binding is not None:
            return binding.place
        function = self._function(path, line)
        if function is None:
            return None
        for number, text in enumerate(function.lines):
            name = re.search(rf"(?:\bdef\s+|@)({re.escape(function.name)})\b", text)
            if name is not None:
                return Place(function.first + number, name.start(1), name.end(1))
        return None

    # Inlay hints

    def hints(self, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """Yield the types that the lines do not state: line, column, text."""
        for piece in self.reading.pieces:
            if piece.first <= last and piece.last >= first:
                for b in piece.bindings:
                    number = piece.first + b.place.line
                    if not b.is_annotated and b.type is not None and first <= number <= last:
                        yield number, b.place.end, f": {b.type}" if b.name else f" {b.type}"


def head_of(piece: Piece) -> str:
    """Return the first lines of a function, up to its body."""
    lines: list[str] = []
    for line in piece.lines:
        lines.append(line.strip())
        if line.rstrip().endswith((":", "{")):
            break
    return "\n".join(lines).rstrip(" {")


def _code(language: str, text: str) -> str:
    return f"```{'python' if language == SCRIPT else 'mlir'}\n{text}\n```"
