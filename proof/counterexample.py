"""Counterexamples: elements of results that differ, their terms side by side, and the operation where they part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dialects import tir
from ..dialects.names import name_of
from ..interpreter.compare import Disagreement, Function, compare, functions_of, iterations_of, same_values
from ..interpreter.scalars import InterpreterError
from . import fingerprints as fp
from .algebra import Level, algebra_of
from .execution import run
from .history import History
from .terms import NotCoveredError, Terms

_ELEMENTS = 3
"""Elements that are shown."""
_MOST_ITERATIONS = 1 << 14
"""Iterations of a function whose terms are shown: recording them is slow."""
_SMALL = (1, 2, 3, 4, 5, 6, 7, 8)


@dataclass(frozen=True)
class Element:
    """An element of a result that differs: its name, and the numbers before and after."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name}: {self.before} before, {self.after} after"


@dataclass(frozen=True)
class Counterexample:
    """Inputs for which two functions differ: elements, the terms of the first one, and where these part."""

    disagreement: Disagreement
    elements: tuple[Element, ...] = ()
    count: int = 0
    terms: tuple[str, str] | None = None
    parting: tuple[str, str] | None = None
    place: str = ""

    def __str__(self) -> str:
        sizes = ", ".join(f"{n}={v}" for n, v in self.disagreement.sizes.items())
        lines = [f"at {sizes}" if sizes else "", *self._elements(), *self._terms()]
        return "\n".join(line for line in lines if line)

    def _elements(self) -> list[str]:
        if not self.elements:
            return str(self.disagreement).split("\n")[1:]
        more = self.count - len(self.elements)
        return [f"  {e}" for e in self.elements] + ([f"  … and {more} more elements"] if more > 0 else [])

    def _terms(self) -> list[str]:
        lines = [f"  {side} {t}" for side, t in zip(("before:", "after: "), self.terms or (), strict=False)]
        if self.parting is not None and self.parting != self.terms:
            lines.append(f"  they part at {self.parting[0]} and {self.parting[1]}")
        return [*lines, f"  computed by {self.place}"] if self.place else lines


def explained(
    before: Any,
    after: Any,
    found: Disagreement,
    names: Sequence[str],
    packed: Mapping[str, Callable[..., Any]] | None,
    fixed: Mapping[str, int],
) -> Counterexample:
    """Return the counterexample of a disagreement, at the smallest sizes that show it; `fixed` ones are kept."""
    found = _smallest(before, after, found, packed, fixed)
    pairs = list(_pairs(found.before, found.after, "result", names))
    differing = [(name, a, b, at) for name, a, b in pairs for at in _places(a, b)]
    elements = tuple(Element(name + _index(at), _shown(a, at), _shown(b, at)) for name, a, b, at in differing[:3])
    if not differing:
        return Counterexample(found)
    shown = Counterexample(found, elements, len(differing))
    name, _, _, at = differing[0]
    return _with_terms(shown, (before, after), ([n for n, _, _ in pairs].index(name), at), names, packed)


def _smallest(before: Any, after: Any, found: Disagreement, packed: Any, fixed: Mapping[str, int]) -> Disagreement:
    free = [n for n in found.sizes if n not in fixed]
    for size in _SMALL if free else ():
        if size >= max(found.sizes[n] for n in free):
            break
        sizes = {**found.sizes, **dict.fromkeys(free, size)}
        tried = compare(before, after, functions=[found.function], sizes=sizes, packed=packed).disagreement
        if tried is not None:
            return tried
    return found


def _pairs(a: Any, b: Any, name: str, params: Sequence[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the arrays of two results with their names; what is no array, or is only in one, is left out."""
    if isinstance(a, tuple) and len(a) == 2 and isinstance(a[1], list):  # a tensor function, and its buffers
        yield from _pairs(a[0], b[0] if isinstance(b, tuple) else None, name, params)
        arrays = b[1] if isinstance(b, tuple) and len(b) == 2 and isinstance(b[1], list) else [None] * len(a[1])
        for param, x, y in zip(params, a[1], arrays, strict=False):
            yield from _pairs(x, y, param, params)
    elif isinstance(a, tuple):
        others = b if isinstance(b, tuple) and len(b) == len(a) else [None] * len(a)
        for i, (x, y) in enumerate(zip(a, others, strict=True)):
            yield from _pairs(x, y, f"{name} {i}", params)
    elif isinstance(a, np.ndarray | np.generic):
        yield name, np.asarray(a), b


def _places(a: Any, b: Any) -> list[tuple[int, ...]]:
    """Return the indices of the elements that differ."""
    if not isinstance(b, np.ndarray | np.generic) or np.shape(b) != a.shape:
        return []
    return [at for at in np.ndindex(a.shape) if not same_values(np.asarray(a[at]), np.asarray(np.asarray(b)[at]))]


def _index(at: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, at))}]" if at else ""


def _shown(array: Any, at: tuple[int, ...]) -> str:
    value = np.asarray(array)[at].item()
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def _with_terms(
    shown: Counterexample,
    modules: tuple[Any, Any],
    element: tuple[int, tuple[int, ...]],
    names: Sequence[str],
    packed: Any,
) -> Counterexample:
    """Return a counterexample with the terms of an element, where the functions are small and covered.

    `element` is the number of an array among the results, and an index.
    """
    functions = [functions_of(m)[shown.disagreement.function] for m in modules]
    if max(_iterations(f, shown.disagreement.sizes) for f in functions) > _MOST_ITERATIONS:
        return shown
    history = History()
    algebra = algebra_of(Level.BITS, history)
    try:
        results = [
            run(module, func, algebra, shown.disagreement.inputs, side, packed, names)[0]
            for module, func, side in zip(modules, functions, ("before", "after"), strict=True)
        ]
    except (NotCoveredError, InterpreterError):
        return shown
    if isinstance(results[0], tuple) and isinstance(results[1], tuple) and results[0] and results[0][0] is None:
        results[1] = (None, *results[1][1:])  # a status that the first function does not have
    words = [w for r in results if (w := _word(algebra, r, *element)) is not None]
    if len(words) < len(results):
        return shown
    first, second = words
    parting = history.parting(first, second)
    places = [p for p in (history.location(parting[1]), history.location(second)) if p is not None]
    place = f"{places[0][0].name}{f' ({places[0][1]})' if places[0][1] is not None else ''}" if places else ""
    texts = history.text(first), history.text(second)
    return Counterexample(
        shown.disagreement,
        shown.elements,
        shown.count,
        texts,
        (history.text(parting[0]), history.text(parting[1])),
        place,
    )


def _iterations(func: Function, sizes: Mapping[str, int]) -> int:
    return iterations_of(func, sizes) if isinstance(func, tir.FuncOp) else 0


def _word(algebra: Any, result: Any, number: int, at: tuple[int, ...]) -> int | None:
    arrays = list(_terms_of(result))
    if number >= len(arrays):
        return None
    array = Terms.lift(algebra, arrays[number])
    if array.ndim != len(at):
        return None
    element = array[at]
    return int(fp.packed(element.data["term"][..., 0, :]))


def _terms_of(result: Any) -> Iterator[Any]:
    if isinstance(result, tuple | list):
        for part in result:
            yield from _terms_of(part)
    elif isinstance(result, Terms | np.ndarray | np.generic):
        yield result


def parameter_names(func: Function) -> list[str]:
    """Return the names of parameters, or their numbers, all different."""
    names = [name_of(p) or f"argument {i}" for i, p in enumerate(func.params)]
    return [f"{name} {i}" if names.count(name) > 1 else name for i, name in enumerate(names)]
