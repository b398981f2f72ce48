"""Source locations while a program is traced: each operation gets one, so that the lines of each level have locations.

Passes keep the locations of operations that they move or copy. New operations have none, and get that of their users,
of their operands, or of operations inside or around them; a load or store prefers that of the access to the same buffer
before the pass. A function without any location was created by the compiler: its locations are the lines of its own
text, which in turn come from the locations of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr, UnknownLoc
from xdsl.ir import Operation

from ...diagnostics import register_source
from ...dialects import tir
from ...dialects.names import name_of
from .texts import Text

_UNKNOWN = UnknownLoc()
_ACCESSES = (tir.StoreOp, tir.LoadOp)
_DEPTH = 6
"""Levels of operands that are searched for a location."""

Accesses = dict[tuple[str, str], LocationAttr]
"""The kind of an access and the name of its buffer -> its location."""


def own_file(name: str) -> str:
    """Return the file name for the text of a function that the compiler created."""
    return f"<@{name}>"


def is_placed(op: Operation) -> bool:
    """Return whether an operation has a location."""
    return isinstance(op.location, FileLineColLoc)


def stamp(name: str, text: Text) -> None:
    """Set the locations of a function's operations to the lines of its own text."""
    file = StringAttr(own_file(name))
    register_source(file.data, text.text)
    for op, line in text.lines_of_all.items():
        if not is_placed(op):
            op.location = FileLineColLoc(file, IntAttr(line + 1), IntAttr(1))


def accesses(ops: Sequence[Operation], known: Accesses) -> Accesses:
    """Return the locations of buffer accesses, added to those of `known`."""
    new: Accesses = {}
    for op in ops:
        key = _access(op)
        if key is not None and is_placed(op):
            new.setdefault(key, op.location)
    return known | new


def _access(op: Operation) -> tuple[str, str] | None:
    if not isinstance(op, _ACCESSES):
        return None
    name = name_of(op.buffer)
    return None if name is None else (op.name, name)


def settle(ops: Sequence[Operation], known: Accesses) -> None:
    """Give a location to each operation of a function that has none (in order, outer operations before inner ones)."""
    for op in reversed(ops):
        if not is_placed(op):
            op.location = next(_candidates(op, known), _UNKNOWN)
    before: LocationAttr = _UNKNOWN
    for op in ops:
        if not is_placed(op):
            around = op.parent_op() if op is not ops[0] else None
            op.location = around.location if around is not None and is_placed(around) else before
        before = op.location


def _candidates(op: Operation, known: Accesses) -> Iterator[LocationAttr]:
    key = _access(op)
    if key is not None and key in known:
        yield known[key]
    yield from _most(use.operation for result in op.results for use in result.uses)
    yield from _of_operands(op, known, _DEPTH)
    yield from _most(inner for region in op.regions for block in region.blocks for inner in block.ops)


def _most(ops: Iterable[Operation]) -> Iterator[LocationAttr]:
    """Yield the location that most of the operations have, if any."""
    counts: dict[int, int] = {}
    places: dict[int, LocationAttr] = {}
    for op in ops:
        if is_placed(op):
            key = cast(FileLineColLoc, op.location).line.data
            places.setdefault(key, op.location)
            counts[key] = counts.get(key, 0) + 1
    if counts:
        yield places[max(counts, key=counts.__getitem__)]


def _of_operands(op: Operation, known: Accesses, depth: int) -> Iterator[LocationAttr]:
    for value in op.operands if depth else ():
        owner = value.owner
        if isinstance(owner, Operation) and not isinstance(owner, tir.AllocBufferOp):
            key = _access(owner)
            if is_placed(owner):
                yield owner.location
            elif key is not None and key in known:
                yield known[key]
            else:
                yield from _of_operands(owner, known, depth - 1)
