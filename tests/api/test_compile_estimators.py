"""`tirax.compile` of estimators: results, structures of calls, mistakes; `dev/estimators.py` has every kind."""

import numpy as np
import pytest

pytest.importorskip("skl2onnx", reason="estimators of scikit-learn and their converters: tirax[sklearn]")

from sklearn.gaussian_process import GaussianProcessClassifier  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import PolynomialFeatures, StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402

import tirax  # noqa: E402
from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.frontend.importing.errors import InputError, UnsupportedOperators  # noqa: E402
from tirax.frontend.onnx.estimators import convert_estimator  # noqa: E402

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4)).astype("float32")
Y = (X[:, 0] > X[:, 1]).astype(int)


def test_classifiers_return_labels_and_probabilities(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    f = tirax.compile(model)
    f.save(tmp_path / "model.tirax")
    for compiled in (f, tirax.load(tmp_path / "model.tirax")):
        for rows in (1, 7):
            results = compiled(X[:rows].astype("float64"))
            label, probabilities = results
            np.testing.assert_array_equal(label, model.predict(X[:rows]))
            np.testing.assert_allclose(probabilities, model.predict_proba(X[:rows]), rtol=1e-5)
            assert results._fields == ("label", "probabilities")
    assert f.outputs == {"label": "int64[rows]", "probabilities": "float32[rows, 2]"}


def test_regressors_return_predictions_in_the_dtype_of_the_examples():
    model = Ridge().fit(X, X[:, 0])
    f = tirax.compile(model, X.astype("float64"))
    np.testing.assert_allclose(f(X), model.predict(X), rtol=1e-6)
    assert f.outputs == {"": "float64[rows]"}


@pytest.mark.parametrize(
    ("model", "dtype", "computed"),
    [
        (Ridge(), "float64", "float64"),
        (LinearSVC(), "float64", "float32"),  # whose converter refuses float64
        (PolynomialFeatures(), "float64", "float32"),  # whose converter mixes both
        (Ridge(), "float32", "float32"),
        (GaussianProcessClassifier(), "float32", "float64"),  # whose sums cancel
    ],
)
def test_dtypes_that_estimators_are_computed_in(model, dtype, computed):
    assert convert_estimator(model.fit(X, Y), X.astype(dtype)).dtypes == (computed,)


class Unknown(Ridge):
    """An estimator without a converter."""


@pytest.mark.parametrize(
    ("model", "args", "kind", "text"),
    [
        (Ridge(), None, InputError, "not fitted"),
        (Ridge(), X, InputError, "not fitted"),
        (Ridge().fit(X, Y), X[0], InputError, "a matrix"),
        (Ridge().fit(X, Y), (X, X), TiraxError, "one input"),
        (Unknown().fit(X, Y), None, UnsupportedOperators, "Unknown"),
    ],
)
def test_mistakes(model, args, kind, text):
    with pytest.raises(kind, match=text):
        tirax.compile(model, args)
