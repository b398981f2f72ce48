"""`tirax.compile` of PyTorch models: structures, names of sizes, kinds of results."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tirax  # noqa: E402
from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.runtime.errors import ArgumentError  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, other=None, scale=2.0):
        y = self.linear(x if other is None else x + other["add"]) * scale
        return {"y": y.relu(), "parts": [x + 1, None]}


X = torch.randn(5, 4)
MODEL = Net().eval()


@pytest.fixture(scope="module")
def f():
    return tirax.compile(MODEL, X, dynamic_shapes={"x": {0: "batch"}})


@pytest.mark.parametrize("rows", [1, 2, 7, 64])
def test_results_have_the_structure_of_the_model(f, rows):
    x = torch.randn(rows, 4)
    result, expected = f(x), MODEL(x)
    assert list(result) == ["y", "parts"] and result["parts"][1] is None
    torch.testing.assert_close(result["y"], expected["y"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(result["parts"][0], expected["parts"][0])


def test_example_arguments_one_by_one_and_as_a_tuple():
    class Difference(torch.nn.Module):
        def forward(self, x, y):
            return x - y

    y = torch.randn(5, 4)
    for compiled in (tirax.compile(Difference(), X, y), tirax.compile(Difference(), (X, y))):
        torch.testing.assert_close(compiled(X, y), X - y)


def test_sizes_have_the_names_of_the_user(f):
    assert f.inputs == {"x": "float32[batch, 4]"}
    assert f.outputs["y"] == "float32[batch, 3]"


def test_results_of_numpy_arrays_are_numpy_arrays(f):
    assert type(f(X.numpy())["y"]) is np.ndarray
    assert type(f(X)["y"]) is torch.Tensor


def test_parameters_that_the_example_leaves_out_keep_their_defaults(f):
    torch.testing.assert_close(f(X, None, scale=2.0)["y"], f(x=X)["y"])
    with pytest.raises(ArgumentError, match="other was None when the model was compiled"):
        f(X, {"add": X})
    with pytest.raises(ArgumentError, match=r"scale was 2\.0"):
        f(X, scale=3.0)


def test_nested_arguments(tmp_path):
    shapes = {"x": {0: "batch"}, "other": {"add": {0: "batch"}}}
    g = tirax.compile(MODEL, X, kwargs={"other": {"add": X}}, dynamic_shapes=shapes)
    assert g.inputs == {"x": "float32[batch, 4]", "other['add']": "float32[batch, 4]"}
    g.save(tmp_path / "g.tirax")
    x = torch.randn(3, 4)
    for h in (g, tirax.load(tmp_path / "g.tirax"), pickle.loads(pickle.dumps(g))):  # noqa: S301
        torch.testing.assert_close(h(x, {"add": x})["y"], MODEL(x, {"add": x})["y"], rtol=1e-5, atol=1e-5)
    with pytest.raises(ArgumentError, match="other has other keys"):
        g(x, {"sum": x})
    with pytest.raises(ArgumentError, match="other has other keys"):
        g(x, x)


def test_exported_programs_and_their_files(tmp_path):
    program = torch.export.export(MODEL, (X,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    torch.export.save(program, tmp_path / "m.pt2")
    for model in (program, tmp_path / "m.pt2", (tmp_path / "m.pt2").read_bytes()):
        g = tirax.compile(model)
        torch.testing.assert_close(g(x=X)["y"], MODEL(X)["y"], rtol=1e-5, atol=1e-5)
    assert tirax.compile(program, dynamic_shapes={"x": {0: "rows"}}).inputs == {"x": "float32[rows, 4]"}


class Changing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


MISTAKES = {
    "no inputs": (lambda: tirax.compile(MODEL), "tirax.compile(model, (x,))"),
    "a class": (lambda: tirax.compile(Net), "an object of the class: Net(…)"),
    "weights": (lambda: tirax.compile(MODEL.state_dict()), "weights are not a model"),
    "an input alone": (lambda: tirax.compile(X), "the model comes first"),
    "TorchScript": (lambda: tirax.compile(torch.jit.trace(torch.nn.ReLU(), X), X), "TorchScript cannot be exported"),
    "a model that changes": (lambda: tirax.compile(Changing(), X), "torch.compile(model, backend='tirax')"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mistakes_say_what_to_do(mistake):
    call, message = MISTAKES[mistake]
    with pytest.raises(TiraxError) as raised:
        call()
    assert message in str(raised.value)


def test_a_model_in_training_mode_warns():
    with pytest.warns(UserWarning, match=r"call model\.eval\(\)"):
        tirax.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)), X)


class Variadic(torch.nn.Module):
    def forward(self, first, *others, flag=None, **named):
        return first + others[0] * named["scale"]


def test_variadic_parameters():
    args, scale = (torch.ones(2), torch.arange(2.0)), torch.full((2,), 3.0)
    f = tirax.compile(Variadic(), args, kwargs={"scale": scale})
    torch.testing.assert_close(f(*args, scale=scale), Variadic()(*args, scale=scale))
    assert len(f.inputs) == 3 and list(f.inputs)[0] == "first" and list(f.inputs)[-1] == "scale"


class Returning(torch.nn.Module):
    def forward(self, x):
        return x.shape[0], x, x.bfloat16()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_a_returned_argument_is_of_the_kind_of_the_arguments(dtype):
    x = torch.ones(3, 4).to(dtype)
    f = tirax.compile(Returning(), x, dynamic_shapes={"x": {0: "n"}})
    for y in (x, x[:1], x[:0]):
        count, same, converted = f(y)
        assert count == len(y)
        torch.testing.assert_close(same, y)
        torch.testing.assert_close(converted, y.bfloat16())
