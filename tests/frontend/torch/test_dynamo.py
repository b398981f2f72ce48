"""Subgraphs as functions, and the backend by TVM's name."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.dynamo import dynamo_capture_subgraphs, relax_dynamo  # noqa: E402
from tirax.runtime import from_dlpack  # noqa: E402


class Broken(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2)

    def forward(self, x, scale=1.0):
        y = torch.relu(self.first(x)) * scale
        torch._dynamo.graph_break()
        return self.second(y)


def test_each_subgraph_is_a_function():
    torch.manual_seed(0)
    model, x = Broken(), torch.randn(5, 4)
    mod = dynamo_capture_subgraphs(model, x, scale=2.0)
    names = sorted(gv.name_hint for gv in mod.get_global_vars())
    assert names == ["subgraph_0", "subgraph_1"]
    executable = build(mod)
    with torch.no_grad():
        y = executable["subgraph_0"](*map(from_dlpack, arguments(mod["subgraph_0"], model.first, x)))
        z = executable["subgraph_1"](*map(from_dlpack, arguments(mod["subgraph_1"], model.second, torch.from_numpy(y))))
        np.testing.assert_allclose(z, model(x, scale=2.0).numpy(), rtol=1e-5, atol=1e-6)


def arguments(function, layer, x):
    """The tensors that a subgraph takes, by the shapes of its parameters."""
    by_shape = {tuple(t.shape): t for t in (layer.weight, layer.bias, x)}
    return [by_shape[tuple(int(n) for n in p.struct_info.shape.values)].detach() for p in function.params]


def test_relax_dynamo_is_a_backend():
    torch._dynamo.reset()
    seen = []

    def pipeline(mod):
        seen.append(mod)
        return mod

    model, x = torch.nn.Linear(4, 4), torch.randn(3, 4)
    compiled = torch.compile(model, backend=relax_dynamo(pipeline))
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x))
    assert len(seen) == 1
