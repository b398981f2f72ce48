"""`make test` and `make test-all` run each row of each table once, and all of what is thinned in another way."""

import re
from pathlib import Path

import pytest
import strength

TESTS = Path(__file__).parents[1]


class Item:
    """A test as far as `strength` looks at it: its marks."""

    def __init__(self, *marks):
        self.marks = marks

    def iter_markers(self, name):
        return (mark for mark in self.marks if mark.name == name)


def items_of(*decorators):
    """The tests that a function with these decorators is collected as, by their values."""

    def test():
        pass

    for decorate in decorators:
        test = decorate(test)
    items = {(): []}
    for mark in test.pytestmark:
        if mark.name == "parametrize":
            items = {(*v, *r.values): [*m, *r.marks] for v, m in items.items() for r in mark.args[1]}
    others = [mark for mark in test.pytestmark if mark.name != "parametrize"]
    return {values: Item(*others, *(mark.mark for mark in marks)) for values, marks in items.items()}


@pytest.fixture
def runs():
    """What runs of a function in `make test`, in `make test-all` and with `--full`: decorated anew for each."""
    before = strength.is_full()

    def run(*decorators):
        strength.set_full(False)
        quick = items_of(*(make() for make in decorators))
        strength.set_full(True)
        full = items_of(*(make() for make in decorators))
        left = strength.without_quick_rows(list(full.values()))
        return set(quick), {values for values, item in full.items() if item in left}, set(full)

    yield run
    strength.set_full(before)


TABLES = {
    "so many": lambda: strength.thinned("n", range(9), 3),
    "more than there are": lambda: strength.thinned("n", range(2), 3),
    "none": lambda: strength.thinned("n", [], 3),
    "named": lambda: strength.thinned("n, m", [(1, 2), (3, 4), (5, 6)], 2, str),
    "of each kind": lambda: strength.thinned("n", [3, 1, 4, 7, 5, 9], lambda n: n % 3),
    "crossed": lambda: strength.crossed("n, m", "abc", [1, 2]),
}


@pytest.mark.parametrize("table", TABLES)
def test_each_row_runs_once(runs, table):
    quick, rest, full = runs(TABLES[table])
    assert quick | rest == full and not quick & rest


def test_quick_rows_are_those_of_each_kind(runs):
    assert runs(TABLES["so many"])[0] == {(0,), (4,), (8,)}
    assert runs(TABLES["of each kind"])[0] == {(3,), (1,), (5,)}
    assert runs(TABLES["crossed"])[0] == {("a", 1), ("b", 2), ("c", 1)}


def test_two_tables_leave_out_rows_of_both_only(runs):
    quick, rest, full = runs(TABLES["so many"], TABLES["crossed"])
    assert len(full) == 9 * 6 and len(quick) == 3 * 3
    assert quick | rest == full and not quick & rest


@pytest.mark.parametrize("other", [lambda: strength.drawn(5), lambda: strength.only_full, lambda: pytest.mark.thinned])
def test_what_is_thinned_in_another_way_too_runs_in_full(runs, other):
    _, rest, full = runs(TABLES["so many"], other)
    assert rest == full


def test_what_is_not_thinned_is_not_looked_at(runs):
    _, rest, full = runs(lambda: pytest.mark.parametrize("n", [pytest.param(1)]))
    assert rest == full == {(1,)}


def test_who_asks_for_the_strength_is_marked_for_it():
    """`some` and `is_full` inside of a test are seen by nobody: a mark of its own says that it runs as a whole."""
    asks = re.compile(r"^from strength import .*\b(some|is_full)\b", re.MULTILINE)
    texts = {path: path.read_text() for path in TESTS.rglob("test_*.py")}
    assert not [str(path) for path, text in texts.items() if asks.search(text) and "pytest.mark.thinned" not in text]
