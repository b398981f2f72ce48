"""`Table`: one policy for double names, look-ups and temporary entries."""

from __future__ import annotations

import pytest

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.tables import Table


def double(x):
    return 2 * x


def triple(x):
    return 3 * x


def test_rows_and_look_ups():
    table: Table = Table("rule")
    assert table.row("a", "b")(double) is double
    assert dict(table) == {"a": double, "b": double} and "a" in table and len(table) == 2
    assert table.find("a") is table.get("a") is table["a"]
    assert table.get("c") is None and table.get("c", triple) is triple


def test_an_unknown_name_names_the_nearest():
    table: Table = Table("rule")
    table.add("softmax", double)
    with pytest.raises(NameLookupError, match="unknown rule 'sofmax'") as raised:
        table.find("sofmax")
    assert "softmax" in str(raised.value)
    with pytest.raises(NameLookupError):
        table.remove("sofmax")


def test_a_second_entry_of_a_name_is_refused():
    table: Table = Table("rule")
    table.add("a", double)
    with pytest.raises(TiraxError, match="rule 'a' is already registered"):
        table.add("a", triple)
    assert table["a"] is double
    table.add("a", triple, override=True)
    assert table["a"] is triple


def test_a_definition_that_runs_again_replaces_itself():
    table: Table = Table("rule")
    for factor in (2, 3):

        def scale(x, factor=factor):
            return x * factor

        scale.__qualname__ = "scale"
        table.add("scale", scale)
    assert table["scale"](1) == 3


def test_closures_of_one_factory_are_different_definitions():
    table: Table = Table("rule")

    def scaled(factor):
        return lambda x: x * factor

    table.add("a", scaled(2))
    with pytest.raises(TiraxError):
        table.add("a", scaled(3))


def test_an_override_goes_last():
    table: Table = Table("rule")
    table.update({"a": double, "b": double})
    table.add("a", triple, override=True)
    assert list(table) == ["b", "a"]


def test_entries_for_a_while():
    table: Table = Table("rule")
    table.add("a", double)
    with pytest.raises(ZeroDivisionError), table.added("a", triple), table.added("b", triple):
        assert dict(table) == {"a": triple, "b": triple}
        raise ZeroDivisionError
    assert dict(table) == {"a": double}


def test_a_table_is_filled_at_the_first_look_up():
    def fill():
        calls.append(len(table))  # what fills the table may look into it
        table.add("a", double)

    calls: list = []
    table: Table = Table("rule", fill)
    table.add("early", triple)
    assert calls == [] and table.declared("a") is None
    assert list(table) == ["early", "a"] and table["a"] is double
    assert calls == [1]


def test_a_table_that_cannot_be_filled_says_so_each_time():
    def fill():
        raise ImportError("broken")

    table: Table = Table("rule", fill)
    for _ in range(2):
        with pytest.raises(ImportError, match="broken"):
            table.get("a")
