"""Gradient boosted regression trees with numpy (Friedman, 2001; histograms as in LightGBM, Ke et al., 2017).

The default cost model uses them because xgboost is an optional package, which TVM's users can select
explicitly (`cost_model.XGBModel`, kind `xgb`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray


@dataclass
class _Tree:
    """A complete binary tree in level order: node k has the children 2k + 1 and 2k + 2, and leaves hold the values."""

    feature: Array
    threshold: Array
    value: Array

    def __call__(self, x: Array) -> Array:
        node = np.zeros(len(x), dtype=np.int64)
        rows = np.arange(len(x))
        while len(node) and node[0] < len(self.feature):
            node = 2 * node + 1 + (x[rows, self.feature[node]] > self.threshold[node])
        return self.value[node - len(self.feature)]


@dataclass
class BoostedTrees:
    """Least-squares boosting: each of `rounds` trees of `depth` levels is fitted to the residuals of the previous ones.

    Features are quantized into at most `bins` intervals of equal sample counts. `shrinkage` is the learning
    rate; `smoothing` is added to the number of samples in a leaf.
    """

    rounds: int = 120
    depth: int = 3
    bins: int = 16
    shrinkage: float = 0.12
    smoothing: float = 1.0
    _mean: float = 0.0
    _trees: list[_Tree] = field(default_factory=list[_Tree])

    def fit(self, x: Array, y: Array) -> None:
        """Fit the trees to samples `x` (n, features) with labels `y` (n)."""
        self._mean, self._trees = float(y.mean()), []
        columns = _distinct(x)
        if not len(columns):
            return
        cuts = [self._cuts(x[:, c]) for c in columns]
        binned = np.stack(
            [np.searchsorted(e, x[:, c], side="left") for c, e in zip(columns, cuts, strict=True)], axis=1
        )
        grower = _Grower(binned, columns, cuts, self.bins, self.depth, self.smoothing)
        rest = y - self._mean
        for _ in range(self.rounds):
            tree, leaf = grower.grow(rest)
            tree.value *= self.shrinkage
            rest = rest - tree.value[leaf]
            self._trees.append(tree)

    def predict(self, x: Array) -> Array:
        """Predict the labels of samples (n, features)."""
        out = np.full(len(x), self._mean)
        for tree in self._trees:
            out += tree(x)
        return out

    def _cuts(self, column: Array) -> Array:
        """Return the thresholds of a feature: a sample is in interval k if it exceeds k of them."""
        values = np.unique(column)
        if len(values) > self.bins:
            values = np.unique(np.quantile(column, np.linspace(0, 1, self.bins), method="lower"))
        return (values[:-1] + values[1:]) / 2


def _distinct(x: Array) -> list[int]:
    """Return the columns that are not constant, without duplicates."""
    moving = np.flatnonzero(x.max(axis=0) > x.min(axis=0))
    seen: dict[bytes, int] = {}
    for c in moving.tolist():
        seen.setdefault(x[:, c].tobytes(), c)
    return sorted(seen.values())


@dataclass
class _Grower:
    """Fits trees to varying labels of the same samples."""

    binned: Array
    columns: list[int]
    cuts: list[Array]
    bins: int
    depth: int
    smoothing: float

    def grow(self, y: Array) -> tuple[_Tree, Array]:
        """Return a tree and the leaf of each sample."""
        inner = 2**self.depth - 1
        tree = _Tree(np.zeros(inner, dtype=np.int64), np.full(inner, np.inf), np.zeros(2**self.depth))
        node = np.zeros(len(y), dtype=np.int64)
        rows = np.arange(len(y))
        for level in range(self.depth):
            first, count = 2**level - 1, 2**level
            column, cut, useful = self._splits(y, node, count)
            for k in np.flatnonzero(useful).tolist():
                tree.feature[first + k] = self.columns[column[k]]
                tree.threshold[first + k] = self.cuts[column[k]][cut[k]]
            right = useful[node] & (self.binned[rows, column[node]] > cut[node])
            node = 2 * node + right
        leaves = len(tree.value)
        sums = np.bincount(node, weights=y, minlength=leaves)
        tree.value[:] = sums / self._weight(np.bincount(node, minlength=leaves))
        return tree, node

    def _splits(self, y: Array, node: Array, count: int) -> tuple[Array, Array, Array]:
        """Return the best column and threshold for each of `count` nodes, and whether the split is useful."""
        width = len(self.columns)
        place = (node[:, None] * width + np.arange(width)) * self.bins + self.binned
        shape = (count, width, self.bins)
        size = count * width * self.bins
        weights = np.repeat(y, width)
        left = np.bincount(place.ravel(), weights=weights, minlength=size).reshape(shape).cumsum(axis=2)
        held = np.bincount(place.ravel(), minlength=size).reshape(shape).cumsum(axis=2)
        total, every = left[:, :, -1:], held[:, :, -1:]
        gain = self._gain(left, held) + self._gain(total - left, every - held) - self._gain(total, every)
        gain[(held == 0) | (held == every)] = 0.0
        best = gain.reshape(count, -1).argmax(axis=1)
        useful = gain.reshape(count, -1)[np.arange(count), best] > 1e-12
        return best // self.bins, best % self.bins, useful

    def _gain(self, sums: Array, counts: Array) -> Array:
        return sums * sums / self._weight(counts)

    def _weight(self, counts: Array) -> Array:
        return np.maximum(counts + self.smoothing, 1e-9)
