"""Every kind of estimator that `tirax.compile` takes, beside the library that it comes from.

    python -m tirax.dev.estimators [NAME …] [--dtype float64] [--through onnxruntime]

Needs scikit-learn, xgboost, lightgbm, pandas, skl2onnx and onnxmltools. Each row of `ESTIMATORS` is fitted on small
data, compiled, and compared: labels have to be equal, numbers close. `--through onnxruntime` runs the converted model
there instead, which says in seconds whether a difference is the converter's.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import compile
from ..api.structure import Features
from ..frontend.onnx.estimators import convert_estimator

ESTIMATORS: dict[str, str] = {
    "classify": """
        linear_model.LogisticRegression linear_model.SGDClassifier linear_model.SGDClassifier:loss="log_loss"
        linear_model.Perceptron linear_model.RidgeClassifier svm.SVC svm.SVC:kernel="poly" svm.LinearSVC svm.NuSVC
        neighbors.KNeighborsClassifier neighbors.KNeighborsClassifier:weights="distance" naive_bayes.GaussianNB
        naive_bayes.BernoulliNB tree.DecisionTreeClassifier tree.ExtraTreeClassifier
        ensemble.RandomForestClassifier:n_estimators=20 ensemble.ExtraTreesClassifier:n_estimators=20
        ensemble.GradientBoostingClassifier:n_estimators=20 ensemble.HistGradientBoostingClassifier:max_iter=20
        ensemble.AdaBoostClassifier:n_estimators=20 ensemble.BaggingClassifier ensemble.VotingClassifier:MEMBERS
        ensemble.VotingClassifier:MEMBERS,voting="soft" ensemble.StackingClassifier:MEMBERS
        neural_network.MLPClassifier:max_iter=50 gaussian_process.GaussianProcessClassifier
        discriminant_analysis.LinearDiscriminantAnalysis discriminant_analysis.QuadraticDiscriminantAnalysis
        calibration.CalibratedClassifierCV multiclass.OneVsRestClassifier:LINEAR multiclass.OneVsOneClassifier:LINEAR
        pipeline.Pipeline:STEPS xgboost.XGBClassifier:n_estimators=20 xgboost.XGBRFClassifier:n_estimators=20
        lightgbm.LGBMClassifier:n_estimators=20,verbose=-1
    """,
    "classify counts": "naive_bayes.MultinomialNB naive_bayes.ComplementNB naive_bayes.CategoricalNB",
    "regress": """
        linear_model.LinearRegression linear_model.Ridge linear_model.Lasso linear_model.ElasticNet
        linear_model.SGDRegressor linear_model.BayesianRidge linear_model.ARDRegression linear_model.HuberRegressor
        linear_model.PoissonRegressor linear_model.GammaRegressor linear_model.TweedieRegressor:power=1.5
        linear_model.QuantileRegressor svm.SVR svm.LinearSVR svm.NuSVR neighbors.KNeighborsRegressor
        neighbors.KNeighborsRegressor:weights="distance" tree.DecisionTreeRegressor
        ensemble.RandomForestRegressor:n_estimators=20 ensemble.ExtraTreesRegressor:n_estimators=20
        ensemble.GradientBoostingRegressor:n_estimators=20 ensemble.HistGradientBoostingRegressor:max_iter=20
        ensemble.AdaBoostRegressor:n_estimators=20 ensemble.BaggingRegressor neural_network.MLPRegressor:max_iter=50
        gaussian_process.GaussianProcessRegressor cross_decomposition.PLSRegression xgboost.XGBRegressor:n_estimators=20
        xgboost.XGBRFRegressor:n_estimators=20 lightgbm.LGBMRegressor:n_estimators=20,verbose=-1
    """,
    "regress missing values": """
        xgboost.XGBRegressor:n_estimators=20 lightgbm.LGBMRegressor:n_estimators=20,verbose=-1
        ensemble.HistGradientBoostingRegressor:max_iter=20 pipeline.Pipeline:IMPUTED
    """,
    "rank": "xgboost.XGBRanker:n_estimators=20 lightgbm.LGBMRanker:n_estimators=20,verbose=-1",
    "transform": """
        preprocessing.StandardScaler preprocessing.MinMaxScaler preprocessing.MaxAbsScaler preprocessing.RobustScaler
        preprocessing.Normalizer preprocessing.Binarizer preprocessing.PowerTransformer
        preprocessing.QuantileTransformer:n_quantiles=50 preprocessing.PolynomialFeatures
        preprocessing.KBinsDiscretizer:encode="ordinal" preprocessing.OneHotEncoder:handle_unknown="ignore"
        preprocessing.OrdinalEncoder preprocessing.FunctionTransformer decomposition.PCA:n_components=2
        decomposition.TruncatedSVD decomposition.IncrementalPCA:n_components=2
        decomposition.KernelPCA:n_components=2,kernel="rbf" impute.SimpleImputer impute.KNNImputer
        feature_selection.SelectKBest:k=2 feature_selection.VarianceThreshold
    """,
    "cluster": """
        cluster.KMeans:n_clusters=3 cluster.MiniBatchKMeans:n_clusters=3 mixture.GaussianMixture:n_components=3
    """,
    "outliers": """
        ensemble.IsolationForest:n_estimators=20 svm.OneClassSVM linear_model.SGDOneClassSVM
        neighbors.LocalOutlierFactor:novelty=True
    """,
}
"""By task: classes, with arguments of their constructors."""

METHODS = {
    "label": "predict",
    "prediction": "predict",
    "probabilities": "predict_proba",
    "scores": "decision_function",
    "features": "transform",
}


@dataclass(frozen=True)
class Row:
    """A new estimator of `make`, for a task with several classes."""

    task: str
    name: str
    make: Callable[[], Any]
    classes: int = 2


def rows() -> Iterator[Row]:
    """Yield all rows of `ESTIMATORS`; classifiers for two classes and for three."""
    for task, names in ESTIMATORS.items():
        for name in names.split():
            for classes in (2, 3) if task.startswith("classify") else (2,):
                if classes == 2 or "GaussianProcess" not in name:  # of two classes alone, says the converter
                    yield Row(task, name, lambda name=name: make(name), classes)


def make(name: str) -> Any:
    """Return a new estimator of `module.Class:arguments`."""
    path, _, arguments = name.partition(":")
    module, _, cls = path.rpartition(".")
    package = importlib.import_module(module if module in ("xgboost", "lightgbm") else f"sklearn.{module}")
    special: dict[str, Callable[[], list[Any]]] = {
        "MEMBERS": lambda: [
            [("a", make("linear_model.LogisticRegression")), ("b", make("naive_bayes.GaussianNB"))],
        ],
        "LINEAR": lambda: [make("linear_model.LogisticRegression")],
        "STEPS": lambda: [[("scale", make("preprocessing.StandardScaler")), ("last", make("svm.SVC"))]],
        "IMPUTED": lambda: [[("fill", make("impute.SimpleImputer")), ("last", make("linear_model.Ridge"))]],
    }
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for argument in filter(None, arguments.split(",")):
        key, _, value = argument.partition("=")
        if value:
            keywords[key] = _literal(value)
        else:
            positional += special[key]()
    estimator = getattr(package, cls)(*positional, **keywords)
    return estimator.set_params(random_state=0) if "random_state" in estimator.get_params() else estimator


def _literal(text: str) -> Any:
    import ast

    return ast.literal_eval(text)


def data(row: Row, dtype: str) -> tuple[Any, Any]:
    """Return features and targets of a task."""
    rng = np.random.default_rng(row.classes)
    x = rng.standard_normal((200, 5)).astype(np.float32)
    score = x[:, 0] * 3 + x[:, 1] ** 2 + np.abs(x[:, 2])
    if row.task == "classify counts":
        x = np.floor(np.abs(x) * 2)
    if row.task == "transform" and "Encoder" in row.name:
        x = np.floor(x)
    if row.task == "regress missing values":
        x[rng.random(x.shape) < 0.1] = np.nan
    y = np.digitize(score, np.quantile(score, np.arange(1, row.classes) / row.classes))
    return x.astype(dtype), y if row.task.startswith(("classify", "transform")) else _target(row, score)


def _target(row: Row, score: Any) -> Any:
    return np.digitize(score, [0, 2]) if row.task == "rank" else score - score.min() + 0.1


def fitted(row: Row, x: Any, y: Any) -> Any:
    """Return the fitted estimator of a row."""
    more = {"group": [50] * 4} if row.task == "rank" else {}
    return row.make().fit(x, y, **more)


def compare(row: Row, dtype: str = "float32", through: str = "tirax") -> list[str]:
    """Return what differs between an estimator and its compiled form."""
    x, y = data(row, dtype)
    model = fitted(row, x, y)
    names, run = (_by_tirax if through == "tirax" else _by_onnxruntime)(model, x)
    problems: list[str] = []
    for count in (1, 25):
        for name, found in zip(names, run(x[:count]), strict=True):
            problems += _differences(name, found, getattr(model, METHODS[name])(x[:count]))
    return problems


def _differences(name: str, found: Any, expected: Any) -> list[str]:
    found, expected = np.asarray(found), expected.toarray() if hasattr(expected, "toarray") else np.asarray(expected)
    if found.shape != expected.shape:
        return [f"{name}: shape {found.shape}, not {expected.shape}"]
    if name == "label":
        count = int((found != expected).sum())
        return [f"{count} labels differ"] if count else []
    close = np.allclose(found, expected, rtol=1e-3, atol=1e-5)
    return [] if close else [f"{name}: differs by {np.abs(found - expected).max():.1e}"]


def _by_tirax(model: Any, x: Any) -> tuple[list[str], Callable[[Any], list[Any]]]:
    f = compile(model, x)
    names = [name or _single(model, x) for name in f.outputs]
    return names, lambda x: list(f(x)) if len(names) > 1 else [f(x)]


def _single(model: Any, x: Any) -> str:
    return convert_estimator(model, x).outputs[0]


def _by_onnxruntime(model: Any, x: Any) -> tuple[list[str], Callable[[Any], list[Any]]]:
    import onnxruntime

    converted = convert_estimator(model, x)
    session = onnxruntime.InferenceSession(converted.model.SerializeToString())
    inputs = [i.name for i in session.get_inputs()]
    features = Features(converted.dtypes, converted.columns)
    return list(converted.outputs), lambda x: session.run(None, dict(zip(inputs, features.arrays(x, "x"), strict=True)))


def main() -> int:
    """Compare rows and print what differs; 1 where anything does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of names of rows")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--through", default="tirax", choices=("tirax", "onnxruntime"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [row for row in rows() if not args.names or any(name in row.name for name in args.names)]
    wrong = 0
    for row in chosen:
        try:
            problems = compare(row, args.dtype, args.through)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what became of the row
            problems = [f"{type(error).__name__}: {str(error)[:300]}"]
        wrong += bool(problems)
        print(f"{'wrong' if problems else 'equal'} {row.name}/{row.classes} {'; '.join(problems)}", flush=True)
    kinds = len({row.name.partition(":")[0] for row in chosen})
    print(f"{len(chosen) - wrong} of {len(chosen)} equal, {kinds} kinds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
