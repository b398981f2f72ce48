"""Ensembles of trees beside ONNX Runtime: models of xgboost, lightgbm and scikit-learn on 1, 100 and 10,000 rows.

    python benchmarks/trees.py [--threads 2] [--models xgboost,lightgbm] [--trees 100,1000] [--rounds 15] [--folder DIR]

Both run the same ONNX file, in turns in one process; results are compared first. Each call of one row has another row,
of 64: the branches of the same row over and over are all predicted. The ratio is ONNX Runtime's median divided by ours:
above 1 tirax is faster. On a machine that others use, `--clock process` counts the time of the process, for one thread,
and `--minimum` takes minima. `--folder` keeps the files, which take a minute to fit and to convert.

    pip install 'tirax[sklearn]' xgboost lightgbm onnxruntime
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import measure
from beside_peers import pin

import numpy as np  # noqa: E402  isort: skip

FEATURES = 30
ROWS = (1, 100, 10_000)
TOLERANCE = 1e-4
"""Of the greatest value: ONNX Runtime adds weights in float32, we in float64."""


def data(rows: int, seed: int) -> tuple[Any, Any, Any]:
    """Return features, and targets of a regression and of three classes."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
    y = x[:, 0] * 3 + x[:, 1] ** 2 + np.sin(3 * x[:, 2]) * x[:, 3] + rng.standard_normal(rows) / 4
    return x, y, np.digitize(y, [0, 2])


def _xgboost(trees: int) -> Any:
    import xgboost

    return xgboost.XGBRegressor(n_estimators=trees, n_jobs=2)


def _xgboost_classes(trees: int) -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_estimators=trees // 3, n_jobs=2)


def _lightgbm(trees: int) -> Any:
    import lightgbm

    return lightgbm.LGBMRegressor(n_estimators=trees, n_jobs=2, verbose=-1)


def _lightgbm_classes(trees: int) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=trees // 3, n_jobs=2, verbose=-1)


def _forest(trees: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=trees, max_depth=12, n_jobs=2)


MODELS: dict[str, Callable[[int], Any]] = {
    "xgboost": _xgboost,
    "xgboost-classes": _xgboost_classes,
    "lightgbm": _lightgbm,
    "lightgbm-classes": _lightgbm_classes,
    "forest": _forest,
}
"""New estimators of so many trees; classifiers of three classes have a third of them for each."""


def file_of(name: str, trees: int, folder: Path) -> Path:
    """Return the ONNX file of a fitted model, made where it is missing."""
    from tirax.frontend.onnx.estimators import convert_estimator

    path = folder / f"{name}-{trees}.onnx"
    if not path.is_file():
        x, y, classes = data(5000, 0)
        model = MODELS[name](trees).fit(x, classes if "classes" in name or name == "forest" else y)
        path.write_bytes(convert_estimator(model, x).model.SerializeToString())
    return path


def calls(path: Path, threads: int) -> dict[str, Callable[[Any], list[Any]]]:
    """Return the model as a function of both."""
    import onnxruntime

    from tirax.driver.build import build
    from tirax.frontend.onnx import from_onnx
    from tirax.runtime import set_num_threads

    set_num_threads(threads)
    main = build(from_onnx(path))["main"]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def ours(x: Any) -> list[Any]:
        y = main(x)
        return [np.asarray(part) for part in (y if isinstance(y, tuple) else (y,))]

    return {"tirax": ours, "onnxruntime": lambda x: session.run(None, {name: x})}


def check(name: str, ours: list[Any], theirs: list[Any]) -> None:
    """Raise `ValueError` if results differ."""
    for mine, other in zip(ours, theirs, strict=True):
        scale = max(float(np.abs(other).max()), 1e-30)
        if mine.shape != other.shape or not float(np.abs(mine - other).max()) <= TOLERANCE * scale:
            raise ValueError(f"{name} differs from ONNX Runtime")


def _of_rows(function: Callable[[Any], list[Any]], x: Any) -> Callable[[], list[Any]]:
    if len(x) > 1:
        return partial(function, x)
    others = cycle([np.ascontiguousarray(row[None]) for row in data(64, 1)[0]])
    return lambda: function(next(others))


def rows_of(name: str, trees: int, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the measurements of a model."""
    functions = calls(file_of(name, trees, Path(options.folder)), options.threads)
    for count in ROWS:
        x = data(count, 1)[0]
        check(name, functions["tirax"](x), functions["onnxruntime"](x))
        timed = {key: _of_rows(f, x) for key, f in functions.items()}
        clock = time.process_time if options.clock == "process" else time.perf_counter
        times = measure.interleaved(timed, options.rounds, 2e-3, clock, longest=10.0)
        spent = {key: t.minimum if options.minimum else t.median for key, t in times.items()}
        yield {"model": name, "trees": trees, "rows": count, **spent}


def main() -> None:
    """Print the table and write it to build/benchmarks/trees.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS), help="with commas")
    parser.add_argument("--trees", default="100,1000", help="with commas")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--clock", default="wall", choices=("wall", "process"), help="process: on a busy machine")
    parser.add_argument("--minimum", action="store_true", help="minima instead of medians")
    parser.add_argument("--folder", default="", help="where the ONNX files are kept")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    pin(options.threads)
    table: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        options.folder = options.folder or folder
        kind = "minima" if options.minimum else "medians"
        print(f"{measure.processor()}, {options.threads} thread(s); µs a call, {kind}")
        print(f"{'model':18}{'trees':>6}{'rows':>7}{'tirax':>12}{'onnxruntime':>13}{'ratio':>7}")
        for name in options.models.split(","):
            for trees in map(int, options.trees.split(",")):
                for row in rows_of(name, trees, options):
                    table.append(row)
                    ratio = row["onnxruntime"] / row["tirax"]
                    print(
                        f"{name:18}{trees:6}{row['rows']:7}{row['tirax']:12.1f}{row['onnxruntime']:13.1f}{ratio:7.2f}",
                        flush=True,
                    )
    measure.write("trees" if options.threads == 1 else f"trees_{options.threads}", table)


if __name__ == "__main__":
    main()
