"""Compiled models beside eager ones: numbers, gradients, what stays with PyTorch."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from strength import thinned  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tirax.diagnostics import NameLookupError, TiraxError  # noqa: E402
from tirax.frontend.torch import compile as backend  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of its own modules
        yield


def compiled(model, reports=None, **options):
    """`model` compiled, with the reports of its graphs in `reports`."""
    known = {} if reports is None else {"report": reports.append}
    dynamic = options.pop("dynamic", None)
    fullgraph = options.pop("fullgraph", False)
    return torch.compile(model, backend="tirax", options=known | options, dynamic=dynamic, fullgraph=fullgraph)


def check(model, *inputs, reports=None, tolerance=1e-5, **options):
    """The outputs of a model compiled and eager."""
    actual = compiled(model, reports, **options)(*copy.deepcopy(inputs))
    expected = model(*copy.deepcopy(inputs))
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    assert [t.stride() for t in leaves(actual)] == [t.stride() for t in leaves(expected)]
    return actual


def leaves(value):
    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def stayed(reports):
    return {operator for report in reports for operator in report.fallback_reasons}


MLP = [nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 10)]


def test_the_entry_point_is_known_by_name():
    assert "tirax" in torch._dynamo.list_backends()


def test_a_model_is_one_function():
    reports = []
    with torch.no_grad():
        check(nn.Sequential(*MLP).eval(), torch.randn(3, 20), reports=reports, fullgraph=True)
    assert [(r.kind, r.parts, r.fallback_reasons) for r in reports] == [("inference", 1, {})]


class Branchy(nn.Module):
    """A convolution, normalization, pooling, and a head."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.head(x.mean((2, 3)))


def test_a_convolutional_model():
    reports = []
    with torch.no_grad():
        check(Branchy().eval(), torch.randn(2, 3, 8, 8), reports=reports)
    assert not stayed(reports)


def test_attention():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    reports = []
    with torch.no_grad():
        check(lambda x: layer.linear2(F.gelu(layer.linear1(F.scaled_dot_product_attention(x, x, x)))),
              torch.randn(2, 2, 5, 16), reports=reports)  # fmt: skip
    assert not stayed(reports)


def test_attention_with_dropout_stays_with_pytorch():
    reports = []
    f = compiled(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5) * 2, reports)
    x = torch.randn(1, 2, 5, 8)
    with torch.no_grad():
        torch.manual_seed(3)
        result = f(x)
        torch.manual_seed(3)
        torch.testing.assert_close(result, F.scaled_dot_product_attention(x, x, x, dropout_p=0.5) * 2)
    assert stayed(reports)


@pytest.mark.parametrize("dynamic", [True, None])
def test_sizes_that_change(dynamic):
    def model(x, y):
        return torch.softmax(x @ y.T, -1) * x.shape[0], torch.cat([x, y]), x.reshape(-1)

    reports = []
    f = compiled(model, reports, dynamic=dynamic)
    for n, m in ((3, 4), (5, 2), (1, 3)):
        x, y = torch.randn(n, 4), torch.randn(m, 4)
        torch.testing.assert_close(f(x, y), model(x, y))
    assert not stayed(reports)
    assert len(reports) < 4


def test_a_batch_of_none():
    model = nn.Sequential(*MLP).eval()
    f = compiled(model, dynamic=True)
    with torch.no_grad():
        for n in (4, 0, 1):
            x = torch.randn(n, 20)
            torch.testing.assert_close(f(x), model(x))


def test_graph_breaks():
    def model(x):
        x = x * 2
        torch._dynamo.graph_break()
        return x + 1 if x.sum() > 0 else x - 1

    f = compiled(model)
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(f(x), model(x))


def test_what_has_no_converter_stays_with_pytorch():
    def model(x):
        values = torch._add_relu(x @ x.T, torch.eye(4))
        return torch.relu(values) * 2

    reports = []
    check(model, torch.randn(4, 4), reports=reports, tolerance=1e-4)
    assert stayed(reports) == {"aten._add_relu.Tensor"}
    assert reports[0].parts == 2


def test_a_graph_of_complex_numbers_stays_with_pytorch():
    reports = []
    check(lambda x: torch.fft.fft(x).abs() + 1, torch.randn(8), reports=reports, tolerance=1e-4)
    assert "aten._fft_r2c.default" in stayed(reports) and reports[0].parts == 1


def test_sizes_that_depend_on_contents_stay_with_pytorch():
    check(lambda x: (x * 2)[x > 0].sum(), torch.randn(9))


def training_steps(model, inputs, targets, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.head = nn.Linear(8, 24), nn.Linear(8, 5)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2) for t in self.project(x).chunk(3, -1))
        return self.head(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).mean(1))


class Residual(nn.Module):
    """Two convolutions beside one that leaves points out."""

    def __init__(self, channels, filters, stride):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, filters, 3, stride, 1), nn.Conv2d(filters, filters, 3, 1, 1)
        self.norms = nn.ModuleList(nn.BatchNorm2d(filters) for _ in range(3))
        self.beside = nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x):
        inner = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.relu(inner + self.norms[2](self.beside(x)))


def resnet():
    """A small one, as those for images of many classes begin and end."""
    stem = [nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
    return nn.Sequential(*stem, Residual(8, 8, 1), Residual(8, 16, 2), *head)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: nn.Sequential(nn.Linear(12, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 5)), (6, 12)),
        (Branchy, (4, 3, 8, 8)),
        (Attention, (3, 6, 8)),
        (resnet, (4, 3, 32, 32)),
    ],
    ids=["mlp", "convolutions", "attention", "resnet"],
)
def test_training_steps_are_those_of_eager(make, shape):
    eager = make()
    model = copy.deepcopy(eager)
    reports = []
    inputs, targets = torch.randn(shape), torch.randint(5, shape[:1])
    expected = training_steps(eager, inputs, targets)
    actual = training_steps(compiled(model, reports), inputs, targets)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    for (name, p), q in zip(model.named_parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-5, msg=name)
    for (name, p), q in zip(model.named_buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5, msg=name)
    assert {report.kind for report in reports} == {"forward", "backward"}
    assert [(report.parts, report.fallback_reasons) for report in reports] == [(1, {})] * 2


def test_dropout_draws_pytorchs_numbers():
    model = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.5), nn.Linear(64, 3))
    x = torch.randn(5, 8)
    reports = []
    f = compiled(model, reports)
    torch.manual_seed(7)
    result = f(x)
    result.sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    torch.manual_seed(7)
    expected = model(x)
    expected.sum().backward()
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(gradients, [p.grad for p in model.parameters()])
    assert stayed(reports) == {"aten.native_dropout.default"}


def test_inputs_that_are_changed():
    def model(x, y):
        x.add_(y)
        y[0] = 3
        return x * 2, y.t()

    x, y = torch.randn(4, 4), torch.randn(4, 4)
    a, b = x.clone(), y.clone()
    torch.testing.assert_close(compiled(model)(x, y), model(a, b))
    torch.testing.assert_close((x, y), (a, b))


def test_outputs_that_are_views_of_inputs_stay_so():
    def model(x):
        return x.view(-1), x * 2, x

    x = torch.randn(2, 3)
    flat, _, same = compiled(model)(x)
    assert same is x
    flat[0] = 5.0
    assert x[0, 0] == 5.0


def test_results_have_memory_of_their_own():
    x = torch.randn(5)
    copied, kept = compiled(lambda x: (x.clone(), x + 0))(x)
    before = x.clone()
    x.zero_()
    torch.testing.assert_close((copied, kept), (before, before))


def test_dtypes_mix():
    def model(i, h, b, f):
        return i * f, h + f, b & (i > 1), i / 2, f.to(torch.bfloat16) * 2, (b * 2).sum(), h.double().mean()

    check(model, torch.arange(4), torch.randn(4).half(), torch.tensor([True, False, True, True]), torch.randn(4))


NOT_DENSE = {
    "transposed": lambda x: x.T,
    "strided": lambda x: x[:, ::2],
    "expanded": lambda x: x.expand(3, *x.shape),
    "offset": lambda x: x[2:],
    "flipped": lambda x: x.flip(0).T,
    "parameter": torch.nn.Parameter,
}


@thinned("make", NOT_DENSE.values(), 3)
def test_inputs_that_are_not_dense(make):
    with torch.no_grad():
        check(lambda x: (x.relu() + 1, x.sum(-1)), make(torch.randn(6, 4)))


def test_channels_last_stays_channels_last():
    model = nn.Conv2d(4, 6, 3).eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 4, 7, 7).to(memory_format=torch.channels_last)
    with torch.no_grad():
        check(model, x)


def test_scalars_keywords_and_structures():
    def model(x, n, *, scale=1.0, flag=False, more=None):
        y = x * scale + n
        return {"y": y, "pair": (y.sum(), [y if flag else -y]), "n": n, "more": more["a"] + 1, "none": None}

    f = compiled(model)
    x, more = torch.randn(3), {"a": torch.ones(2)}
    for n, scale in ((1, 2.0), (2, 0.5), (3, 0.25)):
        result = f(x, n, scale=scale, flag=n == 2, more=more)
        torch.testing.assert_close(result, model(x, n, scale=scale, flag=n == 2, more=more))
        assert result["n"] == n and result["none"] is None


def test_tensors_without_dimensions():
    check(lambda x, y: (x * y, x.unsqueeze(0), torch.where(x > y, x, y)), torch.tensor(2.0), torch.tensor(3.0))


def test_a_constant_of_the_program():
    table = torch.arange(6.0).reshape(2, 3)
    check(lambda x: x @ table.T + torch.tensor([1.5, 2.5]), torch.randn(4, 3))


def test_equal_graphs_are_built_once():
    from tirax.frontend.torch.compile import backend as module

    layers = nn.ModuleList([nn.Linear(9, 9) for _ in range(3)])

    def block(layer, x):
        return torch.tanh(layer(x))

    before = len(module._executables)
    x = torch.randn(2, 9)
    with torch.no_grad():
        for layer in layers:
            torch._dynamo.reset()
            torch.testing.assert_close(compiled(block)(layer, x), block(layer, x))
    assert len(module._executables) == before + 1


def test_weights_that_change_are_seen():
    model = nn.Linear(4, 2)
    f = compiled(model)
    x = torch.randn(3, 4)
    with torch.no_grad():
        f(x)
        model.weight.mul_(2)
        torch.testing.assert_close(f(x), model(x))
        model.weight.data = torch.randn(2, 4)
        torch.testing.assert_close(f(x), model(x))


def test_frozen_weights():
    model = nn.Sequential(*MLP).eval()
    x = torch.randn(3, 20)
    with torch.no_grad():
        f = compiled(model, freeze=True)
        expected = model(x)
        torch.testing.assert_close(f(x), expected, rtol=1e-5, atol=1e-5)
        model[0].weight.zero_()
        torch.testing.assert_close(f(x), expected, rtol=1e-5, atol=1e-5)


@thinned("precision, tolerance", [("bfloat16", 3e-2), ("float16", 3e-3)], 1)
def test_precision(precision, tolerance):
    model = nn.Linear(64, 32).eval()
    x = torch.randn(5, 64)
    with torch.no_grad():
        actual, exact = compiled(model, precision=precision)(x), model(x)
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, exact, rtol=tolerance, atol=tolerance)
    assert not torch.equal(actual, exact)


def test_the_target_and_threads():
    with torch.no_grad():
        check(nn.Linear(8, 8), torch.randn(4, 8), target="llvm -mcpu=x86-64-v2", threads=1)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": "float8"}, "precision"),
        ({"threads": 0}, "threads"),
        ({"target": "cuda"}, "target"),
    ],
)
def test_wrong_options_are_reported(options, error):
    with pytest.raises((NameLookupError, TiraxError, torch._dynamo.exc.BackendCompilerFailed), match=error):
        torch.compile(lambda x: x + 1, backend="tirax", options=options)(torch.ones(2))


def test_unknown_options_are_ignored_with_a_warning():
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"option .* 'presicion' \(did you mean 'precision'\?; known: freeze, "):
        f = torch.compile(lambda x: x + 1, backend="tirax", options={"presicion": "float16", "threads": 1})
        assert torch.equal(f(x), x + 1)
    with pytest.warns(UserWarning, match=r"unknown mode of torch.compile 'fast' \(known: default, max-autotune, "):
        assert torch.equal(torch.compile(lambda x: x + 2, backend="tirax", mode="fast")(x), x + 2)


def test_the_report_is_printed(capsys):
    compiled(lambda x: torch.rand_like(x) + x * 2, report=True)(torch.ones(2))
    text = capsys.readouterr().err
    assert "inference: 1 compiled part" in text and "unsupported" in text and "rand_like" in text


def test_the_names_of_the_package():
    assert {"tirax", "Options", "GraphReport"} <= set(backend.__all__)
