"""What a program contains as a few bytes, by which it is found again in another process: a key of caches on disk.

Two programs have one digest where they have the same operations with the same attributes, types and names in the same
order; places in the source do not count. It is read from the structure: to print a program takes several times as long,
and its text leaves out what an operation's form leaves out.
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
    """The digest of operations that stand one behind the other and use nothing from outside."""
    reader = _Reader()
    for op in ops:
        reader.operation(op)
    return reader.result()


class _Reader:
    """Writes operations as lines of numbers: those of values and blocks in the order in which they are met, and those
    of words, which are names and attributes, each written out once.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._values: dict[int, int] = {}
        self._blocks: dict[int, int] = {}
        self._words: dict[str, int] = {}
        self._attributes: dict[int, tuple[int, Attribute]] = {}

    def result(self) -> bytes:
        """The digest of what was read."""
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
        """Values by number, name and type."""
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
        """The number of an attribute's text; by identity, since 1 and True are equal to Python."""
        known = self._attributes.get(id(attribute))
        if known is None:
            known = self._attributes[id(attribute)] = self._word(_text(attribute)), attribute
        return known[0]


def _text(attribute: Attribute) -> str:
    """All that an attribute says."""
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
"""Of what is no list of parameters; the text of any other is what is printed of it."""
