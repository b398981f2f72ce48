"""The table of a profile fits its terminal: columns are left out and names elided, nothing is broken up."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from tirax.runtime.profiling.limits import Limits
from tirax.runtime.profiling.recorder import FIELDS, Recording
from tirax.runtime.profiling.report import Report
from tirax.runtime.profiling.sites import Site
from tirax.runtime.profiling.table import elided

LONG = "fused_conv2d_add_relu_max_pool2d_reshape_matmul_softmax"
SITES = (
    Site("kernel", LONG, "main", "lv", "m.py:4:9"),
    Site("kernel", "fused_matmul_relu", "main", "lv2", "m.py:6:9"),
)
LIMITS = Limits(2, 1e9, ((1 << 10, 1e9), (1 << 20, 1e8)))


@pytest.fixture
def report() -> Report:
    rows = np.zeros((4, len(FIELDS)), np.int64)
    for row, values in enumerate([(1_000, 0, 500, 100), (2_000, 1, 900, 100), (3_000, 0, 500, 100), (9_000, -1)]):
        rows[row, : len(values)] = values
    rows[0, FIELDS.index("calls")] = 1
    return Report("main", SITES, Recording(rows, 0, 0, 10_000, np.array([2, 1]), 1, None), LIMITS)


def printed(report: Report, width: int, terminal: bool = True) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None)
    console.print(report)
    return [line.rstrip() for line in console.file.getvalue().split("\n")]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_fits(report, width):
    lines = printed(report, width)
    assert max(map(len, lines)) <= width
    (head,) = [line.split() for line in lines if " name " in line]
    assert head[:1] == ["name"] and {"time", "share"} <= set(head)
    assert ("source" in head) == (width == 200)
    rows = [line for line in lines if re.search(r"\d us +\d+\.\d%", line)]
    assert len(rows) == 4 and all(len(row) > width // 3 for row in rows)
    assert any("fused_matmul_relu" in row for row in rows)
    assert any((LONG if width >= 200 else "…") in row for row in rows)


def test_what_is_no_terminal_gets_all_of_it(report):
    text = "\n".join(printed(report, 200, terminal=False))
    assert LONG in text and "m.py:6:9" in text and "…" not in text


@pytest.mark.parametrize(
    ("text", "most", "expected"), [("abc", 3, "abc"), ("abcdef", 5, "ab…ef"), ("abcdef", 4, "ab…f"), ("abc", 1, "…")]
)
def test_names_are_elided_in_the_middle(text, most, expected):
    assert elided(text, most) == expected
