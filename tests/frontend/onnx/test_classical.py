"""Linear models, support vector machines and features of ai.onnx.ml, beside ONNX's reference and ONNX Runtime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from classical_cases import (  # noqa: E402
    FEATURES,
    ML,
    ROWS,
    assert_like,
    by_ort,
    by_reference,
    features,
    model_of,
)
from onnx import helper, numpy_helper  # noqa: E402

from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.frontend.importing.errors import ModelError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

rng = np.random.default_rng(0)
NAN = float("nan")
FLOATS = ("float32", "float64")
ANY = ("float32", "float64", "int64", "int32")
ROW = [0.5, -1.0, 2.0, 0.25]


def tensor(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype))


FEATURE_CASES = {
    "Scaler": [(FLOATS, {"offset": ROW, "scale": ROW})],
    "Normalizer": [(FLOATS, {"norm": norm}) for norm in ("MAX", "L1", "L2")],
    "Imputer": [
        (FLOATS, {"imputed_value_floats": ROW, "replaced_value_float": NAN}),
        (FLOATS, {"imputed_value_floats": [7.0], "replaced_value_float": 1.0}),
        (("int64",), {"imputed_value_int64s": [1, 2, 3, 4], "replaced_value_int64": -1}),
    ],
    "Binarizer": [(ANY, {"threshold": 0.5}), (FLOATS, {})],
    "LabelEncoder": [
        (("int64",), {"keys_int64s": [3, -1, 0], "values_floats": [0.5, 1.5, -2.0], "default_float": 9.0}),
        (("int64",), {"keys_int64s": [5, 2], "values_int64s": [7, 8]}),
        (("float32",), {"keys_floats": [0.5, 1.0, -3.0], "values_int64s": [3, 2, 1], "default_int64": -7}),
    ],
    "OneHotEncoder": [(ANY, {"cats_int64s": [1, -2, 3]})],
    "LinearRegressor": [
        (FLOATS, {"coefficients": ROW, "intercepts": [0.5]}),
        (FLOATS, {"coefficients": [*ROW, *ROW[::-1]], "intercepts": [0.5, -1.0], "targets": 2}),
    ],
}
TABLE = [(name, dtype, a) for name, rows in FEATURE_CASES.items() for dtypes, a in rows for dtype in dtypes]


@pytest.mark.parametrize("case", range(len(TABLE)), ids=[f"{n}-{d}-{'-'.join(a)}" for n, d, a in TABLE])
def test_features_and_regressors_are_like_the_reference(case):
    name, dtype, attributes = TABLE[case]
    missing = dtype in FLOATS
    feeds = [features(rng, n, dtype, missing) for n in (*ROWS, 20)]
    assert_like(model_of(name, feeds[0], **attributes), by_reference, *feeds)


@pytest.mark.parametrize("keys, values", [("int32", "float64"), ("float64", "int16"), ("int64", "float32")])
def test_encoders_of_tensors(keys, values):
    x = features(rng, 9, keys)
    more = {"keys_tensor": tensor([1, 3, -2], keys), "values_tensor": tensor([5, 6, 7], values)}
    table = {1: 5, 3: 6, -2: 7}
    expected = np.array([[table.get(v, 11) for v in row] for row in x.tolist()], values)
    model = model_of("LabelEncoder", x, version=4, default_tensor=tensor([11], values), **more)
    assert_like(model, lambda _: lambda _: [expected], x)


def test_a_key_that_is_nan_is_found():
    x = np.array([[NAN, 1.0, 2.0]], np.float32)
    model = model_of("LabelEncoder", x, keys_floats=[1.0, NAN], values_int64s=[4, 5])
    assert_like(model, lambda _: lambda _: [np.array([[5, 4, -1]])], x)


POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_linear_classifiers(post, classes):
    """Of one, two (by one row of coefficients) and three classes."""
    rows = 1 if classes < 3 else 3
    scale = 0.02 if post == "PROBIT" else 1.0
    weights = [float(v) * scale for v in rng.standard_normal(rows * FEATURES)]
    base = [0.5] if rows == 1 else [0.5, 0.3, 0.6]
    more = {"coefficients": weights, "intercepts": base, "classlabels_ints": [4, 2, 9][:classes]}
    feeds = [features(rng, n) for n in ROWS]
    model = model_of("LinearClassifier", feeds[0], 2, version=1, post_transform=post, **more)
    if (post, classes) == ("PROBIT", 2):
        return  # the opposite of a score is no probability
    assert_like(model, by_reference, *feeds, rtol=1e-4)


KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.3, 0.0, 0.0], "SIGMOID": [0.1, 0.2, 0.0]}


def kernel_of(name):
    return {"kernel_type": name, "kernel_params": KERNELS[name]}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_support_vector_regressors(kernel, one_class):
    vectors = rng.standard_normal(5 * FEATURES).tolist()
    more = {"coefficients": rng.standard_normal(5).tolist(), "rho": [0.25], "support_vectors": vectors}
    for dtype in ("float32", "int64"):
        feeds = [features(rng, n, dtype) for n in ROWS]
        model = model_of("SVMRegressor", feeds[0], n_supports=5, one_class=one_class, **more, **kernel_of(kernel))
        oracle = by_reference if dtype == "float32" else by_float_reference
        assert_like(model, oracle, *feeds, rtol=1e-4)


def by_float_reference(model):
    """The reference with inputs of float32: it keeps those of integers."""
    run = by_reference(model)
    return lambda x: run(x.astype("float32"))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("with_probabilities", [False, True])
def test_support_vector_classifiers(kernel, classes, with_probabilities):
    counts, pairs = [3, 2, 4][:classes], classes * (classes - 1) // 2
    n = sum(counts)
    more = {
        "vectors_per_class": counts,
        "support_vectors": rng.standard_normal(n * FEATURES).tolist(),
        "coefficients": rng.standard_normal((classes - 1) * n).tolist(),
        "rho": rng.standard_normal(pairs).tolist(),
        "classlabels_ints": [5, 3, 8][:classes],
    }
    if with_probabilities:
        more |= {"prob_a": [-1.5, -1.0, -0.5][:pairs], "prob_b": [0.1, 0.2, 0.3][:pairs]}
    feeds = [features(rng, n) for n in ROWS]
    oracle = by_reference if classes == 2 or not with_probabilities else by_ort  # the reference has a sum too many
    assert_like(model_of("SVMClassifier", feeds[0], 2, **more, **kernel_of(kernel)), oracle, *feeds, rtol=1e-4)


@pytest.mark.parametrize("classes", [1, 3])
def test_linear_support_vector_classifiers(classes):
    feeds = [features(rng, n) for n in ROWS]
    more = {"coefficients": rng.standard_normal(classes * FEATURES).tolist(), "rho": [0.1] * classes}
    model = model_of("SVMClassifier", feeds[0], 2, classlabels_ints=[1, 5, 2][:classes], **more)
    assert_like(model, by_reference, *feeds, rtol=1e-4)


def test_native_code_of_several_operators():
    feeds = [features(rng, n) for n in (0, 1, 100)]
    counts = {"vectors_per_class": [1, 1, 1], "support_vectors": rng.standard_normal(3 * FEATURES).tolist()}
    more = {"coefficients": rng.standard_normal(6).tolist(), "rho": [0.1, 0.2, 0.3], "classlabels_ints": [0, 1, 2]}
    more |= {"prob_a": [-1.5, -1.0, -0.5], "prob_b": [0.1, 0.2, 0.3], "kernel_type": "RBF"}
    more |= {"kernel_params": [0.3, 0.0, 0.0]}
    assert_like(model_of("SVMClassifier", feeds[0], 2, **counts, **more), by_ort, *feeds, native=True, rtol=1e-4)


def of_two_inputs(op_type, inputs, **attributes):
    """A model of one operator with the inputs x0, x1, …"""
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op_type, names, ["y"], domain=ML, **attributes)
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "graph", values, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(ML, 1)])


@pytest.mark.parametrize("sizes", [[4, 1], [2, 3], [6, 1]])
def test_vectors_of_features(sizes):
    inputs = [features(rng, 3), np.arange(3, dtype=np.float32)]
    model = of_two_inputs("FeatureVectorizer", inputs, inputdimensions=sizes)
    columns = [inputs[0], inputs[1][:, None]]
    parts = [np.pad(c, [(0, 0), (0, max(n - c.shape[1], 0))])[:, :n] for c, n in zip(columns, sizes, strict=True)]
    np.testing.assert_array_equal(interpret(from_onnx(model), "main", inputs), np.concatenate(parts, axis=1))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_features_by_number(shape):
    x, which = np.arange(np.prod(shape), dtype=np.int64).reshape(shape), np.array([3, 0, 0])
    y = interpret(from_onnx(of_two_inputs("ArrayFeatureExtractor", [x, which])), "main", [x, which])
    np.testing.assert_array_equal(y, np.atleast_2d(x[..., which]))


def test_maps_of_scores_are_the_tensor_of_scores():
    x = features(rng, 3)
    assert_like(model_of("ZipMap", x, classlabels_int64s=[1, 2, 3, 4]), lambda _: lambda x: [x], x)


def test_an_unknown_category_is_an_error_where_it_has_to_be():
    x = np.array([[1, 2]])
    module = from_onnx(model_of("OneHotEncoder", x, cats_int64s=[1, 2], zeros=0))
    np.testing.assert_array_equal(interpret(module, "main", [x]), [[[1, 0], [0, 1]]])
    with pytest.raises(TiraxError, match="no category"):
        interpret(module, "main", [x + 1])


@pytest.mark.parametrize(
    "name, attributes, kind, text",
    [
        ("LabelEncoder", {"keys_int64s": [1], "values_int64s": [1, 2]}, ModelError, "value for each key"),
        ("Normalizer", {"norm": "L7"}, ModelError, "L7"),
        ("LinearRegressor", {"coefficients": ROW[:3]}, ModelError, "LinearRegressor"),
        ("SVMRegressor", {"coefficients": ROW, "rho": [0.0], "kernel_type": "ODD", "n_supports": 4,
                          "support_vectors": ROW * 4}, ModelError, "ODD"),
    ],
)  # fmt: skip
def test_what_is_not_compiled_is_refused_with_a_reason(name, attributes, kind, text):
    with pytest.raises(kind, match=text):
        from_onnx(model_of(name, features(rng, 1), **attributes))
