"""Content hashes of programs, the keys of caches on disk.

Programs have the same digest if they have the same operations with the same attributes, types and names in the same
order; source locations are ignored. The digest is computed from the structure: printing a program takes several times
as long, and the text omits some attributes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DictionaryAttr, FloatData, IntAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, Region, SSAValue

from ..dialects.sym import SymAttr
from ..dialects.sym.writing import expr_text


def digest(ops: Iterable[Operation]) -> bytes:
    """Return the digest of a sequence of operations that use no values from outside."""
    reader = _Reader()
    for op in ops:
        reader.operation(op)
    return reader.result()


class _Reader:
    """Serializer of operations to lines of numbers.

    Values and blocks are numbered in order of occurrence, and so are names and attributes, whose texts are written
    once.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._values: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._words: dict[str, int] = {}
        self._attributes: dict[int, tuple[int, Attribute]] = {}

    def result(self) -> bytes:
        """Return the digest of the operations read so far."""
        sha = hashlib.sha256()
        for word in ("\n".join(self._lines), *self._words):
            data = word.encode("utf-8", "surrogatepass")
            sha.update(len(data).to_bytes(8, "little"))
            sha.update(data)
        return sha.digest()

    def operation(self, op: Operation) -> None:
        numbers = self._values
        operands = [numbers.setdefault(id(v), len(numbers)) for v in op._operands]  # pyright: ignore[reportPrivateUsage]
        self._lines.append(
            f"{self._word(op.name)} {operands} {self._defined(op.results)} {self._named(op.properties)}"
            f" {self._named(op.attributes)} {[self._block(b) for b in op.successors]} {len(op.regions)}"
        )
        for region in op.regions:
            self._region(region)

    def _region(self, region: Region) -> None:
        blocks = list(region.blocks)
        self._lines.append(f"{len(blocks)}")
        for block in blocks:
            self._lines.append(f"{self._block(block)} {self._defined(block.args)}")
            for inner in block.ops:
                self.operation(inner)
            self._lines.append("")

    def _defined(self, values: Sequence[SSAValue]) -> list[tuple[int, int, int]]:
        """Return the number, name and type of each value."""
        numbers = self._values
        return [
            (numbers.setdefault(id(v), len(numbers)), self._word(v.name_hint or ""), self._attribute(v.type))
            for v in values
        ]

    def _named(self, attributes: Mapping[str, Attribute]) -> list[tuple[int, int]]:
        return [(self._word(name), self._attribute(attributes[name])) for name in sorted(attributes)]

    def _block(self, block: Block) -> int:
        return self._blocks.setdefault(id(block), len(self._blocks))

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words))

    def _attribute(self, attribute: Attribute) -> int:
        """Return the number of an attribute's text; looked up by identity, since 1 == True in Python."""
        known = self._attributes.get(id(attribute))
        if known is None:
            known = self._attributes[id(attribute)] = self._word(_text(attribute)), attribute
        return known[0]


def _text(attribute: Attribute) -> str:
    """Return the full text of an attribute."""
    write = _TEXTS.get(type(attribute))
    if write is not None:
        return write(attribute)
    if isinstance(attribute, ParametrizedAttribute):
        return f"{attribute.name}({','.join([_text(parameter) for parameter in attribute.parameters])})"
    return str(attribute)


def _dictionary_text(attribute: DictionaryAttr) -> str:
    return f"{{{','.join([f'{name!r}:{_text(value)}' for name, value in sorted(attribute.data.items())])}}}"


_TEXTS: dict[type[Attribute], Callable[[Any], str]] = {
    ArrayAttr: lambda a: f"[{','.join([_text(item) for item in a.data])}]",
    DictionaryAttr: _dictionary_text,
    IntAttr: lambda a: f"{a.data!r}",
    StringAttr: lambda a: f"{a.data!r}",
    BytesAttr: lambda a: f"{a.data!r}",
    FloatData: lambda a: struct.pack("<d", a.data).hex(),
    SymAttr: lambda a: f"<{expr_text(a.data)}>",
}
"""Texts of attributes that are not lists of parameters; others use their printed form."""
