"""Traced graphs: functions, methods and modules beside eager ones, and what an import says of others."""

import operator
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from torch import fx, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.importing.errors import InputError, ModelError, UnsupportedOperators  # noqa: E402
from tirax.frontend.params import detach_params  # noqa: E402
from tirax.frontend.torch.fx import from_fx  # noqa: E402
from tirax.frontend.torch.fx_as_tvm import TvmDifference  # noqa: E402
from tirax.frontend.torch.fx_as_tvm import from_fx as from_fx_as_tvm  # noqa: E402
from tirax.frontend.torch.fx_functions import DropoutLeftOut  # noqa: E402
from tirax.frontend.torch.fx_modules import _ROWS as MODULES  # noqa: E402
from tirax.frontend.torch.fx_modules import module_row  # noqa: E402
from tirax.runtime import from_dlpack  # noqa: E402
from tirax.tvm_api import tir  # noqa: E402


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


class Several(nn.Module):
    """The results of functions of the same arguments; those that are modules are its children."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions
        for i, function in enumerate(functions):
            if isinstance(function, nn.Module):
                self.add_module(f"child{i}", function)

    def forward(self, *args):
        raise NotImplementedError


def traced(functions, count):
    """One graph that calls all functions with `count` inputs."""
    model = Several(functions)
    names = ["a", "b", "c"][:count]
    graph = fx.Graph(model)
    tracer = fx.Tracer()
    tracer.root, tracer.graph = model, graph
    tracer.submodule_paths = {m: name for name, m in model.named_modules(remove_duplicate=False)}
    tracer.tensor_attrs = {}
    inputs = [fx.Proxy(graph.placeholder(name), tracer) for name in names]
    results = []
    for i, function in enumerate(functions):
        if isinstance(function, nn.Module):
            results.append(fx.Proxy(graph.call_module(f"child{i}", tuple(p.node for p in inputs)), tracer))
        else:
            results.append(function(*inputs))
    graph.output(tracer.create_arg(tuple(results)))
    return fx.GraphModule(model, graph)


def run(mod, *inputs):
    return build(mod)["main"](*map(from_dlpack, inputs))


def info(*inputs):
    return [(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in inputs]


def flat(values):
    return [v for value in values for v in (flat(value) if isinstance(value, tuple | list) else [value])]


def check(functions, *inputs, tolerance=1e-5):
    """All functions imported in one graph and built, beside what they give."""
    expected = flat(f(*[x.clone() for x in inputs]) for f in functions)
    results = flat(run(from_fx(traced(functions, len(inputs)), info(*inputs)), *inputs))
    assert len(results) == len(expected)
    for i, (y, x) in enumerate(zip(results, expected, strict=True)):
        reference = x.numpy() if isinstance(x, torch.Tensor) else np.asarray(x)
        assert np.shape(y) == reference.shape, i
        np.testing.assert_allclose(np.asarray(y), reference, rtol=tolerance, atol=tolerance, err_msg=str(i))


UNARY = [
    torch.abs, torch.ceil, torch.cos, torch.erf, torch.exp, torch.floor, torch.neg, torch.round, torch.sigmoid,
    torch.sign, torch.sin, torch.sinh, torch.square, torch.tan, torch.tanh, torch.relu, torch.isnan, torch.isfinite,
    F.relu, F.gelu, F.silu, F.elu, F.celu, F.selu, F.hardtanh, F.hardswish, F.hardsigmoid, F.softplus, F.relu6,
    F.leaky_relu, F.softsign, F.tanhshrink, torch.logical_not,
    lambda x: x.relu(), lambda x: x.tanh().exp(), lambda x: torch.clamp(x, min=-0.5, max=0.5),
    lambda x: x.clamp(0.1),
    lambda x: F.softmax(x, dim=1), lambda x: F.log_softmax(x, -1), lambda x: torch.softmax(x, 0),
    lambda x: F.softmin(x, dim=1),
    lambda x: x.abs().sqrt(), lambda x: x.abs().add(1).log2(), lambda x: F.gelu(x, approximate="tanh"),
]  # fmt: skip

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.lt, operator.eq, operator.ge,
    torch.add, torch.mul, torch.maximum, torch.max, torch.min, torch.atan2,
    lambda x, y: torch.add(x, y, alpha=2), lambda x, y: x.sub(other=y), lambda x, y: 2 - x * y, lambda x, y: 1 / y,
    lambda x, y: x // y, lambda x, y: x**2, lambda x, y: torch.where(x > y, x, y), lambda x, y: x @ y.T,
    lambda x, y: torch.matmul(x, y.transpose(0, 1)), lambda x, y: torch.cat((x, y), dim=1),
    lambda x, y: torch.stack([x, y], dim=1), lambda x, y: torch.einsum("ij,kj->ik", x, y),
    lambda x, y: torch.addmm(x @ y.T, x, y.T, beta=0.5), F.mse_loss, lambda x, y: torch.lerp(x, y, 0.3),
    lambda x, y: F.l1_loss(x, y, reduction="sum"), lambda x, y: x.expand_as(y),
]  # fmt: skip

SHAPES = [
    lambda x: x.reshape(2, -1), lambda x: x.view((3, 8)), lambda x: x.permute(2, 0, 1),
    lambda x: torch.permute(x, (1, 0, 2)), lambda x: x.split(2, 1)[1], lambda x: torch.narrow(x, 1, 1, 2),
    lambda x: x.transpose(0, 2), lambda x: x.unsqueeze(1), lambda x: x.unsqueeze(1).squeeze(1), lambda x: x.flatten(1),
    lambda x: torch.flatten(x), lambda x: x.expand(2, -1, -1, -1), lambda x: x.repeat(2, 1, 1), lambda x: x.tile(2),
    lambda x: x[0], lambda x: x[:, 1::2], lambda x: x[..., -1], lambda x: x[1, :, None, 1:3], lambda x: x[-1, ..., 0],
    lambda x: x[:, -2:], lambda x: x.chunk(2, dim=1), lambda x: torch.split(x, [1, 3], dim=1),
    lambda x: torch.unbind(x, 2), lambda x: x.flip(0), lambda x: torch.flip(x, [1, 2]),
    lambda x: torch.select(x, 1, 2), lambda x: x.reshape(x.size(0), x.shape[1] * x.shape[2]), lambda x: x.size(1),
    lambda x: x.contiguous().clone(), lambda x: torch.triu(x, 1), lambda x: x.tril(),
    lambda x: torch.swapaxes(x, 1, 2), lambda x: torch.broadcast_to(x, (2, 3, 4, 2)),
    lambda x: F.pad(x, (1, 1)), lambda x: x.new_ones(2, 3), lambda x: torch.zeros_like(x), lambda x: x.dim(),
]  # fmt: skip

REDUCTIONS = [
    torch.sum, torch.mean, torch.std, torch.var, torch.prod, torch.max, torch.min, torch.argmax,
    lambda x: x.sum(1), lambda x: x.mean(-1, keepdim=True), lambda x: torch.sum(x, (0, 2)), lambda x: x.amax(1),
    lambda x: x.std(1, keepdim=True), lambda x: torch.var(x, dim=0, unbiased=False), lambda x: x.prod(dim=1),
    lambda x: torch.max(x, dim=1), lambda x: x.min(-1)[0], lambda x: torch.argmin(x, dim=1, keepdim=True),
    lambda x: torch.cumsum(x, 1), lambda x: torch.sort(x, dim=1, descending=True), lambda x: torch.topk(x, 2, dim=1),
    lambda x: torch.argsort(x, dim=0), lambda x: x.abs().sum().sqrt(), lambda x: (x > 0).any(),
    lambda x: torch.all(x > -9, 1),
]  # fmt: skip

CONVERSIONS = [
    lambda x: x.half(), lambda x: x.double(), lambda x: x.int(), lambda x: x.to(torch.float16), lambda x: x.to("cpu"),
    lambda x: x.type(torch.int64), lambda x: x.to(dtype=torch.float64), lambda x: x.float(), lambda x: x.bool(),
    lambda x: x.long() + torch.tensor([1, 2, 3, 4]), lambda x: x + torch.arange(4), lambda x: x.masked_fill(x > 0, 7.0),
    lambda x: torch.full((2, 2), 3.0), lambda x: x.is_floating_point(), lambda x: x.numel(),
]  # fmt: skip


def test_functions_of_one_tensor():
    check(UNARY, torch.randn(3, 5))


def test_functions_of_two_tensors():
    check(BINARY, torch.randn(3, 4), torch.randn(3, 4).abs() + 0.5)


def test_shapes():
    check(SHAPES, torch.randn(3, 4, 2))


def test_reductions():
    check(REDUCTIONS, torch.randn(3, 4, 2))


def test_conversions():
    check(CONVERSIONS, torch.randn(3, 4) * 5)


def test_integers():
    check(
        [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.mod, operator.floordiv,
         lambda x, y: ~x, lambda x, y: x % 5, lambda x, y: torch.gather(x, 1, y), lambda x, y: torch.take(x, y),
         lambda x, y: torch.index_select(x, 0, y[0]), lambda x, y: x[y], lambda x, y: F.one_hot(y, num_classes=5),
         lambda x, y: x.scatter(0, y, x)],
        torch.arange(-6, 6).reshape(3, 4), torch.tensor([[1, 2, 1, 2], [2, 1, 2, 1], [1, 1, 2, 2]]),
    )  # fmt: skip


IMAGES = [
    nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.Conv2d(4, 4, 3, groups=2, bias=False), nn.ConvTranspose2d(4, 3, 3),
    nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.MaxPool2d(2), nn.AvgPool2d(3, 2, 1),
    nn.AvgPool2d(4, 2, 2, ceil_mode=True), nn.AdaptiveAvgPool2d((2, 2)), nn.LayerNorm((6, 6)), nn.Flatten(),
    nn.Upsample(scale_factor=2), nn.Upsample(size=(9, 7), mode="bilinear"), nn.Upsample(size=(4, 5)),
    nn.Upsample(scale_factor=1.5, mode="bicubic", align_corners=True), nn.PReLU(), nn.Dropout2d(), nn.Softmax(dim=1),
    lambda x: F.interpolate(x, (3, 3)), lambda x: F.avg_pool2d(x, 2, padding=1, count_include_pad=False),
    lambda x: F.max_pool2d(x, 3, stride=1, padding=1), lambda x: F.adaptive_avg_pool2d(x, 1),
    lambda x: F.layer_norm(x, (6,)), lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
]  # fmt: skip


def test_modules_on_images():
    for module in IMAGES:
        if isinstance(module, nn.Module):
            module.eval()
    IMAGES[3].running_mean += 0.3
    check(IMAGES, torch.randn(2, 4, 6, 6), tolerance=1e-4)


VECTORS = [
    nn.Linear(8, 5), nn.Linear(8, 3, bias=False), nn.ReLU(), nn.ReLU6(), nn.GELU(), nn.SiLU(), nn.ELU(0.5),
    nn.CELU(2.0), nn.SELU(), nn.Sigmoid(), nn.Tanh(), nn.Hardtanh(-2, 2), nn.Hardsigmoid(),
    nn.Hardswish(), nn.LeakyReLU(0.2), nn.Softplus(2.0), nn.Softmin(1), nn.Softsign(),
    nn.LogSoftmax(1), nn.Mish(), nn.LayerNorm(8), nn.BatchNorm1d(8),
    nn.Identity(), nn.Dropout(), nn.GLU(), nn.LogSigmoid(), nn.Threshold(0.1, 20), nn.Hardshrink(), nn.Softshrink(),
    nn.Tanhshrink(), nn.RMSNorm(8), nn.Unflatten(1, (2, 4)),
]  # fmt: skip


def test_modules_on_vectors():
    check([m.eval() for m in VECTORS], torch.randn(4, 8))


def test_sequences_and_volumes():
    check([nn.Conv1d(3, 4, 3), nn.ConvTranspose1d(3, 2, 3, stride=2), nn.MaxPool1d(2), nn.AvgPool1d(2),
           nn.AdaptiveAvgPool1d(3)], torch.randn(2, 3, 9), tolerance=1e-4)  # fmt: skip
    check([nn.Conv3d(2, 3, 2), nn.MaxPool3d(2), nn.AvgPool3d(2), nn.BatchNorm3d(2).eval(), nn.AdaptiveAvgPool3d(1)],
          torch.randn(1, 2, 4, 4, 4), tolerance=1e-4)  # fmt: skip


def test_embeddings_and_losses():
    logits, labels = torch.randn(3, 4), torch.tensor([1, 0, 2])
    embedding = nn.Embedding(5, 6)
    check([lambda x, y: F.embedding(y, x), lambda x, y: F.cross_entropy(x, y),
           lambda x, y: F.nll_loss(F.log_softmax(x, 1), y, reduction="sum"),
           nn.CrossEntropyLoss(ignore_index=0), nn.CrossEntropyLoss(weight=torch.rand(4), reduction="sum")],
          logits, labels)  # fmt: skip
    check([embedding], labels)


def test_every_row_of_modules_names_a_module():
    packages = (nn, torch.nn.modules)
    for name in MODULES:
        assert any(hasattr(p, name) for p in packages) or name == "StochasticDepth", name


def test_a_subclass_of_a_module_is_that_module():
    class Special(nn.Linear):
        pass

    assert module_row(Special(2, 2)) == module_row(nn.Linear(2, 2))
    assert module_row(Several([])) is None


@pytest.mark.parametrize("dropout", [lambda x: torch.dropout(x, 0.5, True), F.dropout, nn.Dropout()])
def test_dropout_does_nothing(dropout):
    x = torch.randn(3)
    with pytest.warns(DropoutLeftOut, match="in training"):
        mod = from_fx(traced([dropout], 1), info(x))
    np.testing.assert_array_equal(run(mod, x)[0], x.numpy())


def test_dropout_that_is_off_does_nothing_silently():
    x = torch.randn(3)
    functions = [lambda x: F.dropout(x, 0.5, training=False), nn.Dropout().eval(), nn.Dropout(0.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = from_fx(traced(functions, 1), info(x))
    for y in run(mod, x):
        np.testing.assert_array_equal(y, x.numpy())


def test_random_numbers():
    x = torch.ones(1000)
    functions = [
        torch.rand_like, lambda x: torch.bernoulli(x, 0.5), lambda x: x.clone().uniform_(0, 1),
        lambda x: torch.rand(x.size(0)), lambda x: torch.randint(0, x.size(0), (1000,)),
    ]  # fmt: skip
    first, again, other = (run(from_fx(traced(functions, 1), info(x), seed=s), x) for s in (1, 1, 2))
    for y, z, w, mean in zip(first, again, other, (0.5, 0.5, 0.5, 0.5, 499.5), strict=True):
        np.testing.assert_array_equal(y, z)
        assert not np.array_equal(y, w)
        assert abs(np.mean(y) / mean - 1) < 0.2


def test_symbolic_sizes():
    class Model(nn.Module):
        def forward(self, x):
            y = x.reshape(x.size(0), x.shape[1] * x.size(2))
            return y.transpose(0, 1), x[:, 1:], x.mean(0)

    n = tir.Var("n", "int64")
    executable = build(from_fx(fx.symbolic_trace(Model()), [((n, 3, 2), "float32")]))
    for size in (1, 4, 7):
        x = torch.randn(size, 3, 2)
        for y, expected in zip(executable["main"](from_dlpack(x)), Model()(x), strict=True):
            np.testing.assert_allclose(y, expected.numpy(), rtol=1e-5, atol=1e-6)


def test_changes_in_place_are_seen():
    class Model(nn.Module):
        def forward(self, x):
            y = x + 1
            y.mul_(2)
            F.relu(y, inplace=True)
            y += 3
            return y - 0.5, y.fill_(7.0)

    x = torch.randn(3, 3)
    outputs = run(from_fx(fx.symbolic_trace(Model()), info(x)), x)
    for y, expected in zip(outputs, [torch.relu((x + 1) * 2) + 2.5, torch.full((3, 3), 7.0)], strict=True):
        np.testing.assert_allclose(y, expected.numpy(), rtol=1e-5)


def test_changes_in_place_keep_the_dtype():
    class Model(nn.Module):
        def forward(self, x, n):
            y = x.half()
            y.add_(x)
            n.add_(n.to(torch.int64))
            return y, n

    x, n = torch.randn(3, 3), torch.tensor([3, 2**30], dtype=torch.int32)
    outputs = run(from_fx(fx.symbolic_trace(Model()), info(x, n)), x, n)
    for y, expected in zip(outputs, Model()(x, n.clone()), strict=True):
        assert np.asarray(y).dtype.name == str(expected.dtype).removeprefix("torch.")
        np.testing.assert_allclose(np.asarray(y), expected.numpy(), rtol=2e-3)


def test_a_view_that_is_changed_is_refused():
    class Model(nn.Module):
        def forward(self, x):
            x[0].fill_(1.0)
            return x

    with pytest.raises(UnsupportedOperators, match="views is changed in place"):
        from_fx(fx.symbolic_trace(Model()), [((3, 3), "float32")])


def test_all_that_has_no_converter_is_reported_at_once():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.LSTMCell(3, 3)

        def forward(self, x):
            a, b = torch.linalg.eigvals(x), torch.fft.fft(x)
            return a + b, self.cell(x)

    with pytest.raises(UnsupportedOperators) as error:
        from_fx(fx.symbolic_trace(Model()), [((3, 3), "float32")])
    assert error.value.operators == ("LSTMCell", "fft_fft", "linalg_eigvals")


def test_weights_as_parameters():
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
    x = torch.randn(2, 4)
    mod, params = detach_params(from_fx(fx.symbolic_trace(model), info(x), keep_params_as_input=True))
    names = sorted(name for name, _ in model.named_parameters())
    assert [p.name_hint for p in mod["main"].params[1:]] == ["v_" + name.replace(".", "_") for name in names]
    y = build(mod)["main"](from_dlpack(x), *params["main"])
    np.testing.assert_allclose(y, model(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "form"),
    [({}, "tuple"), ({"unwrap_unit_return_tuple": True}, "one"), ({"no_bind_return_tuple": True}, "tuple")],
)
def test_forms_of_the_result(options, form):
    class Model(nn.Module):
        def forward(self, x):
            return (x * 2,)

    x = torch.randn(2)
    y = run(from_fx(fx.symbolic_trace(Model()), info(x), **options), x)
    assert isinstance(y, tuple) == (form == "tuple")


def test_converters_of_the_user():
    from tirax.tvm_api import relax

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.odd = nn.LSTMCell(2, 2)

        def forward(self, x):
            return torch.special.entr(self.odd(x))

    def entropy(node, importer):
        (x,) = importer.retrieve_args(node)
        return relax.op.negative(importer.block_builder.emit(relax.op.multiply(x, relax.op.log(x))))

    x = torch.rand(2, 2)
    mod = from_fx(fx.symbolic_trace(Model()), info(x), custom_convert_map={
        "special_entr": entropy, nn.LSTMCell: lambda node, importer: importer.env[node.args[0]]})  # fmt: skip
    np.testing.assert_allclose(run(mod, x), torch.special.entr(x).numpy(), rtol=1e-5)


def test_wrong_inputs_are_reported():
    model = fx.symbolic_trace(nn.Linear(2, 2))
    with pytest.raises(InputError, match="input_info does not fit"):
        from_fx(model, [])
    with pytest.raises(ModelError, match="cannot be converted"):
        from_fx(model, [((3, 5), "float32")])


AS_TVM = [
    (lambda x: x % 2, "sign"),
    (lambda x: torch.std(x), "number of elements"),
    (lambda x: torch.var(x), "number of elements"),
    (lambda x: torch.sort(x), "positions"),
    (nn.BatchNorm2d(4), "statistics"),
    (nn.AvgPool2d(2), "padding"),
    (nn.ConvTranspose2d(4, 4, 3), "kernel"),
    (torch.log1p, "near 0"),
]


@pytest.mark.parametrize(("function", "what"), AS_TVM, ids=[what for _, what in AS_TVM])
def test_what_tvm_imports_otherwise_is_warned_of(function, what):
    model = traced([function], 1)
    with pytest.warns(TvmDifference, match=what):
        from_fx_as_tvm(model, [((1, 4, 6, 6), "float32")])


def test_the_rest_is_the_same_as_tvm_has_it():
    model = traced([f for f in UNARY if "clamp" not in str(f)][:20], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = from_fx_as_tvm(model, [((3, 5), "float32")])
    assert mod.script() == from_fx(model, [((3, 5), "float32")]).script()


def test_functions_of_python_on_numbers():
    check([lambda x: x * (x.size(1) // 2) + x.shape[0] * 2 - 1], torch.randn(2, 8))
