"""Tree ensembles as tables of nodes that all test `x <= split`: the form of `topi.trees.tree_ensemble`.

Each other test of ONNX is a search among thresholds, with a result for each interval: `x == v` is false up to the
number before v, true up to v, and false above. So is membership in a set, by a balanced tree. A test that a NaN passes
reads the element from a second copy of the columns, where NaN is minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...topi.trees import LANES
from ..importing.errors import ModelError
from .values import Array

Entry = tuple[int, float]
"""A target and its weight."""


@dataclass(frozen=True)
class Branch:
    """A node that tests a feature: its mode (LEQ, …), what it is compared with, and the nodes that follow."""

    mode: str
    feature: int
    values: Sequence[float]
    true: int
    false: int
    missing: bool
    """Whether a NaN passes the test."""


@dataclass
class Forest:
    """Trees by number of node: branches, or leaves with their weights."""

    nodes: Sequence[Branch | Sequence[Entry]]
    roots: Sequence[int]
    targets: int


@dataclass
class Tables:
    """The operands of `tree_ensemble` (see there), and what its nodes are made of.

    Node n tests `columns[n]`; `after[n]` are the nodes where the element is not at most `splits[n]`, and where it is.
    `missing` says whether columns of a second copy are read.
    """

    columns: Array
    splits: Array
    after: Array
    nodes: Array
    is_single: bool
    roots: Array
    depths: Array
    begins: Array
    targets: Array
    weights: Array
    missing: bool


@dataclass
class _Rows:
    """Tables in the making: a column, two successors, and a threshold for each node."""

    features: int
    dtype: Any
    nodes: list[tuple[int, int, int]]
    splits: list[float]
    missing: bool = field(default=False)

    def add(self, branch: Branch, place: int) -> None:
        """Add a branch at a place, which has been made."""
        if not 0 <= branch.feature < self.features:
            raise ModelError(
                "a tree tests a feature that the input lacks", expected=self.features, found=branch.feature
            )
        splits, passed = _intervals(branch, self.dtype)
        after = [branch.true if yes else branch.false for yes in passed]
        self._search(branch, splits, after, passed.index(branch.missing), place)

    def _search(self, branch: Branch, splits: Sequence[float], after: Sequence[int], nan: int, place: int) -> None:
        """Add a balanced search of the interval that an element is in; NaN is in interval `nan`."""
        middle = (len(splits) - 1) // 2
        parts = [
            (splits[:middle], after[: middle + 1], nan),
            (splits[middle + 1 :], after[middle + 1 :], nan - middle - 1),
        ]
        following = []
        for some, ends, place_of_nan in parts:
            following.append(len(self.nodes) if some else ends[0])
            if some:
                self.nodes.append((0, 0, 0))
                self.splits.append(0.0)
                self._search(branch, some, ends, place_of_nan, following[-1])
        second = nan <= middle
        self.missing |= second
        self.nodes[place] = (branch.feature + self.features * second, following[0], following[1])
        self.splits[place] = splits[middle]


def _intervals(branch: Branch, dtype: Any) -> tuple[list[float], list[bool]]:
    """Return thresholds in ascending order, and whether the test passes up to each of them and above all."""
    values = sorted(set(branch.values))
    if not values or any(np.isnan(v) for v in values):
        raise ModelError("a branch of a tree compares with NaN, or with nothing")
    inclusive = [_at_most(v, dtype) for v in values]
    if branch.mode in ("LEQ", "GT"):
        return inclusive[:1], [branch.mode == "LEQ", branch.mode == "GT"]
    if not np.isfinite(values[0]) and values[0] < 0:
        raise ModelError("a branch of a tree compares with minus infinity")
    exclusive = [_below(v, dtype) for v in values]
    if branch.mode in ("LT", "GTE"):
        return exclusive[:1], [branch.mode == "LT", branch.mode == "GTE"]
    if branch.mode not in ("EQ", "NEQ", "MEMBER"):
        raise ModelError("a tree has a node of a mode that does not exist", found=branch.mode)
    inside = branch.mode != "NEQ"
    splits = [s for pair in zip(exclusive, inclusive, strict=True) for s in pair]
    return splits, [not inside, inside] * len(values) + [not inside]


def _at_most(value: float, dtype: Any) -> float:
    """Return the greatest number of a dtype that is at most a value."""
    with np.errstate(over="ignore"):
        near = dtype(value)
    return float(near if float(near) <= value else np.nextafter(near, dtype(-np.inf)))


def _below(value: float, dtype: Any) -> float:
    """Return the greatest number of a dtype that is less than a value."""
    near = dtype(_at_most(value, dtype))
    return float(np.nextafter(near, dtype(-np.inf)) if float(near) == value else near)


IDENTITIES = {"SUM": 0.0, "MIN": math.inf, "MAX": -math.inf}
"""By aggregate: the weight that changes nothing."""


def tables_of(forest: Forest, features: int, dtype: Any, aggregate: str) -> Tables:
    """Return the tables of a forest for inputs of a dtype with so many columns.

    Raises `ModelError` for trees with a cycle, and features, nodes and targets that do not exist.
    """
    count = len(forest.nodes)
    rows = _Rows(features, dtype, [(0, i, i) for i in range(count)], [0.0] * count)
    entries: list[Sequence[Entry]] = []
    for i, node in enumerate(forest.nodes):
        entries.append(() if isinstance(node, Branch) else node)
        if isinstance(node, Branch):
            rows.add(node, i)
    entries += [()] * (len(rows.nodes) - count)
    nodes = np.array(rows.nodes, np.int32).reshape(-1, 3)
    if forest.roots and not (nodes[:, 1:].min() >= 0 and nodes[:, 1:].max() < len(nodes)):
        raise ModelError("a branch of a tree leads to a node that does not exist", expected=count)
    depths = _depths(nodes, forest.roots)
    trees = sorted(range(len(depths)), key=depths.__getitem__)  # a group takes as long as its deepest tree
    order = _order(nodes, [forest.roots[i] for i in trees])
    place = np.argsort(order).astype(np.int32)
    nodes = np.column_stack([nodes[order, 0], place[nodes[order, 1:]]])
    rows.splits = [rows.splits[i] for i in order]
    entries = [entries[i] for i in order]
    flat = [e for several in entries for e in several]
    targets = np.array([t for t, _ in flat], np.int32)
    if targets.size and not (targets.min() >= 0 and targets.max() < forest.targets):
        raise ModelError("a leaf has a target that does not exist", expected=forest.targets, found=int(targets.max()))
    roots = [(int(place[forest.roots[i]]), depths[i]) for i in trees]
    return _grouped(roots, rows, nodes, entries, flat, IDENTITIES[aggregate])


def _order(nodes: Array, roots: Sequence[int]) -> list[int]:
    """Return the nodes in the order of memory: a branch and its successors are next to one another."""
    successors: list[list[int]] = [sorted({*pair} - {i}) for i, pair in enumerate(nodes[:, 1:].tolist())]
    order: dict[int, None] = {}
    expanded = set[int]()
    pending = list(reversed(roots))
    while pending:
        node = pending.pop()
        if node in expanded:
            continue
        expanded.add(node)
        order |= dict.fromkeys([node, *successors[node]])
        pending += [n for s in reversed(successors[node]) for n in reversed(successors[s])]
    return [*order, *(n for n in range(len(nodes)) if n not in order)]


def _grouped(
    roots: Sequence[tuple[int, int]],
    rows: _Rows,
    nodes: Array,
    entries: Sequence[Sequence[Entry]],
    flat: Sequence[Entry],
    identity: float,
) -> Tables:
    """Return the tables of trees with their depths, in groups completed by trees that are a leaf without weights."""
    empty = len(nodes)
    nodes = np.vstack([nodes, np.array([[0, empty, empty]], np.int32)])
    every = np.array([*[(empty, 0)] * (-len(roots) % LANES), *roots], np.int32).reshape(-1, 2)
    after = nodes[:, :0:-1]
    splits = np.array([*rows.splits, 0.0], rows.dtype)
    records = _records(nodes[:, 0], after, splits)
    is_single = _set_leaves(records, [*entries, ()], np.array(identity, rows.dtype))
    begins = np.cumsum([0, *(len(e) for e in entries), 0], dtype=np.int32)
    return Tables(
        columns=nodes[:, 0],
        splits=splits,
        after=after,
        nodes=records.reshape(-1),
        is_single=is_single,
        roots=(every[:, 0] * 4).astype(records.dtype),
        depths=every[:, 1].reshape(-1, LANES).max(axis=1),
        begins=np.concatenate([begins, np.full(len(records) + 1 - len(begins), begins[-1])]).astype(np.int32),
        targets=np.array([t for t, _ in flat] or [0], np.int32),
        weights=np.array([w for _, w in flat] or [0.0], np.float64),
        missing=rows.missing,
    )


def _records(columns: Array, after: Array, splits: Array) -> Array:
    """Return the nodes in one table, completed by zeros to a power of two."""
    word = np.dtype(f"uint{8 * splits.itemsize}")
    records = np.zeros((1 << (len(columns) - 1).bit_length(), 4), word)
    records[: len(columns), 0] = columns
    records[: len(columns), 1:3] = after * 4
    records[: len(columns), 3] = splits.view(word)
    return records


def _set_leaves(records: Array, entries: Sequence[Sequence[Entry]], identity: Array) -> bool:
    """Store the weights of leaves in their records; return whether that is possible: each has at most one, which fits.

    Leaves without weights get the identity.
    """
    leaves = [i for i, several in enumerate(entries) if several]
    dtype = identity.dtype
    weights = np.array([entries[i][0][1] for i in leaves], np.float64)
    if any(len(entries[i]) > 1 for i in leaves) or not (weights.astype(dtype) == weights).all():
        return False
    is_leaf = records[:, 1] == records[:, 2]
    records[is_leaf, 3] = identity.view(records.dtype)
    records[leaves, 0] = [entries[i][0][0] for i in leaves]
    records[leaves, 3] = weights.astype(dtype).view(records.dtype)
    return True


def _depths(nodes: Array, roots: Sequence[int]) -> list[int]:
    """Return how many branches the longest path of each tree has."""
    depths = np.zeros(len(roots), np.int32)
    trees, places = np.arange(len(roots)), np.asarray(roots, np.int64)
    for level in range(1, len(nodes) + 1):
        inner = (nodes[places, 1:] != places[:, None]).any(axis=1)
        if not inner.any():
            return depths.tolist()
        trees, places = trees[inner], places[inner]
        depths[trees] = level
        pairs = np.stack([np.tile(trees, 2), nodes[places, 1:].T.ravel()])
        trees, places = np.unique(pairs, axis=1)
    raise ModelError("a tree has a cycle")


MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
"""The modes of nodes by their numbers in `TreeEnsemble`."""


def forest_of_nodes(a: Mapping[str, Any], of: str, targets: int) -> Forest:
    """Return the forest of a `TreeEnsembleClassifier` (`of` is "class") or `TreeEnsembleRegressor` ("target")."""
    keys = list(zip(a["nodes_treeids"], a["nodes_nodeids"], strict=True))
    number = {key: i for i, key in enumerate(keys)}
    roots: dict[int, int] = {}
    for i, (tree, _) in enumerate(keys):
        roots.setdefault(tree, i)
    leaves: dict[tuple[int, int], list[Entry]] = {}
    places = zip(a[f"{of}_treeids"], a[f"{of}_nodeids"], a[f"{of}_ids"], a[f"{of}_weights"], strict=True)
    for tree, place, target, weight in places:
        leaves.setdefault((tree, place), []).append((int(target), float(weight)))
    missing = a.get("nodes_missing_value_tracks_true") or [0] * len(keys)
    columns = ("nodes_modes", "nodes_featureids", "nodes_values", "nodes_truenodeids", "nodes_falsenodeids")
    nodes: list[Branch | Sequence[Entry]] = []
    for (tree, place), mode, feature, value, yes, no, nan in zip(keys, *(a[c] for c in columns), missing, strict=True):
        if mode == "LEAF":
            nodes.append(leaves.get((tree, place), []))
            continue
        yes, no = (number.get((tree, n), -1) for n in (yes, no))
        nodes.append(Branch(mode.removeprefix("BRANCH_"), feature, [float(value)], yes, no, bool(nan)))
    return Forest(nodes, [roots[t] for t in sorted(roots)], targets)


def forest_of_leaves(a: Mapping[str, Any]) -> Forest:
    """Return the forest of a `TreeEnsemble`, whose branches and leaves are numbered separately."""
    modes = [MODES[m] if 0 <= m < len(MODES) else str(m) for m in a["nodes_modes"]]
    members = _members(a.get("membership_values"), modes.count("MEMBER"))
    count = len(modes)
    missing = a.get("nodes_missing_value_tracks_true") or [0] * count
    columns = ["nodes_featureids", "nodes_splits", "nodes_truenodeids", "nodes_falsenodeids"]
    columns += ["nodes_trueleafs", "nodes_falseleafs"]
    nodes: list[Branch | Sequence[Entry]] = []
    for mode, feature, split, yes, no, yes_leaf, no_leaf, nan in zip(
        modes, *(a[c] for c in columns), missing, strict=True
    ):
        values = members.pop(0) if mode == "MEMBER" else [float(split)]
        yes, no = (n + count * bool(leaf) if n >= 0 else -1 for n, leaf in ((yes, yes_leaf), (no, no_leaf)))
        nodes.append(Branch(mode, feature, values, yes, no, bool(nan)))
    nodes += [[(int(t), float(w))] for t, w in zip(a["leaf_targetids"], a["leaf_weights"], strict=True)]
    return Forest(nodes, list(a["tree_roots"]), a["n_targets"])


def _members(values: Array | None, count: int) -> list[list[float]]:
    """Return the sets of the nodes that test membership: lists that end with NaN."""
    sets: list[list[float]] = [[]]
    for value in [] if values is None else values.astype(np.float64).tolist():
        sets.append([]) if np.isnan(value) else sets[-1].append(value)
    if len(sets) - bool(not sets[-1]) != count:
        raise ModelError("each node that tests membership needs a set of values", expected=count, found=len(sets) - 1)
    return sets
