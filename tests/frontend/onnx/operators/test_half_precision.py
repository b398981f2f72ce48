"""Operators on float16 that are several of Relax: computed in float32 and rounded once, also where squares overflow."""

import numpy as np
import pytest
from graphs import model_of
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tirax.driver.build import build
from tirax.frontend.onnx import from_onnx

SCALES = (1e-3, 0.1, 1.0, 30.0, 300.0)
UNIT, LEAST = 2.0**-11, 2.0**-25
SCALE, SHIFT, MEAN, VARIANCE = (
    np.array(vector, "float16").astype("float64")
    for vector in ([0.5, 1, 1.5, 2], [-1, -0.3, 0.3, 1], [0.1, -3, 40, 0], [0.3, 7, 65_000, 1])
)


def by_channel(vector):
    return vector.reshape(1, 4, 1)


def normal(x, axes, epsilon=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def lp_norm(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


def grouped(x):
    return normal(x.reshape(1, 2, 2, 16), (2, 3)).reshape(1, 4, 16)


OPERATORS = {
    "ReduceL2": (lambda x: np.sqrt((x * x).sum((1, 2), keepdims=True)), {}, []),
    "ReduceLogSumExp": (lambda x: np.log(np.exp(x - x.max()).sum(keepdims=True)) + x.max(), {}, []),
    "Elu": (lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), {}, []),
    "Selu": (lambda x: 1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * np.expm1(x.clip(max=0)), x), {}, []),
    "Mish": (lambda x: x * np.tanh(np.logaddexp(0, x)), {}, []),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {}, []),
    "Softplus": (lambda x: np.logaddexp(0, x), {}, []),
    "LpNormalization": (lp_norm, {}, []),
    "MeanVarianceNormalization": (lambda x: normal(x, 2, 0), {"axes": [2]}, []),
    "InstanceNormalization": (
        lambda x: normal(x, 2) * by_channel(SCALE) + by_channel(SHIFT), {}, [SCALE, SHIFT],
    ),
    "GroupNormalization": (
        lambda x: grouped(x) * by_channel(SCALE) + by_channel(SHIFT), {"num_groups": 2}, [SCALE, SHIFT],
    ),
    "BatchNormalization": (
        lambda x: (x - by_channel(MEAN)) / np.sqrt(by_channel(VARIANCE) + 1e-5) * by_channel(SCALE) + by_channel(SHIFT),
        {}, [SCALE, SHIFT, MEAN, VARIANCE],
    ),
    "GlobalLpPool": (lambda x: np.sqrt((x * x).sum(2, keepdims=True)), {}, []),
    "LpPool": (lambda x: np.sqrt(x[..., 1:] ** 2 + x[..., :-1] ** 2), {"kernel_shape": [2]}, []),
}  # fmt: skip
"""What numpy computes in float64, attributes, and weights."""


@pytest.mark.parametrize("name", OPERATORS)
def test_float16_is_rounded_once(name: str) -> None:
    reference, attributes, weights = OPERATORS[name]
    names = [f"w{i}" for i in range(len(weights))]
    constants = [numpy_helper.from_array(w.astype("float16"), n) for w, n in zip(weights, names, strict=True)]
    node = helper.make_node(name, ["x", *names], ["y"], **attributes)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, (1, 4, 16))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, None)
    graph = helper.make_graph([node], "g", [x], [y], constants)
    run = build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])))["main"]
    for scale in SCALES:
        data = (np.random.default_rng(0).standard_normal((1, 4, 16)) * scale).astype("float16")
        exact = reference(data.astype("float64"))
        result = np.asarray(run(data)).astype("float64").reshape(exact.shape)
        # A difference of terms is as exact as they are.
        bound = 1.01 * UNIT * np.maximum(np.abs(exact), np.abs(exact).max() * 2.0**-7) + LEAST
        assert np.isfinite(exact).all() and (np.abs(result - exact) <= bound).all(), (scale, result, exact)


def recurrent(gates):
    """Operands of 12 steps of 2 sequences, and their attributes."""
    shapes = [(12, 2, 5), (1, 7 * gates, 5), (1, 7 * gates, 7), (1, 14 * gates)]
    return shapes, {"hidden_size": 7}, 2 + (gates == 4)


STEPS = {
    "RNN": recurrent(1), "GRU": recurrent(3), "LSTM": recurrent(4),
    "Det": ([(3, 5, 5)], {}, 1), "DFT": ([(1, 16, 2)], {}, 1), "STFT": ([(1, 48, 1), (), (16,), ()], {}, 1),
    "Gemm": ([(8, 64), (64, 8), (8,)], {"alpha": 0.3, "beta": 0.7}, 1),
    "Sum": ([(50,), (50,), (50,)], {}, 1), "Mean": ([(50,), (50,), (50,)], {}, 1),
}  # fmt: skip
"""Shapes of operands, () of one of the integers 8 and 16; attributes; the number of outputs."""


@pytest.mark.parametrize("name", STEPS)
def test_steps_keep_float32(name: str) -> None:
    """As ONNX's reference evaluator in float32, rounded once: also the states of recurrent layers."""
    shapes, attributes, outputs = STEPS[name]
    rng = np.random.default_rng(0)
    operands = [rng.standard_normal(shape).astype("float16") for shape in shapes]
    names = [f"x{i}" for i in range(len(shapes))]
    sizes = {
        n: np.array(8 * (i + 1) // 2, "int64") for i, (n, s) in enumerate(zip(names, shapes, strict=True)) if not s
    }
    feeds = {n: a for n, a in zip(names, operands, strict=True) if n not in sizes}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(name, names, results, **attributes)

    def model(dtype: int):
        return model_of([node], {n: (dtype, a.shape) for n, a in feeds.items()}, results, sizes)

    wide = {n: a.astype("float32") for n, a in feeds.items()}
    exact = ReferenceEvaluator(model(TensorProto.FLOAT)).run(None, wide)
    outcome = build(from_onnx(model(TensorProto.FLOAT16)))["main"](*feeds.values())
    for got, expected in zip(outcome if outputs > 1 else [outcome], exact, strict=True):
        array, rounded = np.asarray(got), expected.astype("float16")
        assert array.dtype == "float16" and array.shape == rounded.shape
        units = np.abs(array.astype("float32") - expected) / np.spacing(
            np.maximum(np.abs(rounded), np.float16(2.0**-8))
        )
        assert units.max() <= 0.51, (name, units.max())


def test_a_product_beyond_float16_is_scaled_into_it() -> None:
    node = helper.make_node("Gemm", ["a", "b"], ["y"], alpha=0.01)
    shapes = {"a": (TensorProto.FLOAT16, (2, 100)), "b": (TensorProto.FLOAT16, (100, 3))}
    main = build(from_onnx(model_of([node], shapes, ["y"])))["main"]
    outcome = main(np.full((2, 100), 100, "float16"), np.full((100, 3), 100, "float16")).numpy()
    np.testing.assert_array_equal(outcome, np.full((2, 3), 10_000, "float16"))
