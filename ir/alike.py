"""Deduplication of structurally equal functions; a signature key avoids most comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.ir import Attribute, Operation

from ..dialects import relax, tir
from .equality import fingerprint

FunctionT = TypeVar("FunctionT", bound=Operation)


@dataclass
class Alike:
    """A table of functions by structure. The functions must not change while it is in use."""

    _groups: dict[Hashable, list[Operation]] = field(default_factory=dict[Hashable, list[Operation]])
    _firsts: dict[Hashable, Operation] = field(default_factory=dict[Hashable, Operation])

    def first_of(self, func: Operation) -> Operation:
        """Return the first function added with the structure of `func`, possibly `func` itself."""
        group = self._groups.setdefault(_outline(func), [])
        group.append(func)
        if len(group) == 1:
            return func
        if len(group) == 2:  # the first one has not been fingerprinted yet
            self._firsts[fingerprint(group[0])] = group[0]
        return self._firsts.setdefault(fingerprint(func), func)


def with_others(functions: Iterable[FunctionT]) -> list[FunctionT]:
    """Return the functions that may be structurally equal to another one of them."""
    outlines = {f: _outline(f) for f in functions}
    counts = Counter(outlines.values())
    return [f for f, outline in outlines.items() if counts[outline] > 1]


def _outline(func: Operation) -> Hashable:
    """Return the signature key of a function: equal for structurally equal functions."""
    return (type(func), *(_in_common(a.type) for r in func.regions for b in r.blocks for a in b.args))


def _in_common(t: Attribute) -> Hashable:
    """Return a key of a type that is equal for types equal up to names of variables."""
    if isinstance(t, tir.BufferType):
        return (t.dtype, *(d.constant for d in t.dims))
    if isinstance(t, relax.TensorType) and t.dims is not None:
        return (t.element, *(d.constant for d in t.dims))
    return type(t)
