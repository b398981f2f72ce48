"""Tables of small trees for `topi.leaf_masks`, from those of `tree_ensemble`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...topi.leaf_masks import UNROLLED
from .forests import IDENTITIES, Tables
from .values import Array

_MOST_LEAVES = 64
_CLASSES = (16, 32, 48, 64)
"""Trees with at most so many leaves are padded alike: a test costs every tree of the class the same time."""
_MOST_TARGETS = 64
"""The results of a block of rows are kept together."""
_ALL = 2**64 - 1


@dataclass(frozen=True)
class MaskTables:
    """The fields of `LeafMasks`."""

    columns: Array
    splits: Array
    masks: Array
    weights: Array
    targets: Array
    classes: tuple[tuple[int, int, int], ...]

    @property
    def operands(self) -> list[Array]:
        return [self.columns, self.splits, self.masks, self.weights, self.targets]


@dataclass(frozen=True)
class _Tree:
    """A tree's tests, as (column, split, mask), and its leaves from left to right."""

    tests: list[tuple[int, float, int]]
    leaves: list[int]


def masked_tables(t: Tables, targets: int, aggregate: str) -> MaskTables | None:
    """Return the tables; None if a tree has too many leaves, or there are too many targets."""
    if targets > _MOST_TARGETS:
        return None
    nodes, splits = list(zip(t.columns.tolist(), *t.after.T.tolist(), strict=True)), t.splits.tolist()
    trees: list[_Tree] = []
    for root in (t.roots // 4).tolist():
        tree = _tree(nodes, splits, root)
        if tree is None:
            return None
        if tree.tests or t.begins[root + 1] > t.begins[root]:
            trees.append(tree)
    if not trees:
        return None
    single = [_target(t, tree) for tree in trees]
    width = 1 if all(target is not None for target in single) else targets
    classes = _classes(trees)
    order = [i for members in classes.values() for i in members]
    return _flat(t, trees, classes, width, [single[i] or 0 if width == 1 else 0 for i in order], aggregate)


def _tree(nodes: Sequence[tuple[int, int, int]], splits: Sequence[float], root: int) -> _Tree | None:
    """Return a tree, None if it has too many leaves. Left is where a test passes."""
    tests: list[tuple[int, float, int]] = []
    leaves: list[int] = []
    begun: list[tuple[int, int]] = []
    pending = [(root, False)]
    while pending:
        node, is_left_done = pending.pop()
        column, no, yes = nodes[node]
        if is_left_done:
            start, at = begun.pop()
            tests[at] = (column, splits[node], _ALL ^ ((1 << len(leaves)) - (1 << start)))
            pending.append((no, False))
        elif no == yes == node:
            leaves.append(node)
            if len(leaves) > _MOST_LEAVES:
                return None
        else:
            begun.append((len(leaves), len(tests)))
            tests.append((column, splits[node], _ALL))
            pending += [(node, True), (yes, False)]
    return _Tree(tests, leaves)


def _target(t: Tables, tree: _Tree) -> int | None:
    """Return the only target of a tree's leaves, each of which has one weight; else None."""
    spans = [(int(t.begins[leaf]), int(t.begins[leaf + 1])) for leaf in tree.leaves]
    found = {int(t.targets[begin]) for begin, end in spans if end == begin + 1}
    return found.pop() if len(found) == 1 and all(end == begin + 1 for begin, end in spans) else None


def _classes(trees: Sequence[_Tree]) -> dict[int, list[int]]:
    """Return the trees of each class, by the most leaves in it."""
    result: dict[int, list[int]] = {}
    for most in _CLASSES:
        least = max((m for m in _CLASSES if m < most), default=0)
        members = [i for i, tree in enumerate(trees) if least < len(tree.leaves) <= most]
        if members:
            result[most] = members
    return result


def _flat(
    t: Tables,
    trees: Sequence[_Tree],
    classes: dict[int, list[int]],
    width: int,
    targets: Sequence[int],
    aggregate: str,
) -> MaskTables:
    tests: list[tuple[int, float, int]] = []
    weights: list[Any] = []
    shapes: list[tuple[int, int, int]] = []
    for most, members in classes.items():
        count = -(-max(1, *(len(trees[i].tests) for i in members)) // UNROLLED) * UNROLLED
        leaves = 1 << (most - 1).bit_length()
        shapes.append((len(members), count, leaves))
        for i in members:
            tests += trees[i].tests + [(0, 0.0, _ALL)] * (count - len(trees[i].tests))
            rows = np.full((leaves, width), IDENTITIES[aggregate])
            for row, leaf in zip(rows, trees[i].leaves, strict=False):
                _fill(t, row, leaf, width, aggregate)
            weights.append(rows)
    masks = np.array([mask for _, _, mask in tests], np.uint64)
    return MaskTables(
        columns=np.array([column for column, _, _ in tests], np.uint32),
        splits=np.array([split for _, split, _ in tests], t.splits.dtype),
        masks=masks if max(classes, default=0) > 32 else masks.astype(np.uint32),
        weights=np.concatenate([np.zeros((0, width)), *weights]),
        targets=np.array(targets, np.uint32),
        classes=tuple(shapes),
    )


_COMBINED = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum}


def _fill(t: Tables, row: Array, leaf: int, width: int, aggregate: str) -> None:
    """Combine the weights of a leaf into its row."""
    for e in range(int(t.begins[leaf]), int(t.begins[leaf + 1])):
        at = int(t.targets[e]) if width > 1 else 0
        row[at] = _COMBINED[aggregate](row[at], t.weights[e])
