"""Losses, optimizers and the trainer: their text is TVM's, their numbers numpy's, and training converges."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from strength import only_full, thinned

import tirax.runtime
from tirax import tvm_api as tvm
from tirax.diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError
from tirax.interpreter import interpret
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax
from tirax.tvm_api.ir import IRModule
from tirax.tvm_api.relax.training import AppendLoss, SetupTrainer, Trainer
from tirax.tvm_api.relax.training.loss import CategoricalCrossEntropyLoss, CrossEntropyLoss, L1Loss, MSELoss
from tirax.tvm_api.relax.training.optimizer import SGD, Adam, MomentumSGD
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"
ROWS = relax.TensorStructInfo(("n", 5), "float32")
LABELS = relax.TensorStructInfo(("n",), "int64")


def bindings(function: Any) -> list[str]:
    """The bindings of a function's dataflow block, without types."""
    lines = [line.strip() for line in function.script().splitlines()]
    start = lines.index("with R.dataflow():") + 1
    body = lines[start : next(i for i, line in enumerate(lines) if line.startswith("R.output"))]
    return [re.sub(r"^(\w+): R\.(Tensor|Tuple)\(.*?\) = (?=R\.|\(|\w+(\[|,|$))", r"\1 = ", line) for line in body]


MEAN, SUM = "R.mean({}, axis=None, keepdims=False)", "R.sum({}, axis=None, keepdims=False)"
LOSSES = {
    "l1 mean": (L1Loss(), ["lv = R.subtract(predictions, targets)", "lv1 = R.abs(lv)", "gv = " + MEAN.format("lv1")]),
    "l1 none": (L1Loss("none"), ["lv = R.subtract(predictions, targets)", "gv = R.abs(lv)"]),
    "mse sum": (
        MSELoss("sum"),
        ["lv = R.subtract(predictions, targets)", "lv1 = R.multiply(lv, lv)", "gv = " + SUM.format("lv1")],
    ),
    "cross entropy": (
        CrossEntropyLoss("sum", 1),
        [
            "lv = R.nn.log_softmax(predictions, axis=-1)",
            'gv = R.nn.nll_loss(lv, targets, reduction="sum", ignore_index=1)',
        ],
    ),
    "categorical": (
        CategoricalCrossEntropyLoss(),
        [
            "lv = R.nn.log_softmax(predictions, axis=-1)",
            "lv1 = R.negative(lv)",
            'lv2 = R.astype(targets, dtype="float32")',
            "lv3 = R.multiply(lv1, lv2)",
            "gv = " + MEAN.format("lv3"),
        ],
    ),
    "categorical with a label to ignore": (
        CategoricalCrossEntropyLoss("sum", 2),
        [
            "lv = R.nn.log_softmax(predictions, axis=-1)",
            "lv1 = R.argmax(targets, axis=1, keepdims=False)",
            "lv2 = R.reshape(lv1, R.shape([3]))",
            'gv = R.nn.nll_loss(lv, lv2, reduction="sum", ignore_index=2)',
        ],
    ),
}


@pytest.mark.parametrize(("loss", "expected"), LOSSES.values(), ids=LOSSES)
def test_the_text_of_losses(loss: Any, expected: list[str]) -> None:
    labels = {"cross entropy": (3,)}.get(next(k for k, v in LOSSES.items() if v[0] is loss), (3, 4))
    dtype = "float32" if isinstance(loss, L1Loss | MSELoss) else "int64"
    function = loss(relax.TensorStructInfo((3, 4), "float32"), relax.TensorStructInfo(labels, dtype))
    assert bindings(function) == expected
    assert [p.name_hint for p in function.params] == ["predictions", "targets"]


def log_softmax(x: Any) -> Any:
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def test_the_numbers_of_losses() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((3, 5)).astype("float32") for _ in range(2))
    labels, weights = np.array([0, 4, 2]), np.abs(rng.standard_normal(5)).astype("float32")
    rows = np.eye(5, dtype="int64")[labels]
    taken = -log_softmax(x)[np.arange(3), labels]
    info = [relax.TensorStructInfo(a.shape, str(a.dtype)) for a in (x, labels, weights, rows)]
    actual = [
        (L1Loss("sum")(info[0], info[0]), [x, y], np.abs(x - y).sum()),
        (MSELoss()(info[0], info[0]), [x, y], ((x - y) ** 2).mean()),
        (CrossEntropyLoss("none")(info[0], info[1]), [x, labels], taken),
        (
            CrossEntropyLoss()(info[0], info[1], info[2]),
            [x, labels, weights],
            (taken * weights[labels]).sum() / weights[labels].sum(),
        ),
        (CategoricalCrossEntropyLoss("sum")(info[0], info[3]), [x, rows], taken.sum()),
        (CategoricalCrossEntropyLoss("none", 4)(info[0], info[3]), [x, rows], np.where(labels == 4, 0, taken)),
    ]
    for function, args, expected in actual:
        module = IRModule({"f": function})
        np.testing.assert_allclose(interpret(module.op, "f", args), expected, rtol=1e-5)


def test_a_reduction_that_is_unknown() -> None:
    with pytest.raises(TiraxError, match="the reduction is unknown"):
        MSELoss("max")


PARAMS = [
    relax.Var("x", relax.TensorStructInfo((3, 3), "float32")),
    relax.Var("y", relax.TensorStructInfo((3,), "float32")),
]
LR = 'R.const(0.0099999997764825821, "float32")'


def test_the_text_of_optimizers() -> None:
    text = bindings(SGD(0.01).init(PARAMS).get_function())
    assert text[:6] == [
        "num_steps = optim_states[0]",
        'num_steps_new = R.add(num_steps, R.const(1, "int64"))',
        "x = params[0]",
        "x_grad = gradients[0]",
        f"lv = R.multiply({LR}, x_grad)",
        "x_new = R.subtract(x, lv)",
    ]
    text = bindings(MomentumSGD(0.01, 0.9, 0.85, 0.02, True).init(PARAMS).get_function())
    momentum = 'R.const(0.89999997615814209, "float32")'
    assert text[4:13] == [
        "x_v = optim_states[1]",
        'lv = R.multiply(R.const(0.019999999552965164, "float32"), x)',
        "x_grad_new = R.add(lv, x_grad)",
        f"lv1 = R.multiply({momentum}, x_v)",
        'lv2 = R.multiply(R.const(0.15000000596046448, "float32"), x_grad_new)',
        "x_v_new = R.add(lv1, lv2)",
        f"lv3 = R.multiply({momentum}, x_v_new)",
        "x_g_nest = R.add(x_grad_new, lv3)",
        f"lv4 = R.multiply({LR}, x_g_nest)",
    ]
    text = bindings(Adam(0.01).init(PARAMS).get_function())
    assert text[2:6] == [
        "lv = optim_states[1]",
        f"beta1_prod = R.multiply(lv, {momentum})",
        "lv1 = optim_states[2]",
        'beta2_prod = R.multiply(lv1, R.const(0.99900001287460327, "float32"))',
    ]
    assert text[17:26] == [
        'lv7 = R.subtract(R.const(1.0, "float32"), beta1_prod)',
        "x_m_hat = R.divide(x_m_new, lv7)",
        'lv8 = R.subtract(R.const(1.0, "float32"), beta2_prod)',
        "x_v_hat = R.divide(x_v_new, lv8)",
        "lv9 = R.sqrt(x_v_hat)",
        'lv10 = R.add(lv9, R.const(9.9999999392252903e-09, "float32"))',
        "lv11 = R.divide(x_m_hat, lv10)",
        f"lv12 = R.multiply({LR}, lv11)",
        "x_new = R.subtract(x, lv12)",
    ]


def sgd(p: Any, g: Any, s: Any, _: int, lr: float = 0.1, decay: float = 0.01) -> tuple[Any, Any]:
    return p - lr * (g + decay * p), s


def momentum(p: Any, g: Any, s: Any, _: int) -> tuple[Any, Any]:
    g = g + 0.02 * p
    v = 0.9 * s.get("v", 0.0) + (1 - 0.15) * g
    return p - 0.1 * (g + 0.9 * v), {"v": v}


def adam(p: Any, g: Any, s: Any, step: int) -> tuple[Any, Any]:
    g = g + 0.03 * p
    m, v = 0.8 * s.get("m", 0.0) + (1 - 0.8) * g, 0.85 * s.get("v", 0.0) + (1 - 0.85) * g * g
    m_hat, v_hat = m / (1 - 0.8**step), v / (1 - 0.85**step)
    return p - 0.1 * m_hat / (np.sqrt(v_hat) + 1e-7), {"m": m, "v": v}


OPTIMIZERS = {
    "sgd": (lambda: SGD(0.1, 0.01), sgd),
    "momentum": (lambda: MomentumSGD(0.1, 0.9, 0.15, 0.02, True), momentum),
    "adam": (lambda: Adam(0.1, (0.8, 0.85), 1e-7, 0.03), adam),
}


@pytest.mark.parametrize(("make", "reference"), OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_numbers_of_optimizers(make: Any, reference: Any) -> None:
    optimizer = make().init(PARAMS)
    module = IRModule({"step": optimizer.get_function()})
    verify_module(module.op)
    executable, rng = relax.build(module), np.random.default_rng(0)
    expected: list[Any] = [rng.standard_normal(s).astype("float32") for s in ((3, 3), (3,))]
    memory: list[Any] = [{}, {}]
    params, states = tuple(map(tirax.runtime.array, expected)), optimizer.state
    for step in range(1, 5):
        gradients = [rng.standard_normal(w.shape).astype("float32") for w in expected]
        params, states = executable["step"](params, tuple(map(tirax.runtime.array, gradients)), states)
        for i, g in enumerate(gradients):
            expected[i], memory[i] = reference(expected[i], g, memory[i], step)
            np.testing.assert_allclose(params[i].numpy(), expected[i], rtol=1e-4, atol=1e-6)
        assert states[0].numpy() == step


def test_what_optimizers_refuse() -> None:
    x = PARAMS[0]
    with pytest.raises(TiraxError, match="does not know its parameters"):
        SGD(0.1).get_function()
    for params, kind, message in (
        ([], TiraxError, "no parameter"),
        ([x, x], TiraxError, "given twice"),
        ([relax.Var("i", LABELS)], DTypeError, "'i' cannot be optimized"),
        ([relax.Var("r", ROWS)], TiraxError, "a static shape"),
        ([x, relax.Var("d", relax.TensorStructInfo((2,), "float64"))], DTypeError, "one dtype"),
    ):
        with pytest.raises(kind, match=message):
            SGD(0.1).init(params)


def backbone(states: int = 1) -> Any:
    more = ', s: R.Tensor((5,), "float32")' if states else ""
    update = "\n            s2 = R.add(s, b)" if states else ""
    return from_source(
        f"""{HEAD}
@I.ir_module
class Module:
    I.module_attrs({{"param_num": 2, "state_num": {states}}})
    @R.function
    def backbone(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 5), "float32"), b: R.Tensor((5,), "float32"){more}):
        n = T.int64()
        with R.dataflow():
            lv = R.matmul(x, w)
            out = R.add(lv, b){update}
            R.output({"out, s2" if states else "out"})
        return {"out, s2" if states else "out"}
"""
    )


def test_a_loss_after_a_function() -> None:
    module = AppendLoss("backbone", MSELoss("sum")(ROWS, ROWS))(backbone())
    verify_module(module.op)
    function = module["backbone_loss"]
    assert [p.name_hint for p in function.params] == ["x", "w", "b", "s", "targets"]
    assert bindings(function) == [
        'lv = R.matmul(x, w, out_dtype="void")',
        "out = R.add(lv, b)",
        "s2 = R.add(s, b)",
        "lv_1 = R.subtract(out, targets)",
        "lv1 = R.multiply(lv_1, lv_1)",
        "gv = " + SUM.format("lv1"),
    ]
    assert function.script().rstrip().endswith("R.output(s2, gv)\n    return (gv, s2)")
    named = AppendLoss("backbone", MSELoss()(ROWS, ROWS), 1, "whole")(backbone(0))
    assert sorted(map(str, named.names)) == ["backbone", "whole"]
    assert named["whole"].script().rstrip().endswith("return gv")


def test_the_symbolic_sizes_of_a_loss_are_those_of_the_function() -> None:
    other = relax.TensorStructInfo(("m", "k"), "float32")
    module = AppendLoss("backbone", MSELoss()(other, other))(backbone(0))
    assert 'targets: R.Tensor(("n", 5), dtype="float32")' in module["backbone_loss"].script()


def test_variables_of_a_loss_have_the_names_of_no_others() -> None:
    @R.function
    def loss(a: R.Tensor((), "float32")) -> R.Tensor((), "float32"):
        with R.dataflow():
            gv = R.exp(a)
            R.output(gv)
        return gv

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            with R.dataflow():
                unused = R.exp(x)
                gv = R.sum(x)
                R.output(unused, gv)
            return gv

        @R.function
        def nested(x: R.Tensor((), "float32")):
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            return (gv, (gv, x))

    function = AppendLoss("main", loss)(Module)["main_loss"]
    assert bindings(function) == ["unused = R.exp(x)", "gv = " + SUM.format("x"), "gv_1 = R.exp(gv)"]
    assert function.script().rstrip().endswith("R.output(gv_1)\n    return gv_1")
    with pytest.raises(TiraxError, match="returns variables"):
        AppendLoss("nested", loss)(Module)


def test_what_a_loss_does_not_fit() -> None:
    loss, wide = MSELoss()(ROWS, ROWS), relax.TensorStructInfo((2, 6), "float32")
    for arguments, kind, message in (
        (("backbon", loss), NameLookupError, "did you mean 'backbone'"),
        (("backbone", loss, 3), TiraxError, "num_backbone_outputs does not fit"),
        (("backbone", MSELoss()(wide, wide)), ShapeError, "'predictions' does not take what the function returns"),
        (("backbone", MSELoss("none")(ROWS, ROWS)), ShapeError, "a loss is a scalar"),
        (("backbone", "mse"), TiraxError, "a loss is a Relax function"),
        (("backbone", loss, 1, "backbone"), TiraxError, "there is a function 'backbone' already"),
    ):
        with pytest.raises(kind, match=message):
            AppendLoss(*arguments)(backbone())


def test_all_that_a_trainer_needs() -> None:
    module = SetupTrainer(CrossEntropyLoss(), Adam(0.1), [ROWS, LABELS], legalize=False)(backbone())
    verify_module(module.op)
    assert list(map(str, module.names)) == ["backbone", "backbone_loss", "backbone_loss_adjoint", "optimizer"]
    attrs = module.attrs
    assert (attrs["input_num"], attrs["param_num"], attrs["state_num"], len(attrs["optim_state"])) == (1, 2, 1, 7)
    text = module["backbone_loss_adjoint"].script()
    assert "return ((gv, s2), (w_adjoint_out, b_adjoint_out))" in text
    assert not any(
        op.name.startswith("relax.nn") for op in SetupTrainer(MSELoss(), SGD(0.1), [ROWS, ROWS])(backbone()).op.walk()
    )
    with pytest.raises(TiraxError, match="attribute param_num is missing"):
        SetupTrainer(MSELoss(), SGD(0.1), [ROWS, ROWS])(backbone().without_attr("param_num"))
    with pytest.raises(TiraxError, match="too few parameters"):
        SetupTrainer(MSELoss(), SGD(0.1), [ROWS, ROWS])(backbone().with_attr("param_num", 7))


def trainer(module: Any, loss: Any, optimizer: Any, infos: list[Any], zero: bool = True) -> Trainer:
    result = SetupTrainer(loss, optimizer, infos)(module)
    return Trainer(result, relax.VirtualMachine(relax.build(result), tvm.cpu()), tvm.cpu(), zero)


@only_full
def test_steps_are_those_of_numpy() -> None:
    """Linear regression with a state, at several batch sizes."""
    trained = trainer(backbone(), MSELoss("sum"), SGD(0.01), [ROWS, ROWS])
    rng = np.random.default_rng(0)
    w, b, s = rng.standard_normal((4, 5)).astype("float32"), np.zeros(5, "float32"), np.zeros(5, "float32")
    trained.load_params({"w": w, "b": b})
    for n in (3, 1, 6, 0):
        x, y = rng.standard_normal((n, 4)).astype("float32"), rng.standard_normal((n, 5)).astype("float32")
        np.testing.assert_allclose(trained.predict(x).numpy(), x @ w + b, rtol=1e-4, atol=1e-5)
        loss = trained.update(x, y)
        error = x @ w + b - y
        np.testing.assert_allclose(loss.numpy(), (error**2).sum(), rtol=1e-4)
        s = s + b
        w, b = w - 0.01 * 2 * x.T @ error, b - 0.01 * 2 * error.sum(axis=0)
        np.testing.assert_allclose(trained.export_params()["w"].numpy(), w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(trained.export_states()["s"].numpy(), s, rtol=1e-4, atol=1e-5)


MLP = f"""{HEAD}
@I.ir_module
class Module:
    I.module_attrs({{"param_num": 4, "state_num": 0}})
    @R.function
    def backbone(x: R.Tensor(("n", 8), "float32"), w0: R.Tensor((8, 16), "float32"), b0: R.Tensor((16,), "float32"),
                 w1: R.Tensor((16, 5), "float32"), b1: R.Tensor((5,), "float32")):
        n = T.int64()
        with R.dataflow():
            h = R.nn.relu(R.add(R.matmul(x, w0), b0))
            out = R.add(R.matmul(h, w1), b1)
            R.output(out)
        return out
"""


def numpy_step(p: list[Any], x: Any, y: Any, lr: float) -> tuple[float, list[Any]]:
    """A step of gradient descent of the network above, written by hand."""
    before = x @ p[0] + p[1]
    h = np.maximum(before, 0)
    logits = log_softmax(h @ p[2] + p[3])
    g = (np.exp(logits) - np.eye(5)[y]) / len(y)
    back = (g @ p[2].T) * (before > 0)
    gradients = [x.T @ back, back.sum(axis=0), h.T @ g, g.sum(axis=0)]
    return -logits[np.arange(len(y)), y].mean(), [a - lr * b for a, b in zip(p, gradients, strict=True)]


def samples(rng: np.random.Generator, centers: Any, n: int) -> tuple[Any, Any]:
    y = rng.integers(0, 5, n)
    return (centers[y] + 0.5 * rng.standard_normal((n, 8))).astype("float32"), y


@only_full
def test_a_network_learns_and_its_steps_are_those_of_numpy() -> None:
    trained = trainer(from_source(MLP), CrossEntropyLoss(), SGD(0.2), [ROWS, LABELS])
    rng = np.random.default_rng(0)
    centers = 1.5 * rng.standard_normal((5, 8))
    start = [0.3 * rng.standard_normal(s) for s in ((8, 16), (16,), (16, 5), (5,))]
    trained.load_params([p.astype("float32") for p in start])
    params, losses = start, []
    for step in range(60):
        x, y = samples(rng, centers, 32)
        expected, params = numpy_step(params, x.astype("float64"), y, 0.2)
        losses.append(float(trained.update([x], [y]).numpy()))
        if step < 20:  # later, rounding has gone its own way
            assert abs(losses[-1] - expected) < 1e-3 * max(expected, 1)
    x, y = samples(rng, centers, 200)
    assert losses[-1] < 0.1 * losses[0]
    before = trained.export_params()["w0"].numpy()
    assert trained.profile_adjoint([x], [y], number=1, repeat=2).mean > 0
    np.testing.assert_array_equal(trained.export_params()["w0"].numpy(), before)
    assert (trained.predict(x).numpy().argmax(axis=1) == y).mean() > 0.95


@only_full
@thinned("optimizer", [Adam(0.02), MomentumSGD(0.05, 0.9)], 1, lambda o: type(o).__name__)
def test_other_optimizers_learn(optimizer: Any) -> None:
    trained = trainer(from_source(MLP), CrossEntropyLoss(), optimizer, [ROWS, LABELS], False)
    np.random.seed(0)
    trained.xaiver_uniform_init_params()
    rng = np.random.default_rng(0)
    centers = 1.5 * rng.standard_normal((5, 8))
    losses = [float(trained.update(*samples(rng, centers, 32)).numpy()) for _ in range(40)]
    assert losses[-1] < 0.1 * losses[0]


@only_full
def test_what_a_trainer_refuses() -> None:
    trained = trainer(backbone(), MSELoss(), SGD(0.1), [ROWS, ROWS], False)
    x = np.zeros((2, 4), "float32")
    with pytest.raises(TiraxError, match="the parameter 'w' has no value"):
        trained.predict(x)
    trained.zero_init_params()
    with pytest.raises(TiraxError, match="the state 's' has no value"):
        trained.predict(x)
    w, b = np.zeros((4, 5), "float32"), np.zeros(5, "float32")
    with pytest.raises(NameLookupError, match="unknown parameter 'c'"):
        trained.load_params({"w": w, "c": b})
    with pytest.raises(TiraxError, match="the parameter 'b' is missing"):
        trained.load_params({"w": w})
    with pytest.raises(TiraxError, match="there are 2 parameters"):
        trained.load_params([w])
    with pytest.raises(ShapeError, match="'b' has another shape"):
        trained.load_params([w, w])
    with pytest.raises(TiraxError, match="no attribute input_num"):
        Trainer(backbone(), trained.vm, tvm.cpu())


CONVOLUTIONAL = f"""{HEAD}
@I.ir_module
class Module:
    I.module_attrs({{"param_num": 4, "state_num": 2}})
    @R.function
    def backbone(x: R.Tensor(("n", 1, 6, 6), "float32"), w: R.Tensor((4, 1, 3, 3), "float32"),
                 gamma: R.Tensor((4,), "float32"), beta: R.Tensor((4,), "float32"), v: R.Tensor((36, 5), "float32"),
                 mean: R.Tensor((4,), "float32"), var: R.Tensor((4,), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.nn.conv2d(x, w, padding=1)
            b = R.nn.batch_norm(a, gamma, beta, mean, var, axis=1, momentum=0.2, training=True)
            c = R.nn.max_pool2d(R.nn.relu(b[0]), pool_size=2, strides=2)
            out = R.matmul(R.reshape(c, (n, 36)), v)
            new_mean = b[1]
            new_var = b[2]
            R.output(out, new_mean, new_var)
        return out, new_mean, new_var
"""


@only_full
def test_a_convolutional_network_with_running_statistics_learns() -> None:
    trained = trainer(from_source(CONVOLUTIONAL), CrossEntropyLoss(), Adam(0.05), [ROWS, LABELS])
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 1, 3, 3)).astype("float32")
    trained.load_params(
        [w, np.ones(4, "float32"), np.zeros(4, "float32"), 0.1 * rng.standard_normal((36, 5)).astype("float32")]
    )
    patterns = rng.standard_normal((5, 1, 6, 6))
    losses: list[float] = []
    for step in range(30):
        y = rng.integers(0, 5, 16)
        x = (patterns[y] + 0.1 * rng.standard_normal((16, 1, 6, 6))).astype("float32")
        losses.append(float(trained.update(x, y).numpy()))
        if step == 0:
            padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
            windows = np.lib.stride_tricks.sliding_window_view(padded[:, 0], (3, 3), axis=(1, 2))
            result = np.einsum("nyxij,oij->noyx", windows, w[:, 0])
            states = trained.export_states()
            np.testing.assert_allclose(states["mean"].numpy(), 0.2 * result.mean(axis=(0, 2, 3)), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(states["var"].numpy(), 0.2 * result.var(axis=(0, 2, 3)), rtol=1e-4, atol=1e-5)
    assert losses[-1] < 0.3 * losses[0]
