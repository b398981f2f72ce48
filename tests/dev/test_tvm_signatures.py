"""The table of TVM's names, and what differs from it."""

import pytest
from strength import only_full

from tirax.dev.tvm_signatures import compare, theirs
from tirax.dev.tvm_signatures.reasons import REASONS, reason_of

SOURCES = {
    "__init__.py": "from .tools import Tool, helper as help_me\nfrom . import rpc\n",
    "tools/__init__.py": "from .made import *\nfrom .made import helper\n",
    "tools/made.py": """
__all__ = ["Tool"]
if True:
    class Base:
        size: int
        def __init__(self, a, *, b=(1, 2)): ...
class Tool(Base):
    KIND = 1
    @property
    def name(self): ...
    @staticmethod
    def of(x, y=None, *rest): ...
    def _hidden(self): ...
    def __call__(self, *args, **kwargs): ...
def helper(a, b=object()): ...
other = helper
""",
    "rpc/__init__.py": "def refused(): ...\n",
    "_private.py": "def hidden(): ...\n",
}
TABLE = """\
class tools.made.Base(a, *, b=(1, 2))
  .size
class tools.made.Tool(a, *, b=(1, 2))
  = Tool tools.Tool
  .KIND
  .__call__(*args, **kwargs)
  .name
  .of(x, y=None, *rest)
def tools.made.helper(a, b=...)
  = help_me tools.helper
def tools.made.other(a, b=...)
"""


def test_sources_are_read(tmp_path):
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    text = theirs.table(theirs.read(tmp_path))
    assert text == TABLE
    rows = {row.path: row for row in compare.rows(text)}
    assert rows["tools.made.Tool"].others == ["Tool", "tools.Tool"]
    assert rows["tools.made.Tool"].members["of"] == "(x, y=None, *rest)"


def _ours(lhs, c=1, *, extra, kind="a"): ...


@pytest.mark.parametrize(
    "theirs, ours",
    [
        ((0, 0), [0, 0, 0, 0]),
        (1, [1]),
        ("", "global"),
        (None, []),
        ("float32", "float32"),
        ([1, 2], (1, 2)),
    ],
)
def test_defaults_that_mean_the_same(theirs, ours):
    assert compare._are_alike(theirs, ours)


@pytest.mark.parametrize("theirs, ours", [((0, 1), [0, 0, 1, 1]), (1, 2), ((), [1]), ("a", "b"), (None, 1)])
def test_defaults_that_differ(theirs, ours):
    assert not compare._are_alike(theirs, ours)


@pytest.mark.parametrize(
    "theirs, expected",
    [
        ("(lhs, c=1)", ["more extra"]),
        ("(a, lhs, c=2, extra=None)", ["default c=2, ours 1", "required extra", "parameter a", "order lhs", "order c"]),
        ("(lhs, *rest, extra, span=None)", ["parameter *rest"]),
    ],
)
def test_parameters_are_compared(theirs, expected):
    found = [f"{d.kind} {d.what}" for d in compare._of_parameters("f", theirs, _ours)]
    assert sorted(f for f in found if not f.endswith("order extra") and f != "order extra") == sorted(expected)


def test_reasons():
    assert all(reason for *_, reason in REASONS)
    assert reason_of("tir.stmt.For", "member", "span") and reason_of("tir.stmt.For", "member", "body") is None


@only_full
def test_every_difference_has_a_reason():
    assert list(map(str, compare.differences())) == []
