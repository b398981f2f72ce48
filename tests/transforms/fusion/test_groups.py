"""The rules of fusion, one by one: small graphs of kinds, and which bindings become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tirax.transforms.fusion.groups import Groups
from tirax.transforms.fusion.pattern import OpPattern

KINDS = {
    "e": OpPattern.ELEMWISE, "b": OpPattern.BROADCAST, "i": OpPattern.INJECTIVE, "r": OpPattern.COMM_REDUCE,
    "m": OpPattern.OUT_ELEMWISE_FUSABLE, "t": OpPattern.TUPLE, "o": OpPattern.OPAQUE,
}  # fmt: skip


@dataclass
class Graph:
    """Bindings with the numbers of those that use each; the last one leaves the block."""

    consumers: list[list[int]]
    external: set[int]

    @property
    def ops(self) -> list[list[int]]:
        return self.consumers


def groups(kinds: str, edges: str, most: int = 256, external: str = "") -> str:
    """`groups("me", "01")` is "01" where both become one: an edge is two digits, groups are parted by blanks."""
    pairs: list[Any] = edges.split()
    consumers = [[int(b) for a, b in pairs if int(a) == i] for i in range(len(kinds))]
    leaves = {len(kinds) - 1, *map(int, external)}
    partition = Groups(Graph(consumers, leaves), [KINDS[k] for k in kinds], most)  # type: ignore[arg-type]
    return " ".join("".join(map(str, group)) for group in partition.members())


@pytest.mark.parametrize(
    ("kinds", "edges", "expected"),
    [
        ("ee", "01", "01"),
        ("bb", "01", "01"),
        ("eb", "01", "01"),
        ("bi", "01", "01"),
        ("er", "01", "01"),
        ("br", "01", "01"),
        ("ir", "01", "0 1"),
        ("re", "01", "0 1"),
        ("me", "01", "01"),
        ("mb", "01", "0 1"),
        ("mi", "01", "0 1"),
        ("mm", "01", "0 1"),
        ("mr", "01", "0 1"),
        ("em", "01", "0 1"),
        ("bm", "01", "0 1"),
        ("im", "01", "0 1"),
        ("ii", "01", "01"),
        ("ie", "01", "01"),
        ("oe", "01", "0 1"),
        ("eo", "01", "0 1"),
        ("et", "01", "0 1"),
        ("it", "01", "0 1"),
        ("ti", "01", "01"),
        ("eti", "01 12", "012"),
        ("iti", "01 12", "012"),
        ("rti", "01 12", "0 12"),
        ("mti", "01 12", "0 12"),
        ("eee", "01 12", "012"),
        ("mee", "01 12", "012"),
        ("meb", "01 12", "01 2"),
        ("mre", "01 12", "0 1 2"),
        ("mem", "01 12", "01 2"),
        ("eme", "01 12", "0 12"),
        ("ere", "01 12", "01 2"),
        ("eie", "01 12", "012"),
        ("ier", "01 12", "0 12"),
    ],
)
def test_chains(kinds: str, edges: str, expected: str) -> None:
    assert groups(kinds, edges) == expected


@pytest.mark.parametrize(
    ("kinds", "edges", "expected"),
    [
        ("eeee", "01 02 13 23", "0123"),
        ("mee", "01 02 12", "012"),
        ("meee", "01 02 13 23", "0123"),
        ("mebe", "01 02 13 23", "0 123"),
        ("eree", "01 02 13 23", "0 1 23"),
        ("eeie", "01 02 13 23", "0123"),
        ("eeme", "01 02 13 23", "0 123"),
        ("eoee", "01 02 13 23", "0 1 23"),
        ("iere", "01 02 13 23", "0 13 2"),
    ],
)
def test_all_ways_to_the_sink_count(kinds: str, edges: str, expected: str) -> None:
    assert groups(kinds, edges) == expected


def test_what_leaves_the_block_is_not_taken_along() -> None:
    assert groups("ee", "01", external="0") == "0 1"
    assert groups("eee", "01 12", external="1") == "01 2"


@pytest.mark.parametrize(("most", "expected"), [(4, "0123"), (3, "0 123"), (2, "01 23"), (1, "0 1 2 3")])
def test_groups_have_a_size(most: int, expected: str) -> None:
    assert sorted(map(len, groups("eeee", "01 12 23", most).split())) == sorted(map(len, expected.split()))


def test_numbers_of_groups() -> None:
    partition = Groups(Graph([[1], []], {1}), [OpPattern.ELEMWISE] * 2, 256)  # type: ignore[arg-type]
    assert partition.of(0) == partition.of(1)
