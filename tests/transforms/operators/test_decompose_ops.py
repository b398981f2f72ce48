"""Composite operators written out, at inference and in training."""

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError
from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.decompose_ops import DecomposeOpsForInference, DecomposeOpsForTraining
from tirax.tvm_api import IRModule, relax
from tirax.tvm_api.relax import transform
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"


def function(params, *body):
    lines = "\n".join(f"        {b}" for b in body)
    return from_source(f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n{lines}\n").op


def dataflow(params, *bindings, outputs):
    inside = [f"    {b}" for b in [*bindings, f"R.output({outputs})"]]
    return function(params, "n = T.int64()", "with R.dataflow():", *inside, f"return {outputs}")


def names(module):
    return [op.name[6:] for op in module.walk() if op.name.startswith("relax.") and not op.regions]


CHANNELS = "".join(f', {n}: R.Tensor((3,), "float32")' for n in "gbmv")
NORM = "R.nn.batch_norm(x, g, b, m, v, axis={axis}, momentum=0.25, training={training}{rest})"


@pytest.mark.parametrize("shape, axis", [('("n", 3, 4)', 1), ('("n", 4, 3)', -1), ("(5, 3)", 1)])
@pytest.mark.parametrize("rest", ["", ", scale=False", ", center=False, epsilon=0.5"])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, axis, rest, training):
    call = NORM.format(axis=axis, training=training, rest=rest)
    before = dataflow(
        f'x: R.Tensor({shape}, "float32"){CHANNELS}',
        "w = R.square(v)",
        f"y = {call}".replace(", v,", ", w,"),
        outputs="y",
    )
    after = (DecomposeOpsForTraining if training else DecomposeOpsForInference)()(before)
    assert "nn.batch_norm" not in names(after)
    assert names(after).count("mean") == training
    assert_same_meaning(before, after, sizes=(2, 5, 1))  # the mean of nothing means nothing


def test_training_uses_the_batch_and_moves_the_averages():
    call = NORM.format(axis=1, training=False, rest="")
    before = dataflow(f'x: R.Tensor(("n", 3, 4), "float32"){CHANNELS}', f"y = {call}", outputs="y")
    run = relax.build(DecomposeOpsForTraining("main")(before))["main"]
    rng = np.random.default_rng(0)
    x, (g, b, m, v) = rng.random((2, 3, 4), np.float32), rng.random((4, 3), np.float32)
    out, mean, var = run(x, g, b, m, v)
    batch = x.mean((0, 2)), x.var((0, 2))
    expected = (x - batch[0][:, None]) / np.sqrt(batch[1] + 1e-5)[:, None] * g[:, None] + b[:, None]
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, 0.75 * m + 0.25 * batch[0], rtol=1e-5)
    np.testing.assert_allclose(var, 0.75 * v + 0.25 * batch[1], rtol=1e-5)


@pytest.mark.parametrize("rest", ["", ", scale=False", ", center=False, epsilon=0.5"])
@pytest.mark.parametrize("axes, shape", [("[-1]", "(4,)"), ("[1, 2]", "(3, 4)")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_norm(rest, axes, shape, dtype):
    params = f'x: R.Tensor(("n", 3, 4), "{dtype}"), g: R.Tensor({shape}, "{dtype}"), b: R.Tensor({shape}, "{dtype}")'
    before = dataflow(params, f"y = R.nn.layer_norm(x, g, b, axes={axes}{rest})", outputs="y")
    after = DecomposeOpsForTraining()(before)
    assert "nn.layer_norm" not in names(after)
    assert_same_meaning(before, after)
    assert str(DecomposeOpsForInference()(before)) == str(before)


def test_layer_norm_over_axes_in_front_is_left():
    params = 'x: R.Tensor((3, 4), "float32"), g: R.Tensor((3,), "float32")'
    before = dataflow(params, "y = R.nn.layer_norm(x, g, g, axes=[0])", outputs="y")
    assert str(DecomposeOpsForTraining()(before)) == str(before)


def test_the_text_of_layer_norm():
    params = 'x: R.Tensor(("n", 4), "float32"), g: R.Tensor((4,), "float32")'
    before = dataflow(params, "y = R.nn.layer_norm(x, g, g, axes=[-1], epsilon=0.5)", outputs="y")
    text = IRModule(DecomposeOpsForTraining()(before)).script()
    for line in [
        'lv: R.Tensor((n, 1), dtype="float32") = R.mean(x, axis=[-1], keepdims=True)',
        'lv1: R.Tensor((n, 4), dtype="float32") = R.subtract(x, lv)',
        'lv2: R.Tensor((n, 1), dtype="float32") = R.variance(x, axis=[-1], keepdims=True)',
        'lv3: R.Tensor((n, 1), dtype="float32") = R.add(lv2, R.const(0.5, "float32"))',
        'lv4: R.Tensor((n, 1), dtype="float32") = R.sqrt(lv3)',
        'lv5: R.Tensor((n, 4), dtype="float32") = R.divide(lv1, lv4)',
        'lv6: R.Tensor((n, 4), dtype="float32") = R.multiply(lv5, g)',
        'y: R.Tensor((n, 4), dtype="float32") = R.add(lv6, g)',
    ]:
        assert line in text


SHAPE = (
    'x: R.Tensor((2,), "int64"), d: R.Tensor(("a", 1), "float32"), x_0: R.Tensor((3,), "float32")',
    "s: R.Shape(ndim=2) = R.tensor_to_shape(x)",
    "y = R.broadcast_to(d, s)",
    "z = R.exp(y)",
    "return z",
)


@pytest.mark.parametrize("one", [DecomposeOpsForInference, DecomposeOpsForTraining])
def test_a_shape_in_a_tensor(one):
    before = function(*SHAPE)
    after = one()(before)
    after.verify()
    text = IRModule(after).script()
    assert 'R.call_pure_packed("vm.builtin.tensor_to_shape", x, sinfo_args=(R.Shape(ndim=2),))' in text
    assert "R.match_cast(gv, R.Shape([x_1, x_2]))" in text
    assert 'z: R.Tensor((x_1, x_2), dtype="float32") = R.exp(y)' in text
    run = relax.build(after)["main"]
    d = np.arange(3, dtype=np.float32).reshape(3, 1)
    for columns in (1, 4, 0):
        result = run(np.array([3, columns]), d, np.zeros(3, np.float32))
        np.testing.assert_allclose(result, np.exp(np.broadcast_to(d, (3, columns))), rtol=1e-6)
    assert_same_meaning(
        before,
        after,
        inputs=lambda f, s, n: [np.array([2, 5]), np.ones((s["a"], 1), np.float32), np.ones(3, np.float32)],
    )


def test_a_shape_of_unknown_rank_is_left():
    before = function('x: R.Tensor(dtype="int64", ndim=1)', "s = R.tensor_to_shape(x)", "return s")
    assert str(DecomposeOpsForInference()(before)) == str(before)


def test_what_is_of_unknown_rank_is_left():
    params = 'x: R.Tensor("float32"), g: R.Tensor((3,), "float32")'
    before = function(params, "y = R.nn.batch_norm(x, g, g, g, g, axis=1)", "return y")
    assert str(DecomposeOpsForInference()(before)) == str(DecomposeOpsForTraining()(before)) == str(before)


@pytest.mark.parametrize("one", [DecomposeOpsForInference, DecomposeOpsForTraining])
def test_one_function(one):
    before = dataflow(
        f'x: R.Tensor((2, 3), "float32"){CHANNELS}', "y = R.nn.batch_norm(x, g, b, m, v, axis=1)", outputs="y"
    )
    assert "nn.batch_norm" not in names(one("main")(before))
    assert getattr(transform, one.__name__) is one
    with pytest.raises(NameLookupError, match="did you mean 'main'"):
        one("mian")(before)
