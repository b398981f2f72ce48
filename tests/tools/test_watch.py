"""Times as a tree; differences in colours on a terminal."""

import io
import re

import pytest

from tirax.script import parse_mlir
from tirax.tools.watch import Dumps, Times

TEXT = "relax.func @f(%x: T) -> T { relax.return %x : T }".replace("T", "!relax.tensor<[4], f32>")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("coloured", [True, False])
def test_differences_have_colours_on_a_terminal_that_wants_them(monkeypatch, coloured):
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    if coloured:
        monkeypatch.delenv("NO_COLOR")
    dumps = Dumps(diff=True)
    dumps.at_start(parse_mlir(TEXT), 0)
    dumps.after_pass(parse_mlir(TEXT), 0, 1, "nothing")
    dumps.after_pass(parse_mlir(TEXT.replace("@f", "@g")), 0, 2, "rename")
    text = terminal.getvalue()
    assert ("\x1b[32m+" in text, "\x1b[31m-" in text) == (coloured, coloured)
    plain = re.sub(r"\x1b\[\d+m", "", text).split("\n")
    assert plain[0] == "2. rename" and [line[:1] for line in plain[1:]].count("+") == 1 and "nothing" not in text


def test_times_are_those_of_the_stages_inside_too():
    times = Times()
    for _ in range(2):
        with times.measure("all"), times.measure("part"):
            pass
    with times.measure("other"):
        pass
    names = [re.split(r"  +\d", line)[0] for line in times.table().split("\n")]
    assert names == ["all", "  part", "other", "total"]
    assert times.seconds["all",] >= times.seconds["all", "part"] > 0
