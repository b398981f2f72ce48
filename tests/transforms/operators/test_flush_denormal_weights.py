"""Denormal numbers among constant weights: which become 0, and which stay."""

import numpy as np
import pytest

from tirax.dialects import relax as ops
from tirax.transforms.operators.flush_denormal_weights import FlushDenormalWeights
from tirax.tvm_api import relax
from tirax.tvm_api.ir.transform import PassContext

TINY = {"float32": 1e-40, "float64": 1e-310}


def weights(dtype="float32", large=1.0):
    """[3, 2] numbers: two denormal ones, zeros, the smallest normal one."""
    denormal = TINY[dtype]
    return np.array([[large, denormal], [-denormal, 0.0], [-0.0, np.finfo(dtype).tiny]], dtype)


def program(w, use):
    """`use(builder, x, w)` of x, [2, 3], and a constant."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 3), str(w.dtype)))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(use(builder, x, relax.const(w, str(w.dtype))))
        builder.emit_func_output(out)
    return builder.get()


def constants(mod):
    return [c.value.numpy() for c in mod.op.walk() if isinstance(c, ops.ConstantOp) and c.value.data.shape]


def product(builder, x, w):
    return relax.op.matmul(x, w)


def gram(builder, x, w):
    w = builder.emit(w)
    return relax.op.matmul(builder.emit(product(builder, x, w)), builder.emit(relax.op.permute_dims(w)))


def transposed(builder, x, w):
    return relax.op.matmul(x, builder.emit(relax.op.permute_dims(w)))


@pytest.mark.parametrize("dtype", TINY)
def test_denormal_weights_become_zero(dtype):
    (values,) = constants(FlushDenormalWeights()(program(weights(dtype), product)))
    expected = weights(dtype)
    expected[np.abs(expected) == np.array(TINY[dtype], dtype)] = 0
    np.testing.assert_array_equal(values, expected)
    assert np.signbit(values[2, 0]), "a zero keeps its sign"


def test_through_views():
    (values,) = constants(FlushDenormalWeights()(program(weights().T, transposed)))
    assert np.count_nonzero(values) == 2


@pytest.mark.parametrize("kind", ["conv2d", "conv2d_transpose"])
def test_convolutions(kind):
    kernel = weights().reshape(2, 3, 1, 1) if kind == "conv2d" else weights().reshape(3, 2, 1, 1)

    def convolution(builder, x, w):
        image = builder.emit(relax.op.reshape(x, (1, 3, 2, 1)))
        return getattr(relax.op.nn, kind)(image, w)

    (values,) = constants(FlushDenormalWeights()(program(kernel, convolution)))
    assert np.count_nonzero(values) == 2


def test_biases():
    def biased(builder, x, w):
        square = builder.emit(relax.op.matmul(x, relax.const(np.ones((3, 2), "float32"), "float32")))
        return relax.op.add(builder.emit(relax.op.reshape(w, (1, 2))), square)

    *_, bias = sorted(constants(FlushDenormalWeights()(program(weights()[0], biased))), key=lambda c: -c.size)
    np.testing.assert_array_equal(bias, [1, 0])


STAY = {
    "a sum": (weights()[:, 0], lambda b, x, w: relax.op.add(x, w)),
    "where something else reads them": (weights(), gram),
    "beside small ones": (weights(large=2.0**-101), product),
    "without any": (np.array([[1.0, 0.0], [-0.0, 2.0**-126], [np.nan, np.inf]], "float32"), product),
    "of float16": (np.array([[1.0, 6e-8], [0, 0], [0, 0]], "float16"), product),
}  # fmt: skip


@pytest.mark.parametrize("case", STAY)
def test_what_stays(case):
    w, use = STAY[case]
    (values, *_) = constants(FlushDenormalWeights()(program(w, use)))
    np.testing.assert_array_equal(values, w)


def test_in_the_default_pipeline_where_it_is_not_disabled():
    """Times 1e30 the denormal weight would count."""
    w, x = weights(), np.array([[0, 1e30, 0], [2, 0, 0]], "float32")
    flushed = relax.build(program(w, product), target="llvm")["main"](x).numpy()
    np.testing.assert_array_equal(flushed, np.array([[0, 0], [2, 0]], "float32"))
    with PassContext(disabled_pass=["flush-denormal-weights"]):
        exact = relax.build(program(w, product), target="llvm")["main"](x).numpy()
    np.testing.assert_allclose(exact, x.astype("float64") @ w.astype("float64"), rtol=1e-3)
