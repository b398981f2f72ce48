"""How much of the suite runs: `make test` draws less and takes fewer rows of the large tables than `make test-all`.

What a test asserts is the same at both strengths, and no test is skipped: there are fewer random programs, or fewer
rows of a table, chosen so that each kind of row is there. What takes seconds and says more of what other tests look at,
too, is `only_full`: no part of `make test`. Everything here marks its test `thinned`; `make test-all` runs exactly
these, at full strength, without the rows of tables that `make test` has run (`pytest --rest -m thinned`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings

T = TypeVar("T")
Test = Callable[..., Any]

_strength = {"full": False}


def set_full(full: bool) -> None:
    """Said once, by conftest, before any test is collected."""
    _strength["full"] = full


def is_full() -> bool:
    """Whether the suite runs at full strength."""
    return _strength["full"]


def only_full(test: Test) -> Test:
    """A test that is left to `make test-all`."""
    return pytest.mark.only_full(pytest.mark.thinned(test))


def without_only_full(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of the tests that were collected, those that run at this strength."""
    return [item for item in items if is_full() or item.get_closest_marker("only_full") is None]


def names_one(path: Path) -> bool:
    """Whether a file of tests can have one that is thinned: no other need be read for `--rest -m thinned`."""
    return re.search(r"\b(?:strength|thinned)\b", path.read_text()) is not None


def without_quick_rows(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Of the tests that were collected, those that say more than what `make test` has run.

    Left out is a test that each of its tables gives a row of `make test`, and that is thinned in no other way.
    """
    return [item for item in items if not _has_run(item)]


def _has_run(item: pytest.Item) -> bool:
    marks = list(item.iter_markers("thinned"))
    tables = sum(bool(mark.kwargs.get("table")) for mark in marks)
    return 0 < tables == len(marks) == len(list(item.iter_markers("quick_row")))


def drawn(count: int, quick: int | None = None, **options: Any) -> Callable[[Test], Test]:
    """`count` random examples, the same in each run; `quick` of them (a fifth) at less than full strength."""
    examples = count if is_full() else quick or max(1, count // 5)
    defaults = {
        "derandomize": True,
        "deadline": None,
        "database": None,
        "phases": (Phase.generate, Phase.shrink),
        "suppress_health_check": list(HealthCheck),
    }
    return lambda test: pytest.mark.thinned(settings(max_examples=examples, **(defaults | options))(test))


def first_of_each(cases: Iterable[T], kind: Callable[[T], Hashable]) -> list[T]:
    """The first case of each kind, in order."""
    firsts: dict[Hashable, T] = {}
    for case in cases:
        firsts.setdefault(kind(case), case)
    return list(firsts.values())


def evenly(count: int, quick: int) -> list[int]:
    """`quick` of the numbers below `count`, first and last included; all where these are fewer."""
    return list(range(count)) if quick >= count else [i * (count - 1) // max(1, quick - 1) for i in range(quick)]


def some(values: Sequence[T], quick: int) -> Sequence[T]:
    """The values that a loop of a test, marked `thinned`, goes through: `quick` of them, first and last included."""
    return values if is_full() else [values[i] for i in evenly(len(values), quick)]


def thinned(
    names: str | Sequence[str],
    cases: Iterable[T],
    quick: int | Callable[[T], Hashable],
    label: Callable[[T], str] | None = None,
    **options: Any,
) -> Any:
    """`pytest.mark.parametrize` over the cases, which `label` names.

    At less than full strength: as many as `quick` says, at even distances, or the first of each kind that it gives.
    """
    every = list(cases)
    if isinstance(quick, int):
        chosen = evenly(len(every), quick)
    else:
        chosen = first_of_each(range(len(every)), lambda i: quick(every[i]))
    return _table(names, every, chosen, label, **options)


def crossed(names: str, *factors: Sequence[Any], **options: Any) -> Any:
    """`pytest.mark.parametrize` over the product of the factors, whose names are separated by commas.

    At less than full strength as many rows as the longest factor has values: each value of each factor is there.
    """
    every = list(product(*map(enumerate, factors)))
    numbers = [tuple(number for number, _ in row) for row in every]
    chosen = [numbers.index(tuple(i % len(f) for f in factors)) for i in range(max(map(len, factors)))]
    return _table(names, [tuple(value for _, value in row) for row in every], chosen, **options)


def _table(
    names: str | Sequence[str],
    every: Sequence[Any],
    quick: Sequence[int],
    label: Callable[[Any], str] | None = None,
    **options: Any,
) -> Any:
    """`parametrize` over all rows, or over those that `quick` numbers: they are marked, for `without_quick_rows`."""
    single = len(names.split(",") if isinstance(names, str) else names) == 1
    chosen = range(len(every)) if is_full() else quick
    rows = [
        pytest.param(*([every[i]] if single else every[i]), marks=[pytest.mark.quick_row] if i in quick else [])
        for i in chosen
    ]
    if label is not None:
        options["ids"] = [label(every[i]) for i in chosen]
    return lambda test: pytest.mark.thinned(table=True)(pytest.mark.parametrize(names, rows, **options)(test))
