"""Sizes that parts of a graph have only in expressions; what cannot be built stays with PyTorch."""

import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from torch.nn import functional as F  # noqa: E402

from tirax.diagnostics import ShapeError, TiraxError  # noqa: E402
from tirax.frontend.torch.compile import backend, tirax  # noqa: E402
from tirax.frontend.torch.compile.options import MODES  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def beside(parts):
    """`parts` of a size, then random numbers, which stay with PyTorch, then what is made of both."""

    def model(x):
        y = parts(x)
        return (y + torch.rand_like(y) * 0) * 2

    return model


def test_last_positions():
    f = torch.compile(lambda x: (x[:, -1] * 2, x[..., -1], x[-1], x[:, -2:] + 1), backend="tirax")
    for n in (5, 7, 2):
        x = torch.randn(3, n, 4)
        for actual, expected in zip(f(x), (x[:, -1] * 2, x[..., -1], x[-1], x[:, -2:] + 1), strict=True):
            torch.testing.assert_close(actual, expected)


SIZES = {
    "twice": lambda x: torch.cat([x, x]),
    "more": lambda x: F.pad(x, (0, 0, 3, 4)),
    "to a multiple": lambda x: F.pad(x, (0, 0, 0, -x.shape[0] % 8)),
    "product": lambda x: x.reshape(-1),
    "strided": lambda x: x[::2],
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_in_expressions_alone(name):
    reports = []
    model = beside(SIZES[name])
    f = torch.compile(model, backend="tirax", options={"report": reports.append})
    for n in (3, 5, 8, 1):
        x = torch.randn(n, 4)
        torch.testing.assert_close(f(x), model(x))
    assert all(report.parts >= 1 for report in reports)


@pytest.mark.parametrize("error", [ShapeError("a size"), ValueError("a fault")])
def test_what_cannot_be_built_stays(error, monkeypatch):
    def build(*args, **options):
        raise error

    monkeypatch.setattr(backend, "_executable", build)
    reports = []
    x = torch.randn(3)
    for model in (lambda x: torch.sin(x) + 1, beside(torch.cos)):
        torch._dynamo.reset()
        f = torch.compile(model, backend="tirax", options={"report": reports.append})
        if isinstance(error, TiraxError):
            torch.testing.assert_close(f(x), model(x))
        else:
            with pytest.warns(RuntimeWarning, match="please report"):
                torch.testing.assert_close(f(x), model(x))
    assert [report.parts for report in reports] == [0, 0]
    assert any(str(error.args[0]) in reason or "a size" in reason for reason in reports[0].fallback_reasons.values())


def test_pytorch_runs_a_call_that_is_refused(monkeypatch):
    def refuses(*_):
        def call(*args):
            raise ShapeError("not for these sizes")

        return call

    monkeypatch.setattr(backend, "graph_call", refuses)
    x = torch.randn(3)
    for model in (lambda x: torch.sin(x) + 1, beside(torch.cos)):
        torch._dynamo.reset()
        with pytest.warns(RuntimeWarning, match="leaves a call to PyTorch, not for these sizes"):
            torch.testing.assert_close(torch.compile(model, backend="tirax", dynamic=True)(x), model(x))


def test_an_error_of_a_users_pass_is_raised():
    def transform(module):
        raise ValueError("the pass")

    with pytest.raises(Exception, match="the pass"):
        torch.compile(torch.sin, backend="tirax", options={"transform": transform})(torch.ones(2))


@pytest.mark.parametrize("mode", MODES)
def test_modes_of_pytorch(mode):
    x = torch.ones(2)
    torch.testing.assert_close(torch.compile(lambda x: x + 1, backend="tirax", mode=mode)(x), x + 1)


@pytest.mark.parametrize(
    "options",
    [{"options": {"pipeline": "x"}}, {"options": {"target": "z80"}}, {"options": 5}, {"options": {"threads": "2"}},
     {"options": {"transform": 3}}],
)  # fmt: skip
def test_wrong_options(options):
    with pytest.raises(TiraxError):
        tirax(torch.fx.symbolic_trace(torch.nn.ReLU()), [torch.ones(2)], **options)


def test_an_unknown_mode_is_ignored_with_a_warning():
    x = torch.ones(2)
    call = torch.compile(lambda x: x + 1, backend="tirax", mode="fastest")
    with pytest.warns(UserWarning, match="ignores an unknown mode of torch.compile 'fastest'"):
        torch.testing.assert_close(call(x), x + 1)
