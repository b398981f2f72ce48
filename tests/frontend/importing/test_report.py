import subprocess
import sys

import pytest
from rich.console import Console

from tirax.diagnostics import UnsupportedError
from tirax.frontend.importing.errors import ModelError, UnsupportedOperators
from tirax.frontend.importing.report import Coverage, Status


def coverage() -> Coverage:
    uses = Coverage()
    for place in ("a", "b", "c", "d", "e"):
        uses.add("Conv", Status.CONVERTED, place)
    uses.add("Foo", Status.UNSUPPORTED, "x")
    uses.add("Bar", Status.UNSUPPORTED, "y", reason="strings are no tensors")
    uses.add("Softplus", Status.EXPANDED, "z")
    return uses


def test_nodes_are_counted_by_operator():
    uses = {use.operator: use for use in coverage()}
    assert uses["Conv"].count == 5
    assert uses["Conv"].places == ["a", "b", "c", "d", "e"]
    assert coverage().total == 8
    assert coverage().percent == 75.0
    assert Coverage().percent == 100.0


def test_all_unsupported_operators_are_named_at_once():
    with pytest.raises(UnsupportedOperators, match="2 operators have no converter: Bar, Foo") as caught:
        coverage().require_supported(hint="write converters")
    assert caught.value.operators == ("Bar", "Foo")
    assert "Bar, 1 × at y: strings are no tensors" in str(caught.value)
    assert "hint: write converters" in str(caught.value)
    assert isinstance(caught.value, UnsupportedError)


def test_nothing_is_raised_where_all_is_supported():
    uses = Coverage()
    uses.add("Conv", Status.CONVERTED, "a")
    uses.require_supported()


def test_the_table_begins_with_what_is_missing():
    console = Console(width=100)
    with console.capture() as text:
        console.print(coverage().table())
    lines = text.get().splitlines()
    assert "75.0 % of 8 nodes" in lines[0]
    rows = [line for line in lines if any(n in line for n in ("Conv", "Foo", "Bar", "Softplus"))]
    assert "Bar" in rows[0] and "strings" in rows[0]
    assert "Conv" in rows[2] and "a, b, c and 2 more" in rows[2]


def test_an_error_names_its_node():
    error = ModelError("a shape is wrong", node="conv_1", expected="4 extents")
    assert error.node == "conv_1"
    assert str(error) == "error: a shape is wrong (node 'conv_1')\n  expected: 4 extents"


def test_what_only_shows_reports_is_not_imported_before():
    code = "import sys, tirax.frontend.importing.report; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "False"
