"""Cost models: predict which candidates are worth measuring, from earlier measurements."""

from __future__ import annotations

import importlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diagnostics import TiraxError, UnsupportedError, unknown_name
from ..runtime.container import write_atomically
from ..untrusted import brief, read_file, read_json
from ..untrusted.arrays import read_arrays
from .feature_extractors import FeatureExtractor
from .features import ESTIMATE, feature_count, features_of
from .trees import BoostedTrees
from .types import MeasureCandidate, RunnerResult, Task


class CostModel:
    """Predicts how good candidates are, and learns from measurements."""

    @staticmethod
    def create(kind: Any = "default", **options: Any) -> CostModel | None:
        """Return `kind` if it is a model, a new model of that kind, or None for `none`.

        `default` and `boosting` learn with numpy alone, `xgb` uses xgboost, and `random` does not learn. Raises
        `NameLookupError` for other kinds and `UnsupportedError` for TVM's `mlp`.
        """

        if kind is None or kind == "none":
            return None
        if not isinstance(kind, str):
            return kind
        kinds = {"default": BoostingModel, "boosting": BoostingModel, "xgb": XGBModel, "random": RandomModel}
        if kind == "mlp":
            raise UnsupportedError(
                "a cost model of kind 'mlp'", hint="boosting learns with numpy alone, xgb with xgboost"
            )
        if kind not in kinds:
            raise unknown_name("cost model", kind, [*kinds, "none"])
        return kinds[kind](**options)

    def predict(self, context: Task, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        """Return a score for each candidate; higher is better."""
        raise NotImplementedError(type(self).__name__)

    def update(self, context: Task, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        """Learn from the measured times of a task's candidates."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learned state to a file."""

    def load(self, path: str | os.PathLike[str]) -> None:
        """Restore the state that `save` wrote."""


# A random model, as a baseline and for tests.


_MOST_STATE = 1 << 16
"""The maximal size of a random generator's state, in bytes."""


class RandomModel(CostModel):
    """Random scores from 0 to `max_range`, reproducible with `seed`."""

    def __init__(
        self, *, path: str | os.PathLike[str] | None = None, seed: int | None = None, max_range: float = 100.0
    ):
        """`path` is a state that `save` wrote, with which the model begins."""
        self.path = path
        self.max_range = max_range
        self._random = np.random.default_rng(seed)
        if path is not None:
            self.load(path)

    @property
    def random_state(self) -> Mapping[str, Any]:
        """The state of the generator of random numbers."""
        return self._random.bit_generator.state

    def predict(self, context: Task, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        return self._random.uniform(0, self.max_range, len(candidates))

    def save(self, path: str | os.PathLike[str]) -> None:
        write_atomically(path, [json.dumps([self.max_range, self._random.bit_generator.state]).encode()])

    def load(self, path: str | os.PathLike[str]) -> None:
        name = f"'{brief(os.fspath(path))}'"
        state = read_json(read_file(path, _MOST_STATE), name, TiraxError)
        try:
            most, self._random.bit_generator.state = state
            self.max_range = float(most)
        except (TypeError, ValueError, LookupError, OverflowError) as error:
            raise TiraxError(f"{name} is no state of random numbers", notes=[brief(str(error))]) from error


# Common base of the models that learn from features.

_WORST = 2.0**-8
"""The normalized throughput of a failure; slower candidates count as this slow."""
_ESTIMATED = 0.5
"""The weight of the estimate: candidates differ less than it predicts."""


@dataclass
class _Samples:
    """The measurements of one task: features, and seconds (infinite for failures)."""

    features: list[np.ndarray] = field(default_factory=list[np.ndarray])
    seconds: list[float] = field(default_factory=list[float])

    def labels(self) -> np.ndarray:
        """Return log2 of each throughput relative to the best one; failures get the lowest label."""
        seconds = np.asarray(self.seconds)
        best = seconds.min() if len(seconds) else np.inf
        part = best / seconds if np.isfinite(best) else np.zeros(len(seconds))
        return np.log2(np.maximum(part, _WORST))


@dataclass(frozen=True)
class FeatureGroup:
    """The samples of one task: the features and the seconds of each candidate.

    Failures have infinite seconds. `group_hash` identifies the task.
    """

    group_hash: str
    features: list[np.ndarray]
    costs: np.ndarray

    @property
    def min_cost(self) -> float:
        """The seconds of the fastest candidate, infinite if there is none."""
        return float(self.costs.min(initial=np.inf))


class FeatureModel(CostModel):
    """A model of the throughput relative to the task's best, retrained on all measurements after each round.

    It learns how far the measurements deviate from the estimate of each candidate (`tuning.estimate`); with
    fewer than `min_samples` measurements it returns the estimate alone. A custom `extractor` provides features
    without an estimate; the rows of a candidate are summed.
    """

    def __init__(self, *, min_samples: int = 8, extractor: FeatureExtractor | None = None):
        self.min_samples = min_samples
        self.extractor = extractor
        self._tasks: dict[str, _Samples] = {}
        self._is_fitted = False

    @property
    def data(self) -> dict[str, FeatureGroup]:
        """The measurements by task, a snapshot that later measurements do not change."""
        return {
            name: FeatureGroup(name, list(samples.features), np.asarray(samples.seconds))
            for name, samples in self._tasks.items()
        }

    @property
    def data_size(self) -> int:
        """The number of measured candidates."""
        return sum(len(samples.seconds) for samples in self._tasks.values())

    def predict(self, context: Task, candidates: Sequence[MeasureCandidate]) -> np.ndarray:
        if not candidates:
            return np.zeros(0)
        x = np.stack(self._features(context, candidates))
        return self._estimates(x) + self._predict(x) if self._is_fitted else self._estimates(x)

    def _features(self, context: Task, candidates: Sequence[MeasureCandidate]) -> list[np.ndarray]:
        if self.extractor is None:
            return [features_of(c.sch.mod) for c in candidates]
        matrices = self.extractor.extract_from(context, candidates)
        if len(matrices) != len(candidates):
            name = type(self.extractor).__name__
            raise TiraxError(f"{name} gives a matrix for each candidate", expected=len(candidates), found=len(matrices))
        return [np.asarray(x, dtype=np.float32).reshape(len(x), -1).sum(axis=0) for x in matrices]

    def _estimates(self, x: np.ndarray) -> np.ndarray:
        return _ESTIMATED * x[:, ESTIMATE].astype(np.float64) if self.extractor is None else np.zeros(len(x))

    def update(self, context: Task, candidates: Sequence[MeasureCandidate], results: Sequence[RunnerResult]) -> None:
        rows = self._features(context, candidates)
        for candidate, features, result in zip(candidates, rows, results, strict=True):
            samples = self._tasks.setdefault(_key(context, candidate), _Samples())
            samples.features.append(features)
            samples.seconds.append(float(np.median(result.run_secs)) if result.run_secs else float("inf"))
        self._learn()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the measurements to `path`, a numpy archive."""
        x, seconds, names = self._table()
        data = io.BytesIO()
        np.savez_compressed(data, features=x, seconds=seconds, tasks=np.asarray(names, dtype=np.str_))
        write_atomically(path, [data.getbuffer()])

    def load(self, path: str | os.PathLike[str]) -> None:
        """Learn from the measurements in a file. Raises `TiraxError` if the file is invalid or has other features."""
        x, seconds, names = _measurements(path)
        if x.ndim != 2 or (self.extractor is None and x.shape[1] != feature_count()):
            raise TiraxError("the file has other features", expected=feature_count(), found=x.shape)
        self._tasks = {}
        for row, time, name in zip(x, seconds.tolist(), names.tolist(), strict=True):
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
        self._fit(x, np.concatenate([s.labels() for s in self._tasks.values()]) - self._estimates(x), groups)
        self._is_fitted = bool(names)

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        """Fit labels `y` (n) to samples `x` (n, features); `groups` are the numbers of samples per task, in order."""
        raise NotImplementedError(type(self).__name__)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        raise NotImplementedError(type(self).__name__)


def _measurements(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Read features, seconds and task names from a file that `FeatureModel.save` wrote. Raises `TiraxError`."""
    arrays = read_arrays(path, TiraxError)
    kinds = {"features": "f", "seconds": "f", "tasks": "U"}
    if not isinstance(arrays, dict) or {name: value.dtype.kind for name, value in arrays.items()} != kinds:
        raise TiraxError(f"'{brief(os.fspath(path))}' holds no measurements", expected=f"arrays {', '.join(kinds)}")
    x, seconds, names = (arrays[name] for name in kinds)
    is_table = seconds.ndim == names.ndim == 1 and x.shape[:1] == seconds.shape == names.shape
    if not is_table or not np.isfinite(x).all() or not (seconds >= 0).all():
        problem = f"'{brief(os.fspath(path))}' holds measurements that there cannot be"
        raise TiraxError(problem, expected="finite features and seconds of each task",
                         found=f"the shapes {x.shape}, {seconds.shape}, {names.shape}")  # fmt: skip
    return x, seconds, names


def _key(context: Task, candidate: MeasureCandidate) -> str:
    return f"{context.task_name}{[a.as_json() for a in candidate.args_info]}"


# A model that only needs numpy.


class BoostingModel(FeatureModel):
    """Gradient boosted trees on the features of candidates, implemented with numpy alone."""

    def __init__(
        self, *, min_samples: int = 8, trees: BoostedTrees | None = None, extractor: FeatureExtractor | None = None
    ):
        super().__init__(min_samples=min_samples, extractor=extractor)
        self.trees = trees or BoostedTrees()

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        self.trees.fit(x, y)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        return self.trees.predict(x)


# A model that uses xgboost, an optional package.


class XGBModel(FeatureModel):
    """Gradient boosted trees of xgboost. Raises `TiraxError` if xgboost is not installed.

    One thread (`num_threads`) is fastest for the few samples of a search. `num_warmup_samples` is TVM's name
    for `min_samples`.
    """

    def __init__(
        self,
        *,
        extractor: FeatureExtractor | None = None,
        min_samples: int = 8,
        num_warmup_samples: int | None = None,
        seed: int = 0,
        num_rounds: int = 100,
        max_depth: int = 6,
        eta: float = 0.2,
        objective: str = "reg:squarederror",
        num_threads: int = 1,
    ):
        needed = min_samples if num_warmup_samples is None else num_warmup_samples
        super().__init__(min_samples=needed, extractor=extractor)
        try:
            self._xgboost: Any = importlib.import_module("xgboost")
        except ImportError as error:
            raise TiraxError("xgboost is not installed", hint="pip install 'tirax[xgboost]'") from error
        self.num_rounds = num_rounds
        self.options = {
            "max_depth": max_depth,
            "eta": eta,
            "objective": objective,
            "seed": seed,
            "nthread": num_threads,
        }
        self._booster: Any = None

    def _fit(self, x: np.ndarray, y: np.ndarray, groups: np.ndarray) -> None:
        data = self._xgboost.DMatrix(x, label=y)
        if str(self.options["objective"]).startswith("rank:"):
            data.set_group(groups)
        self._booster = self._xgboost.train(self.options, data, num_boost_round=self.num_rounds)

    def _predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._booster.predict(self._xgboost.DMatrix(x)))
