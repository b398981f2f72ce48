"""Places within nested objects, and where two objects differ first."""

import pytest

from tirax.handles.equality import get_first_structural_mismatch
from tirax.handles.object_path import ArrayIndexPath, ObjectPath, RootPath
from tirax.handles.tir.variables import Var

ROOT = ObjectPath.root()
TEXTS = [
    (ROOT, "<root>"), (ObjectPath.root("mod"), "mod"), (ROOT.attr("a"), "<root>.a"),
    (ROOT.attr(None), "<root>.<unknown attribute>"), (ROOT.array_index(2), "<root>[2]"),
    (ROOT.missing_array_element(2), "<root>[<missing element #2>]"), (ROOT.map_value("k").attr("a"), '<root>["k"].a'),
    (ROOT.map_value(3), "<root>[3]"), (ROOT.attr("a").missing_map_entry(), "<root>.a[<missing entry>]"),
]  # fmt: skip


def test_texts_and_equality():
    for i, (path, text) in enumerate(TEXTS):
        assert str(path) == text
        assert [path == other for other, _ in TEXTS] == [i == j for j in range(len(TEXTS))]
    assert isinstance(ROOT, RootPath) and ROOT.parent is None and isinstance(ROOT.array_index(1), ArrayIndexPath)


def test_prefixes():
    path = ROOT.attr("a").array_index(5)
    assert [str(path.get_prefix(n)) for n in (1, 2, 3)] == ["<root>", "<root>.a", "<root>.a[5]"] and len(path) == 3
    assert ROOT.attr("a").is_prefix_of(path) and path.is_prefix_of(path)
    assert not path.is_prefix_of(ROOT) and not ROOT.attr("b").is_prefix_of(path)
    for length, message in ((0, "at least 1"), (4, "longer than the path")):
        with pytest.raises(IndexError, match=message):
            path.get_prefix(length)


X = Var("x")


@pytest.mark.parametrize(
    ("a", "b", "left", "right"),
    [
        ([1, 2, 3], [1, 4, 3], "[1]", "[1]"),
        ([1, 2], [1, 2, 3], "[<missing element #2>]", "[2]"),
        ({"a": 1, "b": [X]}, {"a": 1, "b": [X + 1]}, '["b"][0]', '["b"][0]'),
        ({"a": 1}, {"a": 1, "c": 2}, "[<missing entry>]", '["c"]'),
        (X, X + 1, "", ""),
    ],
)
def test_where_two_differ_first(a, b, left, right):
    assert tuple(map(str, get_first_structural_mismatch(a, b))) == (f"<root>{left}", f"<root>{right}")
    assert tuple(map(str, get_first_structural_mismatch(b, a))) == (f"<root>{right}", f"<root>{left}")
    assert get_first_structural_mismatch(a, a) is None
