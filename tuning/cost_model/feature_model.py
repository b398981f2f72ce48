"""Models that learn from features: what they have in common."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...diagnostics import TiraxError
from ..context import TuneContext
from ..features import ESTIMATE, feature_count, features_of
from ..types import MeasureCandidate, RunnerResult
from .cost_model import CostModel

_WORST = 2.0**-8
"""The throughput of failures; slower ones than this are as bad."""
_ESTIMATED = 0.5
"""How much of the estimate is believed: candidates differ less than it says."""


@dataclass
class _Samples:
    """What was measured of a task: features, and the seconds (infinite for failures)."""

    features: list[np.ndarray] = field(default_factory=list[np.ndarray])
    seconds: list[float] = field(default_factory=list[float])

    def labels(self) -> np.ndarray:
        """log2 of the throughput as a part of the best one's; failures are as bad as the worst there can be."""
        seconds = np.asarray(self.seconds)
        best = seconds.min() if len(seconds) else np.inf
        part = best / seconds if np.isfinite(best) else np.zeros(len(seconds))
        return np.log2(np.maximum(part, _WORST))


class FeatureModel(CostModel):
    """A model of the throughput relative to the task's best, learnt again from all measurements after each round.

    What is learnt is how far measurements are from the estimate that each candidate brings along (`tuning.estimate`);
    before there are `min_samples` measurements there is nothing but the estimate.
    """

    def __init__(self, *, min_samples: int = 8):
        self.min_samples = min_samples
        self._tasks: dict[str, _Samples] = {}
        self._is_fitted = False

    def predict(self, context: TuneContext, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        if not candidates:
            return np.zeros(0)
        x = np.stack([features_of(c.sch.mod) for c in candidates])
        return _estimates(x) + self._predict(x) if self._is_fitted else _estimates(x)

    def update(
        self, context: TuneContext, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]
    ) -> None:
        for candidate, result in zip(candidates, results, strict=True):
            samples = self._tasks.setdefault(_key(context, candidate), _Samples())
            samples.features.append(features_of(candidate.sch.mod))
            samples.seconds.append(float(np.median(result.run_secs)) if result.run_secs else float("inf"))
        self._learn()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the measurements to `path`, a numpy archive."""
        x, seconds, names = self._table()
        with Path(path).open("wb") as file:
            np.savez_compressed(file, features=x, seconds=seconds, tasks=np.asarray(names, dtype=np.str_))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Learn from the measurements in a file. Raises `TiraxError` where they are of other features."""
        with np.load(Path(path), allow_pickle=False) as archive:
            x, seconds, names = archive["features"], archive["seconds"], archive["tasks"].tolist()
        if x.ndim != 2 or x.shape[1] != feature_count():
            raise TiraxError("the file has other features", expected=feature_count(), found=x.shape)
        self._tasks = {}
        for row, time, name in zip(x, seconds.tolist(), names, strict=True):
            samples = self._tasks.setdefault(name, _Samples())
            samples.features.append(row)
            samples.seconds.append(time)
        self._learn()

    def _table(self) -> tuple[np.ndarray, np.ndarray, list[str]]:
        rows = [row for s in self._tasks.values() for row in s.features]
        x = np.stack(rows) if rows else np.zeros((0, feature_count()), dtype=np.float32)
        seconds = np.asarray([t for s in self._tasks.values() for t in s.seconds])
        return x, seconds, [name for name, s in self._tasks.items() for _ in s.seconds]

    def _learn(self) -> None:
        x, _, names = self._table()
        if len(x) < self.min_samples:
            return
        groups = np.asarray([len(s.seconds) for s in self._tasks.values()])
        self._fit(x, np.concatenate([s.labels() for s in self._tasks.values()]) - _estimates(x), groups)
        self._is_fitted = bool(names)

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        """Learn labels `y` (n) of `x` (n, features); `groups` are the numbers of samples of each task, in order."""
        raise NotImplementedError(type(self).__name__)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError(type(self).__name__)


def _estimates(x: np.ndarray) -> np.ndarray:
    return _ESTIMATED * x[:, ESTIMATE].astype(np.float64)


def _key(context: TuneContext, candidate: MeasureCandidate) -> str:
    return f"{context.task_name}{[a.as_json() for a in candidate.args_info]}"
