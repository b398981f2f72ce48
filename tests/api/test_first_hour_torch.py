"""The mistakes of a first hour with models of PyTorch."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tirax  # noqa: E402
from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.driver.build import build  # noqa: E402
from tirax.tvm_api.relax.frontend.torch import from_exported_program  # noqa: E402


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.linear(x)


class Branches(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def zipped(save):
    """The bytes of what is saved, compiled."""
    file = io.BytesIO()
    save(file)
    return tirax.compile(file.getvalue())


MODEL, X = Net().eval(), torch.ones(2, 4)
BATCH = {"x": {0: "batch"}}

MODELS = {
    "no inputs": (lambda: tirax.compile(MODEL), "tirax.compile(model, (x,))"),
    "the class": (lambda: tirax.compile(Net, X), "an object of the class: Net(…)"),
    "weights": (lambda: tirax.compile(MODEL.state_dict()), "model.load_state_dict(weights)"),
    "inputs first": (lambda: tirax.compile(X, MODEL), "the model comes first"),
    "inputs of numpy": (lambda: tirax.compile(MODEL, X.numpy()), "torch.from_numpy(x)"),
    "inputs of another shape": (lambda: tirax.compile(MODEL, torch.ones(2, 5)), "found: float32[2, 5]"),
    "another parameter": (lambda: tirax.compile(MODEL, X, dynamic_shapes={"y": {0: "b"}}), "names of the parameters"),
    "another axis": (lambda: tirax.compile(MODEL, X, dynamic_shapes={"x": {5: "b"}}), "an axis of dynamic_shapes"),
    "a size that is fixed": (lambda: tirax.compile(MODEL, X, dynamic_shapes={"x": {1: "b"}}), "PyTorch suggests b = 4"),
    "branches on data": (lambda: tirax.compile(Branches(), X), "torch.cond"),
    "TorchScript": (lambda: tirax.compile(torch.jit.trace(MODEL, X), X), "the module that was traced"),
    "weights without values": (lambda: tirax.compile(torch.nn.Linear(4, 3, device="meta"), X), "assign=True"),
    "weights of another dtype": (
        lambda: tirax.compile(torch.nn.Linear(4, 3).half(), X, fallback="error"),
        "a product of different dtypes",
    ),
    "an optimizer": (lambda: tirax.compile(torch.optim.SGD(MODEL.parameters()), X), "not its optimizer"),
    "a graph": (lambda: tirax.compile(torch.fx.symbolic_trace(MODEL).graph, X), "torch.fx.GraphModule(model, graph)"),
    **{
        f"{name} as .pt2": (lambda save=save: zipped(save), text)
        for name, save, text in [
            ("weights", lambda f: torch.save(MODEL.state_dict(), f), "it holds weights"),
            ("TorchScript", lambda f: torch.jit.save(torch.jit.trace(MODEL, X), f), "it holds TorchScript"),
            ("a zip file", lambda f: zipfile.ZipFile(f, "w").writestr("m.onnx", b"?"), "unpack it"),
        ]
    },
    "a fallback": (lambda: tirax.compile(MODEL, X, fallback="yes"), "expected: auto or error"),
    "a model to import": (lambda: from_exported_program(MODEL), "torch.export.export(model"),
    "a model to build": (lambda: build(MODEL), "tirax.compile(model, inputs)"),
}

CALLS = {
    "a gradient": (lambda f: f(X.clone().requires_grad_()), "x.detach()"),
    "another device": (lambda f: f(X.to("meta")), "give it values first"),
    "a sparse tensor": (lambda f: f(X.to_sparse()), "x.to_dense()"),
    "half precision": (lambda f: f(X.half()), "expected: float32"),
    "another width": (lambda f: f(torch.ones(2, 5)), "expected: 4"),
    "a list of tensors": (lambda f: f([X]), "not an array"),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    use, text = MODELS[name]
    with pytest.raises(TiraxError) as raised:
        use()
    assert text in str(raised.value)


@pytest.fixture(scope="module")
def f():
    return tirax.compile(MODEL, X, dynamic_shapes=BATCH)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name, f):
    use, text = CALLS[name]
    with pytest.raises(TiraxError) as raised:
        use(f)
    assert text in str(raised.value)
    np.testing.assert_allclose(f(X).numpy(), MODEL(X).detach().numpy(), rtol=1e-5, atol=1e-6)
